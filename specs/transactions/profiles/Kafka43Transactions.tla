------------------------ MODULE Kafka43Transactions -------------------------
(***************************************************************************)
(* The steps of nodes, judged by KafkaTransactions.  `kraftcheck conform    *)
(* --as kafka-4.3` judges by it.                                            *)
(***************************************************************************)
EXTENDS TransactionNodes, KafkaTransactions
=============================================================================
