"""The rows of a share group's state, and what they begin as: values, with the names of the spec.

Law of this file: nothing is decided here. Rows are immutable and hashable.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import AtLeastOne, SetOf
from kraftcheck.reference.shares.sharegroup.messages import NO_START, WriteState

GroupState: TypeAlias = Literal["None", "Initializing", "Initialized", "Deleting"]
LeaderPhase: TypeAlias = Literal["Empty", "Initializing", "Active"]


class Constants(msgspec.Struct, frozen=True, tag="sharegroup", tag_field="protocol"):
    """What a run is made of."""

    records: AtLeastOne
    """The number of offsets; the first is 1."""
    added: bool
    """Whether the group knew the topic before the partition was added to it."""
    max_intents: AtLeastOne
    """How often the group may initialize the partition."""
    max_leaders: AtLeastOne
    """The last leader epoch."""


class ShareGroup(msgspec.Struct, frozen=True):
    """The group coordinator's record (specs/shares/sharegroup/ShareGroupHandlers.tla)."""

    epoch: int
    state: GroupState
    requested: int
    """The start offset to initialize with."""
    intent: int
    """The number of initializations that were begun."""
    altered: bool
    """Whether offsets were ever altered."""


class ShareStore(msgspec.Struct, frozen=True):
    """The share coordinator's state of the key."""

    known: bool
    start: int
    state_epoch: int
    leader_epoch: int
    intent: int
    """The initialization that the state is of."""
    written: int
    """The intent of the last accepted write; 0: none since the initialization."""


class StateLeader(msgspec.Struct, frozen=True):
    """The share partition on its leader."""

    leader_epoch: int
    phase: LeaderPhase
    state_epoch: int
    """As it was read."""
    intent: int
    """The initialization that the state is of, as it was read."""
    start: int
    high_watermark: int
    pending: SetOf[WriteState]
    """At most one write without an answer."""
    told: int
    """The start offset that the last answered acknowledgement left."""
    told_intent: int
    """The intent of that state."""
    reached: int
    """The largest start offset that an acknowledgement has requested."""


INITIAL_GROUP: Final = ShareGroup(0, "None", NO_START, 0, False)
INITIAL_STORE: Final = ShareStore(False, NO_START, 0, 0, 0, 0)


def initial_leader(constants: Constants) -> StateLeader:
    """A partition that was added is empty; another one has its first record."""
    there = 0 if constants.added else 1
    return StateLeader(1, "Empty", 0, 0, NO_START, there, (), 1, 0, 1)
