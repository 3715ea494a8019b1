"""What a consumer does as a member of its group: the twin of MembershipClient.tla (G23 to G27).

Law of this file: a handler is a pure function of the row and the input. Partitions are given up and
taken in two steps, as the callbacks of the application are run in between. A member that was fenced
drops everything and rejoins in one step.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from kraftcheck.reference.groups.messages import (
    ALL_FIELDS,
    COORDINATOR,
    MEMBER_INPUTS,
    CompleteReconciliation,
    Given,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    HeartbeatTimeout,
    SendGroupHeartbeat,
    StartReconciliation,
    Subscribe,
    Unsubscribe,
)
from kraftcheck.reference.groups.rules import GroupRules, as_set
from kraftcheck.reference.groups.types import INITIAL_MEMBER, GroupMember
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome


def unsent_with(row: GroupMember, field: Given) -> tuple[Given, ...]:
    return tuple([each for each in ALL_FIELDS if each == field or each in row.unsent])


def is_member(row: GroupMember) -> bool:
    return row.state not in ("Unsubscribed", "Fatal")


class MemberHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_max_correlation", "rules")
    initial: ClassVar[GroupMember] = INITIAL_MEMBER

    def __init__(self, rules: GroupRules) -> None:
        self.rules = rules
        self._max_correlation = rules.constants.max_correlation
        self._handlers = handlers_of(self, MEMBER_INPUTS)

    def step(self, n: int, row: GroupMember, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](n, row, input)
        return outcome

    # --- The application: subscribe, unsubscribe ---

    def handle_subscribe(self, n: int, row: GroupMember, input: Subscribe) -> Outcome | None:
        if row.state == "Unsubscribed":
            return Outcome(replace(row, state="Joining", subscribed=input.topics))
        if input.topics == row.subscribed or row.state == "Fatal":
            return None
        unsent = unsent_with(row, "Subscription")
        return Outcome(replace(row, subscribed=input.topics, unsent=unsent))

    def handle_unsubscribe(self, n: int, row: GroupMember, input: Unsubscribe) -> Outcome | None:
        """It waits until no heartbeat is in flight."""
        if not is_member(row) or row.awaiting:
            return None
        left = replace(self.initial, correlation=self._next_correlation(row))
        epoch = self.rules.epoch_of_leaving(n)
        return Outcome(left, (self._said(n, row, (), epoch),))

    # --- G23: heartbeats ---

    def handle_send_group_heartbeat(
        self, n: int, row: GroupMember, input: SendGroupHeartbeat
    ) -> Outcome | None:
        if not is_member(row) or row.awaiting:
            return None
        given = ALL_FIELDS if row.state == "Joining" else row.unsent
        after = replace(row, unsent=(), awaiting=True, correlation=self._next_correlation(row))
        if row.state == "Acknowledging":
            after = replace(after, state="Stable" if row.reconciled else "Reconciling")
        return Outcome(after, (self._said(n, row, given, row.epoch),))

    def handle_heartbeat_timeout(
        self, n: int, row: GroupMember, input: HeartbeatTimeout
    ) -> Outcome | None:
        if not row.awaiting:
            return None
        unsent = self.rules.unsent_after_failure(row.unsent)
        return Outcome(replace(row, awaiting=False, unsent=unsent))

    def handle_group_heartbeat_response(
        self, n: int, row: GroupMember, m: GroupHeartbeatResponse
    ) -> Outcome:
        if not self.rules.is_awaited(row, m):
            return Outcome(row, ignored="Late")
        if m.error in ("UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID"):
            given_up = replace(self.initial, state="Fatal", correlation=row.correlation)
            return Outcome(given_up)
        if m.error != "NONE":
            return Outcome(self._fenced(row))
        heard = replace(row, epoch=m.epoch, awaiting=False)
        return Outcome(self._told(heard, m.assigned) if m.tells else heard)

    def _fenced(self, row: GroupMember) -> GroupMember:
        """G25."""
        return replace(
            self.initial,
            state="Joining",
            subscribed=row.subscribed,
            correlation=row.correlation,
            owned=self.rules.owned_after_fence(row.owned),
        )

    def _told(self, row: GroupMember, assigned: tuple[int, ...]) -> GroupMember:
        """G24: an assignment.

        It is another one if it has other partitions than the last one; of the first, while joining,
        there is none before.
        """
        if row.state == "Joining" or assigned != row.target:
            return replace(
                row, state="Reconciling", target=assigned, reconciled=False, outdated=row.busy
            )
        return row if row.reconciled else replace(row, state="Reconciling")

    # --- G24: from one assignment to the next ---

    def handle_start_reconciliation(
        self, n: int, row: GroupMember, input: StartReconciliation
    ) -> Outcome | None:
        if row.state != "Reconciling" or row.busy:
            return None
        if row.target == row.current:
            unsent = unsent_with(row, "Owned")
            return Outcome(replace(row, state="Acknowledging", reconciled=True, unsent=unsent))
        owned = as_set({*row.owned} & {*row.target})
        return Outcome(replace(row, busy=True, reconciling=row.target, owned=owned))

    def handle_complete_reconciliation(
        self, n: int, row: GroupMember, input: CompleteReconciliation
    ) -> Outcome | None:
        if not row.busy:
            return None
        return Outcome(
            replace(
                row,
                state="Acknowledging",
                busy=False,
                owned=row.reconciling,
                current=row.reconciling,
                reconciling=(),
                reconciled=not row.outdated,
                outdated=False,
                unsent=unsent_with(row, "Owned"),
            )
        )

    # --- Words ---

    def _next_correlation(self, row: GroupMember) -> int:
        return 1 if row.correlation == self._max_correlation else row.correlation + 1

    def _said(
        self, n: int, row: GroupMember, given: tuple[Given, ...], epoch: int
    ) -> GroupHeartbeat:
        return GroupHeartbeat(
            n,
            COORDINATOR,
            self._next_correlation(row),
            epoch,
            given,
            row.subscribed if "Subscription" in given else (),
            self.rules.report(row) if "Owned" in given else (),
        )
