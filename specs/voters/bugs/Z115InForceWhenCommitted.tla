---------------------- MODULE Z115InForceWhenCommitted ----------------------
(* Z115 (mutant): a set is in force when it is known to be committed, and   *)
(* not when it is in the log.                                               *)
EXTENDS VoterRules

Z115_VotersOf(row) ==
  LET known == SelectSeq(row.history,
        LAMBDA set : set.offset < MaxOf(row.quorum.highWatermark, 0))
  IN LastOf(known).voters
=============================================================================
