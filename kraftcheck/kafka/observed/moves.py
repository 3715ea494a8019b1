"""Whether somebody may have asked for a change of a partition's replicas.

The lists of a partition change when a reassignment begins, ends or is given up. Which target was
asked for is not in the log, but a record of the list has it first, and those that are removed last:
every beginning of the list may have been the target.

Law of this file: what follows from a request is decided by the rules of reassignments.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kraftcheck.kafka.observed.image import NEVER, Image, Key, moved
from kraftcheck.kafka.observed.records import Record
from kraftcheck.reference.partition.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.partition.reassignment.messages import (
    AlterPartition,
    CancelReassignment,
    ElectPartitionLeader,
    FenceBroker,
    Input,
    Reassign,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from kraftcheck.reference.partition.reassignment.types import (
    BrokerRegistration,
    Constants,
    MovingPartition,
    State,
    Target,
    TopicRow,
)
from kraftcheck.reference.partition.types import Registration

BEGUN, GIVEN_UP, ENDED = "reassignment", "reassignment given up", "reassignment ended"
ONLINE = (1,)
"""Directories are not looked at: every broker has one, and it is online."""


def why(image: Image, key: Key, change: Record) -> str | None:
    """What may have been asked, or have happened to a broker; None: nothing leads to this."""
    old = image.partitions[key].moving()
    wanted = moved(old, change.data)
    brokers = tuple(sorted({*image.registrations, *old.replicas, *wanted.replicas}))
    known = image.constants(key)
    handlers = ReassignmentHandlers(
        Constants(
            brokers,
            old.replicas,
            ONLINE,
            known.min_insync_replicas,
            known.elr_enabled,
            known.unclean_election,
        )
    )
    first = (key[0], 0)
    listed = [old] if key == first or first not in image.partitions else [_first(image, first), old]
    row = TopicRow(
        tuple([BrokerRegistration(_state(image, b), ONLINE) for b in brokers]),
        1,
        1,
        tuple([replace(each, directories=(0,) * len(brokers)) for each in listed]),
        tuple([Target(each.replicas) for each in listed]),
    )
    for what, asked in _inputs(row, len(listed), wanted, brokers):
        outcome = handlers.step(row, asked)
        if outcome is not None and _same(outcome.row.partitions[len(listed) - 1], wanted):
            return what
    return None


def _first(image: Image, key: Key) -> MovingPartition:
    """The partition whose replicas are counted for the whole topic."""
    return image.partitions[key].moving()


def _same(one: MovingPartition, other: MovingPartition) -> bool:
    return _listed(one) == _listed(other)


def _listed(p: MovingPartition) -> MovingPartition:
    """Kafka lists those that are removed by their numbers, the spec as they were."""
    last = tuple(sorted(p.removing))
    replicas = (*(b for b in p.replicas if b not in last), *last)
    return replace(p, directories=(), replicas=replicas)


def _state(image: Image, b: int) -> State:
    known: Registration = image.registrations.get(b, NEVER)
    if known == NEVER:
        return "Unregistered"
    if known.fenced:
        return "Fenced"
    return "Stopping" if known.stopping else "Active"


def _inputs(
    row: TopicRow, i: int, wanted: MovingPartition, brokers: tuple[int, ...]
) -> Iterator[tuple[str, Input]]:
    old = row.partitions[i - 1]
    for size in range(1, len(wanted.replicas) + 1):
        yield BEGUN, Reassign(i, wanted.replicas[:size])
    yield GIVEN_UP, CancelReassignment(i)
    epochs = (old.leader_epoch, old.partition_epoch)
    # Those that are removed leave the ISR with the end: who of them was proposed is not told.
    for proposed in ({*wanted.isr} | {*old.removing} & {*old.isr}, {*wanted.isr, old.leader}):
        yield ENDED, AlterPartition(i, old.leader, tuple(sorted(proposed)), *epochs)
    yield ENDED, ElectPartitionLeader(i, "PREFERRED")
    yield ENDED, ElectPartitionLeader(i, "UNCLEAN")
    for b in brokers:
        yield ENDED, FenceBroker(b)
        yield ENDED, ShutDownBroker(b)
        yield ENDED, UnregisterBroker(b)
        yield ENDED, RegisterBroker(b, False, ONLINE)
        yield ENDED, UnfenceBroker(b, ())
