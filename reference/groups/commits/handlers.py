"""What the coordinator and its members do of offsets.

The twin of specs/groups/commits/CommitHandlers.tla.

Law of this file: as of reference/groups/coordinator.py and client.py, whose handlers these are but
for what is written here. Records are handed out in the step in which they are committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.groups.client import MemberHandlers
from kraftcheck.reference.groups.commits.messages import (
    COORDINATOR_INPUTS,
    MEMBER_INPUTS,
    AskedCommit,
    AskOffset,
    CommitError,
    CommitOffsets,
    CommitsRecord,
    CommitTimeout,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    RequestCommit,
)
from kraftcheck.reference.groups.commits.rules import CommitRules
from kraftcheck.reference.groups.commits.types import (
    INITIAL_COMMITTING_MEMBER,
    NO_POSITION,
    CommitsCoordinator,
    CommittingMember,
)
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers, with_waiting
from kraftcheck.reference.groups.log import appended, latest_records as said_of_group, newest
from kraftcheck.reference.groups.messages import COORDINATOR, MemberRecord
from kraftcheck.reference.groups.rules import holding
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome


def latest_records(group: CommitsRecord) -> Mapping[str, Any]:
    """What the log says of a group, by key: as in groups, and what is committed (of type 1).

    Since when its owner has the partition is in that owner's assignment (KIP-1251).
    """
    of = {**said_of_group(group), "offset": group.offset}
    of["since"] = group.since or None
    return of


class CommitsCoordinatorHandlers(CoordinatorHandlers):
    """The handlers, for one set of rules."""

    __slots__ = ()
    rules: CommitRules

    def __init__(self, rules: CommitRules) -> None:
        super().__init__(rules)
        self._handlers = handlers_of(self, COORDINATOR_INPUTS)

    def _with_member(self, group: Any, n: int, after: MemberRecord) -> Any:
        """A partition that a member is given has the member's epoch."""
        p, before = self.rules.constants.followed, self._member(group, n)
        since = group.since
        if p in after.assigned and p not in before.assigned:
            since = after.epoch
        elif p in holding(before) and p not in holding(after):
            since = 0
        return replace(super()._with_member(group, n, after), since=since)

    def handle_offset_fetch(self, row: CommitsCoordinator, m: OffsetFetch) -> Outcome:
        """G28, G33. While a record is not committed nothing is told: who asks asks again."""
        if self.rules.waits_for_written(row):
            return Outcome(row, ignored="Unwritten")
        group: Any = newest(row.log)
        error: CommitError = "NONE"
        if not self.rules.tells_offset(self._member(group, m.source), m.epoch):
            error = "STALE_MEMBER_EPOCH"
        offset = self.rules.beginning(group) if error == "NONE" else 0
        told = OffsetFetchResponse(COORDINATOR, m.source, error, m.epoch, offset)
        return Outcome(row, (told,))

    def handle_offset_commit(self, row: CommitsCoordinator, m: OffsetCommit) -> Outcome:
        """G30. An operation with a record; an error is told at once."""
        group: Any = newest(row.log)
        member = self._member(group, m.source)
        error: CommitError = "NONE"
        if member.state == "None":
            error = "UNKNOWN_MEMBER_ID"
        elif not self.rules.accepts_commit(group, member, m.epoch):
            error = "STALE_MEMBER_EPOCH"
        told = OffsetCommitResponse(COORDINATOR, m.source, error, m.epoch, m.offset)
        if error != "NONE":
            return Outcome(row, (told,))
        after = replace(row, log=appended(row.log, replace(group, offset=m.offset)))
        if self.rules.is_answered(after):
            return Outcome(after, (told,))
        return Outcome(replace(after, waiting=with_waiting(row.waiting, told)))


class CommittingMemberHandlers(MemberHandlers):
    """The handlers, for one set of rules."""

    __slots__ = ()
    rules: CommitRules
    initial = INITIAL_COMMITTING_MEMBER

    def __init__(self, rules: CommitRules) -> None:
        super().__init__(rules)
        self._handlers = handlers_of(self, MEMBER_INPUTS)

    def step(self, n: int, row: Any, input: object) -> Outcome | None:
        """Who may not fetch any more has no position."""
        outcome = super().step(n, row, input)
        if outcome is None or self._may_fetch(outcome.row):
            return outcome
        return outcome._replace(row=replace(outcome.row, position=NO_POSITION))

    def _may_fetch(self, row: CommittingMember) -> bool:
        return self.rules.constants.followed in row.owned

    def _fenced(self, row: Any) -> Any:
        """G25. What the application has asked for stays asked for."""
        return replace(super()._fenced(row), requested=row.requested)

    def handle_ask_offset(self, n: int, row: CommittingMember, input: AskOffset) -> Outcome | None:
        if not self._may_fetch(row) or row.position != NO_POSITION:
            return None
        return Outcome(row, (OffsetFetch(n, COORDINATOR, row.epoch, 0),))

    def handle_offset_fetch_response(
        self, n: int, row: CommittingMember, m: OffsetFetchResponse
    ) -> Outcome:
        """G28. Also if nothing is committed: then it begins with the first one."""
        is_asking = self._may_fetch(row) and row.position == NO_POSITION
        if m.error != "NONE" or not is_asking or m.epoch != row.epoch:
            return Outcome(row, ignored="Late")
        return Outcome(replace(row, position=m.offset))

    def handle_request_commit(
        self, n: int, row: CommittingMember, input: RequestCommit
    ) -> Outcome | None:
        """G29. What has been handed out meanwhile is committed with it."""
        if row.requested or row.position == NO_POSITION or input.offset <= row.position:
            return None
        asked = AskedCommit(input.offset, row.epoch, sent=False)
        return Outcome(replace(row, position=input.offset, requested=(asked,)))

    def handle_commit_offsets(
        self, n: int, row: CommittingMember, input: CommitOffsets
    ) -> Outcome | None:
        """A member that joins, too, says what it was asked."""
        if not any(not each.sent for each in row.requested):
            return None
        sent = tuple([replace(each, sent=True) for each in row.requested])
        said = tuple(
            [
                OffsetCommit(n, COORDINATOR, self.rules.stamped_epoch(row, each), each.offset)
                for each in row.requested
            ]
        )
        return Outcome(replace(row, requested=sent), said)

    def handle_commit_timeout(
        self, n: int, row: CommittingMember, input: CommitTimeout
    ) -> Outcome | None:
        """No answer came in time: it asks again."""
        if not any(each.sent for each in row.requested):
            return None
        unsent = tuple([replace(each, sent=False) for each in row.requested])
        return Outcome(replace(row, requested=unsent))

    def handle_offset_commit_response(
        self, n: int, row: CommittingMember, m: OffsetCommitResponse
    ) -> Outcome:
        asked = AskedCommit(m.offset, m.epoch, sent=True)
        if asked not in row.requested:
            return Outcome(row, ignored="Late")
        return Outcome(replace(row, requested=()))
