"""A consumer in a classic group: the twin of ClassicMember.tla (G42 to G44).

Law of this file: a handler is a pure function of the row and the input. Callbacks of the
application run within a step. Where the spec leaves the choice of a target, one is taken by the
generation.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.groups.classic.messages import (
    COORDINATOR,
    MEMBER_INPUTS,
    NO_GENERATION,
    Claim,
    ClassicHeartbeat,
    ClassicHeartbeatResponse,
    ClassicRequestTimeout,
    Error,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    MemberAssignment,
    RequestRejoin,
    SendClassicHeartbeat,
    SendJoinGroup,
    SubscribeClassic,
    SyncGroup,
    SyncGroupResponse,
    UnsubscribeClassic,
)
from kraftcheck.reference.groups.classic.rules import ClassicRules
from kraftcheck.reference.groups.classic.types import INITIAL_MEMBER, ClassicMember
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome


class MemberHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_max_correlation", "rules")

    def __init__(self, rules: ClassicRules) -> None:
        self.rules = rules
        self._max_correlation = rules.constants.max_correlation
        self._handlers = handlers_of(self, MEMBER_INPUTS)

    def step(self, n: int, row: ClassicMember, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](n, row, input)
        return outcome

    # --- The application ---

    def handle_subscribe_classic(
        self, n: int, row: ClassicMember, input: SubscribeClassic
    ) -> Outcome | None:
        if row.state != "Unsubscribed":
            return None
        return Outcome(replace(row, state="Joining"))

    def handle_unsubscribe_classic(
        self, n: int, row: ClassicMember, input: UnsubscribeClassic
    ) -> Outcome | None:
        """It waits until no request is in flight."""
        if row.state == "Unsubscribed" or row.awaiting:
            return None
        left = replace(INITIAL_MEMBER, correlation=row.correlation)
        return Outcome(left, (LeaveGroup(n, COORDINATOR),) if row.has_id else ())

    def handle_request_rejoin(
        self, n: int, row: ClassicMember, input: RequestRejoin
    ) -> Outcome | None:
        if row.state != "Stable" or row.awaiting:
            return None
        return Outcome(replace(row, state="Joining"))

    # --- G38, G43, G44: it joins ---

    def handle_send_join_group(
        self, n: int, row: ClassicMember, input: SendJoinGroup
    ) -> Outcome | None:
        if row.state != "Joining" or row.awaiting:
            return None
        asking = replace(self._asking(row), owned=self.rules.owned_while_joining(row.owned))
        claimed = self.rules.claimed_generation(row)
        request = JoinGroup(n, COORDINATOR, asking.correlation, row.has_id, asking.owned, claimed)
        return Outcome(asking, (request,))

    def handle_join_group_response(
        self, n: int, row: ClassicMember, m: JoinGroupResponse
    ) -> Outcome:
        """Who leads makes the assignments, and sends them with its request."""
        if not self.rules.is_awaited(row, m):
            return Outcome(row, ignored="Late")
        if m.error != "NONE":
            return Outcome(self._reset(row, False))
        asking = replace(self._asking(row), state="Syncing", has_id=True, generation=m.generation)
        assignments = self._assigned(m.claims, m.generation) if m.claims else ()
        request = SyncGroup(n, COORDINATOR, asking.correlation, m.generation, assignments)
        return Outcome(asking, (request,))

    def _assigned(self, claims: tuple[Claim, ...], generation: int) -> tuple[MemberAssignment, ...]:
        targets = self.rules.targets(claims)
        owner = targets[generation % len(targets)]
        return tuple(
            [
                MemberAssignment(c.member, self._given(claims, c.member, [*owner.items()]))
                for c in claims
            ]
        )

    def _given(
        self, claims: tuple[Claim, ...], n: int, owner: list[tuple[int, int]]
    ) -> tuple[int, ...]:
        mine = [p for p, to in owner if to == n]
        return tuple([p for p in mine if not self.rules.is_withheld(claims, n, p)])

    # --- G39, G40: it is assigned its partitions, and lives ---

    def handle_sync_group_response(
        self, n: int, row: ClassicMember, m: SyncGroupResponse
    ) -> Outcome:
        if not self.rules.is_awaited(row, m):
            return Outcome(row, ignored="Late")
        if m.error != "NONE":
            return Outcome(self._refused(row, m.error))
        again = self.rules.joins_again(row.owned, m.assigned)
        state = "Joining" if again else "Stable"
        return Outcome(replace(row, state=state, owned=m.assigned, awaiting=False))

    def handle_send_classic_heartbeat(
        self, n: int, row: ClassicMember, input: SendClassicHeartbeat
    ) -> Outcome | None:
        if row.state != "Stable" or row.awaiting:
            return None
        asking = self._asking(row)
        request = ClassicHeartbeat(n, COORDINATOR, asking.correlation, row.generation)
        return Outcome(asking, (request,))

    def handle_classic_heartbeat_response(
        self, n: int, row: ClassicMember, m: ClassicHeartbeatResponse
    ) -> Outcome:
        if not self.rules.is_awaited(row, m):
            return Outcome(row, ignored="Late")
        if m.error != "NONE":
            return Outcome(self._refused(row, m.error))
        return Outcome(replace(row, awaiting=False))

    def handle_classic_request_timeout(
        self, n: int, row: ClassicMember, input: ClassicRequestTimeout
    ) -> Outcome | None:
        if not row.awaiting:
            return None
        state = "Joining" if row.state == "Syncing" else row.state
        return Outcome(replace(row, state=state, awaiting=False))

    # --- Words ---

    def _asking(self, row: ClassicMember) -> ClassicMember:
        correlation = 1 if row.correlation == self._max_correlation else row.correlation + 1
        return replace(row, awaiting=True, correlation=correlation)

    def _refused(self, row: ClassicMember, error: Error) -> ClassicMember:
        """What it has heard of its generation and itself."""
        if error == "REBALANCE_IN_PROGRESS":
            return replace(row, state="Joining", awaiting=False)
        return self._reset(row, error == "ILLEGAL_GENERATION")

    def _reset(self, row: ClassicMember, has_id: bool) -> ClassicMember:
        """G42. It is no member any more, or none of this generation."""
        return replace(
            row,
            state="Joining",
            has_id=has_id,
            generation=NO_GENERATION,
            owned=self.rules.owned_after_reset(row.owned),
            awaiting=False,
        )
