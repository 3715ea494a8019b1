------------------------ MODULE Z30UnfencedTruncation ------------------------
(* Z30: where to truncate is asked of, and believed by, somebody in another *)
(* epoch.                                                                   *)
EXTENDS PartitionRules

Z30_FetchEpochError(row, m) ==
  CASE row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] IsDiverging(row, m) -> "NONE"
    [] m.epoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] m.epoch > row.leaderEpoch -> "UNKNOWN_LEADER_EPOCH"
    [] OTHER -> "NONE"

Z30_ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.fetchOffset = EndOffset(row.log)
  /\ m.diverging # NoDivergence \/ m.request.epoch = row.leaderEpoch
==============================================================================
