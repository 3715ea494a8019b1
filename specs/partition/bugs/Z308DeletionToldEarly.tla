----------------------- MODULE Z308DeletionToldEarly ------------------------
(* Z308 (S9, KIP-107): a deletion is confirmed before the replicas have     *)
(* made it.                                                                 *)
EXTENDS PartitionRules

Z308_DeletionAwaits(row, r) == FALSE
=============================================================================
