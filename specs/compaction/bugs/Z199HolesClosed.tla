--------------------------- MODULE Z199HolesClosed ---------------------------
(* Z199: a follower closes the holes of what it fetches.                   *)
EXTENDS CompactionRules

Z199_CopiedBatches(batches) ==
  SelectSeq(batches, LAMBDA batch : batch.kept # {})
==============================================================================
