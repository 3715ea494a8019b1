"""What a broker does with its replica of the log: the twin of GroupReplay.tla (G6, G7, G50).

Law of this file: a handler is a pure function of the row and the input. A batch is read in one
step; between two of them the log may be cleaned.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kraftcheck.reference.groups.messages import (
    LOADER_INPUTS,
    RELEASED_EPOCH,
    UNKNOWN,
    ChangeGroupLeader,
    CleanGroupLog,
    GroupWrite,
    LeaderChange,
    LeaderEvent,
    ReadGroupLog,
    ReplaceMember,
    RestateMember,
)
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import (
    NO_ENTRIES,
    GroupEntry,
    GroupLoader,
    HeldPartition,
    ReadMember,
    initial_loader,
)
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome


def last_of_keys(entries: tuple[GroupEntry, ...]) -> tuple[GroupEntry, ...]:
    last: dict[tuple[str, int], GroupEntry] = {}
    for entry in reversed(entries):
        last.setdefault((entry.kind, entry.member), entry)
    return tuple(reversed(last.values()))


def is_to_clean(entries: tuple[GroupEntry, ...]) -> bool:
    """Whether some key has two entries."""
    return len({(entry.kind, entry.member) for entry in entries}) < len(entries)


def known_of(entries: Iterable[GroupEntry]) -> dict[int, ReadMember]:
    """What is known of members by who has read all; of others nothing is."""
    last = {(entry.kind, entry.member): entry for entry in entries}
    known = {}
    for (kind, n), named in last.items():
        if kind == "Member" and named.exists:
            current = last["Current", n]
            known[n] = ReadMember(True, named.epoch, current.epoch, current.assigned)
    return known


def next_epoch(entries: tuple[GroupEntry, ...]) -> int:
    return entries[-1].epoch + 1 if entries else 1


def epoch_in(entry: GroupEntry) -> int:
    """The epoch that an entry says: that of its batch, or that of a member that is away."""
    return RELEASED_EPOCH if entry.away else entry.epoch


class LoaderHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_place", "rules")

    def __init__(self, rules: GroupRules) -> None:
        self.rules = rules
        self._place = {n: at for at, n in enumerate(rules.constants.members)}
        self._handlers = handlers_of(self, LOADER_INPUTS)

    def step(self, row: GroupLoader, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](row, input)
        return outcome

    # --- G6, G7: elections, resignations, loads ---

    def handle_change_group_leader(self, row: GroupLoader, input: ChangeGroupLeader) -> Outcome:
        event = LeaderChange(not row.leads, row.leader_epoch + 1)
        events = tuple(sorted((*row.events, event)))
        return Outcome(replace(row, leads=event.elected, leader_epoch=event.epoch, events=events))

    def handle_leader_event(self, row: GroupLoader, input: LeaderEvent) -> Outcome | None:
        event = input.event
        if event not in row.events:
            return None
        heard = replace(row, events=tuple([each for each in row.events if each != event]))
        if self.rules.is_outdated_event(row, event):
            return Outcome(heard)
        return Outcome(
            replace(
                heard,
                epoch=event.epoch,
                state="Loading" if event.elected else "Inactive",
                position=0,
                members=initial_loader(self.rules.constants).members,
                held=(),
            )
        )

    def handle_read_group_log(self, row: GroupLoader, input: ReadGroupLog) -> Outcome | None:
        if row.state != "Loading":
            return None
        if self.rules.is_loaded(row.position, row.end_offset):
            return Outcome(replace(row, state="Active"))
        unread = [entry for entry in row.entries if entry.offset >= row.position]
        batch = [entry for entry in unread if entry.epoch == unread[0].epoch]
        return Outcome(self._replayed(replace(row, position=batch[-1].offset + 1), batch))

    # --- The log ---

    def handle_group_write(self, row: GroupLoader, input: GroupWrite) -> Outcome | None:
        if row.leads and (row.state != "Active" or row.events):
            return None
        of = known_of(row.entries)
        known = of.pop(input.member, NO_ENTRIES)
        changes = input.removed or not known.known or input.assigned != known.assigned
        taken = [p for each in of.values() for p in each.assigned if p in input.assigned]
        if not changes or taken:
            return None
        if input.removed and (not known.known or input.assigned):
            return None
        batch = self._batch(row, input, known)
        end = row.end_offset + len(batch)
        written = replace(row, entries=(*row.entries, *batch), end_offset=end)
        if not row.leads:
            return Outcome(written)
        return Outcome(replace(self._replayed(written, batch), position=end))

    def _batch(
        self, row: GroupLoader, input: GroupWrite, known: ReadMember
    ) -> tuple[GroupEntry, ...]:
        at, n = row.end_offset, input.member
        epoch = next_epoch(row.entries)
        if input.removed:
            return (
                GroupEntry(at, "Current", n, False, epoch, ()),
                GroupEntry(at + 1, "Member", n, False, epoch, ()),
            )
        if known.known:
            return (GroupEntry(at, "Current", n, True, epoch, input.assigned),)
        return (
            GroupEntry(at, "Member", n, True, epoch, ()),
            GroupEntry(at + 1, "Current", n, True, epoch, input.assigned),
        )

    def handle_replace_member(self, row: GroupLoader, input: ReplaceMember) -> Outcome | None:
        """G13.

        A static member is back with another id, which replaces the first. The operation changes
        memory by itself, and its record is not replayed (G51).
        """
        member = row.members[self._place[input.member]]
        if not row.leads or row.state != "Active" or row.events or not member.known:
            return None
        at, id = row.end_offset, next_epoch(row.entries)
        entry = GroupEntry(at, "Member", input.member, True, id, ())
        replaced = self._with(row, entry, replace(member, id=id))
        if not self.rules.records_replacement():
            return Outcome(replaced)
        memory = replaced if self.rules.keeps_changed() else row
        entries = (*row.entries, entry)
        return Outcome(replace(memory, entries=entries, end_offset=at + 1, position=at + 1))

    def handle_restate_member(self, row: GroupLoader, input: RestateMember) -> Outcome | None:
        """G19. It leaves for a while, or is back."""
        if row.leads and (row.state != "Active" or row.events):
            return None
        n, at = input.member, row.end_offset
        known = known_of(row.entries).get(n, NO_ENTRIES)
        if not known.known:
            return None
        last = next(e for e in reversed(row.entries) if (e.kind, e.member) == ("Current", n))
        epoch = next_epoch(row.entries)
        entry = GroupEntry(at, "Current", n, True, epoch, known.assigned, not last.away)
        written = replace(row, entries=(*row.entries, entry), end_offset=at + 1)
        if not row.leads:
            return Outcome(written)
        return Outcome(replace(self._replayed(written, (entry,)), position=at + 1))

    def handle_clean_group_log(self, row: GroupLoader, input: CleanGroupLog) -> Outcome | None:
        if not is_to_clean(row.entries):
            return None
        return Outcome(replace(row, entries=last_of_keys(row.entries)))

    # --- G50: replay ---

    def _replayed(self, row: GroupLoader, batch: Iterable[GroupEntry]) -> GroupLoader:
        for entry in batch:
            if row.state == "Failed":
                break
            member = row.members[self._place[entry.member]]
            if not entry.exists:
                row = self._with_tombstone(row, entry, member)
            elif entry.kind == "Member":
                row = self._with(row, entry, replace(member, known=True, id=entry.epoch))
            else:
                row = self._with_assignment(row, entry, member)
        return row

    def _with(self, row: GroupLoader, entry: GroupEntry, member: ReadMember) -> GroupLoader:
        members = list(row.members)
        members[self._place[entry.member]] = member
        return replace(row, members=tuple(members))

    def _with_tombstone(
        self, row: GroupLoader, entry: GroupEntry, member: ReadMember
    ) -> GroupLoader:
        if not member.known:
            return row if self.rules.ignores_orphan() else replace(row, state="Failed")
        left = NO_ENTRIES if entry.kind == "Member" else replace(member, epoch=0, assigned=())
        return self._with(replace(row, held=self._without(row, entry.member)), entry, left)

    def _without(self, row: GroupLoader, n: int) -> tuple[HeldPartition, ...]:
        """All but what that member had, and nobody has taken since."""
        had = row.members[self._place[n]]
        away = {
            p
            for k, member in zip(self.rules.constants.members, row.members, strict=True)
            for p in member.assigned
            if k != n and member.epoch == RELEASED_EPOCH
        }
        return tuple(
            [
                each
                for each in row.held
                if each.partition not in had.assigned
                or each.epoch != had.epoch
                or not self.rules.lets_go(had.epoch, each.partition in away)
            ]
        )

    def _with_assignment(
        self, row: GroupLoader, entry: GroupEntry, member: ReadMember
    ) -> GroupLoader:
        rest = self._without(row, entry.member)
        held, epoch = {each.partition: each.epoch for each in rest}, epoch_in(entry)
        if not all(self.rules.may_take(held.get(p, UNKNOWN), epoch) for p in entry.assigned):
            return replace(row, state="Failed")
        held |= dict.fromkeys(entry.assigned, epoch)
        after = ReadMember(True, member.id, epoch, entry.assigned)
        now = tuple([HeldPartition(p, taken) for p, taken in sorted(held.items())])
        return self._with(replace(row, held=now), entry, after)
