-------------------------- MODULE TransactionRules --------------------------
(***************************************************************************)
(* Every decision of transactions that has a name: of the coordinator, of   *)
(* the partitions that data and markers are written to, and no messages     *)
(* sent, no variables.  A bug is one or more of these operators replaced    *)
(* (bugs, `Op <- [TransactionRules] BugOp`).                                *)
(*                                                                          *)
(* Rule ids (X1 ..., T1 ...) are those of docs/reference/protocol-rules.md. *)
(* Where Apache Kafka 4.3.1 decides otherwise, this file has the correct    *)
(* rule, and Kafka's is an overlay (Z70, Z71, Z72).                         *)
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
  Replicas,     \* of each partition: 1, whose log is committed as it is written, or 2
  IdsExpire,    \* whether the transactional id is forgotten when nobody has used it for long
  Recovers      \* whether producers hear every error, and do what there is to do (X36)

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

(* X3.  Whether a transition is taken back whose record could not be        *)
(* written.  Complete is written again.                                     *)
IsTakenBack(row) == row.pending.state \notin Completed

(* X7.  When a producer id has no epoch left to be given.                   *)
IsExhausted(epoch) == epoch % EpochsOfId >= MaxEpoch

(* X7, X20.  The first epoch of the next producer id.                       *)
NextProducerId(epoch) == (epoch \div EpochsOfId + 1) * EpochsOfId

(* X7.  The epoch that a new instance of the producer is given.             *)
InitialisedEpoch(epoch) == IF IsExhausted(epoch) THEN NextProducerId(epoch) ELSE epoch + 1

(* X8.  The epoch with which the coordinator aborts: nobody's.  The last    *)
(* number of a producer id is raised no more: the next one is that of       *)
(* another id (TransactionMetadata.prepareFenceProducerEpoch).              *)
FencedEpoch(epoch) == IF epoch % EpochsOfId > MaxEpoch THEN epoch ELSE epoch + 1

(* A listed transaction is aborted if it is still the listed one. With      *)
(* version 2 each transaction has its own epoch, which is checked under the *)
(* lock of the row (X26).                                                   *)
StillListed(row) == row.txn.epoch = row.listed

(* X19, X20.  The epoch after a producer ended its transaction.             *)
EndedEpoch(epoch) == IF EpochPerTransaction THEN epoch + 1 ELSE epoch

(* X20.  The epoch of a transaction that is complete, of the one that it    *)
(* was prepared with.  Nobody is given the last one of a producer id.       *)
CompletedEpoch(epoch) ==
  IF EpochPerTransaction /\ epoch % EpochsOfId > MaxEpoch THEN NextProducerId(epoch) ELSE epoch

(* The response at the end of a transaction has the producer's next         *)
(* identity (X21; KAFKA-18660).                                             *)
EndAnsweredEpoch(epoch) == CompletedEpoch(epoch)

(* X27.  An id that was forgotten comes back with a producer id of its own. *)
ReturnedEpoch(epoch) == NextProducerId(epoch)

(* An id without an open transaction may expire (X27).                      *)
MayExpire(row) ==
  IdsExpire /\ row.pending.state = "None" /\ row.txn.state \in Completed \cup {"Empty"}

(* X9, X10, X19, X20.  Epochs are compared within a producer id.            *)
IsSameId(epoch, other) == epoch \div EpochsOfId = other \div EpochsOfId

(* X6.                                                                      *)
InitProducerIdAnswer(row) ==
  CASE row.pending.state # "None" -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" -> "Fence"
    [] OTHER -> "Append"

(* X7.  A request that names the epoch before is one whose answer was lost  *)
(* (KIP-360): a new instance would have taken that epoch away.              *)
IsRepeatedBump(row, m) == m.epoch = row.lastEpoch

(* X7.  A producer that has an epoch names it: it has the id, or has had    *)
(* the one before when that came to its end, or nobody has it any more.     *)
BumpEpochAnswer(row, m) ==
  LET answer == InitProducerIdAnswer(row)
      isRepeat == IsRepeatedBump(row, m)
  IN CASE row.pending.state # "None" \/ row.txn.state = "Dead" -> answer
       [] ~IsSameId(m.epoch, row.txn.epoch) /\ ~isRepeat -> "PRODUCER_FENCED"
       [] answer # "Append" \/ m.epoch = row.txn.epoch -> answer
       \* As in Kafka, which looks for the next epoch first, and throws.
       [] IsExhausted(row.txn.epoch) -> "UNKNOWN_SERVER_ERROR"
       [] OTHER -> IF isRepeat THEN answer ELSE "PRODUCER_FENCED"

(* X7.  A repeat is given what the request was given.                       *)
BumpedEpoch(row, m) ==
  IF IsRepeatedBump(row, m) THEN row.txn.epoch ELSE InitialisedEpoch(row.txn.epoch)

(* X7.  The epoch before, once what is pending is done: what its producer   *)
(* named; of another id only until the next transition.  Kept where         *)
(* producers ask for epochs.                                                *)
LastEpoch(row) ==
  LET request == row.pending.request
      last == IF request.type = "BumpEpoch" THEN request.epoch ELSE row.lastEpoch
  IN IF \/ ~Recovers \/ EpochPerTransaction
        \/ request.type = "InitProducerId" \/ "Dead" \in {row.txn.state, row.pending.state}
        \/ ~IsSameId(last, row.txn.epoch)
     THEN Unknown ELSE last

(* X9.  Pending comes before everything else (KAFKA-18660).                 *)
AddPartitionsAnswer(row, m) ==
  CASE row.pending.state # "None" -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Dead" \/ ~IsSameId(m.epoch, row.txn.epoch) ->
         "INVALID_PRODUCER_ID_MAPPING"
    [] m.epoch # row.txn.epoch -> "PRODUCER_FENCED"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" /\ m.partition \in row.txn.partitions -> "NONE"
    [] OTHER -> "Append"

(* X10.  Pending is not looked at (KAFKA-14904): the guard makes up for it. *)
VerifyAnswer(row, m) ==
  CASE row.txn.state = "Dead" \/ ~IsSameId(m.epoch, row.txn.epoch) ->
         "INVALID_PRODUCER_ID_MAPPING"
    [] m.epoch # row.txn.epoch -> "INVALID_PRODUCER_EPOCH"
    [] row.txn.state \in Preparing -> "CONCURRENT_TRANSACTIONS"
    [] m.partition \in row.txn.partitions -> "NONE"
    [] OTHER -> "TRANSACTION_ABORTABLE"

(* A coordinator that another has replaced does not answer.  Kafka's does   *)
(* what needs no append until it unloads (X2, X5; Z72).                     *)
AnswersWhenDeposed == FALSE

IsEndPending(row) == row.pending.state \notin {"None", "PrepareEpochFence"}

(* X19.  A repeat, and the end of the next transaction, look the same.      *)
EndTxnAnswerV1(row, m) ==
  CASE row.txn.state = "Dead" \/ ~IsSameId(m.epoch, row.txn.epoch) ->
         "INVALID_PRODUCER_ID_MAPPING"
    [] m.epoch # row.txn.epoch -> "PRODUCER_FENCED"
    [] IsEndPending(row) -> "CONCURRENT_TRANSACTIONS"
    [] row.txn.state = "Ongoing" -> "Append"
    [] row.txn.state = CompletedAs(m.decision) -> "NONE"
    [] row.txn.state = Prepared(m.decision) -> "CONCURRENT_TRANSACTIONS"
    [] OTHER -> "INVALID_TXN_STATE"

(* The responses to a retry and to the present transaction. A commit after  *)
(* an abort by the coordinator is PRODUCER_FENCED (X20; KAFKA-20785).       *)
EndTxnAnswerV2(row, m) ==
  LET isRetry == row.txn.epoch \in {m.epoch + 1, CompletedEpoch(m.epoch + 1)}
      isCurrent == row.txn.epoch = m.epoch
      state == row.txn.state
  IN CASE IsEndPending(row) -> "CONCURRENT_TRANSACTIONS"
       \* The id before is known by the transition that ended it.
       [] \/ state = "Dead"
          \/ ~IsSameId(m.epoch, row.txn.epoch) /\ (~isRetry \/ state = "Ongoing") ->
            "INVALID_PRODUCER_ID_MAPPING"
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

(* The partitions whose marker this response confirms. Markers of one       *)
(* request may be appended at different times (X23, X24; KAFKA-17877).      *)
MarkedBy(row, m) == {m.partition}

(* X24.  Whether this answer to a marker is about the row's transaction.    *)
IsMarkerReplyCurrent(row, m) ==
  /\ m.coordinatorEpoch = row.coordinatorEpoch
  /\ row.txn.state = Prepared(m.decision) /\ m.epoch = row.txn.epoch

(* X22.  Whether a marker is sent again that was refused for what is none   *)
(* of the epochs' business, say its size.  Kafka 4.3.1 throws where it does *)
(* not expect the error, and nobody looks again (Z165).                     *)
RetriesRefusedMarker == TRUE

(* X25.  Whether somebody looks, once the last marker is acknowledged       *)
(* (KAFKA-9777).                                                            *)
IsCompletionSeen(row) == TRUE

-----------------------------------------------------------------------------
(* Partition: data, X11, X13, T1 to T3.                                     *)

(* Whether a sequence number distinguishes a batch from its copies. Offsets *)
(* sent to Kafka have none (X29; Z87).                                      *)
HasSequence(partition) == TRUE

(* T1, by counting: there is one batch of each transaction, but of offsets. *)
IsDuplicateBatch(producer, m) ==
  HasSequence(m.partition) /\ m.epoch = producer.epoch /\ m.sequence < producer.sequence

IsOngoing(producer, epoch) == producer.open /\ producer.epoch = epoch

(* X11.  A transaction's first batch here is verified first.                *)
NeedsVerification(producer, epoch) == ~IsOngoing(producer, epoch)

(* Guards are unique: another guard does not count for the one under which  *)
(* a batch arrived (X13).                                                   *)
IsGuarded(guard, v) == v.guarded

(* Whether a batch of the known epoch is the next one. If only a marker has *)
(* announced the epoch, the batch must be the first (X13).                  *)
IsInSequence(producer, m) ==
  m.sequence = IF producer.sequence = Unknown THEN 0 ELSE producer.sequence

(* While a guard exists, no batch above the lowest one under it is accepted *)
(* (X13; VerificationStateEntry.lowestSequence).                            *)
WaitsForLower(verifying, v) ==
  /\ v.guarded /\ HasSequence(v.request.partition)
  /\ \E w \in verifying : /\ w.guarded /\ w.request.epoch = v.request.epoch
                          /\ w.request.sequence < v.request.sequence

(* The error that refuses a batch. guarded: the guard under which it was    *)
(* verified still exists (X13).                                             *)
BatchError(producer, m, guarded) ==
  CASE m.epoch < producer.epoch -> "INVALID_PRODUCER_EPOCH"
    [] NeedsVerification(producer, m.epoch) /\ ~guarded -> "INVALID_TXN_STATE"
    [] ~HasSequence(m.partition) -> "NONE"
    [] m.epoch > producer.epoch /\ producer.epoch # Unknown /\ m.sequence # 0 ->
         "OUT_OF_ORDER_SEQUENCE_NUMBER"
    [] m.epoch = producer.epoch /\ ~IsInSequence(producer, m) ->
         "OUT_OF_ORDER_SEQUENCE_NUMBER"
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
(* Kafka 4.3.1 spares the first only (Z163).                                *)
MarkerClearsGuard(guard, m) == ~(EpochPerTransaction /\ guard >= m.epoch)

(* X30.  The group has applied a marker when it is acknowledged             *)
(* (KAFKA-17507).                                                           *)
IsAppliedAtOnce(offsets) == TRUE

-----------------------------------------------------------------------------
(* Partition: visible records, and forgotten producers (X16, X17).          *)

(* The high watermark: where the other replica's log ends, if there is one. *)
HighWatermark(row) == Len(IF row.follower.type = "None" THEN row.log ELSE row.follower.log)

(* X17.  The last stable offset: up to the high watermark, but not past the *)
(* first batch that has no marker below it.                                 *)
LastStableOffset(row) == DecidedUpTo(SubSeq(row.log, 1, HighWatermark(row)))

(* X17, X18.  How far readers of this isolation level are let.              *)
ReadUpTo(row, isolation) ==
  IF isolation = "read_committed" THEN LastStableOffset(row) ELSE HighWatermark(row)

(* The aborted transactions that a reader of offset+1 to end receives       *)
(* (X18).                                                                   *)
AbortedAmong(aborted, offset, end) == {t \in aborted : t.last > offset /\ t.first <= end}

(* X18.  What a reader of committed records drops.                          *)
IsDropped(aborted, at) == \E t \in aborted : t.first <= at /\ at <= t.last

(* X16.  A producer is forgotten a day after its last batch, by the clock of *)
(* the broker: later than anything here comes.                              *)
IsProducerExpired(producer) == FALSE

-----------------------------------------------------------------------------
(* Producers: errors, X32, X36.  What becomes of one that gets an error:    *)
(* "Retry", it asks again; "Abortable", its transaction can only be         *)
(* aborted; "Off", it is not initialised any more, and may be again; or it  *)
(* is unusable: "Fenced", another has its id; "Failed", it asked for what   *)
(* the state of its transaction does not allow; "Unusable", for any other   *)
(* reason.                                                                  *)

Retriable ==
  {"CONCURRENT_TRANSACTIONS", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE",
   "NOT_COORDINATOR", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
   "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "REQUEST_TIMED_OUT",
   "NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR"}
FencingErrors == {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
Denied == {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"}

AfterInitError(error) ==
  CASE error \in Retriable -> "Retry"
    [] error \in FencingErrors -> "Fenced"
    [] error \in Denied -> "Off"
    [] error = "TRANSACTION_ABORTABLE" -> "Abortable"
    [] OTHER -> "Unusable"

(* X28.  ofOffsets: the group's were to be added.  An error that nobody     *)
(* expects spares the producer only if partitions were.                     *)
AfterAddError(ofOffsets, error) ==
  CASE error \in Retriable -> "Retry"
    [] error \in FencingErrors -> "Fenced"
    [] error = "INVALID_TXN_STATE" -> "Failed"
    [] error \in {"INVALID_PRODUCER_ID_MAPPING", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"} ->
         "Unusable"
    [] error \in {"UNKNOWN_PRODUCER_ID", "TRANSACTION_ABORTABLE", "GROUP_AUTHORIZATION_FAILED"} ->
         "Abortable"
    [] OTHER -> IF ofOffsets THEN "Unusable" ELSE "Abortable"

(* An older epoch here does not imply another instance: the coordinator may *)
(* have aborted the transaction.                                            *)
AfterBatchError(error) ==
  CASE error \in Retriable -> "Retry"
    [] error = "PRODUCER_FENCED" -> "Fenced"
    [] error \in Denied \cup {"INVALID_PRODUCER_ID_MAPPING", "UNSUPPORTED_VERSION"} -> "Unusable"
    [] OTHER -> "Abortable"

(* X29.                                                                     *)
AfterOffsetsError(error) ==
  CASE error \in Retriable -> "Retry"
    [] error \in FencingErrors -> "Fenced"
    [] error = "INVALID_TXN_STATE" -> "Failed"
    [] error \in {"TRANSACTION_ABORTABLE", "GROUP_AUTHORIZATION_FAILED", "ILLEGAL_GENERATION",
                  "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"} -> "Abortable"
    [] OTHER -> "Unusable"

(* A producer that already aborts need not abort.                           *)
AfterEndError(decision, error) ==
  CASE error \in Retriable -> "Retry"
    [] error \in FencingErrors -> "Fenced"
    [] error = "INVALID_TXN_STATE" -> "Failed"
    [] /\ error \in {"UNKNOWN_PRODUCER_ID", "TRANSACTION_ABORTABLE"}
       /\ decision = "Commit" -> "Abortable"
    [] OTHER -> "Unusable"

(* The error of a batch that the coordinator refuses (X11).                 *)
PassedOn(error) == IF error = "PRODUCER_FENCED" THEN "INVALID_PRODUCER_EPOCH" ELSE error

(* X32.  Only what is whole is committed: no batch is unanswered, and none  *)
(* was refused or given up.                                                 *)
MayCommit(client) == client.status = "Open" /\ client.acked = client.sent

(* With version 1 the end of a transaction waits for requests in flight,    *)
(* except after an error, when an epoch separates them (X32).               *)
MayAbort(client) ==
  Recovers /\ ~EpochPerTransaction => client.status = "Abortable" \/ client.acked = client.sent

(* With version 1 a producer requests another epoch after an error that it  *)
(* survives, so that requests in flight arrive too late (X32; KIP-360).     *)
BumpsEpoch == ~EpochPerTransaction
=============================================================================
