---------------------------- MODULE Z26NoFencing -----------------------------
(* Z26 (KIP-320, KAFKA-6880): fetches are not fenced by leader epoch, and   *)
(* only the first one after a change of leader looks for divergence.        *)
EXTENDS PartitionRules

Z26_FetchEpochError(row, m) == IF row.role = "Leader" THEN "NONE" ELSE "NOT_LEADER_OR_FOLLOWER"
Z26_ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.fetchOffset = EndOffset(row.log)
Z26_IsDiverging(row, m) ==
  /\ m.lastFetchedEpoch # Undefined
  /\ EpochEndFor(row, m).epoch < m.lastFetchedEpoch
==============================================================================
