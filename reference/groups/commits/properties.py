"""What is promised of the offsets that members commit: the twin of GroupCommitsProperties.tla.

Law of this file: no rule is asked. That what was answered is committed (CommitDurable) is said of a
step in which an answer is told and heard, as it is in the models; here these are two, so TLC asks
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from kraftcheck.reference.groups import properties as groups
from kraftcheck.reference.groups.commits.types import NO_POSITION
from kraftcheck.reference.groups.properties import has, made, members_of, named, now

State: TypeAlias = Any
"""That of groups, with the rows of types.py."""

OF_MEMBERSHIP: Final = (
    *("GroupTypeInv", "HeldIsAssigned", "ServerSingleOwner", "EpochsBounded"),
    *("AssignedIsSubscribed", "AssignedIsTarget", "SingleOwner", "OwnedIsHeld"),
    *("EpochIsCommitted", "AckIsHeard", "NobodyGivesUp", "EpochsMonotonic", "Withheld"),
)
"""Those of groups that are promised here as well."""


def _group(state: State) -> Any:
    return now(state.coordinator)


def _has_it(state: State, n: int) -> bool:
    has_it: bool = state.constants.followed in has(state.now(n))
    return has_it


def _committing(old: State, new: State) -> Iterator[tuple[int, Any]]:
    """Who has asked for what is committed now,."""
    offset = _group(new).offset
    for n, row in old.members.items():
        yield from ((n, each) for each in row.requested if each.offset == offset)


def _is_in_epoch(old: State, new: State) -> bool:
    """Whether who commits is in the epoch in which it asked.

    Kafka then looks at no partition (`ConsumerGroup.validateOffsetCommit`), though a member that
    owes one keeps its epoch when it has given up others (docs/reference/groups.md).
    """
    return any(each.epoch == old.now(n).epoch for n, each in _committing(old, new))


def _is_move(old: State, new: State) -> bool:
    is_move: bool = new.coordinator.leader_epoch != old.coordinator.leader_epoch
    return is_move


def commits_type_inv(old: State, new: State) -> str | None:
    """A member has a position only for a partition that it owns, and a partition with an owner has
    the epoch since which it is owned.

    Misses: a wrong epoch.
    """
    followed: int = new.constants.followed
    for n, row in new.members.items():
        if row.position != NO_POSITION and followed not in row.owned:
            return f"member {n} is at {row.position}, and may not fetch"
    records: tuple[Any, ...] = made(old, new)
    for group in records:
        members = members_of(new.constants, group).values()
        if (group.since != 0) != any(followed in has(member) for member in members):
            return f"it belongs to somebody since epoch {group.since}"
    return None


def commit_by_owner(old: State, new: State) -> str | None:
    """A commit is accepted only from the member that has the partition, or is in the epoch in which
    it sent the commit.

    Misses: which of two members with the same offset sent it.
    """
    if _is_move(old, new) or _group(new).offset == _group(old).offset:
        return None
    if _is_in_epoch(old, new) or any(_has_it(old, n) for n, _ in _committing(old, new)):
        return None
    return f"{_group(new).offset} is committed, and nobody asked for it who may commit"


def handover_no_regress(old: State, new: State) -> str | None:
    """A committed offset decreases only by a commit of a member that has had the partition ever
    since it sent the commit, or is still in that epoch. After a refusal by a coordinator whose log
    is lost, a member may begin again in the same epoch, so its own commits may overtake each other.

    Misses: a member that has the partition and goes back.
    """
    before, after = _group(old), _group(new)
    if _is_move(old, new) or after.offset >= before.offset or _is_in_epoch(old, new):
        return None
    if any(_has_it(old, n) and before.since <= each.epoch for n, each in _committing(old, new)):
        return None
    return f"what is committed goes back from {before.offset} to {after.offset}"


def start_at_committed(old: State, new: State) -> str | None:
    """A member that begins to fetch a partition begins at the committed offset.

    Misses: a wrong commit.
    """
    offset: int = old.coordinator.log.committed.offset
    for n, row in new.members.items():
        begins = old.members[n].position == NO_POSITION != row.position
        if begins and row.position != offset:
            return f"member {n} begins at {row.position}, and {offset} is committed"
    return None


PROPERTIES: Final = (
    *[each for each in groups.PROPERTIES if each.name in OF_MEMBERSHIP],
    named("CommitsTypeInv", commits_type_inv, "coordinator", "members"),
    named("CommitByOwner", commit_by_owner, "coordinator"),
    named("HandoverNoRegress", handover_no_regress, "coordinator"),
    named("StartAtCommitted", start_at_committed, "members"),
)
