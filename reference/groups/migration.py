"""A group that is migrated to the consumer protocol and back: the twin of GroupMigration.tla.

Law of this file: a handler is a pure function of the row and the input. Where the spec leaves the
choice of an assignment, one is taken by the group epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.groups.messages import (
    MIGRATION_INPUTS,
    RELEASED_EPOCH,
    CloseConsumer,
    CompleteJoin,
    ConsumerHeartbeat,
    ExpireMember,
    KillConsumer,
    LeaveForAWhile,
    MoveMigrated,
    RejoinClassic,
    RestartAsClassic,
    StartConsumer,
    SyncClassic,
)
from kraftcheck.reference.groups.rules import GroupRules, as_set, holding
from kraftcheck.reference.groups.types import (
    NO_CONSUMER,
    NOT_RECORDED,
    GroupMigration,
    MigratedMember,
    MigratingClient,
)
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.protocol import Outcome


class MigrationHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_members", "_place", "rules")

    def __init__(self, rules: GroupRules) -> None:
        self.rules = rules
        self._members = rules.constants.members
        self._place = {n: at for at, n in enumerate(self._members)}
        self._handlers = handlers_of(self, MIGRATION_INPUTS)

    def step(self, row: GroupMigration, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](row, input)
        return outcome

    # --- Words

    def member(self, row: GroupMigration, n: int) -> MigratedMember:
        return row.members[self._place[n]]

    def client(self, row: GroupMigration, n: int) -> MigratingClient:
        return row.clients[self._place[n]]

    def _in_group(self, row: GroupMigration) -> list[int]:
        known = zip(self._members, row.members, strict=True)
        return [n for n, member in known if member.protocol != "None" and not member.left]

    def _of_protocol(self, row: GroupMigration, protocol: str) -> list[int]:
        return [n for n in self._in_group(row) if self.member(row, n).protocol == protocol]

    def _held_by_others(self, row: GroupMigration, n: int) -> tuple[int, ...]:
        return as_set(
            p for k in self._in_group(row) if k != n for p in holding(self.member(row, k))
        )

    def _with_member(self, row: GroupMigration, n: int, **changes: Any) -> GroupMigration:
        at = self._place[n]
        after = replace(row.members[at], **changes)
        return replace(row, members=put(row.members, at, after))

    def _with_client(self, row: GroupMigration, n: int, **changes: Any) -> GroupMigration:
        at = self._place[n]
        after = replace(row.clients[at], **changes)
        return replace(row, clients=put(row.clients, at, after))

    def _no_more_joined(
        self, clients: tuple[MigratingClient, ...], some: Iterable[int]
    ) -> tuple[MigratingClient, ...]:
        """These of the clients wait for others to join no more."""
        return tuple(
            replace(client, state="Joining") if n in some and client.state == "Joined" else client
            for n, client in zip(self._members, clients, strict=True)
        )

    def _balanced(self, some: Iterable[int]) -> list[dict[int, int]]:
        """Assignments that give nobody two partitions more than another."""
        partitions, among = self.rules.constants.partitions, tuple(some)
        return [
            dict(zip(partitions, owners, strict=True))
            for owners in product(among, repeat=len(partitions))
            if all(owners.count(m) <= owners.count(n) + 1 for m in among for n in among)
        ]

    def _owners(self, some: Iterable[int], epoch: int) -> dict[int, int]:
        """The owner of each partition: of all balanced assignments one, by the epoch."""
        able = self._balanced(some)
        return able[epoch % len(able)]

    def _sticky_owners(self, row: GroupMigration, epoch: int) -> dict[int, int]:
        """Of those who have joined: of what leaves the most where it is (KIP-429), one."""
        owned = {n: {*self.client(row, n).owned} for n in row.joined}
        able = self._balanced(row.joined)
        left = [sum(p in owned[n] for p, n in each.items()) for each in able]
        stay = [each for each, count in zip(able, left, strict=True) if count == max(left)]
        return stay[epoch % len(stay)]

    def _changed(self, row: GroupMigration) -> Outcome:
        """The group changes, or a consumer does what it was told."""
        return Outcome(replace(row, told=()))

    # --- A group of the consumer protocol (G14 to G17, G21)

    def _targeted(self, row: GroupMigration) -> GroupMigration:
        if row.target_epoch == row.epoch:
            return row
        present = self._in_group(row)
        owner = self._owners(present, row.epoch)
        for n in present:
            row = self._with_member(row, n, target=_share(owner, n))
        return replace(row, target_epoch=row.epoch)

    def _reconciled(self, row: GroupMigration, n: int, owned: tuple[int, ...]) -> GroupMigration:
        """owned: what the member says it has."""
        member = self.member(row, n)
        kept = {*member.assigned} & {*member.target}
        revoked = {*member.assigned} - kept
        free = {*member.target} - kept - {*self._held_by_others(row, n)}
        if {*owned} & {*member.pending}:
            return row
        if {*owned} & revoked:
            return self._with_member(row, n, assigned=as_set(kept), pending=as_set(revoked))
        taken = as_set(kept | free)
        return self._with_member(row, n, epoch=row.target_epoch, pending=(), assigned=taken)

    def _upgraded(self, row: GroupMigration) -> GroupMigration:
        """G45.

        Who was about to join is told to join again. What a member had when it joined it may have
        still.
        """
        here = self._in_group(row)
        members = [
            replace(
                member,
                epoch=row.epoch,
                target=member.assigned,
                pending=self.rules.pending_after_upgrade(member),
                owned=(),
            )
            if n in here
            else NOT_RECORDED
            for n, member in zip(self._members, row.members, strict=True)
        ]
        return replace(
            row,
            type="Consumer",
            target_epoch=row.epoch,
            rebalancing=False,
            joined=(),
            clients=self._no_more_joined(row.clients, self._members),
            members=tuple(members),
        )

    def _downgraded(self, row: GroupMigration) -> GroupMigration:
        """G47. Nobody of the consumer protocol is left: those who stay are to join again."""
        generation, here = self.rules.downgraded_generation(row), self._in_group(row)
        members = []
        for n, member in zip(self._members, row.members, strict=True):
            kept = self.rules.assignment_after_downgrade(member)
            after = replace(member, epoch=generation, target=kept, assigned=kept, pending=())
            members.append(after if n in here else NOT_RECORDED)
        return replace(
            row,
            type="Classic",
            epoch=generation,
            target_epoch=generation,
            rebalancing=True,
            joined=(),
            members=tuple(members),
        )

    # --- Members that go

    def _without_it(self, row: GroupMigration, n: int) -> GroupMigration:
        """G21, G41, G47."""
        at = self._place[n]
        members = put(row.members, at, NOT_RECORDED)
        clients = self._no_more_joined(row.clients, (n,))
        removed = replace(row, members=members, clients=clients)
        epoch = self.rules.bumped_epoch(row.epoch)
        if not self._in_group(removed):
            return replace(
                removed,
                members=(NOT_RECORDED,) * len(members),
                epoch=epoch,
                target_epoch=epoch,
                rebalancing=False,
                joined=(),
            )
        if row.type == "Classic":
            left = replace(self.member(row, n), left=True)
            return replace(
                removed,
                members=put(row.members, at, left),
                rebalancing=True,
                joined=as_set({*row.joined} - {n}),
            )
        was_last = self.member(row, n).protocol == "Consumer" and not self._of_protocol(
            removed, "Consumer"
        )
        if was_last and self.rules.migrates_back(row):
            return self._downgraded(removed)
        return replace(removed, epoch=epoch)

    def handle_close_consumer(self, row: GroupMigration, input: CloseConsumer) -> Outcome | None:
        n = input.member
        if self.client(row, n).state == "Closed":
            return None
        closed = self._closed(row, n)
        return self._changed(self._without_it(closed, n) if n in self._in_group(row) else closed)

    def handle_leave_for_a_while(
        self, row: GroupMigration, input: LeaveForAWhile
    ) -> Outcome | None:
        """G13, G19.

        What a static member of the consumer protocol has is kept for it, and it comes back as what
        it was.
        """
        n, client = input.member, self.client(row, input.member)
        if client.state != "Stable" or client.protocol != "Consumer":
            return None
        if n not in self._of_protocol(row, "Consumer"):
            return None
        kept = self.rules.kept_for_a_while(self.member(row, n))
        left = self._with_member(
            self._closed(row, n), n, epoch=RELEASED_EPOCH, assigned=kept, pending=()
        )
        return self._changed(left)

    def handle_kill_consumer(self, row: GroupMigration, input: KillConsumer) -> Outcome | None:
        """It goes without a word."""
        if self.client(row, input.member).state == "Closed":
            return None
        return self._changed(self._closed(row, input.member))

    def _closed(self, row: GroupMigration, n: int) -> GroupMigration:
        at = self._place[n]
        return replace(row, clients=put(row.clients, at, NO_CONSUMER))

    def handle_expire_member(self, row: GroupMigration, input: ExpireMember) -> Outcome | None:
        """G20. Nothing was heard of it for too long."""
        if input.member not in self._in_group(row):
            return None
        return self._changed(self._without_it(row, input.member))

    # --- Members that come

    def handle_start_consumer(self, row: GroupMigration, input: StartConsumer) -> Outcome | None:
        if self.client(row, input.member).state != "Closed":
            return None
        started = self._closed(row, input.member)
        return self._changed(
            self._with_client(
                started,
                input.member,
                protocol=input.protocol,
                cooperative=input.cooperative,
                state="Joining",
            )
        )

    def handle_restart_as_classic(
        self, row: GroupMigration, input: RestartAsClassic
    ) -> Outcome | None:
        """G13, G47.

        A static member of the consumer protocol is back, with the classic one, and takes the place
        of what it was: at once, if the group then goes back, and its targets are the newest.
        """
        n = input.member
        if row.type != "Consumer" or self.member(row, n).protocol != "Consumer":
            return None
        replaced = self._with_member(self._closed(row, n), n, protocol="Classic")
        again = self._with_client(replaced, n, protocol="Classic", state="Joining")
        if self._of_protocol(replaced, "Consumer") or not self.rules.migrates_back(row):
            return self._changed(again)
        back = self._downgraded(again)
        if row.target_epoch < row.epoch:
            return self._changed(back)
        at_once = self._with_client(back, n, state="Syncing", epoch=back.epoch)
        return self._changed(replace(at_once, rebalancing=False))

    # --- Heartbeats

    def handle_consumer_heartbeat(
        self, row: GroupMigration, input: ConsumerHeartbeat
    ) -> Outcome | None:
        n = input.member
        of = {"Consumer": self._consumer_beats, "Classic": self._classic_beats}
        beats = of.get(self.client(row, n).protocol)
        return None if beats is None else beats(row, n)

    def _dropped(self, row: GroupMigration, n: int) -> Outcome:
        """G25, G42."""
        return self._changed(self._with_client(row, n, state="Joining", owned=()))

    def _told(self, row: GroupMigration, n: int) -> Outcome:
        """There is nothing new."""
        return Outcome(replace(row, told=as_set((*row.told, n))))

    def _consumer_beats(self, row: GroupMigration, n: int) -> Outcome:
        """G11 to G18."""
        client = self.client(row, n)
        group = self._upgraded(row) if row.type == "Classic" else row
        is_new = self.member(group, n).protocol != "Consumer"
        if client.state == "Stable" and (row.type == "Classic" or is_new):
            return self._dropped(row, n)
        if is_new:
            group = self._with_member(group, n, protocol="Consumer")
            group = replace(group, epoch=self.rules.bumped_epoch(group.epoch))
        done = self._reconciled(self._targeted(group), n, client.owned)
        member = self.member(done, n)
        after = self._with_client(
            done, n, state="Stable", epoch=member.epoch, owned=member.assigned
        )
        return self._told(row, n) if after == row else self._changed(after)

    def _is_stranger(self, row: GroupMigration, n: int) -> bool:
        awaited = row.epoch if row.type == "Classic" else self.member(row, n).epoch
        return n not in self._of_protocol(row, "Classic") or self.client(row, n).epoch != awaited

    def _is_to_join(self, row: GroupMigration, n: int) -> bool:
        if row.type == "Classic":
            return row.rebalancing
        held = self._held_by_others(row, n)
        return self.rules.tells_to_join(row, self.member(row, n), held)

    def _classic_beats(self, row: GroupMigration, n: int) -> Outcome | None:
        """G40, G46."""
        if self.client(row, n).state != "Stable":
            return None
        if self._is_stranger(row, n):
            return self._dropped(row, n)
        if self._is_to_join(row, n):
            return self._changed(self._with_client(row, n, state="Joining"))
        return self._told(row, n)

    # --- The classic protocol: join, sync

    def handle_rejoin_classic(self, row: GroupMigration, input: RejoinClassic) -> Outcome | None:
        """G38, G43, G44, G46, G48.

        It has given up all, but for what a member keeps that is cooperative.
        """
        n, client = input.member, self.client(row, input.member)
        if client.protocol != "Classic" or client.state != "Joining":
            return None
        group = row if self._in_group(row) else replace(row, type="Classic")
        is_new = n not in self._of_protocol(group, "Classic")
        known = self._with_member(group, n, protocol="Classic", left=False)
        owned = client.owned if client.cooperative and not is_new else ()
        emptied = self._with_client(known, n, owned=owned)
        if group.type == "Classic":
            joined = as_set((*row.joined, n))
            waiting = self._with_client(emptied, n, state="Joined")
            return self._changed(replace(waiting, rebalancing=True, joined=joined))
        if is_new:
            emptied = replace(emptied, epoch=self.rules.bumped_epoch(emptied.epoch))
        done = self._reconciled(self._targeted(emptied), n, owned)
        epoch = self.member(done, n).epoch
        return self._changed(self._with_client(done, n, state="Syncing", epoch=epoch))

    def handle_complete_join(self, row: GroupMigration, input: CompleteJoin) -> Outcome | None:
        """G38, G39.

        All have joined: they are in a new generation, of which those hear who are there still.
        """
        if not row.rebalancing or not row.joined or list(row.joined) != self._in_group(row):
            return None
        generation = self.rules.bumped_epoch(row.epoch)
        owner = self._sticky_owners(row, generation)
        new = replace(NOT_RECORDED, protocol="Classic", epoch=generation)
        owned = {n: self.client(row, n).owned for n in row.joined}
        given = {
            n: as_set(
                p for p in _share(owner, n) if all(p not in owned[k] for k in owned if k != n)
            )
            for n in owned
        }
        members = [
            replace(new, target=given[n], assigned=given[n], owned=owned[n])
            if n in given
            else NOT_RECORDED
            for n in self._members
        ]
        clients = [
            replace(client, state="Syncing", epoch=generation)
            if client.state == "Joined"
            else client
            for client in row.clients
        ]
        return self._changed(
            replace(
                row,
                epoch=generation,
                target_epoch=generation,
                rebalancing=False,
                joined=(),
                members=tuple(members),
                clients=tuple(clients),
            )
        )

    def handle_sync_classic(self, row: GroupMigration, input: SyncClassic) -> Outcome | None:
        """G39, G44, G46.

        Who gives something up joins again; a group that waits for that asks for nothing else.
        """
        n, client, member = (
            input.member,
            self.client(row, input.member),
            self.member(row, input.member),
        )
        if client.state != "Syncing":
            return None
        if self._is_stranger(row, n):
            return self._dropped(row, n)
        if not member.pending and self._is_to_join(row, n):
            return self._changed(self._with_client(row, n, state="Joining"))
        state = "Stable" if {*client.owned} <= {*member.assigned} else "Joining"
        return self._changed(self._with_client(row, n, state=state, owned=member.assigned))

    def handle_move_migrated(self, row: GroupMigration, input: MoveMigrated) -> Outcome:
        """G49. Another coordinator knows what was recorded. policy: of its own."""
        members = [
            NOT_RECORDED
            if row.type == "Classic" and member.epoch == 0
            else replace(member, left=False)
            for member in row.members
        ]
        return self._changed(
            replace(
                row,
                policy=input.policy,
                rebalancing=False,
                joined=(),
                members=tuple(members),
                clients=self._no_more_joined(row.clients, self._members),
            )
        )


def _share(owner: dict[int, int], n: int) -> tuple[int, ...]:
    return as_set(p for p, k in owner.items() if k == n)
