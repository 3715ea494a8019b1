"""Properties of classic groups: the twin of ClassicProperties.tla.

Law of this file: no rule is asked, or else replacing one would change the property with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

from kraftcheck.reference.groups.classic.messages import COORDINATOR, ClassicRecord
from kraftcheck.reference.groups.classic.types import ClassicCoordinator, ClassicMember, Constants
from kraftcheck.reference.kit.properties import of_state

Rows = Mapping[int, Any]


class State(NamedTuple):
    """All rows, by what they are."""

    coordinator: ClassicCoordinator
    clients: Mapping[int, ClassicMember]
    known: Mapping[int, ClassicRecord]
    """What the coordinator knows of each member."""


def state_of(constants: Constants, rows: Rows) -> State:
    coordinator = rows[COORDINATOR]
    known = dict(zip(constants.members, coordinator.members, strict=True))
    return State(coordinator, {n: rows[n] for n in constants.members}, known)


def is_current(state: State, n: int) -> bool:
    """Whether the coordinator knows the member, and it has not heard otherwise.

    Of others nothing is promised: who was removed may fetch on until it hears of it, as may who
    missed a generation.
    """
    row, known = state.clients[n], state.known[n]
    return known.known and row.has_id and row.generation >= known.claimed


def classic_type_inv(state: State) -> str | None:
    """Every field of a row has a value of its type.

    Misses: a value of the right type that is wrong in this state.
    """
    group = state.coordinator
    for n, member in state.known.items():
        if group.state == "Empty" and member.known:
            return f"the group is empty, and has member {n}"
        if member.joined and not (member.known and group.state == "Preparing"):
            return f"member {n} waits for all to join a group that is {group.state}"
        if member.syncing and not (member.known and group.state == "Completing"):
            return f"member {n} waits for an assignment of a group that is {group.state}"
    for n, row in state.clients.items():
        if row.state == "Unsubscribed" and (row.owned or row.has_id):
            return f"consumer {n} is Unsubscribed, and has partitions or an id"
        if row.state in ("Syncing", "Stable") and not row.has_id:
            return f"consumer {n} is {row.state} and has no id"
    return None


def assigned_once(state: State) -> str | None:
    """No assignment gives one partition to two members.

    Misses: what members fetch (see SingleOwner).
    """
    group = state.coordinator
    records = {each for tail in group.log.tails for each in tail.records}
    for record in (group.log.committed, *sorted(records)):
        of = dict(zip(state.known, record.members, strict=True))
        for m, n in combinations(of, 2):
            if both := {*of[m].assigned} & {*of[n].assigned}:
                return (
                    f"in generation {record.generation} partition {min(both)} is given to members "
                    f"{m} and {n}"
                )
    return None


def single_owner(state: State) -> str | None:
    """No two members that the coordinator counts as members may fetch one partition.

    Misses: a member that was removed or missed a generation, and fetches until it learns of it.
    """
    current = [n for n in state.clients if is_current(state, n)]
    for m, n in combinations(current, 2):
        if both := {*state.clients[m].owned} & {*state.clients[n].owned}:
            return f"members {m} and {n} both fetch partition {min(both)}"
    return None


def assignment_is_committed(state: State) -> str | None:
    """A stable member has no assignment that is not committed.

    Misses: an assignment that a waiting member never receives.
    """
    committed = state.coordinator.log.committed.generation
    for n, row in state.clients.items():
        if row.state == "Stable" and row.generation > committed:
            return f"member {n} is in generation {row.generation} > {committed}"
    return None


def owned_is_assigned(state: State) -> str | None:
    """A stable member of the recorded generation owns at most its recorded assignment.

    Misses: a partition that nobody fetches.
    """
    recorded = state.coordinator.log.committed
    for member, (n, row) in zip(recorded.members, state.clients.items(), strict=True):
        wrong = {*row.owned} - {*member.assigned}
        if row.state == "Stable" and row.generation == recorded.generation and wrong:
            return f"member {n} fetches partition {min(wrong)}, which it was not given"
    return None


def generations_monotonic(old: State, new: State) -> str | None:
    """The committed generation never decreases.

    Misses: a generation that members received and that was never committed.
    """
    before, after = (
        old.coordinator.log.committed.generation,
        new.coordinator.log.committed.generation,
    )
    return f"generation {before} goes back to {after}" if after < before else None


_named = of_state(state_of)

PROPERTIES: Final = (
    _named("ClassicTypeInv", classic_type_inv),
    _named("AssignedOnce", assigned_once),
    _named("SingleOwner", single_owner),
    _named("AssignmentIsCommitted", assignment_is_committed),
    _named("OwnedIsAssigned", owned_is_assigned),
    _named("GenerationsMonotonic", generations_monotonic),
)
