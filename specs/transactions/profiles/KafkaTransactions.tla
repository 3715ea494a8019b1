------------------------- MODULE KafkaTransactions --------------------------
(***************************************************************************)
(* Transactions as Apache Kafka 4.3 runs them, where that is not what the   *)
(* specs say is right.  Its entries are in kafka-4.3.toml.                  *)
(*                                                                          *)
(* Law of this file: an operator under the prefix Kafka_ is a replacement   *)
(* for the operator of that name, and mentions the entries that change it.  *)
(***************************************************************************)
EXTENDS TransactionCoordinator

CONSTANT Entries

(* acts-on-tail: Z71.                                                       *)
Kafka_ActsOnCommittedOnly == "acts-on-tail" \notin Entries

(* leaderless-is-deleted: Z70.                                              *)
Kafka_MarkerDestination(hasLeader) ==
  CASE hasLeader -> "Leader"
    [] "leaderless-is-deleted" \in Entries -> "Deleted"
    [] OTHER -> "Later"

(* leaderless-is-deleted: also for a partition whose marker must be sent    *)
(* again.                                                                   *)
Kafka_HandleMarkersAgain(row, leaderless) ==
  LET gone == IF "leaderless-is-deleted" \in Entries THEN leaderless ELSE {}
      left == [row EXCEPT !.toMark = @ \ gone]
  IN IF row.toMark = {} THEN {} ELSE {Outcome(left, <<>>, MarkersOf(left, leaderless), {})}

(* abort-is-not-told: Z80.                                                  *)
Kafka_EndTxnAnswer(row, m) ==
  LET answer == IF EpochPerTransaction THEN EndTxnAnswerV2(row, m) ELSE EndTxnAnswerV1(row, m)
      late == /\ row.txn.state = "CompleteAbort" /\ m.decision = "Commit"
              /\ row.txn.epoch \in {m.epoch + 1, CompletedEpoch(m.epoch + 1)}
  IN IF /\ "abort-is-not-told" \in Entries /\ EpochPerTransaction
        /\ late /\ answer = "PRODUCER_FENCED"
     THEN "INVALID_TXN_STATE" ELSE answer

(* fenced-once: whether a fence was not written is not in the row, so that  *)
(* both are allowed.                                                        *)
Kafka_HandleFence(row) ==
  LET begun(epoch) ==
        Begin(WithoutLast(row), "PrepareAbort", epoch, row.txn.partitions, NoRequest)
      in(epoch) == IF EpochPerTransaction THEN begun(epoch)
                   ELSE [begun(epoch) EXCEPT !.row.txn.epoch = epoch]
      again == IF "fenced-once" \in Entries /\ ~EpochPerTransaction THEN {row.txn.epoch} ELSE {}
  IN IF row.pending.state # "PrepareEpochFence" THEN {}
     ELSE {in(epoch) : epoch \in {FencedEpoch(row.txn.epoch)} \cup again}
=============================================================================
