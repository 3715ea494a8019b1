"""The rows of a group whose members commit offsets: those of groups, with what is said here.

Law of this file: values only, with the names of specs/groups/commits/CommitHandlers.tla.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import asdict, replace

from kraftcheck.reference.groups import types as groups
from kraftcheck.reference.groups.commits.messages import (
    AskedCommit,
    CommitsRecord,
    CommitsTail,
    Waiting,
)
from kraftcheck.reference.kit.fields import SetOf

NO_POSITION: Final = -1


class Constants(groups.Constants, frozen=True, tag="commits", tag_field="protocol"):
    """It does not come and go, and nobody is static."""

    followed: int = 1
    """The partition whose offsets are followed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        there = {*self.partitions} - {*self.growing}
        assert self.followed in there, "followed is a partition that does not come and go"
        assert not self.static, "nobody is static"


class CommitsLog(groups.OffsetsLog, frozen=True):
    committed: CommitsRecord
    leader: tuple[CommitsRecord, ...]
    tails: SetOf[CommitsTail]


class CommitsCoordinator(groups.GroupCoordinator, frozen=True):
    log: CommitsLog
    # Answers of commits wait as well: wider than there, which only their own handlers see.
    waiting: Waiting  # type: ignore[assignment]


class CommittingMember(groups.GroupMember, frozen=True):
    """A member that commits."""

    position: int
    """NO_POSITION before it has received the committed offset."""
    requested: SetOf[AskedCommit]
    """Commits, at most one."""


INITIAL_COMMITTING_MEMBER: Final = CommittingMember(
    **asdict(groups.INITIAL_MEMBER), position=NO_POSITION, requested=()
)


def first_member(constants: groups.Constants) -> CommittingMember:
    """In the beginning all have subscribed to all."""
    return replace(INITIAL_COMMITTING_MEMBER, state="Joining", subscribed=constants.partitions)


def initial_coordinator(constants: groups.Constants) -> CommitsCoordinator:
    first = asdict(groups.initial_group(constants))
    log = CommitsLog(CommitsRecord(**first), (), (CommitsTail(()),))
    return CommitsCoordinator(1, log, ())
