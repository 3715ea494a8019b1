--------------------- MODULE Z133EligibleWithoutReplica ---------------------
(* Z133 (Apache Kafka 4.3.1): whoever leaves the ISR stays eligible,        *)
(* although it is no replica any more and deletes its log.                  *)
EXTENDS ReassignmentRules

Z133_EligibleAfter(partition, replicas, isr, unclean, minIsr) ==
  IF ~ElrEnabled \/ Cardinality(isr) >= minIsr THEN {}
  ELSE ((partition.elr \cup partition.isr) \ isr) \ unclean

Z133_LastKnownAfter(old, new) == LastLeader(old, new)
=============================================================================
