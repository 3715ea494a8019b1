"""What runs of commits should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.groups.commits.messages import (
    MoveCoordinator,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
)
from kraftcheck.reference.groups.commits.types import (
    NO_POSITION,
    CommitsCoordinator,
    CommittingMember,
    Constants,
)
from kraftcheck.reference.groups.log import newest
from kraftcheck.reference.kit.sometimes import Conditions

sometimes = Conditions()


@sometimes(MoveCoordinator)
def commit_is_lost_with_its_coordinator(
    before: CommitsCoordinator, after: CommitsCoordinator
) -> bool:
    """Another coordinator lacks a commit that the one before it had."""
    last: Any = newest(before.log)
    loaded: Any = newest(after.log)
    return bool(loaded.offset != last.offset)


@sometimes(OffsetCommit)
def commit_of_an_earlier_epoch_is_accepted(
    constants: Constants, before: CommitsCoordinator, input: OffsetCommit, after: CommitsCoordinator
) -> bool:
    """A member commits by an epoch that it has left behind (KIP-1251)."""
    member = newest(before.log).members[constants.members.index(input.source)]
    return input.epoch < member.epoch and after.log != before.log


@sometimes(OffsetCommit)
def commit_is_refused_by_its_epoch(sent: tuple[Any, ...]) -> bool:
    """A member commits by an epoch that does not count, or does not count any more."""
    return any(each.error == "STALE_MEMBER_EPOCH" for each in sent)


@sometimes(OffsetFetch)
def offset_is_asked_for_while_records_are_uncommitted(before: CommitsCoordinator) -> bool:
    """Who takes the partition asks what is committed, and the coordinator may not tell it."""
    return bool(before.log.leader)


@sometimes(OffsetFetchResponse)
def member_begins_behind_the_first_record(
    before: CommittingMember, after: CommittingMember
) -> bool:
    """A member that takes the partition goes on where another one, or itself, has committed."""
    return before.position == NO_POSITION and after.position > 0


@sometimes(OffsetCommitResponse)
def commit_is_answered_late(before: CommittingMember, input: OffsetCommitResponse) -> bool:
    """A member is told of a commit that it asks for in another epoch now, or not any more."""
    return all(each.epoch != input.epoch for each in before.requested)
