"""The rows of a classic group and their initial values, with the names of the spec.

Law of this file: nothing is decided here. Rows are immutable and hashable.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.groups.classic.messages import (
    NO_GENERATION,
    ClassicImage,
    ClassicRecord,
    ClassicTail,
)
from kraftcheck.reference.kit.fields import NOBODY, AtLeastOne, ByNode, NodeOrNobody, Rank, SetOf

ClassicState: TypeAlias = Literal["Empty", "Preparing", "Completing", "Stable"]


class Constants(msgspec.Struct, frozen=True, tag="classic", tag_field="protocol"):
    """The constants of a classic group."""

    members: SetOf[int]
    """Their nodes, all above 0."""
    partitions: SetOf[int]
    """Of the topics that they subscribe to."""
    cooperative: bool
    """Only what moves is revoked (KIP-429), not all."""
    max_coordinators: AtLeastOne
    """The number of leader epochs that the log may have."""
    max_correlation: AtLeastOne
    """After it, request numbers begin with 1 again."""


class ClassicLog(msgspec.Struct, frozen=True):
    """The group's partition of __consumer_offsets (specs/common/GroupLog.tla)."""

    committed: ClassicImage
    leader: tuple[ClassicImage, ...]
    """The leader's log after the committed record."""
    tails: SetOf[ClassicTail]
    """The same of any replica that may lead; sorted."""


class ClassicCoordinator(msgspec.Struct, frozen=True):
    """The coordinator (specs/groups/classic/ClassicHandlers.tla)."""

    leader_epoch: int
    state: ClassicState
    generation: int
    leader: NodeOrNobody
    members: ByNode[ClassicRecord]
    log: ClassicLog


class ClassicMember(msgspec.Struct, frozen=True):
    """A consumer (specs/groups/classic/ClassicMember.tla)."""

    state: Literal["Unsubscribed", "Joining", "Syncing", "Stable"]
    has_id: bool
    generation: int
    owned: SetOf[int]
    awaiting: bool
    correlation: Rank


NO_MEMBER: Final = ClassicRecord(False, (), NO_GENERATION, (), False, False, 0)
INITIAL_MEMBER: Final = ClassicMember("Unsubscribed", False, NO_GENERATION, (), False, 0)


def no_group(constants: Constants) -> ClassicImage:
    return ClassicImage(0, NOBODY, (NO_MEMBER,) * len(constants.members))


def initial_coordinator(constants: Constants) -> ClassicCoordinator:
    none = no_group(constants)
    log = ClassicLog(none, (), (ClassicTail(()),))
    return ClassicCoordinator(1, "Empty", 0, NOBODY, none.members, log)
