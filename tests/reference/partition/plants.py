"""A violation for each clause of each invariant of a partition: one row of one in order changes.

Tests judge them plainly and cheaply, and hold the specification against them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kraftcheck.reference.partition.invariants import PartitionChecker
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    DeleteRecordsRequest,
    Member,
    Message,
    ProduceRequest,
    ProduceResponse,
)
from kraftcheck.reference.partition.properties import PartitionState
from kraftcheck.reference.partition.types import (
    CORRUPT,
    GONE,
    NOBODY,
    UNDEFINED,
    UNKNOWN_REMOTE,
    BrokerRow,
    CacheEntry,
    Parked,
    PartitionConstants,
    Pending,
    Record,
    initial_image,
)
from tests.reference.partition.cluster import THREE, Partitioned

ALONE: Final = PartitionConstants((1,), min_insync_replicas=1)
NO_ELR: Final = PartitionConstants((1, 2, 3), min_insync_replicas=2, elr_enabled=False)


class Watched(Partitioned):
    """A script whose steps a checker has seen, so that it can judge the next one."""

    checker: PartitionChecker | None = None

    def _entered(self, after: Any, sent: tuple[Message, ...]) -> None:
        before = self.state
        super()._entered(after, sent)
        assert not self.violated
        node = next((n for n, row in after.rows.items() if row is not before.rows[n]), CONTROLLER)
        assert self.judged(node, before, after, sent) is None

    def judged(
        self, node: int, before: PartitionState, after: PartitionState, sent: tuple[Message, ...]
    ) -> str | None:
        """What the cheap way says of a step."""
        self.checker = self.checker or PartitionChecker(self.handlers)
        found = self.checker.after_step(node, before, after, sent)
        return found.name if found else None


# --- Partitions in order. Broker 1 leads epoch 1, and two records are committed.


def settled(constants: PartitionConstants = THREE) -> Watched:
    """Everybody has both records and knows that they are committed."""
    c = Watched(constants)
    c.produce(1, count=2)
    c.catch_up(*constants.brokers[1:])
    return c


def without_elr() -> Watched:
    return settled(NO_ELR)


def alone() -> Watched:
    return settled(ALONE)


def fenced(*others: int) -> Watched:
    """Broker 3, as others, has left the ISR, and goes on fetching."""
    c = settled()
    for broker in (*others, 3):
        c.fence(broker)
    c.tell()
    return c


def untold() -> Watched:
    """Broker 3 has left the ISR, and its leader has not heard of it."""
    c = settled()
    c.fence(3)
    return c


def led_by_nobody() -> Watched:
    """The leader has crashed, and nobody has noticed."""
    c = settled()
    c.crash(1)
    return c


def eligible() -> Watched:
    """Broker 3 has left the ISR and may be elected; the leader has crashed."""
    c = fenced(2)
    c.crash(1)
    return c


def handed_over() -> Watched:
    """Broker 2 leads epoch 2, and 1 is back in the ISR."""
    c = settled()
    c.lead(2)
    c.tell()
    return c


def deleting() -> Watched:
    """The leader has deleted the first record, and nobody else has."""
    c = settled()
    c.do(1, DeleteRecordsRequest(CLIENTS, 1, 0, 1))
    return c


def deleted_by_all() -> Watched:
    """Everybody has deleted the first record, and the leader knows it."""
    c = deleting()
    for _ in range(2):
        c.catch_up(2, 3)
        c.fetch(2)
        c.fetch(3)
    return c


def deleted_by_the_rest() -> Watched:
    """Broker 2 is fenced, and the leader has heard of it."""
    c = deleted_by_all()
    c.fence(2)
    c.tell()
    return c


def appended() -> Watched:
    """The leader has a third record."""
    c = settled()
    c.produce(1)
    return c


Change = Callable[[PartitionState], PartitionState]


class Plant(NamedTuple):
    """A violation: a partition in order, and one step that is wrong.

    said: words of what is wrong. node: who takes the step. sent: what is sent in it. first: the
    property that is violated before this one, if any is.
    """

    name: str
    said: str
    node: int
    change: Change
    ground: Callable[[], Watched] = settled
    sent: tuple[Message, ...] = ()
    first: str = ""


def row(n: int, **fields: Any) -> Change:
    """A broker's row with these fields; those that are functions are applied to the row."""

    def change(state: PartitionState) -> PartitionState:
        old = state.rows[n]
        new = {name: v(old) if callable(v) else v for name, v in fields.items()}
        return state._replace(rows={**state.rows, n: replace(old, **new)})

    return change


