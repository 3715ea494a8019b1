----------------------- MODULE Z70LeaderlessIsDeleted ------------------------
(* Z70 (KAFKA-20734, Apache Kafka 4.3.1): a partition without a leader is   *)
(* taken for one that was deleted, and gets no marker (X22).                *)
EXTENDS TransactionRules

Z70_MarkerDestination(hasLeader) == IF hasLeader THEN "Leader" ELSE "Deleted"
=============================================================================
