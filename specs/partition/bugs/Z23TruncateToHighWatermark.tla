--------------------- MODULE Z23TruncateToHighWatermark ----------------------
(* Z23, Z24 (KAFKA-1211): before KIP-101 a new follower cut its log to its  *)
(* high watermark, and asked nobody where the logs diverge.                 *)
EXTENDS PartitionRules

Z23_EndOnBecomeFollower(row) == MinOf(row.highWatermark, EndOffset(row.log))
Z23_IsDiverging(row, m) == FALSE
==============================================================================
