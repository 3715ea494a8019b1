"""Consumer groups by the log of their coordinator: who had what for certain, and who was removed.

    log = group_log(entries)      what members had, and what was committed, in the log's order
    server_owners(log)            the coordinator gave a partition to two members at once
    fenced(log, members)          it wrote a commit of a member that it had removed
    altered(log, members)         it wrote another offset than a commit asked for
    unwritten(log, members)       it acknowledged a commit that is not in the log
    ungiven(log, members)         it told a member of a partition that the log never gave it
    idle(log)                     it raised a group's epoch though nothing had changed
    known(log, members)           the members' commits, without those that the log has not
    decided(log, members, ...)    two members had a partition: how did the first one lose it?

Clients' operations and records of the log meet by marks: the id of a member, and the metadata of a
commit (`Operation.mark`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import NEVER, Flags
from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.members import NONE, Members
from kraftcheck.traces.grouplog import Entry

REMOVED, GAVE_UP, UNASKED, HAS = "removed", "gave up", "unasked", "has"
"""How a member's time with a partition ended in the log. UNASKED: its group went back to the
classic protocol, and is recorded as if the member had given the partition up.
"""

Place = tuple[str, str]
"""A group and a topic-partition."""


class Held(NamedTuple):
    """A time for which a member had a place: from one record of the log to before another."""

    member: str
    begin: int
    end: int
    how: str


class Written(NamedTuple):
    """A commit in the log."""

    entry: Entry
    alive: frozenset[str]
    """Who were members then."""


class GroupLog(NamedTuple):
    """What the log says."""

    held: dict[Place, list[Held]]
    double: list[tuple[Place, Entry, str, str]]
    """(place, record, the member that had it, the one that got it)."""
    written: dict[tuple[str, str | None], list[Written]]
    idle: list[Entry]
    """Records of an epoch that has no reason."""
    complete: bool
    """Nothing was cleaned away."""


def group_log(entries: Sequence[Entry]) -> GroupLog:
    """From the records in the order of the log."""
    builder = _Builder()
    for at, entry in enumerate(entries):
        builder.add(at, entry)
    return builder.built(_contiguous(entries), len(entries))


def _contiguous(entries: Iterable[Entry]) -> bool:
    following: dict[int, int] = {}
    for each in entries:
        if following.get(each.partition, 0) != each.offset:
            return False
        following[each.partition] = each.offset + 1
    return True


def _of(places: Mapping[Place, str], group: str, member: str) -> list[Place]:
    """Give the places of this member."""
    return [place for place, one in places.items() if (place[0], one) == (group, member)]


class _Builder:
    def __init__(self) -> None:
        self._has: dict[str, dict[str, dict[str, int]]] = {}
        """By group and member, since when it has each partition."""
        self._held: dict[Place, list[Held]] = {}
        self._double: list[tuple[Place, Entry, str, str]] = []
        self._written: dict[tuple[str, str | None], list[Written]] = {}
        self._left: dict[str, list[tuple[str, str]]] = {}
        """By group, (member, partition) of those that were removed in the records right before."""
        self._unasked: dict[str, list[tuple[str, str]]] = {}
        """By group, those that were not asked when it last went back, until it has joined again."""
        self._asked: dict[Place, str] = {}
        """Members that a generation leaves out as owners, until another member is the owner: they
        give the partition up when they join the next one."""
        self._removed: dict[Place, str] = {}
        """Those of `_asked` that were removed, or that a migration writes anew in its batch."""
        self._hash: dict[str, int] = {}
        """By group, the topics of its last epoch, as long as nothing has changed since."""
        self._idle: list[Entry] = []

    def add(self, at: int, entry: Entry) -> None:
        members = self._has.setdefault(entry.group, {})
        if entry.what in ("generation", "wish"):
            self._hash.pop(entry.group, None)
        elif entry.what == "epoch":
            self._begins(entry)
        if entry.what == "generation":
            self._goes_back(entry)
        elif entry.what in ("member", "committed"):
            self._left.pop(entry.group, None)
        if entry.what == "member":
            self._now(at, entry, entry.member, entry.has)
        elif entry.what == "removed":
            self._gone(at, entry.group, entry.member)
        elif entry.what == "generation":
            for member in list(members):
                if member not in entry.all:
                    self._gone(at, entry.group, member)
            for member in members:
                left = set(members[member]) - set(entry.all[member])
                self._drop(at, entry.group, member, left)
                self._asked.update(dict.fromkeys([(entry.group, key) for key in left], member))
            for member, has in entry.all.items():
                self._now(at, entry, member, has)
        elif entry.what == "committed" and entry.committed is not None:
            written = Written(entry, frozenset(members))
            self._written.setdefault((entry.mark, entry.key), []).append(written)

    def _begins(self, entry: Entry) -> None:
        """Check that each epoch has a reason.

        It may be who is a member, what it wants, or what topics there are
        (GroupMetadataManager.consumerGroupHeartbeat).
        """
        if entry.epoch is None:
            self._hash.pop(entry.group, None)
            return
        if self._hash.get(entry.group) == entry.topics:
            self._idle.append(entry)
        self._hash[entry.group] = entry.topics

    def _now(self, at: int, entry: Entry, member: str, has: Sequence[str]) -> None:
        members = self._has[entry.group]
        mine = members.setdefault(member, {})
        for place in _of(self._removed, entry.group, member):
            del self._removed[place]
            self._asked[place] = member
            self._was(entry.group, member, place[1], GAVE_UP)
        self._drop(at, entry.group, member, set(mine) - set(has))
        for key in has:
            if key in mine:
                continue
            mine[key] = at
            self._asked.pop((entry.group, key), None)
            self._removed.pop((entry.group, key), None)
            for other, theirs in members.items():
                if other != member and key in theirs:
                    self._double.append(((entry.group, key), entry, other, member))

    def _drop(self, at: int, group: str, member: str, keys: Iterable[str]) -> None:
        for key in sorted(keys):
            self._end(at, group, member, key, GAVE_UP)

    def _goes_back(self, entry: Entry) -> None:
        """Follow a group that goes back to the classic protocol.

        One batch takes its members out of the one form of the log and puts them into the other:
        nobody was removed, and nobody has given anything up for it yet. A member that is not in the
        next generation was removed after all.
        """
        group = entry.group
        for member, key in self._unasked.pop(group, ()):
            if member not in entry.all:
                self._was(group, member, key, REMOVED)
        left = self._left.pop(group, ())
        lost = [each for each in left if each[1] not in entry.all.get(each[0], (each[1],))]
        for member, key in lost:
            self._was(group, member, key, UNASKED)
        self._unasked[group] = lost

    def _was(self, group: str, member: str, key: str, how: str) -> None:
        """How this member's last time with the partition ended, as a later record says."""
        held = self._held[group, key]
        at = max(at for at, each in enumerate(held) if each.member == member)
        held[at] = held[at]._replace(how=how)

    def _gone(self, at: int, group: str, member: str) -> None:
        for place in _of(self._asked, group, member):
            del self._asked[place]
            self._removed[place] = member
            self._was(group, member, place[1], REMOVED)
        for key in sorted(self._has[group].get(member, ())):
            self._end(at, group, member, key, REMOVED)
            self._left.setdefault(group, []).append((member, key))
        self._has[group].pop(member, None)

    def _end(self, at: int, group: str, member: str, key: str, how: str) -> None:
        begin = self._has[group][member].pop(key)
        self._held.setdefault((group, key), []).append(Held(member, begin, at, how))

    def built(self, complete: bool, end: int) -> GroupLog:
        for group, members in self._has.items():
            for member, has in members.items():
                for key in sorted(has):
                    self._end(end, group, member, key, HAS)
        held = {place: sorted(each, key=lambda h: h.begin) for place, each in self._held.items()}
        idle = self._idle if complete else []
        return GroupLog(held, self._double, self._written, idle, complete)


