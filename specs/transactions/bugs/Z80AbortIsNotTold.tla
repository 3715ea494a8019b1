-------------------------- MODULE Z80AbortIsNotTold --------------------------
(* Z80 (KAFKA-20785, Apache Kafka 4.3.1): a commit that comes after the     *)
(* coordinator's abort is told that its state is invalid (X20).             *)
EXTENDS TransactionRules

Z80_EndTxnAnswer(row, m) ==
  LET answer == EndTxnAnswerV2(row, m)
  IN IF row.txn.state = "CompleteAbort" /\ row.txn.epoch # m.epoch /\ answer = "PRODUCER_FENCED"
        /\ row.txn.epoch \in {m.epoch + 1, CompletedEpoch(m.epoch + 1)}
     THEN "INVALID_TXN_STATE" ELSE answer
=============================================================================
