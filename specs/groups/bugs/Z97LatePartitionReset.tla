------------------------ MODULE Z97LatePartitionReset -----------------------
(* Z97 (KAFKA-17674): all that have no position are reset, also those       *)
(* that nobody asked about (G28).                                           *)
EXTENDS GroupRules

Z97_ToReset(row, rest) == rest
=============================================================================