def partition(**fields: Any) -> Change:
    """The controller's row with these fields of the partition."""

    def change(state: PartitionState) -> PartitionState:
        new = replace(state.controller.partition, **fields)
        return state._replace(controller=replace(state.controller, partition=new))

    return change


def registered(n: int, more: Change, **fields: bool) -> Change:
    """The same, and these fields of a broker's registration."""

    def change(state: PartitionState) -> PartitionState:
        at = sorted(state.rows).index(n)
        known = state.controller.registrations
        new = (*known[:at], replace(known[at], **fields), *known[at + 1 :])
        return more(state._replace(controller=replace(state.controller, registrations=new)))

    return change


def nothing(state: PartitionState) -> PartitionState:
    return state


STRANGE: Final = Record(1, 777, -1, -1, -1, -1, -1)


def longer(old: BrokerRow) -> tuple[Record, ...]:
    return (*old.log, STRANGE)


def shorter(old: BrokerRow) -> tuple[Record, ...]:
    return old.log[:-1]


def altered(old: BrokerRow) -> tuple[Record, ...]:
    """Another value at the start."""
    return (replace(old.log[0], value=777), *old.log[1:])


def acked(*values: int) -> tuple[Message, ...]:
    request = ProduceRequest(CLIENTS, 1, 0, -1, values, -1, -1, -1)
    return (ProduceResponse(1, CLIENTS, request, "NONE", 0),)


PRODUCED: Final = ProduceRequest(CLIENTS, 2, 0, -1, (9,), -1, -1, -1)


def _broken(
    name: str,
    said: str,
    n: int,
    ground: Callable[[], Watched] = settled,
    first: str = "",
    **fields: Any,
) -> Plant:
    return Plant(name, said, n, row(n, **fields), ground, first=first)


def _typed(clause: str, n: int, **fields: Any) -> Plant:
    return _broken("PartitionRowTypeInv", f"broker {n}: {clause}", n, **fields)


def _decided(
    name: str,
    said: str,
    change: Change,
    ground: Callable[[], Watched] = settled,
    first: str = "",
) -> Plant:
    return Plant(name, said, CONTROLLER, change, ground, first=first)


SHORT: Final[Mapping[str, Any]] = {"log": shorter, "flushed": 1, "high_watermark": 1}
DOWN: Final[Mapping[str, Any]] = {"status": "Down", "role": "None"}
DOWN_ALONE: Final[Mapping[str, Any]] = {
    **DOWN,
    "leader": NOBODY,
    "isr": (),
    "epoch_start": UNDEFINED,
    "remotes": (UNKNOWN_REMOTE,),
}

ONLY_LEADERS: Final = "what only leaders have"

