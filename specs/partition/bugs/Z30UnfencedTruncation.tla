------------------------ MODULE Z30UnfencedTruncation ------------------------
(* Z30 (KIP-320): where to truncate is asked of a leader in another epoch,  *)
(* whose log may itself still be cut; or the answer comes so late that the  *)
(* same broker leads again, in a later epoch, and the follower has copied   *)
(* what it had been told to cut.                                            *)
EXTENDS PartitionRules

Z30_FetchEpochError(row, m) ==
  CASE row.role = "Leader" /\ IsDiverging(row, m) -> "NONE"
    [] m.epoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] m.epoch > row.leaderEpoch -> "UNKNOWN_LEADER_EPOCH"
    [] row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] OTHER -> "NONE"

Z30_ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.fetchOffset = EndOffset(row.log)
  /\ m.diverging # NoDivergence \/ m.request.epoch = row.leaderEpoch
==============================================================================
