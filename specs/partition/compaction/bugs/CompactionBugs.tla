--------------------------- MODULE CompactionBugs ----------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS CompactionRules

(* Z195: the cleaner keeps the first record of a key.                       *)
Z195_IsSuperseded(row, at, key) ==
  \E earlier \in (row.cleaned + 1)..row.cleanTo : earlier < at /\ key \in row.log[earlier].kept

(* Z196: a tombstone goes as soon as it may be cleaned (KAFKA-4545).        *)
Z196_MayDropTombstone(row, at, expired) ==
  TRUE

(* Z197: the cleaner does not stop at the high watermark.                  *)
Z197_CleanableEnd(row, highWatermark) ==
  ActiveSegment(row)

(* Z198: a load takes a hole for the end of the log.                       *)
Z198_NextToRead(row) ==
  LET at == row.position + 1
  IN IF at <= Len(row.log) /\ row.log[at].kept # {} THEN at ELSE 0

(* Z199: a follower closes the holes of what it fetches.                   *)
Z199_CopiedBatches(batches) ==
  SelectSeq(batches, LAMBDA batch : batch.kept # {})
==============================================================================