PLANTS: Final = [
    _typed("status", 2, status="Busy"),
    _typed("role", 2, role="Busy"),
    _typed("role when down", 2, status="Down"),
    _typed("leader", 2, leader=7),
    _typed("leader", 2, leader=-2),
    _typed("flushed", 2, flushed=3),
    _typed("flushed", 2, flushed=-1),
    _typed("corrupt", 2, corrupt=3),
    _typed("corrupt", 2, corrupt=-2),
    _typed("leads", 1, leader=2),
    _typed("leads", 1, isr=(2, 3)),
    _typed(ONLY_LEADERS, 2, isr=(2,)),
    _typed(ONLY_LEADERS, 2, pending=Pending("Expand", (Member(3, 0),), refused=False)),
    _typed(ONLY_LEADERS, 2, remotes=(replace(UNKNOWN_REMOTE, end_offset=0),) * 3),
    _typed(ONLY_LEADERS, 2, parked=(Parked(PRODUCED, 0, 1),)),
    _typed("epoch_start", 2, epoch_start=0),
    _typed("epoch_start", 1, epoch_start=UNDEFINED),
    _typed("epoch_start", 1, epoch_start=3),
    _typed("epoch_start", 1, epoch_start=-2),
    _typed("pending", 1, pending=Pending("Swap", (), refused=False)),  # type: ignore[arg-type]
    _typed("remotes", 1, remotes=(replace(UNKNOWN_REMOTE, end_offset=-2),) * 3),
    _decided("ControllerTypeInv", "no broker", partition(leader=7)),
    _decided("ControllerTypeInv", "no broker", partition(last_known_leader=7)),
    _decided("ControllerTypeInv", "undefined", partition(leader_epoch=-1)),
    _decided("ControllerTypeInv", "undefined", partition(partition_epoch=-1)),
    _decided("ControllerTypeInv", "no replica", partition(isr=(1, 7))),
    _decided("ControllerTypeInv", "no replica", partition(elr=(7,))),
    _decided("LeaderInIsr", "leader 1 is not", partition(isr=(2, 3))),
    _decided("LeaderInIsr", "leader 1 is not", partition(isr=()), alone),
    _decided("ValidControllerIsrAndElr", "overlap", partition(isr=(1,), elr=(1, 2))),
    _decided("ValidControllerIsrAndElr", "large enough", partition(isr=(1, 2), elr=(3,))),
    _decided(
        "ValidControllerIsrAndElr",
        "without ELR the ISR is (1,) and the ELR (2,)",
        partition(isr=(1,), elr=(2,)),
        without_elr,
    ),
    _decided(
        "ValidControllerIsrAndElr",
        "without ELR the ISR is ()",
        partition(leader=NOBODY, isr=()),
        without_elr,
    ),
    _decided("ValidControllerState", "broker 2", registered(2, nothing, fenced=True)),
    _decided(
        "ValidControllerState",
        "broker 1",
        registered(1, partition(isr=(1,), elr=(2,)), fenced=True),
    ),
    _decided("ValidControllerState", "broker 2", registered(2, nothing, fenced=True), without_elr),
    _decided(
        "FencedNeverElected",
        "broker 2 was elected",
        registered(2, partition(leader=2, leader_epoch=2), fenced=True),
        first="ValidControllerState",
    ),
    _decided(
        "FencedNeverElected",
        "broker 2 was elected",
        registered(2, partition(leader=2, leader_epoch=2), stopping=True),
    ),
    _decided(
        "FencedNeverElected",
        "broker 1 was elected",
        registered(1, partition(leader=1, leader_epoch=2, isr=(1,)), fenced=True),
        without_elr,
    ),
    _broken("WeakIsr", "2 is in the ISR of leader 1", 2, log=shorter, flushed=1),
    _broken("WeakIsr", "2 is in the ISR of leader 1", 2, log=altered),
    _broken("WeakIsr", "1 is in the ISR of leader 1", 1, high_watermark=3),
    _broken("WeakIsr", "3 is in the ISR of leader 1", 3, untold, **SHORT),
    _broken("StrongIsr", "3 is in the ISR", 3, log=shorter, flushed=1, broker_epoch=9),
    _broken("StrongIsr", "3 is in the ISR", 3, log=altered, broker_epoch=9),
    _broken(
        "ValidHighWatermark",
        "3 is in the ISR and ends at 1, below",
        3,
        first="StrongIsr",
        log=shorter,
        flushed=1,
        broker_epoch=9,
    ),
    _broken("ReplicationQuorumSuperset", "3 may be elected", 1, isr=(1, 2)),
    _broken(
        "ReplicationQuorumSuperset",
        "3 may be elected",
        1,
        isr=(1, 2),
        pending=Pending("Shrink", (Member(3, 0),), refused=False),
    ),
    _decided(
        "ReplicationQuorumSuperset", "3 may be elected", partition(isr=(1,), elr=(3,)), fenced
    ),
    _decided(
        "ReplicationQuorumSuperset",
        "3 may be elected",
        partition(isr=(1, 3)),
        fenced,
        first="ValidControllerState",
    ),
    _broken("LeaderCandidateCompleteness", "2 may be elected", 2, led_by_nobody, **SHORT),
    _broken("LeaderCandidateCompleteness", "2 may be elected", 2, led_by_nobody, log=altered),
    _broken("LeaderCandidateCompleteness", "3 may be elected", 3, eligible, **SHORT),
    _broken(
        "PartitionLeaderCompleteness",
        "leader 1 lacks the record at",
        1,
        first="WeakIsr",
        log=altered,
    ),
    Plant(
        "PartitionLeaderCompleteness",
        "leader 1 lacks the acked values [9]",
        1,
        nothing,
        sent=acked(1, 9),
    ),
    _broken("PartitionLogMatching", "brokers 1 and 3 differ", 3, fenced, log=altered),
    _broken("PartitionLogMatching", "brokers 1 and 3 differ", 3, fenced, log=shorter, flushed=1),
    _broken("NoCommittedRecordLost", "offset 1", 1, alone, **DOWN_ALONE, log=shorter, flushed=1),
    _broken("NoCommittedRecordLost", "offset 0", 1, alone, **DOWN_ALONE, log=altered),
    _broken("MonotonicTrueHighWatermark", "leader 1 went back to 1", 1, high_watermark=1),
    _broken(
        "MonotonicTrueHighWatermark",
        "what was committed has changed",
        1,
        first="WeakIsr",
        log=lambda old: (*altered(old), STRANGE),
        high_watermark=3,
    ),
    Plant(
        "AckedHasMinIsrCopies",
        "value 3 was acked with copies on [1]",
        1,
        nothing,
        appended,
        acked(3),
    ),
    _broken("NoDuplicate", "broker 3", 3, fenced, log=lambda old: (*old.log, old.log[0])),
    _broken(
        "ReadOnlyCommitted",
        "broker 2 shows the record at offset 2",
        2,
        log=longer,
        high_watermark=3,
    ),
    _broken(
        "ReadOnlyCommitted",
        "broker 3 shows the record at offset 0",
        3,
        fenced,
        first="PartitionLogMatching",
        log=altered,
    ),
    _broken(
        "MonotonicListOffsets",
        "leader 2 says 1, and 2 are committed",
        2,
        handed_over,
        first="MonotonicTrueHighWatermark",
        high_watermark=1,
        epoch_start=0,
    ),
    _broken(
        "DeletedEverywhere",
        "leader 1 confirms a deletion up to 1, and the log of broker 2 starts at 0",
        2,
        deleted_by_all,
        log_start=0,
    ),
    _broken(
        "DeletedEverywhere",
        "leader 1 confirms a deletion up to 1, and the log of broker 3 starts at 0",
        3,
        deleted_by_the_rest,
        log_start=0,
    ),
    _broken(
        "LogBounds",
        "the log of broker 2 reaches from -1 to 2, and its high watermark is 2",
        2,
        log_start=-1,
    ),
    _broken(
        "LogBounds",
        "the log of broker 2 reaches from 3 to 2, and its high watermark is 2",
        2,
        log_start=3,
    ),
    _broken(
        "LogBounds",
        "the log of broker 3 reaches from 0 to 2, and its high watermark is 3",
        3,
        fenced,
        first="PartitionLogMatching",
        high_watermark=3,
    ),
    _broken("PartitionEpochCacheSound", "broker 2", 2, epoch_cache=()),
    _broken("PartitionEpochCacheSound", "broker 2", 2, epoch_cache=(CacheEntry(1, 1),)),
    _broken(
        "PartitionEpochCacheSound", "broker 2", 2, epoch_cache=(CacheEntry(1, 0), CacheEntry(2, 1))
    ),
    _broken(
        "PartitionEpochCacheSound",
        "broker 2",
        2,
        epoch_cache=(CacheEntry(1, 0), CacheEntry(2, 2), CacheEntry(3, 2)),
    ),
    _broken(
        "MetadataLogMatching",
        "not committed",
        2,
        image=lambda old: replace(old.image, offset=old.image.offset + 1),
    ),
    _broken(
        "MetadataLogMatching",
        "other metadata",
        2,
        image=lambda old: replace(old.image, offset=old.image.offset - 1),
    ),
    _broken(
        "MetadataLogMatching",
        "other metadata",
        2,
        image=lambda old: replace(old.image, partition=replace(old.image.partition, leader=2)),
    ),
    _broken(
        "PartitionRefinesCommittedLog",
        "what was committed has changed",
        1,
        first="WeakIsr",
        log=lambda old: (*altered(old), STRANGE),
        high_watermark=3,
    ),
    _broken("PartitionRefinesCommittedLog", "leader 1 believes", 1, first="WeakIsr", log=altered),
    _broken(
        "PartitionRefinesCommittedLog",
        "leader 1 knew other records",
        1,
        first="MonotonicTrueHighWatermark",
        high_watermark=1,
    ),
]


