"""Handle inputs of the transaction log and its coordinators (X1 to X10, X19 to X26).

It is the twin of TransactionCoordinator.tla, lifted as in Transactions.tla.

Law of this file: a handler is a pure function of the row and the input; what is decided is asked of
the rules. One coordinator's step is worked out on its own row, then put in its place: records go to
the end of the log, answers without an error to who asked.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.kit.tail_log import (
    last_of,
    with_appended,
    with_committed,
    with_found,
    with_leader,
)
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    COORDINATOR_INPUTS,
    NO_CLIENT,
    AbortListed,
    Acknowledged,
    AddPartitions,
    Allowed,
    AppendTimeout,
    Bumped,
    BumpEpoch,
    Elect,
    Ended,
    EndRefused,
    EndTxn,
    Expire,
    Fence,
    FindLeader,
    Initialized,
    InitProducerId,
    ListTimedOut,
    Loaded,
    LoseLeader,
    MarkerRefused,
    MarkerReply,
    MarkersAgain,
    MarkersDone,
    Message,
    NotAllowed,
    PartitionAdded,
    Refused,
    TransactionTimeout,
    TxnRecord,
    Verify,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.rules import (
    COMPLETED,
    PREPARING,
    RETRIABLE,
    TransactionRules,
    completed_as,
    decision_of,
    prepared,
)
from kraftcheck.reference.transactions.types import (
    INITIAL_RECORD,
    NO_REQUEST,
    NOTHING_PENDING,
    UNKNOWN,
    Coordinator,
    Coordinators,
    NobodyAsks,
    Pended,
    PendingTxn,
    Txn,
    no_coordinator,
    txn_of,
)

Request = InitProducerId | BumpEpoch | AddPartitions | Verify | EndTxn


class Answer(NamedTuple):
    request: Request
    error: str
    epoch: int


class Done(NamedTuple):
    """What one coordinator makes of an input."""

    row: Coordinator
    records: tuple[TxnRecord, ...] = ()
    sent: tuple[WriteTxnMarkers, ...] = ()
    answer: Answer | None = None


def refusal(row: Coordinator, m: Request, error: str) -> Done:
    return Done(row, answer=Answer(m, error, row.txn.epoch))


def begin(
    row: Coordinator,
    state: Pended,
    epoch: int,
    partitions: tuple[int, ...],
    request: InitProducerId | BumpEpoch | AddPartitions | EndTxn | None = None,
) -> Done:
    """The row with a transition begun, and its record in the log."""
    pending = PendingTxn(state, epoch, partitions, True, request or NO_REQUEST)
    # What has a record is a state of the transaction: the fence has none.
    record = TxnRecord(state, epoch, partitions, row.coordinator_epoch)  # type: ignore[arg-type]
    return Done(replace(row, pending=pending), (record,))


def fencing(row: Coordinator) -> Coordinator:
    """X8, the first lock: nothing is written yet."""
    return replace(row, pending=replace(NOTHING_PENDING, state="PrepareEpochFence"))


def without_last(row: Coordinator) -> Coordinator:
    """X8, the second: whoever aborts, no request for the epoch is repeated."""
    return replace(row, last_epoch=UNKNOWN)


class CoordinatorHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_max_coordinators", "rules")

    def __init__(self, rules: TransactionRules) -> None:
        self.rules = rules
        self._max_coordinators = rules.constants.max_coordinators
        self._handlers = handlers_of(self, COORDINATOR_INPUTS)

    def step(self, row: Coordinators, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](row, input)
        return outcome

    # --- Requests ---

    def handle_init_producer_id(self, row: Coordinators, m: InitProducerId) -> Outcome | None:
        rules, c = self.rules, current(row)
        epoch = rules.initialised_epoch(c.txn.epoch)
        return self._initialised(row, m, rules.init_producer_id_answer(c), epoch)

    def handle_bump_epoch(self, row: Coordinators, m: BumpEpoch) -> Outcome | None:
        rules, c = self.rules, current(row)
        return self._initialised(row, m, rules.bump_epoch_answer(c, m), rules.bumped_epoch(c, m))

    def _initialised(
        self, row: Coordinators, m: InitProducerId | BumpEpoch, answer: str, epoch: int
    ) -> Outcome | None:
        c = current(row)
        if not c.active:
            return None
        if answer == "Append":
            if c.txn.state == "Dead":
                epoch = self.rules.returned_epoch(c.txn.epoch)
            return self._lifted(row, begin(c, "Empty", epoch, (), m))
        if answer == "Fence":
            return self._lifted(row, Done(fencing(c)))
        return self._lifted(row, refusal(c, m, answer))

    def handle_add_partitions(self, row: Coordinators, m: AddPartitions) -> Outcome | None:
        """From a client (version 1), or from a partition's leader (version 2)."""
        c = coordinator_behind(row, m.behind)
        if c is None or not c.active:
            return None
        answer = self.rules.add_partitions_answer(c, m)
        if answer == "Append":
            added = tuple(sorted({*c.txn.partitions, m.partition}))
            return self._answering(row, begin(c, "Ongoing", c.txn.epoch, added, m))
        return self._answering(row, refusal(c, m, answer))

    def handle_verify(self, row: Coordinators, m: Verify) -> Outcome | None:
        c = coordinator_behind(row, m.behind)
        if c is None or not c.active:
            return None
        return self._answering(row, refusal(c, m, self.rules.verify_answer(c, m)))

    def handle_end_txn(self, row: Coordinators, m: EndTxn) -> Outcome | None:
        c, answer = current(row), self.rules.end_txn_answer(current(row), m)
        if not c.active:
            return None
        if answer != "Append":
            return self._lifted(row, refusal(c, m, answer))
        if c.pending.state == "PrepareEpochFence" and m.decision == "Commit":
            # Between the two locks of a fence: an exception, nothing is done.
            return self._lifted(row, refusal(c, m, "UNKNOWN_SERVER_ERROR"))
        epoch = self.rules.ended_epoch(c.txn.epoch)
        ending = without_last(c) if c.pending.state == "PrepareEpochFence" else c
        return self._lifted(row, begin(ending, prepared(m.decision), epoch, c.txn.partitions, m))

    # --- Time: X8, X26 ---

    def handle_transaction_timeout(
        self, row: Coordinators, input: TransactionTimeout
    ) -> Outcome | None:
        c = current(row)
        if not c.active or not _may_time_out(c):
            return None
        return self._lifted(row, Done(fencing(c)))

    def handle_list_timed_out(self, row: Coordinators, input: ListTimedOut) -> Outcome | None:
        """Abort the transactions that a sweep lists, one after the other.

        TransactionCoordinator.abortTimedOutTransactions.
        """
        c = current(row)
        if c.listed != UNKNOWN or not c.active or not _may_time_out(c):
            return None
        return self._lifted(row, Done(replace(c, listed=c.txn.epoch)))

    def handle_abort_listed(self, row: Coordinators, input: AbortListed) -> Outcome | None:
        c = current(row)
        if c.listed == UNKNOWN:
            return None
        left = replace(c, listed=UNKNOWN)
        aborts = self.rules.still_listed(c) and _may_time_out(c)
        return self._lifted(row, Done(fencing(left) if aborts else left))

    def handle_fence(self, row: Coordinators, input: Fence) -> Outcome | None:
        """The second lock. Before version 2 the epoch is in memory at once."""
        c = current(row)
        if c.pending.state != "PrepareEpochFence":
            return None
        epoch = self.rules.fenced_epoch(c.txn.epoch)
        begun = begin(without_last(c), "PrepareAbort", epoch, c.txn.partitions)
        if not self.rules.epoch_per_transaction:
            begun = begun._replace(row=replace(begun.row, txn=replace(c.txn, epoch=epoch)))
        return self._lifted(row, begun)

    def handle_expire(self, row: Coordinators, input: Expire) -> Outcome | None:
        """X27.

        A tombstone is written. "Dead" is what its row and record are here, as the next producer id
        must be a new one.
        """
        c = current(row)
        if not c.active or not self.rules.may_expire(c):
            return None
        return self._lifted(row, begin(c, "Dead", c.txn.epoch, ()))

    # --- What follows from a record: X1, X21 to X25 ---

    def handle_acknowledged(self, row: Coordinators, input: Acknowledged) -> Outcome | None:
        c = current(row)
        if not c.active or not c.pending.logged:
            return None
        txn, request = txn_of(c.pending), c.pending.request
        answer = None
        if not isinstance(request, NobodyAsks):
            ended = self.rules.end_answered_epoch
            epoch = ended(txn.epoch) if txn.state in PREPARING else txn.epoch
            answer = Answer(request, "NONE", epoch)
        if txn.state in PREPARING:
            waiting = self._waiting_for_markers(c, txn, row.leaderless)
            done = Done(waiting, (), self._markers_of(waiting, row.leaderless), answer)
        else:
            last = self.rules.last_epoch(c)
            after = replace(c, txn=txn, pending=NOTHING_PENDING, last_epoch=last)
            done = Done(after, answer=answer)
        return self._lifted(replace(row, log=with_committed(row.log)), done)

    def handle_append_timeout(self, row: Coordinators, input: AppendTimeout) -> Outcome | None:
        """X3.

        The old state stays, and the record stays in the log. A Complete record is written again.
        """
        c = current(row)
        if not c.pending.logged:
            return None
        again = replace(c.pending, logged=False)
        pending = NOTHING_PENDING if self.rules.is_taken_back(c) else again
        return self._lifted(row, Done(replace(c, pending=pending)))

    def handle_markers_again(self, row: Coordinators, input: MarkersAgain) -> Outcome | None:
        c = current(row)
        if not c.to_mark:
            return None
        return self._lifted(row, Done(c, sent=self._markers_of(c, row.leaderless)))

    def handle_marker_reply(self, row: Coordinators, m: MarkerReply) -> Outcome | None:
        c, marker = current(row), m.marker
        if marker.coordinator_epoch != row.leader_epoch or not c.active:
            return None
        if not self.rules.is_marker_reply_current(c, marker):
            return None
        marked = self.rules.marked_by(c, marker)
        left = tuple([p for p in c.to_mark if p not in marked])
        return self._lifted(row, Done(replace(c, to_mark=left)))

    def handle_marker_refused(self, row: Coordinators, input: MarkerRefused) -> Outcome | None:
        """X22.

        Where that is the end of it, nobody waits for the partition, and nobody completes what is
        decided.
        """
        c = current(row)
        if input.partition not in c.to_mark:
            return None
        if self.rules.retries_refused_marker():
            return Outcome(row)
        left = tuple([p for p in c.to_mark if p != input.partition])
        return self._lifted(row, Done(replace(c, to_mark=left, pending=NOTHING_PENDING)))

    def handle_markers_done(self, row: Coordinators, input: MarkersDone) -> Outcome | None:
        c = current(row)
        if c.pending.state not in COMPLETED or c.pending.logged or c.to_mark:
            return None
        if not self.rules.is_completion_seen(c):
            return None
        return self._lifted(row, begin(c, c.pending.state, c.pending.epoch, ()))

    # --- The log: elections, X4, X5; and what metadata says ---

    def handle_elect(self, row: Coordinators, input: Elect) -> Outcome | None:
        """X5: the old leader forgets its rows, unless they may answer yet."""
        n = row.leader_epoch
        if n == self._max_coordinators or input.tail not in row.log.tails:
            return None
        left = row if self.rules.answers_when_deposed() else with_row(row, no_coordinator(n))
        log = with_leader(row.log, input.tail)
        return Outcome(replace(left, leader_epoch=n + 1, log=log))

    def handle_loaded(self, row: Coordinators, input: Loaded) -> Outcome | None:
        """X4. The log has been read by its new leader."""
        c = current(row)
        record = last_of(row.log) if self.rules.reads_whole_log() else INITIAL_RECORD
        if c.active:
            return None
        if self.rules.acts_on_committed_only():
            row = replace(row, log=with_found(row.log))
        loaded = replace(c, active=True, txn=txn_of(record))
        if record.state not in PREPARING:
            return self._lifted(row, Done(loaded))
        waiting = self._waiting_for_markers(loaded, loaded.txn, row.leaderless)
        return self._lifted(row, Done(waiting, sent=self._markers_of(waiting, row.leaderless)))

    def handle_lose_leader(self, row: Coordinators, input: LoseLeader) -> Outcome | None:
        if input.partition in row.leaderless:
            return None
        leaderless = tuple(sorted({*row.leaderless, input.partition}))
        return Outcome(replace(row, leaderless=leaderless))

    def handle_find_leader(self, row: Coordinators, input: FindLeader) -> Outcome | None:
        if input.partition not in row.leaderless:
            return None
        left = tuple([p for p in row.leaderless if p != input.partition])
        return Outcome(replace(row, leaderless=left))

    # --- Markers ---

    def _waiting_for_markers(
        self, c: Coordinator, txn: Txn, leaderless: tuple[int, ...]
    ) -> Coordinator:
        epoch = self.rules.completed_epoch(txn.epoch)
        pending = replace(NOTHING_PENDING, state=completed_as(decision_of(txn.state)), epoch=epoch)
        where = self.rules.marker_destination
        to_mark = tuple([p for p in txn.partitions if where(p not in leaderless) != "Deleted"])
        return replace(c, txn=txn, pending=pending, to_mark=to_mark)

    def _markers_of(
        self, c: Coordinator, leaderless: tuple[int, ...]
    ) -> tuple[WriteTxnMarkers, ...]:
        decision, where = decision_of(c.txn.state), self.rules.marker_destination
        return tuple(
            [
                WriteTxnMarkers(COORDINATOR, p, p, c.txn.epoch, decision, c.coordinator_epoch)
                for p in c.to_mark
                if where(p not in leaderless) == "Leader"
            ]
        )

    # --- Lifting ---

    def _answering(self, row: Coordinators, done: Done) -> Outcome | None:
        """Only the leader appends.

        Of a deposed coordinator an answer may come that needs no append.
        """
        n = done.row.coordinator_epoch
        if n != row.leader_epoch:
            changes = done.records or done.row != row.coordinators[n - 1]
            if changes or not self.rules.answers_when_deposed():
                return None
        return self._lifted(row, done)

    def _lifted(self, row: Coordinators, done: Done) -> Outcome:
        after = with_row(row, done.row)
        if done.records:
            after = replace(after, log=with_appended(after.log, done.records))
        if done.answer is None:
            return Outcome(after, done.sent)
        if done.answer.error == "NONE":
            return Outcome(after, (*done.sent, self._told(done.answer)))
        refused = self._refused(done.answer)
        return Outcome(after, refused, "" if refused else done.answer.error)

    def _refused(self, answer: Answer) -> tuple[Message, ...]:
        """Refuse a producer that hears every error.

        Or at the end of a transaction with those errors that no producer survives.
        """
        m = answer.request
        if self.rules.constants.recovers:
            if answer.error in RETRIABLE:
                return ()
            if _is_for_partition(m):
                return (NotAllowed(COORDINATOR, m.source, m.epoch, answer.error),)
            assert not isinstance(m, Verify), "producers verify nothing"
            return (Refused(COORDINATOR, m.source, m, answer.error),)
        if not self.rules.constants.hears_errors or not isinstance(m, EndTxn):
            return ()
        match answer.error:
            case "PRODUCER_FENCED" | "INVALID_TXN_STATE" as error:
                return (EndRefused(COORDINATOR, m.source, m.txn, error),)
        return ()

    def _told(self, answer: Answer) -> Message:
        """Who hears an answer, and of what."""
        m = answer.request
        match m:
            case InitProducerId():
                return Initialized(COORDINATOR, m.source, answer.epoch)
            case BumpEpoch():
                return Bumped(COORDINATOR, m.source, m.epoch, answer.epoch)
            case EndTxn():
                return Ended(COORDINATOR, m.source, m.txn, answer.epoch)
            case AddPartitions() if not _is_for_partition(m):
                return PartitionAdded(COORDINATOR, m.source, m.partition)
        return Allowed(COORDINATOR, m.source, m.epoch)


def _is_for_partition(m: Request) -> TypeGuard[AddPartitions | Verify]:
    """Whether a partition's leader asks."""
    return isinstance(m, Verify) or (isinstance(m, AddPartitions) and m.client == NO_CLIENT)


def _may_time_out(c: Coordinator) -> bool:
    return c.txn.state == "Ongoing" and c.pending.state == "None"


def current(row: Coordinators) -> Coordinator:
    return row.coordinators[row.leader_epoch - 1]


def coordinator_behind(row: Coordinators, behind: int) -> Coordinator | None:
    """The one that a request comes to, if there was one."""
    at = row.leader_epoch - behind
    return row.coordinators[at - 1] if 1 <= at <= row.leader_epoch else None


def with_row(row: Coordinators, own: Coordinator) -> Coordinators:
    at = own.coordinator_epoch - 1
    if own == row.coordinators[at]:
        return row
    others = row.coordinators
    return replace(row, coordinators=(*others[:at], own, *others[at + 1 :]))
