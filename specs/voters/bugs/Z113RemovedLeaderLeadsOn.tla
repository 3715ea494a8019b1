---------------------- MODULE Z113RemovedLeaderLeadsOn ----------------------
(* Z113 (Apache Kafka 4.3.1): only the pending request makes a removed      *)
(* leader resign; when its timer has run out, the leader leads on.          *)
EXTENDS VoterRules

Z113_LeavesAfterRemoval(n, row) ==
  /\ row.change # Undefined
  /\ row.quorum.role = "Leader" /\ n \notin VotersOf(row) /\ LastSetCommitted(row)
=============================================================================
