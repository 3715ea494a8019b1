---------------------- MODULE Z71ActsOnUncommittedTail ----------------------
(* Z71 (Apache Kafka 4.3.1): a new coordinator makes its state of all that  *)
(* it has read, and acts on what is not committed (X4).                     *)
EXTENDS TransactionRules

Z71_ActsOnCommittedOnly == FALSE
=============================================================================
