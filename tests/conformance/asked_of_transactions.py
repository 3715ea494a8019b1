"""What transactions are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    AbortedTxn,
    AddPartitions,
    BumpEpoch,
    EndTxn,
    InitProducerId,
    Produce,
    Verification,
    Verify,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.rules import DENIED, FENCING_ERRORS, RETRIABLE
from kraftcheck.reference.transactions.types import (
    INITIAL_OFFSETS,
    NO_REQUEST,
    NOTHING_PENDING,
    UNKNOWN,
    UNKNOWN_PRODUCER,
    Client,
    Coordinator,
    Follower,
    PartitionLeader,
    Producer,
    Txn,
    initial_client,
)
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.plain import Rows
from tests.reference.transactions.plants import PLANTED, TWO, batch, marker
from tla_utils import Record, function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(TWO).row
    log, past = rows[COORDINATOR], rows[HISTORY]
    whole: Any = form(log)
    tails = frozenset(tail["records"] for tail in whole["log"]["tails"])
    asked = [EndTxn(1, 0, 1, 0, "Commit", txn) for txn in sorted(past.asked)]
    asked += [EndTxn(1, 0, 1, epoch, "Abort", 0) for epoch in sorted(past.aborts)]
    return {
        "coordinators": whole["coordinators"],
        "leaderEpoch": log.leader_epoch,
        "log": Record({**whole["log"], "tails": tails}),
        "partitions": function((p, form(rows[p])) for p in TWO.partitions),
        "leaderless": whole["leaderless"],
        "clients": function((c, form(rows[c])) for c in TWO.clients),
        "readers": function((r, form(rows[r])) for r in (21, 31)),
        "network": frozenset(form(each) for each in asked),
        "decided": frozenset(
            Record(state=d.state, epoch=d.epoch, partitions=frozenset(d.partitions))
            for d in past.decided
        ),
        "told": frozenset(Record(t._asdict()) for t in past.told),
        "handedOut": past.handed_out,
        "late": frozenset(past.late),
    }


STATES = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
    "Dead",
)
PENDED = ("None", "PrepareEpochFence", "Ongoing", "CompleteAbort")


def rows_of_coordinators() -> Iterator[Coordinator]:
    """With max_epoch 1, epoch 3 is of another producer id than epoch 2."""
    here = ((2, ()), (2, (11,)), (3, (11,)))
    for state, pended, (epoch, partitions) in itertools.product(STATES, PENDED, here):
        pending = replace(NOTHING_PENDING, state=pended)
        # Any of STATES.
        txn = Txn(state, epoch, partitions)  # type: ignore[arg-type]
        yield Coordinator(True, 2, txn, pending, ())


def producers() -> Iterator[Producer]:
    for epoch, coordinator, sequence, is_open in itertools.product(
        (-1, 1, 2), (1, 2), (-1, 0, 1), (False, True)
    ):
        yield Producer(epoch, coordinator, sequence, is_open)


def leaders() -> Iterator[PartitionLeader]:
    entries = (batch(1, 0), marker("Commit", 1))
    for length in range(5):
        for records in itertools.product(entries, repeat=length):
            for end in range(length + 1):
                other = Follower(records[:end], UNKNOWN_PRODUCER, 0)
                yield PartitionLeader(records, UNKNOWN_PRODUCER, -1, (), other)


ERRORS = (
    *sorted(RETRIABLE | FENCING_ERRORS | DENIED),
    *("INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING", "UNKNOWN_PRODUCER_ID"),
    *("TRANSACTION_ABORTABLE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "TIMED_OUT"),
    *("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "ILLEGAL_GENERATION"),
    *("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "STALE_MEMBER_EPOCH", "UNSUPPORTED_VERSION"),
    "UNKNOWN_SERVER_ERROR",
)


def clients() -> Iterator[Client]:
    for status in ("Open", "Abortable"):
        for acked in ((), (11,), (11, 12)):
            yield replace(initial_client(TWO, status), sent=(11, 12), acked=acked)


def of_readers() -> Iterator[tuple[str, tuple[Any, ...]]]:
    index = (AbortedTxn(1, 2), AbortedTxn(4, 6))
    for row in leaders():
        yield ("HighWatermark", (row,))
        yield from (("ReadUpTo", (row, f"read_{each}")) for each in ("committed", "uncommitted"))
    for aborted in ((), index[:1], index):
        yield from (("AbortedAmong", (aborted, o, e)) for o in range(6) for e in range(o, 7))
        yield from (("IsDropped", (aborted, at)) for at in range(1, 8))


def of_producers() -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield ("BumpsEpoch", ())
    yield from ((rule, (row,)) for row in clients() for rule in ("MayCommit", "MayAbort"))
    for error in ERRORS:
        for of in ("Init", "Batch", "Offsets"):
            yield (f"After{of}Error", (error,))
        yield from (("AfterAddError", (of_offsets, error)) for of_offsets in (False, True))
        yield from (("AfterEndError", (decision, error)) for decision in ("Commit", "Abort"))
        yield ("PassedOn", (error,))


def of_bumps(row: Coordinator) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Of a row whose producer was given its epoch for another one, and of what it asks then."""
    first = InitProducerId(1, 0, 1)
    for last, epoch in itertools.product((UNKNOWN, 0, 1), (0, 1, 2, 4)):
        asked, m = replace(row, last_epoch=last), BumpEpoch(1, 0, 1, epoch)
        yield from ((rule, (asked, m)) for rule in ("IsRepeatedBump", "BumpEpochAnswer"))
        yield ("BumpedEpoch", (asked, m))
        for request in (NO_REQUEST, first, m):
            yield ("LastEpoch", (replace(asked, pending=replace(row.pending, request=request)),))


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    yield from (("ActsOnCommittedOnly", ()), ("AnswersWhenDeposed", ()), ("ReadsWholeLog", ()))
    yield from (
        (rule, (epoch,))
        for rule in (
            *("IsExhausted", "NextProducerId", "InitialisedEpoch", "FencedEpoch", "EndedEpoch"),
            *("CompletedEpoch", "EndAnsweredEpoch", "ReturnedEpoch"),
        )
        for epoch in (0, 1, 2, 3)
    )
    yield from (("IsSameId", (epoch, 1)) for epoch in (-1, 0, 1, 2, 3, 4))
    yield from (("HasSequence", (p,)) for p in TWO.partitions)
    yield ("IsAppliedAtOnce", (INITIAL_OFFSETS,))
    yield from (("MarkerDestination", (has,)) for has in (False, True))
    yield ("RetriesRefusedMarker", ())
    adds = [AddPartitions(1, 0, 1, p, e, 0) for p in (11, 12) for e in (1, 2)]
    verifies = [Verify(11, 0, p, e, 0) for p in (11, 12) for e in (1, 2)]
    ends = [EndTxn(1, 0, 1, e, d, 1) for e in (0, 1, 2) for d in ("Commit", "Abort")]
    markers = [
        WriteTxnMarkers(0, 11, 11, e, d, c)
        for e in (1, 2, 3)
        for d in ("Commit", "Abort")
        for c in (1, 2)
    ]
    batches = [Produce(1, 11, 1, 11, e, 1, s) for e in (0, 1, 2, 3) for s in (0, 1, 2)]
    for row in rows_of_coordinators():
        of_row = (
            *("InitProducerIdAnswer", "IsEndPending", "IsCompletionSeen", "MayExpire"),
            "IsTakenBack",
        )
        yield from ((rule, (row,)) for rule in of_row)
        yield from (("AddPartitionsAnswer", (row, m)) for m in adds)
        yield from (("VerifyAnswer", (row, m)) for m in verifies)
        yield from of_bumps(row)
        yield from (("StillListed", (replace(row, listed=epoch),)) for epoch in (1, 2))
        for rule in ("EndTxnAnswerV1", "EndTxnAnswerV2", "EndTxnAnswer"):
            yield from ((rule, (row, m)) for m in ends)
        for rule in ("MarkedBy", "IsMarkerReplyCurrent"):
            yield from ((rule, (row, m)) for m in markers)
    guarded = [Verification(batches[0], g, True) for g in (False, True)]
    yield from (("IsGuarded", (guard, v)) for guard in (-1, 0) for v in guarded)
    waiting = [
        Verification(replace(batches[0], sequence=sequence), g, True)
        for sequence in (0, 1)
        for g in (False, True)
    ]
    yield from (("WaitsForLower", (tuple(sorted(waiting)), v)) for v in waiting)
    others = [*waiting, Verification(replace(batches[0], epoch=1), True, True)]
    yield from (("WaitsForLower", ((each,), v)) for each in others for v in waiting)
    yield from (("LastStableOffset", (row,)) for row in leaders())
    for producer in producers():
        yield ("IsProducerExpired", (producer,))
        yield from (("IsDuplicateBatch", (producer, m)) for m in batches)
        yield from ((rule, (producer, 1)) for rule in ("IsOngoing", "NeedsVerification"))
        yield from (("BatchError", (producer, m, g)) for m in batches for g in (False, True))
        yield from (("IsInSequence", (producer, m)) for m in batches)
        for rule in ("MarkerEpochOk", "MarkerRepeatOk", "IsCoordinatorFenced", "MarkerError"):
            yield from ((rule, (producer, m)) for m in markers)
    yield from (("MarkerClearsGuard", (guard, m)) for guard in (-1, 1, 2) for m in markers)
    yield from of_readers()
    yield from of_producers()


PLAIN: Final = Plain(
    PLANTED,
    "TransactionProperties",
    (
        *("EpochMonotonic", "ZombieFenced", "GuardKept", "LsoMonotonic", "CommitIsWhole"),
        "AbortedIsListed",
    ),
    variables,
    questions,
    (
        replace(TWO, version=1, recovers=True, ids_expire=True, max_epoch=1),
        *(replace(TWO, recovers=True), replace(TWO, version=1), replace(TWO, max_epoch=1)),
    ),
    ("Z73", {"MarkerEpochOk", "MarkerError"}),
    ("MarkersRefused",),
)
