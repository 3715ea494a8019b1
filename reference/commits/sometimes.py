"""What runs of commits should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from reference.commits.messages import (
    CommitTimeout,
    MoveCoordinator,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
)
from reference.commits.types import CommitsCoordinator, CommittingMember, Constants
from reference.groups.log import newest
from reference.kit.sometimes import Conditions

sometimes = Conditions()


@sometimes(OffsetCommit)
def commit_of_an_earlier_epoch_is_taken(
    constants: Constants, before: CommitsCoordinator, after: CommitsCoordinator, input: OffsetCommit
) -> bool:
    """A member whose epoch has gone on commits in the one before, and may (KIP-1251)."""
    member = newest(before.log).members[constants.members.index(input.source)]
    return after != before and input.epoch < member.epoch


@sometimes(OffsetCommitResponse)
def commit_is_refused(input: OffsetCommitResponse) -> bool:
    """A member is told that its commit was not taken."""
    return input.error != "NONE"


@sometimes(MoveCoordinator)
def coordinator_moves_with_commits_unanswered(before: CommitsCoordinator) -> bool:
    """Another coordinator is elected while a commit is written and its answer waits."""
    return any(isinstance(each, OffsetCommitResponse) for each in before.waiting)


@sometimes(CommitTimeout)
def commit_gets_no_answer(before: CommittingMember) -> bool:
    """A member gives up a commit that it has sent."""
    return any(each.sent for each in before.requested)


@sometimes(OffsetFetch)
def offset_is_asked_for_while_a_record_is_uncommitted(before: CommitsCoordinator) -> bool:
    """Who takes the partition asks where to begin before all is committed."""
    return bool(before.log.leader)


@sometimes(OffsetFetchResponse)
def member_begins_where_another_stopped(
    before: CommittingMember, after: CommittingMember
) -> bool:
    """A member goes on from what is committed of the partition."""
    return after.position > 0 and after != before
