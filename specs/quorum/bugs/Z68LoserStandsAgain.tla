------------------------ MODULE Z68LoserStandsAgain -------------------------
(* Z68 (found with this kit; an open question for Kafka): on restart the    *)
(* vote is looked at before the leader.  A candidate that lost and followed *)
(* the winner stands again in the same epoch, with records of that epoch in *)
(* its log, and the answer INVALID_REQUEST stops it.                        *)
EXTENDS QuorumRules

Z68_StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Resigned"
    [] quorumState.voted = n -> "Candidate"
    [] quorumState.leader # Nobody -> "Follower"
    [] OTHER -> "Unattached"
=============================================================================
