-------------------------- MODULE TransactionRules --------------------------
(***************************************************************************)
(* Every decision of transactions that has a name: of the coordinator, of   *)
(* the partitions that data and markers are written to, and no messages     *)
(* sent, no variables.  A bug is one or more of these operators replaced    *)
(* (bugs, `Op <- [TransactionRules] BugOp`).                                *)
(*                                                                          *)
(* Rule ids (X1 ..., T1 ...) are those of docs/protocol-rules.md.  Where    *)
(* Apache Kafka 4.3.1 decides otherwise, the correct rule stands here and   *)
(* Kafka's is an overlay (Z70, Z71, Z72).                                   *)
(*                                                                          *)
(* There is one transactional id.  Its epochs are counted through its       *)
(* producer ids: the k-th id, from 0, has those from k * EpochsOfId on, so  *)
(* that a producer is known by its epoch.  Law of this file: no property    *)
(* calls an operator of it, or else replacing the operator would change the *)
(* property with it.                                                        *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Partitions,   \* the partitions that transactions write to
  Offsets,      \* those of them that keep the offsets of groups (__consumer_offsets)
  Version,      \* 2: an epoch for each transaction (KIP-890, part 2); 1: before it
  MaxEpoch,     \* the last epoch that a producer is given; Kafka: 32766
  Replicas      \* of each partition: 1, whose log is committed as it is written, or 2

Unknown == -1   \* no epoch, no sequence: Kafka's own sentinel

EpochPerTransaction == Version = 2

(* One more than producers are given: what the last one is fenced with.     *)
EpochsOfId == MaxEpoch + 2

Preparing == {"PrepareCommit", "PrepareAbort"}
Completed == {"CompleteCommit", "CompleteAbort"}
Prepared(decision) == IF decision = "Commit" THEN "PrepareCommit" ELSE "PrepareAbort"
CompletedAs(decision) == IF decision = "Commit" THEN "CompleteCommit" ELSE "CompleteAbort"
DecisionOf(state) == IF state \in {"PrepareCommit", "CompleteCommit"} THEN "Commit" ELSE "Abort"

(* How many records there are before the first batch that no marker follows. *)
DecidedUpTo(records) ==
  LET open == {i \in 1..Len(records) :
                 /\ records[i].kind = "Batch"
                 /\ \A j \in i..Len(records) : records[j].kind # "Marker"}
  IN IF open = {} THEN Len(records) ELSE (CHOOSE i \in open : \A j \in open : i <= j) - 1

-----------------------------------------------------------------------------
(* Coordinator.  What is answered is an error, or "Append": a transition    *)
(* begins, and the answer waits until its record is committed.              *)

(* X4.  What a new leader of the log makes its state of.  Here: nothing     *)
(* that is not committed, so it waits for the high watermark.  Kafka takes  *)
(* all that it has read (Z71).                                              *)
ActsOnCommittedOnly == TRUE

(* X4.  A log that could not be read to its end is acted on by nobody       *)
(* (KAFKA-9307).                                                            *)
ReadsWholeLog == TRUE

(* X7.  When a producer id has no epoch left to be given.                   *)
IsExhausted(epoch) == epoch % EpochsOfId >= MaxEpoch

(* X7, X20.  The first epoch of the next producer id.                       *)
NextProducerId(epoch) == (epoch \div EpochsOfId + 1) * EpochsOfId

(* X7.  The epoch that a new instance of the producer is given.             *)
InitialisedEpoch(epoch) == IF IsExhausted(epoch) THEN NextProducerId(epoch) ELSE epoch + 1

(* X8.  The epoch with which the coordinator aborts: nobody's.              *)
FencedEpoch(epoch) == epoch + 1

(* X19, X20.  The epoch after a producer ended its transaction.             *)
EndedEpoch(epoch) == IF EpochPerTransaction THEN epoch + 1 ELSE epoch

(* X20.  The epoch of a transaction that is complete, of the one that it    *)
(* was prepared with.  Nobody is given the last one of a producer id.       *)
CompletedEpoch(epoch) ==
  IF EpochPerTransaction /\ epoch % EpochsOfId > MaxEpoch THEN NextProducerId(epoch) ELSE epoch

(* X21.  What the producer is told at its end: the identity that it will    *)
(* have (KAFKA-18660).                                                      *)
EndAnsweredEpoch(epoch) == CompletedEpoch(epoch)

(* X6.                                                                      *)
InitProducerIdAnswer(row) ==
  CASE row.pending.state # "None" -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" -> "Fence"
    [] OTHER -> "Append"

(* X9.  Pending comes before everything else (KAFKA-18660).                 *)
AddPartitionsAnswer(row, m) ==
  CASE row.pending.state # "None" -> "CONCURRENT_TRANSACTIONS"
    [] m.epoch # row.txn.epoch -> "PRODUCER_FENCED"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" /\ m.partition \in row.txn.partitions -> "NONE"
    [] OTHER -> "Append"

(* X10.  Pending is not looked at (KAFKA-14904): the guard makes up for it. *)
VerifyAnswer(row, m) ==
  CASE m.epoch # row.txn.epoch -> "INVALID_PRODUCER_EPOCH"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] m.partition \in row.txn.partitions -> "NONE"
    [] OTHER -> "TRANSACTION_ABORTABLE"

(* A coordinator that another has replaced does not answer.  Kafka's does   *)
(* what needs no append until it unloads (X2, X5; Z72).                     *)
AnswersWhenDeposed == FALSE

IsEndPending(row) == row.pending.state \notin {"None", "PrepareEpochFence"}

(* X19.  A repeat, and the end of the next transaction, look the same.      *)
EndTxnAnswerV1(row, m) ==
  CASE m.epoch # row.txn.epoch -> "PRODUCER_FENCED"
    [] IsEndPending(row) -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" -> "Append"
    [] row.txn.state = CompletedAs(m.decision) -> "NONE"
    [] row.txn.state = Prepared(m.decision) -> "CONCURRENT_TRANSACTIONS"
    [] OTHER -> "INVALID_TXN_STATE"

(* X20.  What a retry and the transaction at hand are told; commit after an *)
(* abort by the coordinator is PRODUCER_FENCED (KAFKA-20785).               *)
EndTxnAnswerV2(row, m) ==
  LET isRetry == row.txn.epoch \in {m.epoch + 1, CompletedEpoch(m.epoch + 1)}
      isCurrent == row.txn.epoch = m.epoch
      state == row.txn.state
  IN CASE IsEndPending(row) -> "CONCURRENT_TRANSACTIONS"
       [] ~isRetry /\ ~isCurrent -> "PRODUCER_FENCED"
       [] state = "Ongoing" -> IF isCurrent THEN "Append" ELSE "PRODUCER_FENCED"
       [] state = "Empty" -> IF isRetry THEN "PRODUCER_FENCED"
                             ELSE IF m.decision = "Abort" THEN "Append" ELSE "INVALID_TXN_STATE"
       [] state \in Completed /\ isCurrent ->
            IF m.decision = "Abort" THEN "Append" ELSE "INVALID_TXN_STATE"
       [] state \in Completed /\ isRetry ->
            IF state = CompletedAs(m.decision) THEN "NONE"
            ELSE IF m.decision = "Commit" THEN "PRODUCER_FENCED" ELSE "INVALID_TXN_STATE"
       [] state \in Preparing ->
            IF ~isRetry THEN "PRODUCER_FENCED"
            ELSE IF state = Prepared(m.decision) THEN "CONCURRENT_TRANSACTIONS"
                 ELSE "INVALID_TXN_STATE"

EndTxnAnswer(row, m) ==
  IF EpochPerTransaction THEN EndTxnAnswerV2(row, m) ELSE EndTxnAnswerV1(row, m)

(* X22.  Where the marker of a partition goes that has a leader, or none.   *)
(* Kafka 4.3.1 takes a partition without a leader for deleted (Z70).        *)
MarkerDestination(hasLeader) == IF hasLeader THEN "Leader" ELSE "Later"

(* X23, X24.  The partitions that have their marker by this answer: those   *)
(* of one request may be appended at different times (KAFKA-17877).         *)
MarkedBy(row, m) == {m.partition}

(* X24.  Whether this answer to a marker is about the row's transaction.    *)
IsMarkerReplyCurrent(row, m) ==
  /\ m.coordinatorEpoch = row.coordinatorEpoch
  /\ row.txn.state = Prepared(m.decision) /\ m.epoch = row.txn.epoch

(* X25.  Whether somebody looks, once the last marker is acknowledged       *)
(* (KAFKA-9777).                                                            *)
IsCompletionSeen(row) == TRUE

-----------------------------------------------------------------------------
(* Partition: data, X11, X13, T1 to T3.                                     *)

(* X29.  Whether a batch is told from its copies by its sequence number.    *)
(* Offsets that Kafka is sent have none (Z87).                              *)
HasSequence(partition) == TRUE

(* T1, by counting: there is one batch of each transaction, but of offsets. *)
IsDuplicateBatch(producer, m) ==
  HasSequence(m.partition) /\ m.epoch = producer.epoch /\ m.sequence < producer.sequence

IsOngoing(producer, epoch) == producer.open /\ producer.epoch = epoch

(* X11.  A transaction's first batch here is verified first.                *)
NeedsVerification(producer, epoch) == ~IsOngoing(producer, epoch)

(* X13.  Guards are unique: another one does not stand for the one that a   *)
(* batch came with.                                                         *)
IsGuarded(guard, v) == v.guarded

(* X13.  What a batch is refused for; guarded: the guard under which it was *)
(* verified is still the one that stands here.                              *)
BatchError(producer, m, guarded) ==
  CASE m.epoch < producer.epoch -> "INVALID_PRODUCER_EPOCH"
    [] NeedsVerification(producer, m.epoch) /\ ~guarded -> "INVALID_TXN_STATE"
    [] ~HasSequence(m.partition) -> "NONE"
    [] m.epoch > producer.epoch /\ producer.epoch # Unknown /\ m.sequence # 0 ->
         "OUT_OF_ORDER_SEQUENCE_NUMBER"
    [] m.epoch = producer.epoch /\ producer.sequence # Unknown
         /\ m.sequence # producer.sequence -> "OUT_OF_ORDER_SEQUENCE_NUMBER"
    [] EpochPerTransaction /\ m.epoch # producer.epoch /\ m.sequence # 0 ->
         "OUT_OF_ORDER_SEQUENCE_NUMBER"
    [] OTHER -> "NONE"

-----------------------------------------------------------------------------
(* Partition: markers, X14.                                                 *)

(* A marker of this epoch ends what is open.  With an epoch for each        *)
(* transaction it is above the transaction's own (KIP-1228).                *)
MarkerEpochOk(producer, m) ==
  IF EpochPerTransaction THEN m.epoch > producer.epoch ELSE m.epoch >= producer.epoch

(* A marker that comes again, after which nothing was begun (KAFKA-19999).  *)
MarkerRepeatOk(producer, m) == m.epoch = producer.epoch /\ ~producer.open

(* T4.  Of a coordinator that was replaced.                                 *)
IsCoordinatorFenced(producer, m) == m.coordinatorEpoch < producer.coordinatorEpoch

MarkerError(producer, m) ==
  CASE ~MarkerEpochOk(producer, m) /\ ~MarkerRepeatOk(producer, m) -> "INVALID_PRODUCER_EPOCH"
    [] IsCoordinatorFenced(producer, m) -> "TRANSACTION_COORDINATOR_FENCED"
    [] OTHER -> "NONE"

(* A guard of the marker's own epoch belongs to the next transaction        *)
(* (KAFKA-18575, KAFKA-18654), one of a larger epoch to one after that.     *)
(* Kafka 4.3.1 spares the first only (transactions-guard-lost).             *)
MarkerClearsGuard(guard, m) == ~(EpochPerTransaction /\ guard >= m.epoch)

(* X30.  The group has applied a marker when it is acknowledged             *)
(* (KAFKA-17507).                                                           *)
IsAppliedAtOnce(offsets) == TRUE

-----------------------------------------------------------------------------
(* Partition: what is shown and what is forgotten, X16, X17.                *)

(* X17.  The last stable offset: up to the high watermark, which is where   *)
(* the other replica's log ends, but not past the first batch that has no   *)
(* marker below it.                                                         *)
LastStableOffset(row) == DecidedUpTo(SubSeq(row.log, 1, Len(row.follower.log)))

(* X16.  A producer is forgotten a day after its last batch, by the clock of *)
(* the broker: later than anything here comes.                              *)
IsProducerExpired(producer) == FALSE
=============================================================================
