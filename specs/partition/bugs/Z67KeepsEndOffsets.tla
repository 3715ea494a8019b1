------------------------- MODULE Z67KeepsEndOffsets --------------------------
(* Z67: a leader that was leader before keeps the end offsets of followers, *)
(* although it may have missed another leader in between, under whom they   *)
(* truncated.  Kafka does this.                                             *)
EXTENDS PartitionRules

Z67_KeepsEndOffsets(row) == row.role = "Leader"
==============================================================================
