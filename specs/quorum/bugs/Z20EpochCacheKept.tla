-------------------------- MODULE Z20EpochCacheKept -------------------------
(* Z20 (KAFKA-10706): a truncation that cuts no record leaves the epoch     *)
(* cache alone, and a restart does not repair it.  A leader that lost its   *)
(* LeaderChange record then exchanges the same divergence for ever.         *)
EXTENDS QuorumRules

Z20_TruncatedEpochCache(row, offset) ==
  IF offset >= EndOffset(row.log) THEN row.epochCache ELSE CacheTruncate(row.epochCache, offset)
Z20_RecoveredEpochCache(cache, endOffset) == cache
=============================================================================
