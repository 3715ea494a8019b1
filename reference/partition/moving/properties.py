"""Properties of a partition whose replicas move.

They are a partition's about brokers and records, and a reassignment's about lists.

Law of this file: nothing here asks a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.properties import Declared, Invariant
from kraftcheck.reference.kit.protocol import HISTORY, Property
from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.reference.partition.moving.handlers import as_topic
from kraftcheck.reference.partition.moving.messages import (
    GiveUpReassignment,
    PartitionRecord,
    ReassignReplicas,
)
from kraftcheck.reference.partition.moving.types import is_there
from kraftcheck.reference.partition.properties import (
    PARTITION_INVARIANTS,
    PartitionState,
    confirms_too_early,
    valid_controller_state as controller_state_of_partition,
    weak_isr as of_partition,
)
from kraftcheck.reference.partition.reassignment.messages import CreatePartition, PlacePartition
from kraftcheck.reference.partition.reassignment.properties import PROPERTIES as OF_REASSIGNMENTS
from kraftcheck.reference.partition.reassignment.types import CONTROLLER, Target
from kraftcheck.reference.partition.types import INITIAL_OFFSET, BrokerRow, is_leader

_OF_LISTS: Final = (
    "IsrElrAreReplicas",
    "TargetReached",
    "ReassignmentKeepsMinIsr",
    "EpochsGrow",
    "SpreadOverRacks",
)
OF_LISTS: Final[tuple[Property, ...]] = tuple(
    [each for each in OF_REASSIGNMENTS if each.name in _OF_LISTS]
)

_invariant = Declared("before", "after", "history", "handlers")


def _left_since(after: PartitionState, known: BrokerRow, r: int) -> bool:
    """Whether a broker has read that it is no replica, and this one has not."""
    first, last = known.image.offset - INITIAL_OFFSET, after.rows[r].image.offset - INITIAL_OFFSET
    return any(
        isinstance(record, PartitionRecord) and r not in record.partition.replicas
        for record in after.metadata[first:last]
    )


@_invariant("state")
def weak_isr(
    before: PartitionState, after: PartitionState, history: Any, handlers: Any
) -> str | None:
    """Every running member of a leader's ISR has the leader's log up to its high watermark.

    Excepted is a member that started from an empty log, or was no replica for a while, until the
    leader has read that.

    Misses: followers outside the ISR, and members that are down.
    """
    for n, row in after.rows.items():
        if is_leader(row):
            stay = tuple([r for r in row.isr if not _left_since(after, row, r)])
            alone = {**after.rows, n: replace(row, isr=stay)}
            others = {b: replace(o, isr=()) if b != n and o.isr else o for b, o in alone.items()}
            wrong = of_partition(before, after._replace(rows=others), history, handlers)
            if wrong is not None:
                return wrong
    return None


@_invariant("state")
def deleted_everywhere(after: PartitionState, handlers: Any) -> str | None:
    """A current leader confirms a deletion only after all unfenced replicas have made it (S9).

    Excepted is a broker that is no replica, or was none for a while, until the leader has read
    that.

    Misses: fenced replicas, which may lead again from the ELR.
    """

    def is_replica(known: Any, r: int) -> bool:
        return r in known.replicas and not _left_since(after, known, r)

    return confirms_too_early(after, handlers, is_replica)


@_invariant("state")
def valid_controller_state(
    before: PartitionState, after: PartitionState, history: Any, handlers: Any
) -> str | None:
    """No fenced broker is in the ISR.

    Without ELR its last member may be fenced (C10). So may the only member that a cancelled
    reassignment has left, without a leader, if unclean elections are allowed (R4).

    Misses: dead brokers that are not fenced yet, and the ELR.
    """
    partition = after.controller.partition
    unclean = handlers.constants.unclean_election
    if unclean and partition.leader == NOBODY and len(partition.isr) == 1:
        return None
    return controller_state_of_partition(before, after, history, handlers)


@_invariant("state")
def local_changes_sound(after: PartitionState) -> str | None:
    """A running broker that has read that it is no replica has no log and no role (R6).

    Misses: a broker that has not read it, or is starting.
    """
    for n, row in after.rows.items():
        if not holds_what_it_may(n, row):
            return f"broker {n} holds {len(row.log)} records of what it is no replica of"
    return None


def holds_what_it_may(n: int, row: Any) -> bool:
    """Whether a broker that is no replica, as far as it has read, holds nothing."""
    if row.status != "Running" or n in row.image.partition.replicas:
        return True
    return row.role == "None" and not row.log


def _while_there(promised: Invariant) -> Invariant:
    """Check a property only while the partition exists.

    A deleted topic takes its records with it (R12), and its leader may not have read that yet.
    """

    def check(before: Any, after: Any, history: Any, handlers: Any) -> str | None:
        if not is_there(after.controller.partition):
            return None
        return promised.check(before, after, history, handlers)

    return promised._replace(check=check)


_OF_WHAT_IS_THERE: Final = (
    "ValidControllerIsrAndElr",
    "NoCommittedRecordLost",
    "AckedHasMinIsrCopies",
)
_OWN: Final = {
    **{
        each.name: _while_there(each)
        for each in PARTITION_INVARIANTS
        if each.name in _OF_WHAT_IS_THERE
    },
    **{each.name: each for each in _invariant.all},
}
INVARIANTS: Final[tuple[Invariant, ...]] = tuple(
    [_OWN.get(each.name, each) for each in (*PARTITION_INVARIANTS, _invariant.all[-1])]
)
PROPERTIES: Final[tuple[Invariant | Property, ...]] = (*INVARIANTS, *OF_LISTS)


def target_after(known: Target, before: Any, input: Any, ignored: str) -> Target:
    """The replicas that were last asked for, and accepted, after a step of the controller.

    known: before it, as is the row.
    """
    if isinstance(input, ReassignReplicas) and not ignored:
        return Target(input.target)
    if isinstance(input, CreatePartition | PlacePartition) and not ignored:
        return Target(input.replicas)
    if isinstance(input, GiveUpReassignment) and not ignored:
        p = before.partition
        return Target(tuple([b for b in p.replicas if b not in p.adding]))
    return known


def wrong_with_lists(
    constants: Any,
    old: Any,
    new: Any,
    targets: tuple[Target, Target],
    promises: Sequence[Property] = OF_LISTS,
) -> tuple[str, str] | None:
    """Return name and explanation of the first list property that a controller's step breaks.

    None: it breaks none. targets: before and after the step.
    """
    before, after = as_topic(old, targets[0]), as_topic(new, targets[1])
    for each in promises:
        rows = ({CONTROLLER: before, HISTORY: ()}, {CONTROLLER: after, HISTORY: ()})
        wrong = each.check(constants, *rows)
        if wrong is not None:
            return each.name, wrong
    return None