def _fine(
    name: str,
    node: int,
    change: Change,
    ground: Callable[[], Watched] = settled,
    sent: tuple[Message, ...] = (),
) -> Plant:
    """Close to a violation and none."""
    return Plant(name, "", node, change, ground, sent)


def deleted(old: BrokerRow) -> tuple[Record, ...]:
    """The first record is gone."""
    return (GONE, *old.log[1:])


def unreadable(old: BrokerRow) -> tuple[Record, ...]:
    return tuple(replace(record, value=CORRUPT) for record in old.log)


def led_by_another(state: PartitionState) -> PartitionState:
    """Broker 2 is chosen, and 1 waits for fewer than the controller counts."""
    return partition(leader=2)(row(1, isr=(1, 2))(state))


PROPOSED: Final = Pending("Expand", (Member(3, 0),), refused=False)
IMAGE: Final = initial_image(THREE)

FOLLOWS: Final[Mapping[str, Any]] = {
    "role": "Follower",
    "leader": 2,
    "isr": (),
    "epoch_start": UNDEFINED,
    "remotes": (UNKNOWN_REMOTE,) * 3,
}
LEADS: Final[Mapping[str, Any]] = {
    "role": "Leader",
    "leader": 2,
    "isr": (1, 2, 3),
    "epoch_start": 2,
}

