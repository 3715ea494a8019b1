------------------------- MODULE Z14LeaderForgotten -------------------------
(* Z14 (KAFKA-16529): before 4.0 the quorum-state file kept either a vote   *)
(* or a leader.  A voter that restarts without the leader's endpoints also  *)
(* forgets the leader, and votes for a loser of the same epoch.             *)
EXTENDS QuorumRules

Z14_PersistedQuorumState(row) ==
  [epoch |-> row.epoch, leader |-> row.leader,
   voted |-> IF row.leader = Nobody THEN row.voted ELSE Nobody]

Z14_StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Resigned"
    [] quorumState.voted = n -> "Candidate"
    [] OTHER -> "Unattached"

Z14_RememberedLeader(quorumState) == Nobody
=============================================================================
