-------------------------- MODULE Z130KeepsAdding ---------------------------
(* Z130 (Apache Kafka 4.3.1): who is added is computed from the list as it  *)
(* is, which has who is being added, and is not written where it is nobody. *)
EXTENDS ReassignmentRules

Z130_AddingAfter(partition, target) ==
  LET added == RangeOf(target) \ RangeOf(partition.replicas)
  IN IF added = {} THEN partition.adding ELSE added
=============================================================================
