"""A violation of each property of transactions: one state in order changes, and what it breaks."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.transactions.messages import COORDINATOR, EndTxn, TxnRecord
from kraftcheck.reference.transactions.properties import Decided, EndAnswer, History
from kraftcheck.reference.transactions.protocol import TRANSACTIONS
from kraftcheck.reference.transactions.types import (
    INITIAL_OFFSETS,
    NOTHING_PENDING,
    Constants,
    Follower,
    LogEntry,
    PartitionLeader,
    Producer,
    Read,
    Reader,
    SentOffsets,
    Txn,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants(
    (11, 12, 13), 2, (1, 2), 3, offsets=(13,), read_committed=(21,), read_uncommitted=(31,)
)
"""Of data, and one of offsets; a reader of each isolation level."""


def first_rows() -> Rows:
    return {**initial_rows(TRANSACTIONS, TWO), HISTORY: History()}


def batch(txn: int, epoch: int, client: int = 1) -> LogEntry:
    return LogEntry("Batch", txn, client, epoch, "None")


def sent(txn: int, sequence: int, epoch: int = 0) -> LogEntry:
    """Offsets, of the first producer."""
    return LogEntry("Batch", txn, 1, epoch, "None", sequence)


def offsets(committed: tuple[int, int], *log: LogEntry) -> PartitionLeader:
    """committed: transaction and number of those that the group is told. The log ends with none
    that are pending.
    """
    kept = replace(INITIAL_OFFSETS, committed=SentOffsets(*committed))
    return replace(partition(*log), offsets=kept)


def marker(decision: Any, epoch: int) -> LogEntry:
    return LogEntry("Marker", 0, 0, epoch, decision)


def partition(*log: LogEntry) -> PartitionLeader:
    """With the producer state that its log has."""
    last = log[-1]
    return PartitionLeader(log, Producer(last.epoch, 1, -1, last.kind == "Batch"), -1, ())


COMMITTED: Final = (batch(1, 0), marker("Commit", 1))
ABORTED: Final = (batch(1, 0), marker("Abort", 1))
_ENDED: Final = Decided("PrepareCommit", 1, (11, 12)), Decided("CompleteCommit", 1, ())


def settled() -> Rows:
    """Transaction 1 was committed in both partitions, and its producer told so."""
    rows = first_rows()
    history = History(frozenset(_ENDED), frozenset({EndAnswer(1, "Commit", 1)}), frozenset({1}))
    both = {11: partition(*COMMITTED), 12: partition(*COMMITTED)}
    log = rows[COORDINATOR]
    committed = TxnRecord("CompleteCommit", 1, (), 1)
    own = replace(log.coordinators[0], txn=Txn("CompleteCommit", 1, ()))
    log = replace(
        log,
        coordinators=(own, *log.coordinators[1:]),
        log=replace(log.log, committed=committed),
    )
    ready = replace(rows[1], epoch=1)
    return {**rows, **both, 1: ready, COORDINATOR: log, HISTORY: history}


def _plant(violates: str, changed: Rows, **history: Any) -> Plant:
    before = settled()
    past = replace(before[HISTORY], **history)
    before[HISTORY] = replace(before[HISTORY], handed_out=past.handed_out)
    return Plant(violates, before, {**before, **changed, HISTORY: past})


def _reader(r: int, position: int, *shown: int) -> Rows:
    """It has got as far in the first partition."""
    return {r: Reader((Read(position, shown), *settled()[r].read[1:]))}


def _coordinator(**fields: Any) -> Rows:
    log = settled()[COORDINATOR]
    own = replace(log.coordinators[0], **fields)
    return {COORDINATOR: replace(log, coordinators=(own, *log.coordinators[1:]))}


def _swept(listed: int) -> tuple[Rows, Rows]:
    """A transaction of epoch 1 is aborted, as one of this epoch was listed."""
    fence = replace(NOTHING_PENDING, state="PrepareEpochFence")
    before, after = _coordinator(listed=listed), _coordinator(pending=fence)
    return {**settled(), **before}, {**settled(), **after}


def _of_epoch(epoch: int) -> Any:
    ended = EndTxn(1, COORDINATOR, 1, epoch, "Commit", 1)
    return replace(NOTHING_PENDING, state="PrepareCommit", logged=True, request=ended)


def _of_pending() -> tuple[Plant, ...]:
    begun = replace(NOTHING_PENDING, state="Ongoing", epoch=1)
    return (
        _plant("PendingIsLocal", _coordinator(pending=begun)),
        _plant("PendingIsLocal", _coordinator(pending=replace(begun, logged=True))),
        _plant("PendingIsLocal", _coordinator(pending=replace(begun, state="CompleteAbort"))),
    )


def _of_readers() -> tuple[Plant, ...]:
    return (
        _plant("TransactionTypeInv", _reader(21, 1, 2)),
        _plant("ReadersSeeCommitted", _reader(21, 1)),
        _plant("ReadersSeeCommitted", _reader(21, 3, 1)),
        _plant("ReadersSeeCommitted", {**_reader(21, 1, 1), 11: partition(*ABORTED)}),
        _plant("ReadersSeeCommitted", {**_reader(21, 1, 1), 11: partition(batch(1, 0))}),
        _plant("ReadersSeeAll", _reader(31, 1)),
        _plant("ReadersSeeAll", _reader(31, 3, 1)),
    )


def _of_several(rows: Rows, ending: Rows) -> tuple[Plant, ...]:
    """None of a transaction, or one of two. ending: the producer has asked for a commit."""
    second = replace(batch(2, 1), sequence=1)
    first_only = partition(replace(batch(9, 0), sequence=0))
    lacking = {**ending, 1: replace(ending[1], sequences=(2, 0, 0)), 11: first_only}
    return (
        Plant("CommitIsWhole", ending, rows),
        Plant("CommitIsWhole", lacking, {**rows, 11: first_only}),
        _plant("NoGaps", {11: partition(*COMMITTED, second)}),
    )


def plants() -> tuple[Plant, ...]:
    rows = settled()
    told_abort = frozenset({EndAnswer(1, "Abort", 1)})
    log = rows[COORDINATOR]
    active = replace(log.coordinators[1], active=True)
    both_ready = {2: replace(rows[2], status="Ready", epoch=1)}
    open_now = partition(*COMMITTED, batch(2, 1))
    known = Txn("Ongoing", 1, (12,))
    both = Decided("PrepareAbort", 1, ())
    over = Decided("PrepareAbort", TWO.max_epoch + 2, ())
    twice = partition(batch(1, 0), batch(1, 0), marker("Commit", 1))
    reordered = partition(batch(2, 0), batch(1, 0), marker("Commit", 1))
    both_told = frozenset({EndAnswer(1, "Commit", 1), EndAnswer(2, "Commit", 1)})
    wrong = replace(rows[11].producer, epoch=5)
    earlier = {11: replace(rows[11], producer=replace(rows[11].producer, coordinator_epoch=0))}
    older = {
        COORDINATOR: replace(log, log=replace(log.log, committed=TxnRecord("Empty", 0, (), 1)))
    }
    whole = rows[11]
    fetched = Follower(whole.log, whole.producer, len(whole.log))
    replicated = {**rows, 11: replace(whole, follower=fetched)}
    lagging = replace(fetched, log=whole.log[:1], producer=partition(*whole.log[:1]).producer)
    told = (sent(1, 0), sent(1, 1), marker("Commit", 1))
    below = {**rows, 11: replace(whole, follower=replace(fetched, stable=0))}
    ending = {**rows, 1: replace(rows[1], status="Ending", txn=9, sent=(11,), decision="Commit")}
    return (
        *_of_readers(),
        *_of_pending(),
        *_of_several(rows, ending),
        Plant("AbortedIsListed", *_swept(listed=0)),
        _plant("TransactionTypeInv", _coordinator(to_mark=(11,))),
        _plant(
            "TransactionTypeInv",
            {COORDINATOR: replace(log, coordinators=(log.coordinators[0], active, active))},
        ),
        _plant("ProducerStateIsOfLog", {11: replace(rows[11], producer=wrong)}),
        _plant("ProducerStateIsOfLog", {11: replace(rows[11], log=())}),
        _plant("TxnAtomic", {12: partition(*ABORTED)}),
        _plant("AckedCommit", {11: partition(*ABORTED), 12: partition(*ABORTED)}),
        _plant("AbortedInvisible", {}, told=told_abort),
        _plant("CommitWasAsked", {}, asked=frozenset()),
        _plant("DecidedBeforeMarked", {}, decided=frozenset(_ENDED[1:])),
        _plant("OneDecision", {12: partition(*ABORTED)}),
        _plant("OneDecision", {}, told=told_abort),
        _plant("OnePreparedDecision", {}, decided=frozenset({*_ENDED, both})),
        _plant("LogMatchesMarkers", {12: partition(batch(1, 0))}),
        _plant("LogMatchesMarkers", {}, decided=frozenset(_ENDED[1:])),
        _plant("ZombieCommitsNothing", {}, late=frozenset({(11, 1)})),
        _plant("ExactlyOnceAppend", {11: twice}),
        _plant("ExactlyOnceAppend", {11: reordered}, told=both_told, asked=frozenset({1, 2})),
        _plant("OffsetsAtomicWithRecords", {13: offsets((2, 0), *told)}),
        _plant("OffsetsAtomicWithRecords", {13: offsets((0, -1), *told)}),
        _plant("OffsetsAtomicWithRecords", {13: offsets((1, 0), *told)}),
        _plant("OffsetsAtomicWithRecords", {11: partition(*ABORTED), 13: offsets((1, 1), *told)}),
        _plant("ExactlyOnceInputs", {13: offsets((1, 0), sent(1, 1), *told[:1], told[-1])}),
        _plant("NoHanging", {11: open_now}),
        _plant("NoHanging", {11: open_now, **_coordinator(txn=known)}),
        _plant("EpochsInBounds", {1: replace(rows[1], epoch=TWO.max_epoch + 1)}),
        _plant("EpochsInBounds", {}, decided=frozenset({*_ENDED, over})),
        _plant("FencedByOthers", {1: replace(rows[1], status="Fenced")}),
        _plant("EndNotRefused", {1: replace(rows[1], status="Failed", decision="Abort")}),
        _plant("EpochHeldOnce", both_ready),
        _plant("EpochMonotonic", older),
        _plant("EpochMonotonic", earlier),
        _plant("ZombieFenced", _coordinator(pending=_of_epoch(0)), handed_out=2),
        Plant("GuardKept", {**rows, 12: replace(rows[12], guard=1)}, rows),
        _plant("LsoBounds", {11: replace(whole, follower=replace(lagging, stable=1))}),
        _plant("LsoBounds", {11: replace(whole, follower=replace(lagging, stable=2))}),
        Plant("LsoMonotonic", replicated, below),
    )


PLANTED: Final = Planted(TRANSACTIONS, TWO, first_rows(), settled(), plants())
