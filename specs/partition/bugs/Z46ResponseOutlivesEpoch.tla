---------------------- MODULE Z46ResponseOutlivesEpoch -----------------------
(* Z46 (KAFKA-18723): a response is used in another epoch than it was asked *)
(* for in.                                                                  *)
EXTENDS PartitionRules

Z46_Appendable(m) == m.records
Z46_ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.fetchOffset = EndOffset(row.log)
==============================================================================
