------------------------ MODULE Z132EndsBelowMinIsr -------------------------
(* Z132 (KAFKA-15665; Apache Kafka 4.3.1): a reassignment ends although so  *)
(* few are left in the ISR that nothing is acknowledged any more.           *)
EXTENDS ReassignmentRules

Z132_KeepsMinIsr(partition, kept, minIsr) == TRUE
=============================================================================
