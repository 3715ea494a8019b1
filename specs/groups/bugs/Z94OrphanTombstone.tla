------------------------- MODULE Z94OrphanTombstone --------------------------
(* Z94 (KAFKA-17306): what a tombstone removes has to be there (G50).       *)
EXTENDS GroupRules

Z94_IgnoresOrphan == FALSE
=============================================================================
