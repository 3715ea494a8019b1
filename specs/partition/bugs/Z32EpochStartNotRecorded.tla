---------------------- MODULE Z32EpochStartNotRecorded -----------------------
(* Z32 (KAFKA-7415): a new leader does not note where its epoch begins, and *)
(* cannot say where an epoch ends that came after all that it wrote.        *)
EXTENDS PartitionRules

Z32_CacheOnBecomeLeader(row, epoch) == row.epochCache
==============================================================================
