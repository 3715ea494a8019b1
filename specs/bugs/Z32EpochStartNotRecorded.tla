---------------------- MODULE Z32EpochStartNotRecorded -----------------------
(* Z32 (KAFKA-7415): a new leader does not note where its epoch begins.     *)
EXTENDS PartitionRules

Z32_CacheOnBecomeLeader(row, epoch) == row.epochCache
==============================================================================
