----------------------- MODULE Z39ProposesTheNewEpoch ------------------------
(* Z39 (KAFKA-15221): judged by the old fetch, proposed with the new epoch. *)
EXTENDS PartitionRules

Z39_IsIsrEligible(row, r) ==
  /\ ~row.image.brokers[r].fenced /\ ~row.image.brokers[r].stopping
  /\ row.remotes[r].brokerEpoch # Undefined

Z39_ProposedEpoch(n, row, r) == IF r = n THEN row.brokerEpoch ELSE row.image.brokers[r].epoch
==============================================================================