# -- What is wrong in the log, or between it and what clients were told


def server_owners(log: GroupLog) -> Broken:
    """The log gives a partition to a member while another one still has it."""
    return Broken("server-double-owner", log.double, _double)


def _double(found: tuple[Place, Entry, str, str]) -> Evidence:
    (group, key), entry, had, got = found
    said = f"{_record(entry)} gives {key} to member {got} of group {group}, which member {had}"
    return (), f"{said} still has", key


def _record(entry: Entry) -> str:
    return f"the record at {_at(entry)}"


def _at(entry: Entry) -> str:
    return f"{entry.offset} of __consumer_offsets-{entry.partition}"


def fenced(log: GroupLog, m: Members) -> Broken:
    """Commits in the log whose member had been removed before."""
    ids = _ids(m)
    found = []
    for row, written in _in_log(log, m):
        mine = ids.get(int(m.commits.process[row]))
        if mine and all(mine.isdisjoint(each.alive) for each in written):
            found.append((row, written[0].entry))
    return Broken("fenced-commit", found, partial(_fenced, m))


def _fenced(m: Members, found: tuple[int, Entry]) -> Evidence:
    row, entry = found
    why = f"which was written at {_at(entry)} after its member had been removed"
    return _of_commit(m, row, "committed {} of {}, " + why)


def _of_commit(m: Members, row: int, said: str) -> Evidence:
    """said: with places for the offset and the partition."""
    c = m.commits
    _, key = m.places[c.place[row]]
    return (c.operation[row],), f"process {c.process[row]} {said.format(c.offset[row], key)}", key


def altered(log: GroupLog, m: Members) -> Broken:
    """Commits whose mark the log has, with another offset."""
    return Broken("altered-commit", _altered(log, m), partial(_of_altered, m))


def _altered(log: GroupLog, m: Members) -> list[tuple[int, Entry]]:
    """Their rows, and a record of the log. A mark that several commits bear tells nothing."""
    c = m.commits
    marked = Counter(zip(c.mark.tolist(), c.place.tolist(), strict=True))
    found = []
    for row in np.flatnonzero(c.mark != NONE).tolist():
        if marked[int(c.mark[row]), int(c.place[row])] > 1:
            continue
        written = _written(log, m, row)
        if written and not any(each.entry.committed == c.offset[row] for each in written):
            found.append((row, written[0].entry))
    return found


