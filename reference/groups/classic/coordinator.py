"""The coordinator of a classic group: the twin of ClassicHandlers.tla (G37 to G41, G49).

Law of this file: a handler is a pure function of the row and the input. What a rule decides it asks
the rules. Where the spec leaves the choice of a leader, the first of those who joined is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.groups.classic.messages import (
    COORDINATOR,
    COORDINATOR_INPUTS,
    NO_GENERATION,
    Claim,
    ClassicCommit,
    ClassicHeartbeat,
    ClassicHeartbeatResponse,
    ClassicImage,
    ClassicRebalanceTimeout,
    ClassicRecord,
    ClassicSessionTimeout,
    Error,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    MoveClassicCoordinator,
    SyncGroup,
    SyncGroupResponse,
)
from kraftcheck.reference.groups.classic.rules import ClassicRules
from kraftcheck.reference.groups.classic.types import NO_MEMBER, ClassicCoordinator
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import NOBODY, put
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.kit.tail_log import last_of, with_appended, with_committed, with_leader


def waiting(member: ClassicRecord) -> ClassicRecord:
    return replace(member, joined=False, syncing=False, correlation=0)


def image(row: ClassicCoordinator) -> ClassicImage:
    return ClassicImage(row.generation, row.leader, tuple([waiting(m) for m in row.members]))


def writing(row: ClassicCoordinator) -> ClassicCoordinator:
    return replace(row, log=with_appended(row.log, (image(row),)))


def latest_records(image: ClassicImage) -> Mapping[str, Any]:
    """What the log says of a group, by key: it has one (CoordinatorRecordType 2)."""
    return {"group": image}


def refusal(m: JoinGroup, error: Error) -> JoinGroupResponse:
    return JoinGroupResponse(COORDINATOR, m.source, m.correlation, error, NO_GENERATION, ())


def is_assigned(row: ClassicCoordinator) -> bool:
    """The assignments of this generation are in the log."""
    written = any(each.generation == row.generation for each in row.log.leader)
    return row.state == "Completing" and written


class CoordinatorHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_members", "rules")

    def __init__(self, rules: ClassicRules) -> None:
        self.rules = rules
        self._members = rules.constants.members
        self._handlers = handlers_of(self, COORDINATOR_INPUTS)

    def step(self, row: ClassicCoordinator, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](row, input)
        return outcome

    # --- G38: members join ---

    def handle_join_group(self, row: ClassicCoordinator, m: JoinGroup) -> Outcome:
        is_known = m.has_id and self._member(row, m.source).known
        if m.has_id and not is_known:
            return Outcome(row, (refusal(m, "UNKNOWN_MEMBER_ID"),))
        if is_known and not self.rules.begins_rebalance(row, m):
            return Outcome(row, (self._join_answer(row, m.source, m.correlation),))
        joined = replace(
            self._member(row, m.source) if m.has_id else NO_MEMBER,
            known=True,
            owned=m.owned,
            claimed=m.claimed,
            joined=True,
            syncing=False,
            correlation=m.correlation,
        )
        return self._preparing(self._with(row, m.source, joined))

    def _join_answer(self, row: ClassicCoordinator, n: int, correlation: int) -> JoinGroupResponse:
        claims = tuple([Claim(k, of.owned, of.claimed) for k, of in self._known(row)])
        told = claims if n == row.leader else ()
        return JoinGroupResponse(COORDINATOR, n, correlation, "NONE", row.generation, told)

    # --- G39, G40: they ask for their assignments, which the leader has made; and live ---
    # Of a group that was loaded nothing is told before all that was loaded is committed: who asks
    # asks again.

    def handle_sync_group(self, row: ClassicCoordinator, m: SyncGroup) -> Outcome:
        error, member = self._error(row, m), self._member(row, m.source)
        if error != "NONE":
            return Outcome(row, (self._sync_answer(m.source, m.correlation, error),))
        if row.state == "Stable":
            if not self.rules.is_told(row):
                return Outcome(row, ignored="Unwritten")
            told = self._sync_answer(m.source, m.correlation, "NONE", member.assigned)
            return Outcome(row, (told,))
        waits = self._with(row, m.source, replace(member, syncing=True, correlation=m.correlation))
        if m.source != row.leader or is_assigned(row):
            return Outcome(waits)
        given = {each.member: each.partitions for each in m.assignments}
        members = zip(self._members, waits.members, strict=True)
        after = tuple([replace(of, assigned=given.get(n, ())) for n, of in members])
        written = writing(replace(waits, members=after))
        return self._settled(written) if self.rules.is_told(written) else Outcome(written)

    def handle_classic_heartbeat(self, row: ClassicCoordinator, m: ClassicHeartbeat) -> Outcome:
        """G3, G40. An error is told at once."""
        error = self._error(row, m)
        if error == "NONE" and not self.rules.is_told(row):
            return Outcome(row, ignored="Unwritten")
        told = ClassicHeartbeatResponse(COORDINATOR, m.source, m.correlation, error)
        return Outcome(row, (told,))

    def _error(self, row: ClassicCoordinator, m: SyncGroup | ClassicHeartbeat) -> Error:
        """What is the matter with a member that says it is of a generation."""
        if not self._member(row, m.source).known:
            return "UNKNOWN_MEMBER_ID"
        if m.generation != row.generation:
            return "ILLEGAL_GENERATION"
        return "REBALANCE_IN_PROGRESS" if row.state == "Preparing" else "NONE"

    def _sync_answer(
        self, n: int, correlation: int, error: Error, assigned: tuple[int, ...] = ()
    ) -> SyncGroupResponse:
        return SyncGroupResponse(COORDINATOR, n, correlation, error, assigned)

    def _settled(self, row: ClassicCoordinator) -> Outcome:
        """All that wait are told."""
        told = [
            self._sync_answer(n, of.correlation, "NONE", of.assigned)
            for n, of in self._known(row)
            if of.syncing
        ]
        members = tuple([waiting(member) for member in row.members])
        return Outcome(replace(row, state="Stable", members=members), tuple(sorted(told)))

    # --- G41, and time: members go ---

    def handle_leave_group(self, row: ClassicCoordinator, m: LeaveGroup) -> Outcome:
        is_known = self._member(row, m.source).known
        return self._without(row, {m.source}) if is_known else Outcome(row)

    def handle_classic_session_timeout(
        self, row: ClassicCoordinator, input: ClassicSessionTimeout
    ) -> Outcome | None:
        member = self._member(row, input.member)
        if not member.known or member.joined or member.syncing:
            return None
        return self._without(row, {input.member})

    def handle_classic_rebalance_timeout(
        self, row: ClassicCoordinator, input: ClassicRebalanceTimeout
    ) -> Outcome | None:
        """Who is late goes."""
        late = {n for n, of in self._known(row) if self.rules.is_rebalance_late(row.state, of)}
        return self._without(row, late) if late else None

    def _without(self, row: ClassicCoordinator, gone: Collection[int]) -> Outcome:
        members = zip(self._members, row.members, strict=True)
        left = tuple([NO_MEMBER if n in gone else of for n, of in members])
        return self._preparing(replace(row, members=left))

    # --- The log ---

    def handle_classic_commit(
        self, row: ClassicCoordinator, input: ClassicCommit
    ) -> Outcome | None:
        if not row.log.leader:
            return None
        committed = replace(row, log=with_committed(row.log))
        return self._settled(committed) if is_assigned(row) else Outcome(committed)

    def handle_move_classic_coordinator(
        self, row: ClassicCoordinator, input: MoveClassicCoordinator
    ) -> Outcome | None:
        """G49."""
        is_last = row.leader_epoch == self.rules.constants.max_coordinators
        if is_last or input.tail not in row.log.tails:
            return None
        log = with_leader(row.log, input.tail)
        loaded: ClassicImage = last_of(log)
        return Outcome(
            ClassicCoordinator(
                leader_epoch=row.leader_epoch + 1,
                state=self.rules.loaded_state(loaded),
                generation=loaded.generation,
                leader=loaded.leader,
                members=loaded.members,
                log=log,
            )
        )

    # --- The states of a group (G37) ---

    def _preparing(self, row: ClassicCoordinator) -> Outcome:
        """Everybody is to join: who waits for an assignment gets none."""
        refused = [
            self._sync_answer(n, of.correlation, "REBALANCE_IN_PROGRESS")
            for n, of in self._known(row)
            if of.syncing
        ]
        if row.state != "Preparing":
            members = tuple([waiting(m) if m.syncing else m for m in row.members])
            row = replace(row, state="Preparing", members=members)
        if any(not of.joined for _, of in self._known(row)):
            return Outcome(row, tuple(refused))
        after, told = self._joined(row)
        return Outcome(after, (*told, *refused))

    def _joined(self, row: ClassicCoordinator) -> tuple[ClassicCoordinator, tuple[object, ...]]:
        """All have joined. The first leader stays one."""
        generation = self.rules.next_generation(row.generation)
        known = [n for n, _ in self._known(row)]
        if not known:
            gone = replace(row, state="Empty", generation=generation, leader=NOBODY)
            return writing(gone), ()
        after = replace(
            row,
            state="Completing",
            generation=generation,
            leader=row.leader if row.leader in known else known[0],
            members=tuple([waiting(member) for member in row.members]),
        )
        told = [self._join_answer(after, n, of.correlation) for n, of in self._known(row)]
        return after, tuple(told)

    # --- Words ---

    def _member(self, row: ClassicCoordinator, n: int) -> ClassicRecord:
        return row.members[self._members.index(n)]

    def _known(self, row: ClassicCoordinator) -> Iterator[tuple[int, ClassicRecord]]:
        members = zip(self._members, row.members, strict=True)
        return ((n, of) for n, of in members if of.known)

    def _with(self, row: ClassicCoordinator, n: int, after: ClassicRecord) -> ClassicCoordinator:
        at = self._members.index(n)
        return replace(row, members=put(row.members, at, after))
