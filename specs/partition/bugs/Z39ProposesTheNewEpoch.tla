----------------------- MODULE Z39ProposesTheNewEpoch ------------------------
(* Z39 (KAFKA-15221): a member is judged by its old fetch, and proposed with *)
(* the broker epoch that metadata shows when the request is written.         *)
EXTENDS IsrMembership

Z39_AlterPartitionRequest(n, row) ==
  [type |-> "AlterPartitionRequest", source |-> n, destination |-> Controller,
   brokerEpoch |-> row.brokerEpoch, leaderEpoch |-> row.leaderEpoch,
   partitionEpoch |-> row.partitionEpoch, recovering |-> FALSE,
   isr |-> {[member EXCEPT !.epoch = row.image.brokers[member.broker].epoch] :
              member \in row.pending.isr}]
==============================================================================
