---------------------- MODULE Z25EndOffsetWithoutEpoch -----------------------
(* Z25 (KIP-279, KAFKA-6361): the leader answers where an epoch ends, and   *)
(* not which epoch it speaks of when it does not know the one asked for.    *)
EXTENDS PartitionRules

Z25_EpochEndFor(row, m) ==
  LET end == EndOffsetFor(row.epochCache, EndOffset(row.log), m.lastFetchedEpoch)
  IN IF end.epoch = Undefined THEN end ELSE [end EXCEPT !.epoch = m.lastFetchedEpoch]

Z25_TruncationPoint(row, diverging) == MinOf(diverging.endOffset, EndOffset(row.log))
==============================================================================
