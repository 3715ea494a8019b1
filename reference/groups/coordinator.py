"""What the coordinator of a group does with an input: the twin of GroupHandlers.tla (G2 to G21).

Law of this file: a handler is a pure function of the row and the input. What a rule decides it asks
the rules. Where the spec leaves the choice of a target, one is taken by the group epoch.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.groups.log import appended, committed, loaded, newest
from kraftcheck.reference.groups.messages import (
    COORDINATOR,
    COORDINATOR_INPUTS,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    RELEASED_EPOCH,
    DeleteTopic,
    Error,
    GroupCommit,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    GroupRecord,
    GroupSessionTimeout,
    GrowTopic,
    MemberRecord,
    MoveCoordinator,
    RebalanceTimeout,
)
from kraftcheck.reference.groups.rules import GroupRules, as_set
from kraftcheck.reference.groups.types import NO_MEMBER, GroupCoordinator
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.protocol import Outcome


def answer(
    m: GroupHeartbeat, error: Error, epoch: int, assigned: tuple[int, ...] | None = None
) -> GroupHeartbeatResponse:
    """assigned: None, if nothing is told of it."""
    return GroupHeartbeatResponse(
        COORDINATOR, m.source, m.correlation, error, epoch, assigned is not None, assigned or ()
    )


def with_waiting(waiting: tuple[Any, ...], told: Any) -> tuple[Any, ...]:
    """Sorted: those of a type are compared with each other only."""
    return tuple(sorted({*waiting, told}, key=lambda each: (type(each).__name__, each)))


def revoking(
    member: MemberRecord, assigned: tuple[int, ...], pending: tuple[int, ...]
) -> MemberRecord:
    return replace(
        member,
        state="Unrevoked",
        previous_epoch=member.epoch,
        assigned=assigned,
        pending=pending,
    )


class CoordinatorHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_max_coordinators", "_place", "rules")

    def __init__(self, rules: GroupRules) -> None:
        self.rules = rules
        self._max_coordinators = rules.constants.max_coordinators
        self._place = {n: at for at, n in enumerate(rules.constants.members)}
        self._handlers = handlers_of(self, COORDINATOR_INPUTS)

    def step(self, row: GroupCoordinator, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](row, input)
        return outcome

    # --- G11 to G19: members join, live and leave ---

    def handle_group_heartbeat(self, row: GroupCoordinator, m: GroupHeartbeat) -> Outcome:
        """An error is told at once, though it was found in what is not committed."""
        group = newest(row.log)
        k = self._holder_of(group, m.source)
        holder = self._member(group, k)
        leaves = m.epoch in (LEAVE_EPOCH, RELEASED_EPOCH)
        error: Error = "NONE"
        if holder.state == "None":
            error = "NONE" if m.epoch == JOIN_EPOCH else "UNKNOWN_MEMBER_ID"
        elif k != m.source:
            error = self.rules.instance_error(holder, m)
        elif not leaves:
            error = self.rules.member_epoch_error(holder, m)
        if error != "NONE":
            return Outcome(row, (answer(m, error, 0),))
        if leaves:
            return self._leave(row, m)
        if holder.state != "None" and (k != m.source or holder.epoch == RELEASED_EPOCH):
            group = self._with_replaced(group, k, m.source)
        return self._heartbeat(row, m, group)

    def _holder_of(self, group: GroupRecord, n: int) -> int:
        """G13. Who has the instance id: the member itself, another one, or nobody."""
        if self.rules.constants.static:
            for k in self.rules.constants.members:
                is_other = k != n and self._member(group, k).state != "None"
                if is_other and self.rules.shares_instance(n, k):
                    return k
        return n

    def _leave(self, row: GroupCoordinator, m: GroupHeartbeat) -> Outcome:
        group = newest(row.log)
        if m.epoch == LEAVE_EPOCH:
            left = self._without_member(group, m.source)
        else:
            left = self._with_member(group, m.source, self._released(group, m.source))
        return self._done(row, left, answer(m, "NONE", m.epoch))

    def _released(self, group: GroupRecord, n: int) -> MemberRecord:
        """G19."""
        member = self._member(group, n)
        return replace(
            member,
            state="Stable",
            epoch=RELEASED_EPOCH,
            previous_epoch=RELEASED_EPOCH,
            assigned=self.rules.kept_for_a_while(member),
            pending=(),
        )

    def _heartbeat(self, row: GroupCoordinator, m: GroupHeartbeat, group: GroupRecord) -> Outcome:
        rules = self.rules
        before = self._member(group, m.source)
        known = before if before.state != "None" else replace(NO_MEMBER, state="Stable")
        updated = known
        if "Subscription" in m.given:
            updated = replace(known, subscribed=m.subscribed)
        changed = rules.changes_subscription(known, updated)
        epoch = rules.bumped_epoch(group.epoch) if changed else group.epoch
        bumped = replace(group, epoch=epoch, members=self._members_with(group, m.source, updated))
        targeted = self._targeted(bumped)
        after = self._next_member(
            targeted,
            self._member(targeted, m.source),
            m,
            changed,
            targeted.target_epoch != group.target_epoch,
        )
        tells = rules.tells_assignment(m, before, after)
        told = answer(m, "NONE", after.epoch, after.assigned if tells else None)
        return self._done(row, self._with_member(targeted, m.source, after), told)

    def _done(
        self, row: GroupCoordinator, group: GroupRecord, told: GroupHeartbeatResponse
    ) -> Outcome:
        """The operation has made `group` of what was newest."""
        waiting = with_waiting(row.waiting, told)
        if group != newest(row.log):
            return Outcome(replace(row, log=appended(row.log, group), waiting=waiting))
        if self.rules.waits_for_written(row):
            return Outcome(replace(row, waiting=waiting))
        return Outcome(row, (told,))

    # --- G9, G20: time. Nobody is answered ---

    def handle_group_session_timeout(
        self, row: GroupCoordinator, input: GroupSessionTimeout
    ) -> Outcome | None:
        if self._member(newest(row.log), input.member).state == "None":
            return None
        return self._removed(row, input.member)

    def handle_rebalance_timeout(
        self, row: GroupCoordinator, input: RebalanceTimeout
    ) -> Outcome | None:
        if not self.rules.is_revocation_late(self._member(newest(row.log), input.member)):
            return None
        return self._removed(row, input.member)

    def _removed(self, row: GroupCoordinator, n: int) -> Outcome:
        group = self._without_member(newest(row.log), n)
        return Outcome(replace(row, log=appended(row.log, group)))

    # --- G14: topics that grow or are deleted, and those that a regex comes to match ---

    def handle_grow_topic(self, row: GroupCoordinator, input: GrowTopic) -> Outcome | None:
        group, p = newest(row.log), input.partition
        if p in group.grown or p in group.gone:
            return None
        return self._other_metadata(row, p, replace(group, grown=as_set((*group.grown, p))))

    def handle_delete_topic(self, row: GroupCoordinator, input: DeleteTopic) -> Outcome | None:
        """What members have of it they give up as anything else."""
        group, p = newest(row.log), input.partition
        if p not in group.grown:
            return None
        left = as_set({*group.grown} - {p})
        gone = as_set((*group.gone, p))
        return self._other_metadata(row, p, replace(group, grown=left, gone=gone))

    def _other_metadata(self, row: GroupCoordinator, p: int, after: GroupRecord) -> Outcome:
        """Kafka marks the group, and the next heartbeat does this."""
        if self.rules.changes_metadata(newest(row.log), p):
            after = replace(after, epoch=self.rules.bumped_epoch(after.epoch))
        return Outcome(replace(row, log=appended(row.log, after)))

    # --- The log: G3, G6, G7 ---

    def handle_group_commit(self, row: GroupCoordinator, input: GroupCommit) -> Outcome | None:
        if not row.log.leader:
            return None
        return Outcome(replace(row, log=committed(row.log), waiting=()), row.waiting)

    def handle_move_coordinator(
        self, row: GroupCoordinator, input: MoveCoordinator
    ) -> Outcome | None:
        if row.leader_epoch == self._max_coordinators or input.tail not in row.log.tails:
            return None
        waiting = self.rules.waiting_after_move(row.waiting)
        log = loaded(row.log, input.tail)
        epoch = row.leader_epoch + 1
        return Outcome(replace(row, leader_epoch=epoch, log=log, waiting=waiting))

    # --- Changes of a group ---

    def _member(self, group: GroupRecord, n: int) -> MemberRecord:
        return group.members[self._place[n]]

    def _members_with(
        self, group: GroupRecord, n: int, after: MemberRecord
    ) -> tuple[MemberRecord, ...]:
        at = self._place[n]
        return put(group.members, at, after)

    def _with_member(self, group: GroupRecord, n: int, after: MemberRecord) -> GroupRecord:
        held = self.rules.held_after(group.held, self._member(group, n), after)
        return replace(group, held=held, members=self._members_with(group, n, after))

    def _without_member(self, group: GroupRecord, n: int) -> GroupRecord:
        """G21."""
        without = self._with_member(group, n, NO_MEMBER)
        return replace(without, epoch=self.rules.bumped_epoch(group.epoch))

    def _with_replaced(self, group: GroupRecord, k: int, n: int) -> GroupRecord:
        """G13. What was kept goes to who joins, under its id."""
        kept = replace(self._member(group, k), epoch=JOIN_EPOCH)
        without = replace(group, members=self._members_with(group, k, NO_MEMBER))
        return replace(group, members=self._members_with(without, n, kept))

    def _targeted(self, group: GroupRecord) -> GroupRecord:
        """G15. Of all targets that there could be, one."""
        if not self.rules.needs_target(group):
            return group
        members = self.rules.constants.members
        absent = {*self.rules.constants.growing} - {*group.grown}
        wanted = as_set({p for member in group.members for p in member.subscribed} - absent)
        owner = self.assigned(group, wanted)
        targets = {n: tuple([p for p in wanted if owner[p] == n]) for n in members}
        of = zip(members, group.members, strict=True)
        return replace(
            group,
            target_epoch=group.epoch,
            members=tuple([replace(member, target=targets[n]) for n, member in of]),
        )

    def assigned(self, group: GroupRecord, wanted: tuple[int, ...]) -> dict[int, int]:
        """The owner of each partition that somebody wants: the assignor, by the group epoch."""
        members = self.rules.constants.members
        present = [n for n in members if self._member(group, n).state != "None"]
        owners = [
            dict(zip(wanted, among, strict=True)) for among in product(present, repeat=len(wanted))
        ]
        able = [owner for owner in owners if self.rules.is_target(group, owner)]
        return able[group.epoch % len(able)]

    # --- G16: a member on its way to its target ---

    def _next_member(
        self,
        group: GroupRecord,
        member: MemberRecord,
        m: GroupHeartbeat,
        changed: bool,
        retargeted: bool,
    ) -> MemberRecord:
        is_there = member.state == "Stable" and member.epoch == group.target_epoch
        if is_there or (
            member.state == "Unrevoked" and self.rules.revocation_blocks(member, m, retargeted)
        ):
            return self._within_subscription(member, m) if changed else member
        return self._towards(group, member, m)

    def _towards(self, group: GroupRecord, member: MemberRecord, m: GroupHeartbeat) -> MemberRecord:
        target = {*member.target} & {*member.subscribed}
        kept = {*member.assigned} & target
        revoked, wanted = as_set({*member.assigned} - kept), target - kept
        if revoked and not self.rules.has_revoked(revoked, m):
            return revoking(member, as_set(kept), revoked)
        free = {p for p in wanted if self.rules.is_free(group, member, p)}
        return replace(
            member,
            state="Stable" if free == wanted else "Unreleased",
            epoch=group.target_epoch,
            previous_epoch=member.epoch,
            assigned=as_set(kept | free),
            pending=(),
        )

    def _within_subscription(self, member: MemberRecord, m: GroupHeartbeat) -> MemberRecord:
        """Topics that it does not subscribe to any more go at once."""
        assigned = as_set({*member.assigned} & {*member.subscribed})
        pending = as_set((*member.pending, *({*member.assigned} - {*assigned})))
        if assigned == member.assigned:
            return member
        if not self.rules.has_revoked(pending, m):
            return revoking(member, assigned, pending)
        return replace(member, previous_epoch=member.epoch, assigned=assigned)
