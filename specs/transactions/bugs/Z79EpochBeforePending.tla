------------------------ MODULE Z79EpochBeforePending ------------------------
(* Z79 (KAFKA-18464): the epoch of a transaction's end is looked at before  *)
(* what is pending, so that the next end meets a row that still completes   *)
(* the last one (X20).                                                      *)
EXTENDS TransactionRules

Z79_EndTxnAnswer(row, m) ==
  LET isRetry == row.txn.epoch \in {m.epoch + 1, CompletedEpoch(m.epoch + 1)}
  IN IF row.txn.state \in Preparing /\ ~isRetry THEN "PRODUCER_FENCED"
     ELSE EndTxnAnswerV2(row, m)
=============================================================================
