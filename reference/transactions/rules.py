"""Every decision of transactions that has a name: the twin of TransactionRules.tla.

Law of this file: a rule is a pure function of its arguments and the constants; it sends nothing and
changes nothing. Each method has the name of its operator in snake case, the same parameters and the
same place in the order. A bug replaces some of them in a subclass and nothing else.

Epochs are counted through the producer ids of the transactional id: the k-th id, from 0, has those
from k * epochs_of_id on, so that a producer is known by its epoch.

Where Apache Kafka 4.3.1 decides otherwise, the correct rule stands here and Kafka's is a bug. What
is answered is an error, or "Append": a transition begins, and the answer waits until its record is
committed.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.transactions.messages import (
    AbortedTxn,
    AddPartitions,
    BumpEpoch,
    Decision,
    EndTxn,
    InitProducerId,
    Isolation,
    Produce,
    TxnState,
    Verification,
    Verify,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.types import (
    UNKNOWN,
    Client,
    Constants,
    Coordinator,
    KeptOffsets,
    LogEntry,
    PartitionLeader,
    Producer,
    committed,
)

PREPARING: Final = ("PrepareCommit", "PrepareAbort")
COMPLETED: Final = ("CompleteCommit", "CompleteAbort")
RETRIABLE: Final = frozenset(
    [
        *("CONCURRENT_TRANSACTIONS", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"),
        *("NOT_COORDINATOR", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
        *("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "REQUEST_TIMED_OUT"),
        *("NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR"),
    ]
)
FENCING_ERRORS: Final = frozenset(["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"])
DENIED: Final = frozenset(["TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"])


def prepared(decision: Decision) -> TxnState:
    return "PrepareCommit" if decision == "Commit" else "PrepareAbort"


def completed_as(decision: Decision) -> TxnState:
    return "CompleteCommit" if decision == "Commit" else "CompleteAbort"


def decision_of(state: str) -> Decision:
    return "Commit" if state in ("PrepareCommit", "CompleteCommit") else "Abort"


def decided_up_to(records: tuple[LogEntry, ...]) -> int:
    """How many records there are before the first batch that no marker follows."""
    kinds = [record.kind for record in records]
    after = len(kinds) - kinds[::-1].index("Marker") if "Marker" in kinds else 0
    return after + kinds[after:].index("Batch") if "Batch" in kinds[after:] else len(kinds)


class TransactionRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants", "epoch_per_transaction", "epochs_of_id")

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self.epoch_per_transaction = constants.version == 2
        # One more than producers are given: what the last one is fenced with.
        self.epochs_of_id = constants.max_epoch + 2

    # --- Coordinator ---

    def acts_on_committed_only(self) -> bool:
        """X4.

        A new leader of the log makes its state of nothing that is not committed. Kafka takes all
        that it has read.
        """
        return True

    def reads_whole_log(self) -> bool:
        """X4. A log that could not be read to its end is acted on by nobody (KAFKA-9307)."""
        return True

    def is_taken_back(self, row: Coordinator) -> bool:
        """X3.

        Whether a transition is taken back whose record could not be written. Complete is written
        again.
        """
        return row.pending.state not in COMPLETED

    def is_exhausted(self, epoch: int) -> bool:
        """X7. When a producer id has no epoch left to be given."""
        return epoch % self.epochs_of_id >= self.constants.max_epoch

    def next_producer_id(self, epoch: int) -> int:
        """X7, X20. The first epoch of the next producer id."""
        return (epoch // self.epochs_of_id + 1) * self.epochs_of_id

    def initialised_epoch(self, epoch: int) -> int:
        """X7. The epoch that a new instance of the producer is given."""
        return self.next_producer_id(epoch) if self.is_exhausted(epoch) else epoch + 1

    def fenced_epoch(self, epoch: int) -> int:
        """X8.

        The epoch with which the coordinator aborts: nobody's. The last number of a producer id is
        raised no more: the next one is that of another id
        (TransactionMetadata.prepareFenceProducerEpoch).
        """
        is_last = epoch % self.epochs_of_id > self.constants.max_epoch
        return epoch if is_last else epoch + 1

    def still_listed(self, row: Coordinator) -> bool:
        """X26.

        What was listed as over its timeout is aborted if it is still the transaction that was
        listed: with version 2 each has an epoch of its own (asked under the lock of its row).
        """
        return row.txn.epoch == row.listed

    def ended_epoch(self, epoch: int) -> int:
        """X19, X20. The epoch after a producer ended its transaction."""
        return epoch + 1 if self.epoch_per_transaction else epoch

    def completed_epoch(self, epoch: int) -> int:
        """X20.

        The epoch of a transaction that is complete, of the one that it was prepared with. Nobody is
        given the last one of a producer id.
        """
        is_last = epoch % self.epochs_of_id > self.constants.max_epoch
        return self.next_producer_id(epoch) if self.epoch_per_transaction and is_last else epoch

    def end_answered_epoch(self, epoch: int) -> int:
        """X21.

        What the producer is told at its end: the identity that it will have (KAFKA-18660).
        """
        return self.completed_epoch(epoch)

    def returned_epoch(self, epoch: int) -> int:
        """X27. An id that was forgotten comes back with a producer id of its own."""
        return self.next_producer_id(epoch)

    def may_expire(self, row: Coordinator) -> bool:
        """X27. An id is forgotten that has nothing under way."""
        rests = row.txn.state == "Empty" or row.txn.state in COMPLETED
        return self.constants.ids_expire and row.pending.state == "None" and rests

    def is_same_id(self, epoch: int, other: int) -> bool:
        """X9, X10, X19, X20. Epochs are compared within a producer id."""
        return epoch // self.epochs_of_id == other // self.epochs_of_id

    def init_producer_id_answer(self, row: Coordinator) -> str:
        """X6. An error, "Append" or "Fence"."""
        if row.pending.state != "None" or row.txn.state in PREPARING:
            return "CONCURRENT_TRANSACTIONS"
        return "Fence" if row.txn.state == "Ongoing" else "Append"

    def is_repeated_bump(self, row: Coordinator, m: BumpEpoch) -> bool:
        """X7.

        A request that names the epoch before is one whose answer was lost (KIP-360): a new instance
        would have taken that epoch away.
        """
        return m.epoch == row.last_epoch

    def bump_epoch_answer(self, row: Coordinator, m: BumpEpoch) -> str:
        """X7.

        A producer that has an epoch names it: it has the id, or has had the one before when that
        came to its end, or nobody has it any more.
        """
        answer, is_repeat = self.init_producer_id_answer(row), self.is_repeated_bump(row, m)
        if row.pending.state != "None" or row.txn.state == "Dead":
            return answer
        if not self.is_same_id(m.epoch, row.txn.epoch) and not is_repeat:
            return "PRODUCER_FENCED"
        if answer != "Append" or m.epoch == row.txn.epoch:
            return answer
        if self.is_exhausted(row.txn.epoch):
            # As in Kafka, which looks for the next epoch first, and throws.
            return "UNKNOWN_SERVER_ERROR"
        return answer if is_repeat else "PRODUCER_FENCED"

    def bumped_epoch(self, row: Coordinator, m: BumpEpoch) -> int:
        """X7. A repeat is given what the request was given."""
        epoch = row.txn.epoch
        return epoch if self.is_repeated_bump(row, m) else self.initialised_epoch(epoch)

    def last_epoch(self, row: Coordinator) -> int:
        """X7.

        The epoch before, once what is pending is done: what its producer named; of another id only
        until the next transition. Kept where producers ask for epochs.
        """
        request = row.pending.request
        last = request.epoch if isinstance(request, BumpEpoch) else row.last_epoch
        asked = self.constants.recovers and not self.epoch_per_transaction
        anew = isinstance(request, InitProducerId) or "Dead" in (row.txn.state, row.pending.state)
        kept = asked and not anew and self.is_same_id(last, row.txn.epoch)
        return last if kept else UNKNOWN

    def add_partitions_answer(self, row: Coordinator, m: AddPartitions) -> str:
        """X9. Pending comes before everything else (KAFKA-18660)."""
        if row.pending.state != "None":
            return "CONCURRENT_TRANSACTIONS"
        if row.txn.state == "Dead" or not self.is_same_id(m.epoch, row.txn.epoch):
            return "INVALID_PRODUCER_ID_MAPPING"
        if m.epoch != row.txn.epoch:
            return "PRODUCER_FENCED"
        if row.txn.state in PREPARING:
            return "CONCURRENT_TRANSACTIONS"
        if row.txn.state == "Ongoing" and m.partition in row.txn.partitions:
            return "NONE"
        return "Append"

    def verify_answer(self, row: Coordinator, m: Verify) -> str:
        """X10. Pending is not looked at (KAFKA-14904): the guard makes up for it."""
        if row.txn.state == "Dead" or not self.is_same_id(m.epoch, row.txn.epoch):
            return "INVALID_PRODUCER_ID_MAPPING"
        if m.epoch != row.txn.epoch:
            return "INVALID_PRODUCER_EPOCH"
        if row.txn.state in PREPARING:
            return "CONCURRENT_TRANSACTIONS"
        return "NONE" if m.partition in row.txn.partitions else "TRANSACTION_ABORTABLE"

    def answers_when_deposed(self) -> bool:
        """A coordinator that another has replaced does not answer.

        Kafka's does what needs no append until it unloads (X2, X5).
        """
        return False

    def is_end_pending(self, row: Coordinator) -> bool:
        return row.pending.state not in ("None", "PrepareEpochFence")

    def end_txn_answer_v1(self, row: Coordinator, m: EndTxn) -> str:
        """X19. A repeat, and the end of the next transaction, look the same."""
        if row.txn.state == "Dead" or not self.is_same_id(m.epoch, row.txn.epoch):
            return "INVALID_PRODUCER_ID_MAPPING"
        if m.epoch != row.txn.epoch:
            return "PRODUCER_FENCED"
        if self.is_end_pending(row):
            return "CONCURRENT_TRANSACTIONS"
        if row.txn.state == "Ongoing":
            return "Append"
        if row.txn.state == completed_as(m.decision):
            return "NONE"
        if row.txn.state == prepared(m.decision):
            return "CONCURRENT_TRANSACTIONS"
        return "INVALID_TXN_STATE"

    def end_txn_answer_v2(self, row: Coordinator, m: EndTxn) -> str:
        """X20.

        What a retry and the transaction at hand are told; commit after an abort by the coordinator
        is PRODUCER_FENCED (KAFKA-20785).
        """
        is_retry = row.txn.epoch in (m.epoch + 1, self.completed_epoch(m.epoch + 1))
        is_current = row.txn.epoch == m.epoch
        state, aborts = row.txn.state, m.decision == "Abort"
        if self.is_end_pending(row):
            return "CONCURRENT_TRANSACTIONS"
        # The id before is known by the transition that ended it.
        is_known = self.is_same_id(m.epoch, row.txn.epoch) or (is_retry and state != "Ongoing")
        if state == "Dead" or not is_known:
            return "INVALID_PRODUCER_ID_MAPPING"
        if not is_retry and not is_current:
            return "PRODUCER_FENCED"
        if state == "Ongoing":
            return "Append" if is_current else "PRODUCER_FENCED"
        if state == "Empty" and is_retry:
            return "PRODUCER_FENCED"
        if state in PREPARING:
            if not is_retry:
                return "PRODUCER_FENCED"
            same = state == prepared(m.decision)
            return "CONCURRENT_TRANSACTIONS" if same else "INVALID_TXN_STATE"
        if is_current:
            return "Append" if aborts else "INVALID_TXN_STATE"
        if state == completed_as(m.decision):
            return "NONE"
        return "INVALID_TXN_STATE" if aborts else "PRODUCER_FENCED"

    def end_txn_answer(self, row: Coordinator, m: EndTxn) -> str:
        if self.epoch_per_transaction:
            return self.end_txn_answer_v2(row, m)
        return self.end_txn_answer_v1(row, m)

    def marker_destination(self, has_leader: bool) -> str:
        """X22.

        Where the marker of a partition goes that has a leader, or none: "Leader", "Later" or
        "Deleted". Kafka 4.3.1 takes a partition without a leader for deleted.
        """
        return "Leader" if has_leader else "Later"

    def marked_by(self, row: Coordinator, m: WriteTxnMarkers) -> tuple[int, ...]:
        """X23, X24.

        The partitions that have their marker by this answer: those of one request may be appended
        at different times (KAFKA-17877).
        """
        return (m.partition,)

    def is_marker_reply_current(self, row: Coordinator, m: WriteTxnMarkers) -> bool:
        """X24. Whether this answer to a marker is about the row's transaction."""
        return (
            m.coordinator_epoch == row.coordinator_epoch
            and row.txn.state == prepared(m.decision)
            and m.epoch == row.txn.epoch
        )

    def retries_refused_marker(self) -> bool:
        """X22.

        Whether a marker is sent again that was refused for what is none of the epochs' business,
        say its size. Kafka 4.3.1 throws where it does not expect the error, and nobody looks again.
        """
        return True

    def is_completion_seen(self, row: Coordinator) -> bool:
        """X25. Whether somebody looks, once the last marker is acknowledged (KAFKA-9777)."""
        return True

    # --- Partition: data, X11, X13, T1 to T3 ---

    def has_sequence(self, partition: int) -> bool:
        """X29.

        Whether a batch is told from its copies by its sequence number. Offsets that Kafka is sent
        have none.
        """
        return True

    def is_duplicate_batch(self, producer: Producer, m: Produce) -> bool:
        """T1, by counting: there is one batch of each transaction, but of offsets."""
        if not self.has_sequence(m.partition):
            return False
        return m.epoch == producer.epoch and m.sequence < producer.sequence

    def is_ongoing(self, producer: Producer, epoch: int) -> bool:
        return producer.open and producer.epoch == epoch

    def needs_verification(self, producer: Producer, epoch: int) -> bool:
        """X11. A transaction's first batch here is verified first."""
        return not self.is_ongoing(producer, epoch)

    def is_guarded(self, guard: int, v: Verification) -> bool:
        """X13. Guards are unique: another one does not stand for the one that a batch came with."""
        return v.guarded

    def is_in_sequence(self, producer: Producer, m: Produce) -> bool:
        """X13.

        Whether a batch of the epoch that is known here is the next one. Where only a marker has
        told of the epoch, it is the first.
        """
        return m.sequence == (0 if producer.sequence == UNKNOWN else producer.sequence)

    def waits_for_lower(self, verifying: tuple[Verification, ...], v: Verification) -> bool:
        """X13.

        While a guard stands no batch is let in above the lowest that has come under it
        (VerificationStateEntry.lowestSequence).
        """
        m = v.request
        if not v.guarded or not self.has_sequence(m.partition):
            return False
        waiting = [w.request for w in verifying if w.guarded and w.request.epoch == m.epoch]
        return any(each.sequence < m.sequence for each in waiting)

    def batch_error(self, producer: Producer, m: Produce, guarded: bool) -> str:
        """X13.

        What a batch is refused for; guarded: the guard under which it was verified is still the one
        that stands here.
        """
        if m.epoch < producer.epoch:
            return "INVALID_PRODUCER_EPOCH"
        if self.needs_verification(producer, m.epoch) and not guarded:
            return "INVALID_TXN_STATE"
        if not self.has_sequence(m.partition):
            return "NONE"
        is_new, is_first = m.epoch != producer.epoch, m.sequence == 0
        if is_new and not is_first and (producer.epoch != UNKNOWN or self.epoch_per_transaction):
            return "OUT_OF_ORDER_SEQUENCE_NUMBER"
        if not is_new and not self.is_in_sequence(producer, m):
            return "OUT_OF_ORDER_SEQUENCE_NUMBER"
        return "NONE"

    # --- Partition: markers, X14 ---

    def marker_epoch_ok(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        """A marker of this epoch ends what is open.

        With an epoch for each transaction it is above the transaction's own (KIP-1228).
        """
        if self.epoch_per_transaction:
            return m.epoch > producer.epoch
        return m.epoch >= producer.epoch

    def marker_repeat_ok(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        """A marker that comes again, after which nothing was begun (KAFKA-19999)."""
        return m.epoch == producer.epoch and not producer.open

    def is_coordinator_fenced(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        """T4. Of a coordinator that was replaced."""
        return m.coordinator_epoch < producer.coordinator_epoch

    def marker_error(self, producer: Producer, m: WriteTxnMarkers) -> str:
        if not self.marker_epoch_ok(producer, m) and not self.marker_repeat_ok(producer, m):
            return "INVALID_PRODUCER_EPOCH"
        if self.is_coordinator_fenced(producer, m):
            return "TRANSACTION_COORDINATOR_FENCED"
        return "NONE"

    def marker_clears_guard(self, guard: int, m: WriteTxnMarkers) -> bool:
        """Say whether a marker clears a guard of this epoch.

        A guard of the marker's own epoch belongs to the next transaction (KAFKA-18575,
        KAFKA-18654), one of a larger epoch to one after that. Kafka 4.3.1 spares the first only.
        """
        return not (self.epoch_per_transaction and guard >= m.epoch)

    def is_applied_at_once(self, offsets: KeptOffsets) -> bool:
        """X30. The group has applied a marker when it is acknowledged (KAFKA-17507)."""
        return True

    # --- Partition: what is shown and what is forgotten, X16, X17 ---

    def high_watermark(self, row: PartitionLeader) -> int:
        """Where the other replica's log ends, if there is one."""
        return len(committed(row).log)

    def last_stable_offset(self, row: PartitionLeader) -> int:
        """X17.

        Up to the high watermark, but not past the first batch that has no marker below it.
        """
        return decided_up_to(row.log[: self.high_watermark(row)])

    def read_up_to(self, row: PartitionLeader, isolation: Isolation) -> int:
        """X17, X18. How far readers of this isolation level are let."""
        committed_only = isolation == "read_committed"
        return self.last_stable_offset(row) if committed_only else self.high_watermark(row)

    def aborted_among(
        self, aborted: tuple[AbortedTxn, ...], offset: int, end: int
    ) -> tuple[AbortedTxn, ...]:
        """X18. Of the index of aborted transactions, what a reader of offset + 1 to end is told."""
        return tuple([t for t in aborted if t.last > offset and t.first <= end])

    def is_dropped(self, aborted: tuple[AbortedTxn, ...], at: int) -> bool:
        """X18. What a reader of committed records drops."""
        return any(t.first <= at <= t.last for t in aborted)

    def is_producer_expired(self, producer: Producer) -> bool:
        """X16.

        A producer is forgotten a day after its last batch, by the clock of the broker: later than
        anything here comes.
        """
        return False

    # --- Producers: errors, X32, X36

    # What becomes of one that is told an error: "Retry", it asks again; "Abortable", its
    # transaction can only be aborted; "Off", it is not initialised any more, and may be again; or
    # it is unusable: "Fenced", another has its id; "Failed", it asked for what the state of its
    # transaction does not allow; "Unusable", for any other reason.

    def after_init_error(self, error: str) -> str:
        if error in RETRIABLE:
            return "Retry"
        if error in FENCING_ERRORS:
            return "Fenced"
        if error in DENIED:
            return "Off"
        return "Abortable" if error == "TRANSACTION_ABORTABLE" else "Unusable"

    def after_add_error(self, of_offsets: bool, error: str) -> str:
        """X28.

        of_offsets: the group's were to be added. An error that nobody expects spares the producer
        only if partitions were.
        """
        if error in RETRIABLE:
            return "Retry"
        if error in FENCING_ERRORS:
            return "Fenced"
        match error:
            case "INVALID_TXN_STATE":
                return "Failed"
            case "INVALID_PRODUCER_ID_MAPPING" | "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
                return "Unusable"
            case "UNKNOWN_PRODUCER_ID" | "TRANSACTION_ABORTABLE" | "GROUP_AUTHORIZATION_FAILED":
                return "Abortable"
        return "Unusable" if of_offsets else "Abortable"

    def after_batch_error(self, error: str) -> str:
        """Say what a producer does after an error of a batch.

        An older epoch here says nothing of other instances: the coordinator may have aborted the
        transaction.
        """
        if error in RETRIABLE:
            return "Retry"
        if error == "PRODUCER_FENCED":
            return "Fenced"
        lost = error in ("INVALID_PRODUCER_ID_MAPPING", "UNSUPPORTED_VERSION")
        return "Unusable" if lost or error in DENIED else "Abortable"

    def after_offsets_error(self, error: str) -> str:
        """X29."""
        if error in RETRIABLE:
            return "Retry"
        if error in FENCING_ERRORS:
            return "Fenced"
        match error:
            case "INVALID_TXN_STATE":
                return "Failed"
            case "TRANSACTION_ABORTABLE" | "GROUP_AUTHORIZATION_FAILED" | "ILLEGAL_GENERATION":
                return "Abortable"
            case "UNKNOWN_MEMBER_ID" | "FENCED_INSTANCE_ID":
                return "Abortable"
        return "Unusable"

    def after_end_error(self, decision: Decision, error: str) -> str:
        """Who aborts already cannot be told to."""
        if error in RETRIABLE:
            return "Retry"
        if error in FENCING_ERRORS:
            return "Fenced"
        match error:
            case "INVALID_TXN_STATE":
                return "Failed"
            case "UNKNOWN_PRODUCER_ID" | "TRANSACTION_ABORTABLE" if decision == "Commit":
                return "Abortable"
        return "Unusable"

    def passed_on(self, error: str) -> str:
        """X11. What a producer is told of its batch when the coordinator refuses."""
        return "INVALID_PRODUCER_EPOCH" if error == "PRODUCER_FENCED" else error

    def may_commit(self, client: Client) -> bool:
        """X32.

        Only what is whole is committed: no batch is unanswered, and none was refused or given up.
        """
        return client.status == "Open" and client.acked == client.sent

    def may_abort(self, client: Client) -> bool:
        """X32.

        With version 1 the end waits for what is under way, unless there is an error: then an epoch
        stands between.
        """
        if not self.constants.recovers or self.epoch_per_transaction:
            return True
        return client.status == "Abortable" or client.acked == client.sent

    def bumps_epoch(self) -> bool:
        """X32.

        With version 1 a producer asks for another epoch after an error that it has survived, so
        that what is still under way comes too late (KIP-360).
        """
        return not self.epoch_per_transaction
