---------------------- MODULE Z02LeaderResumesItsEpoch ----------------------
(* Z02 (KAFKA-10527): a leader that restarts leads its epoch on.  What it   *)
(* lost is written again with other content under the same offset and       *)
(* epoch.  Visible only if it also serves and counts what is not flushed.   *)
EXTENDS QuorumRules

Z02_StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Leader"
    [] quorumState.leader # Nobody -> "Follower"
    [] quorumState.voted = n -> "Candidate"
    [] OTHER -> "Unattached"

Z02_ServableEndOffset(row) == EndOffset(row.log)
Z02_OwnEndOffset(row) == EndOffset(row.log)
=============================================================================
