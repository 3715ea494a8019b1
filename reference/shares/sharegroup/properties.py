"""Properties of a share group's state: the twin of ShareGroupProperties.tla.

Law of this file: no rule is asked, or else replacing one would change the property with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kraftcheck.reference.kit.properties import of_state
from kraftcheck.reference.shares.sharegroup.messages import GROUP, LEADER, STORE
from kraftcheck.reference.shares.sharegroup.types import (
    Constants,
    ShareGroup,
    ShareStore,
    StateLeader,
)


class State(msgspec.Struct):
    """All rows, by what they are."""

    constants: Constants
    group: ShareGroup
    store: ShareStore
    leader: StateLeader


def state_of(constants: Constants, rows: Mapping[int, Any]) -> State:
    return State(constants, rows[GROUP], rows[STORE], rows[LEADER])


named = of_state(state_of)


# --- Of states


def initialized_is_stored(state: State) -> str | None:
    """When the group is initialized, the stored state is the one that it has requested last.

    Misses: a group that is never initialized.
    """
    group, store = state.group, state.store
    if group.state != "Initialized" or (store.known and store.intent == group.intent):
        return None
    return f"the group is initialized, and what it requested last ({group.intent}) is not stored"


def deleted_is_gone(state: State) -> str | None:
    """A group that is deleted has no stored state.

    Misses: a write that is still on its way.
    """
    gone = state.group.state != "None" or not state.store.known
    return None if gone else "the group is deleted, and its state is stored"


def acked_stays(state: State) -> str | None:
    """The stored start offset stays after what was acknowledged, until offsets are altered.

    Misses: acknowledgements of single records.
    """
    store, leader = state.store, state.leader
    same = store.known and leader.told_intent == store.intent
    if same and store.start < leader.told:
        return f"{leader.told} was answered as the start, and {store.start} is stored"
    return None


def nothing_skipped(state: State) -> str | None:
    """A group that knows a topic receives every record of a partition that is added to it.

    Misses: the first partitions of a topic.
    """
    leader = state.leader
    asked = state.constants.added and not state.group.altered and leader.phase == "Active"
    if asked and leader.start > leader.reached:
        return f"the start is {leader.start}, and offset {leader.reached} was not delivered"
    return None


def write_is_of_its_state(state: State) -> str | None:
    """A write is accepted in the state that it was made in, and in no later one.

    Misses: a write that is refused although it should be accepted.
    """
    store = state.store
    if store.known and store.written not in (0, store.intent):
        return f"a write of state {store.written} is accepted in state {store.intent}"
    return None


PROPERTIES: Final = (
    named("InitializedIsStored", initialized_is_stored, "group", "store"),
    named("DeletedIsGone", deleted_is_gone, "group", "store"),
    named("WriteIsOfItsState", write_is_of_its_state, "store"),
    named("AckedStays", acked_stays, "store", "leader"),
    named("NothingSkipped", nothing_skipped, "group", "leader"),
)
