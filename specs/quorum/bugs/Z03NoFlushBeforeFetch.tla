----------------------- MODULE Z03NoFlushBeforeFetch ------------------------
(* Z03 (KAFKA-10533): a follower confirms offsets that sit in the page      *)
(* cache.  The high watermark moves, a machine fails, and the entry is gone.*)
EXTENDS QuorumRules

Z03_FlushedAfterFollowerAppend(row) == row.flushed
=============================================================================