TWINS: Final = [
    _fine("PartitionRowTypeInv", 1, row(1, isr=(1,), pending=replace(PROPOSED, kind="Shrink"))),
    _fine("PartitionRowTypeInv", 1, row(1, epoch_start=2, corrupt=2, flushed=0)),
    _fine("PartitionRowTypeInv", 1, row(1, status="ShuttingDown", pending=PROPOSED)),
    _fine("PartitionRowTypeInv", 2, row(2, leader=NOBODY, status="Starting")),
    _fine("PartitionRowTypeInv", 2, row(2, **DOWN)),
    _fine("ControllerTypeInv", CONTROLLER, partition(leader=NOBODY, isr=(), elr=(1, 2, 3))),
    _fine("ControllerTypeInv", CONTROLLER, partition(leader_epoch=0, partition_epoch=0)),
    _fine("LeaderInIsr", CONTROLLER, partition(leader=NOBODY, isr=(2, 3))),
    _fine("ValidControllerIsrAndElr", CONTROLLER, partition(isr=(1,), elr=(2, 3))),
    _fine("ValidControllerIsrAndElr", CONTROLLER, partition(isr=(1,)), without_elr),
    _fine("ValidControllerState", CONTROLLER, registered(2, nothing, stopping=True)),
    _fine("ValidControllerState", CONTROLLER, registered(2, partition(isr=(1, 3)), fenced=True)),
    _fine(
        "ValidControllerState",
        CONTROLLER,
        registered(1, partition(isr=(1,)), fenced=True),
        without_elr,
    ),
    _fine("FencedNeverElected", CONTROLLER, registered(1, nothing, fenced=True)),
    _fine("FencedNeverElected", CONTROLLER, registered(2, partition(leader=2), fenced=True)),
    _fine("FencedNeverElected", CONTROLLER, partition(leader=NOBODY, leader_epoch=2)),
    _fine(
        "FencedNeverElected",
        CONTROLLER,
        registered(3, partition(leader=3, leader_epoch=2), fenced=False, stopping=True),
        fenced,
    ),
    _fine("WeakIsr", 3, row(3, **SHORT, broker_epoch=9)),
    _fine("WeakIsr", 3, row(3, **SHORT, broker_epoch=UNDEFINED)),
    _fine("WeakIsr", 3, row(3, **SHORT, **DOWN)),
    _fine("WeakIsr", 3, row(3, log=deleted)),
    _fine("WeakIsr", 3, row(3, **SHORT), led_by_nobody),
    _fine("StrongIsr", 3, row(3, **SHORT, broker_epoch=UNDEFINED)),
    _fine("StrongIsr", 3, row(3, **SHORT, **DOWN)),
    _fine("StrongIsr", 3, row(3, **SHORT), fenced),
    _fine("StrongIsr", 3, row(3, **SHORT), led_by_nobody),
    _fine("ValidHighWatermark", 3, row(3, log=altered)),
    _fine("ValidHighWatermark", 3, row(3, **SHORT), fenced),
    _fine("ValidHighWatermark", 3, row(3, **SHORT, broker_epoch=UNDEFINED)),
    _fine("ValidHighWatermark", CONTROLLER, partition(leader_epoch=2)),
    _fine("ReplicationQuorumSuperset", 1, row(1, isr=(1, 2), pending=PROPOSED)),
    _fine("ReplicationQuorumSuperset", 1, row(1, isr=(1,))),
    _fine("ReplicationQuorumSuperset", 1, row(1, isr=(1, 2), leader_epoch=0)),
    _fine("ReplicationQuorumSuperset", CONTROLLER, led_by_another),
    _fine("ValidHighWatermark", 1, row(1, **FOLLOWS, high_watermark=3), appended),
    _fine("LeaderCandidateCompleteness", 3, row(3, **SHORT, broker_epoch=UNDEFINED)),
    _fine("LeaderCandidateCompleteness", 3, row(3, **SHORT), fenced),
    _fine("LeaderCandidateCompleteness", 3, row(3, log=deleted)),
    _fine("PartitionLeaderCompleteness", 2, row(2, log=altered)),
    _fine("PartitionLeaderCompleteness", 1, row(1, log=altered, broker_epoch=UNDEFINED)),
    _fine("PartitionLeaderCompleteness", CONTROLLER, partition(leader=NOBODY)),
    _fine("PartitionLeaderCompleteness", 1, row(1, log=deleted, log_start=1), sent=acked(9)),
    _fine("PartitionLogMatching", 3, row(3, log=altered, **DOWN)),
    _fine("PartitionLogMatching", 3, row(3, log=altered, high_watermark=0)),
    _fine("PartitionLogMatching", 3, row(3, log=deleted)),
    _fine("NoCommittedRecordLost", 2, row(2, log=(), flushed=0, high_watermark=0)),
    _fine("NoCommittedRecordLost", 1, row(1, log=deleted), alone),
    _fine("MonotonicTrueHighWatermark", 1, row(1, high_watermark=1, leader_epoch=2)),
    _fine("MonotonicTrueHighWatermark", 1, row(1, **FOLLOWS, high_watermark=1)),
    _fine("MonotonicTrueHighWatermark", 2, row(2, high_watermark=1)),
    _fine("MonotonicTrueHighWatermark", 2, row(2, **LEADS, high_watermark=1)),
    _fine("AckedHasMinIsrCopies", 2, row(2, broker_epoch=UNDEFINED), appended, acked(3)),
    _fine("AckedHasMinIsrCopies", 2, row(2, log_start=1), appended, acked(3)),
    _fine("AckedHasMinIsrCopies", 1, nothing, appended, acked(1, 2)),
    _fine("NoDuplicate", 3, row(3, log=(GONE, GONE))),
    _fine("NoDuplicate", 3, row(3, log=unreadable)),
    _fine("ReadOnlyCommitted", 2, row(2, log=longer)),
    _fine("ReadOnlyCommitted", 2, row(2, log=altered, **DOWN)),
    _fine("ReadOnlyCommitted", 2, row(2, log=deleted)),
    _fine("MonotonicListOffsets", 2, row(2, high_watermark=1)),
    _fine("MonotonicListOffsets", 2, row(2, high_watermark=1, epoch_start=2), handed_over),
    _fine("MonotonicListOffsets", 1, row(1, high_watermark=1, leader_epoch=0)),
    _fine("DeletedEverywhere", 2, row(2, high_watermark=1), deleting),
    _fine("LogBounds", 2, row(2, log_start=2)),
    _fine("LogBounds", 2, row(2, log_start=-1, **DOWN)),
    _fine("PartitionEpochCacheSound", 2, row(2, epoch_cache=(CacheEntry(1, 0), CacheEntry(2, 2)))),
    _fine("PartitionEpochCacheSound", 2, row(2, epoch_cache=(), **DOWN)),
    _fine(
        "PartitionEpochCacheSound",
        2,
        row(2, log=(), flushed=0, high_watermark=0, epoch_cache=()),
    ),
    _fine("MetadataLogMatching", 2, row(2, image=IMAGE)),
    _fine("MetadataLogMatching", 2, row(2, image=replace(IMAGE, offset=9), **DOWN)),
    _fine("PartitionRefinesCommittedLog", 2, row(2, log=altered)),
    _fine("PartitionRefinesCommittedLog", 1, row(1, log=deleted)),
    _fine("PartitionRefinesCommittedLog", 1, row(1, high_watermark=0)),
]
