------------------------- MODULE Z131KeepsRemoving --------------------------
(* Z131 (Apache Kafka 4.3.1): where nobody is removed, those that were      *)
(* being removed still are.                                                 *)
EXTENDS ReassignmentRules

Z131_RemovingAfter(partition, target) ==
  LET removed == RangeOf(partition.replicas) \ RangeOf(target)
  IN IF removed = {} THEN partition.removing ELSE removed
=============================================================================
