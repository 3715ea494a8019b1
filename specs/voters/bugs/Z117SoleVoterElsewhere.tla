----------------------- MODULE Z117SoleVoterElsewhere ------------------------
(* Z117 (Apache Kafka 4.3.1): check-quorum spares a leader where there is    *)
(* one voter, be that the leader or not.                                     *)
EXTENDS VoterRules

Z117_CheckQuorumBinds(n, row) == Cardinality(VotersOf(row)) # 1
=============================================================================
