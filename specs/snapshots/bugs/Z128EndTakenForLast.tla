------------------------- MODULE Z128EndTakenForLast -------------------------
(* Z128 (Apache Kafka 4.3.1): the end of a snapshot is taken for the last   *)
(* offset that is in it, so a batch of one record at that offset is not in  *)
(* what a controller goes back to.                                          *)
EXTENDS SnapshotRules

Z128_StableAfterSnapshot(end) == end + 1
==============================================================================
