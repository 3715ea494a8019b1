------------------------- MODULE Z61EpochNotChecked --------------------------
(* Z61: the coordinator does not look at the producer's epoch, neither when *)
(* a partition is added nor when the transaction ends (X9, X20).            *)
EXTENDS TransactionRules

Z61_AddPartitionsAnswer(row, m) ==
  CASE row.pending.state # "None" -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" /\ m.partition \in row.txn.partitions -> "NONE"
    [] OTHER -> "Append"

Z61_EndTxnAnswer(row, m) ==
  IF row.txn.state = "Ongoing" /\ row.pending.state = "None" THEN "Append"
  ELSE EndTxnAnswerV2(row, m)
=============================================================================