def _of_altered(m: Members, found: tuple[int, Entry]) -> Evidence:
    row, entry = found
    why = f"and the record of that commit at {_at(entry)} says {entry.committed}"
    return _of_commit(m, row, "committed {} of {}, " + why)


def unwritten(log: GroupLog, m: Members) -> Broken:
    """Commits that were answered, and of which the log has no record."""
    missing = _missing(log, m) & (m.commits.completed != NEVER)
    missing[[row for row, _ in _altered(log, m)]] = False
    said = "was told that {} of {} is committed, and the group's log has no such record"
    return Broken("unwritten-commit", np.flatnonzero(missing), lambda row: _of_commit(m, row, said))


def ungiven(log: GroupLog, m: Members) -> Broken:
    """List partitions of a member that the log never gave it, where the log is complete.

    The member was told what was not committed (Z185).
    """
    places = [(str(group), key or "") for group, key in m.places]
    given = {(place, each.member) for place, held in log.held.items() for each in held}
    rows = []
    if log.complete:
        spans = zip(m.spans.place.tolist(), m.spans.mark.tolist(), strict=True)
        for row, (place, mark) in enumerate(spans):
            if mark != NONE and (places[place], m.marks[mark]) not in given:
                rows.append(row)
    return Broken("unwritten-assignment", rows, partial(_ungiven, m))


def _ungiven(m: Members, row: int) -> Evidence:
    spans = m.spans
    group, key = m.places[spans.place[row]]
    said = f"process {spans.process[row]} was given {key}, which the log of group {group} never"
    return (spans.first[row],), f"{said} gave {m.marks[spans.mark[row]]}", key


def idle(log: GroupLog) -> Broken:
    """Epochs, and so assignments, for which the log, where it is complete, has no reason."""
    return Broken("idle-rebalance", log.idle, _idle)


def _idle(entry: Entry) -> Evidence:
    said = f"{_record(entry)} begins epoch {entry.epoch} of group {entry.group}, though no member,"
    return (), f"{said} no subscription and no topic had changed", None


def known(log: GroupLog, m: Members) -> Members:
    """Without commits of unknown outcome that are not in the log: they never came to be."""
    kept = ~(_missing(log, m) & (m.commits.completed == NEVER))
    return m._replace(commits=type(m.commits)._make(column[kept] for column in m.commits))


def _missing(log: GroupLog, m: Members) -> Flags:
    """Commits with a mark that the log, where it is complete, does not have."""
    missing = np.zeros(len(m.commits.place), bool)
    if log.complete:
        missing[:] = m.commits.mark != NONE
        missing[[row for row, _ in _in_log(log, m)]] = False
    return missing


def _in_log(log: GroupLog, m: Members) -> list[tuple[int, list[Written]]]:
    """Commits that the log has: their rows, and their records."""
    found = []
    for row in np.flatnonzero(m.commits.mark != NONE).tolist():
        offset = int(m.commits.offset[row])
        written = [each for each in _written(log, m, row) if each.entry.committed == offset]
        if written:
            found.append((row, written))
    return found


def _written(log: GroupLog, m: Members, row: int) -> list[Written]:
    """What the log has with the mark of a commit, of its group and partition."""
    group, key = m.places[int(m.commits.place[row])]
    written = log.written.get((m.marks[int(m.commits.mark[row])], key), [])
    return [each for each in written if each.entry.group == str(group)]


def _ids(m: Members) -> dict[int, set[str]]:
    """Of each process, the ids that it had as a member."""
    found: dict[int, set[str]] = {}
    for process, mark in zip(m.spans.process.tolist(), m.spans.mark.tolist(), strict=True):
        if mark != NONE:
            found.setdefault(process, set()).add(m.marks[mark])
    return found


# -- Two members at once


def decided(log: GroupLog, m: Members, first: int, second: int) -> str | None:
    """Say how the first of two members whose spans overlap had lost the partition.

    By the log, when the second was given it: REMOVED, GAVE_UP or UNASKED. None: that is open. The
    second may be the one that had lost it, before the first was given it, and learn of both late.
    """
    spans = m.spans
    group, key = m.places[int(spans.place[second])]
    marks = [int(spans.mark[row]) for row in (first, second)]
    if NONE in marks:
        return None
    had, got = (m.marks[mark] for mark in marks)
    held = log.held.get((str(group), key or ""), [])
    ways = _passed_on(held, had, got) or _passed_on(held, got, had)
    return next(iter(ways)) if len(ways) == 1 else None


def _passed_on(held: Sequence[Held], had: str, got: str) -> set[str]:
    """How a member had lost a place, each time that the other one was given it."""
    ways = set()
    for at, each in enumerate(held):
        if each.member == got:
            before = [one for one in held[:at] if one.member == had and one.end <= each.begin]
            ways |= {before[-1].how} if before else set()
    return ways
