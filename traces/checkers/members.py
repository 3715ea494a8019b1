"""Members of consumer groups as columns: what they had, read, processed and committed, and when.

    members_of(history)   a `Members`, or None: nobody told of a group

A *place* is a partition as one group reads it. A *span* is the time for which a member had a place:
it begins with the callback that gave it, and ends when the callback that took it is over, since
only then does the client say that it has given it up [KIP-429, KIP-848].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import NEVER, UNKNOWN, Codes, Flags, Ints, answered, tabled
from kraftcheck.traces.history import (
    ASSIGNED,
    CALLBACKS,
    COMMIT,
    FAIL,
    GROUP_OPERATIONS,
    LOST,
    NOT_COMMITTED,
    OK,
    READ_UNCOMMITTED,
    REVOKED,
    History,
    HistoryError,
    Operation,
)

NONE: Final = -1
"""No span, operation or commit."""
GIVEN_UP: Final = 0
"""How a span ended: by the member itself, orderly."""
TAKEN: Final = 1
"""The member was told that the place is lost."""
GONE: Final = 2
"""The member was closed, or nothing more was heard of it."""


class Spans(NamedTuple):
    """A row for each time that a member had a place.

    begin, given: when the callback that gave it began and was over. end: until when it had the
    place for certain. how: it ended. first, last: the operations that began and ended it. mark: the
    member's id, a number in `Members.marks`, or NONE.
    """

    place: Ints
    process: Ints
    begin: Ints
    given: Ints
    end: Ints
    how: Codes
    first: Ints
    last: Ints
    mark: Ints


class Commits(NamedTuple):
    """A row for each offset that was committed, or may have been. completed: NEVER, if it is not
    known that it was. span: of the member then, or NONE. mark: as of Spans, its metadata.
    """

    place: Ints
    process: Ints
    offset: Ints
    invoked: Ints
    completed: Ints
    span: Ints
    operation: Ints
    mark: Ints


class Told(NamedTuple):
    """A row for each committed offset that a client was told; UNKNOWN: that there is none."""

    place: Ints
    offset: Ints
    invoked: Ints
    completed: Ints
    operation: Ints


class Polled(NamedTuple):
    """A row for each fetch of a member from a place, which went from `before` to `after`.

    It may have begun earlier, if there are no records between. span: in which it was made, or NONE;
    several: it may be of an earlier one. shown: how many records.
    """

    place: Ints
    process: Ints
    span: Ints
    before: Ints
    after: Ints
    several: Flags
    shown: Ints
    invoked: Ints
    completed: Ints
    operation: Ints


class Processed(NamedTuple):
    """A row for each time that a member said how far it had processed a place."""

    place: Ints
    span: Ints
    offset: Ints
    operation: Ints


class Lives(NamedTuple):
    """A row for each place to which a member subscribed, or which it had: from its first callback
    on until the member left, or until nothing more was heard of it.
    """

    place: Ints
    begin: Ints
    end: Ints
    operation: Ints


class Members(NamedTuple):
    """All members of a history. places: (group, partition) of each number; partition: of each
    place, its number among those of `records`. records: which offsets hold records that consumers
    may see, as (partition, offset), in their order. marks: what the numbers stand for.
    """

    spans: Spans
    commits: Commits
    told: Told
    polled: Polled
    processed: Processed
    lives: Lives
    partition: Ints
    records: tuple[Ints, Ints]
    places: tuple[tuple[Any, str | None], ...]
    marks: tuple[str, ...]


def has_members(history: History) -> bool:
    """Whether anybody tells of a consumer group: what its members were given, or its offsets."""
    return any(each.f in GROUP_OPERATIONS for each in history.operations)


def members_of(history: History) -> Members | None:
    """The members of a history; None if it has none.

    Raises HistoryError: a member is given a partition of no topic that it subscribed to, gives up
    what it never had, or is a member of two groups at once.
    """
    if not has_members(history):
        return None
    builder = Builder(history, _last_heard(history.operations))
    for operation in history.operations:
        builder.add(operation)
    return builder.built()


class Builder:
    """Takes the operations of a history one after the other.

    last: when each process last said something. groups: of which each is a member. Who knows of
    what was polled and committed otherwise (bulk.py) has the numbers of places, partitions and
    marks from here, and gives `built` which records there are.
    """

    def __init__(self, history: History, last: Mapping[int, int]) -> None:
        self.history = history
        self._last = last
        self.groups: dict[int, Any] = {}
        self._joined: dict[int, Operation] = {}
        self._left: dict[int, int] = {}
        self._subscribed: dict[int, frozenset[str | None]] = {}
        self._have: dict[int, dict[str | None, int]] = {}
        self._had: set[tuple[int, str | None]] = set()
        self._places: dict[tuple[Any, str | None], int] = {}
        self._partitions: dict[str | None, int] = {}
        self._marks: dict[str, int] = {}
        self._spans: list[list[int]] = []
        self._stood: dict[int, int] = {}
        self._commits: list[tuple[int, ...]] = []
        self._sent: dict[int, list[Operation]] = {}
        self._told: list[tuple[int, ...]] = []
        self._polled: list[tuple[int, ...]] = []
        self._processed: list[tuple[int, ...]] = []
        self._records: list[tuple[int, int]] = []
        self._late: list[Operation] = []

    def add(self, each: Operation) -> None:
        if each.f == "fetch":
            self._late.append(each)
            self._shown(each)
        elif each.f == "append":
            if each.txn is None and each.outcome == OK and each.result is not None:
                self._records.append((self.partition(each.key), each.result))
        elif each.f == ASSIGNED:
            self._assigned(each)
        elif each.f in CALLBACKS:
            self._taken(each)
        elif each.f in ("leave", "crash"):
            self._end_all(each.process, each.invoked, GONE, each.index)
        elif each.f == "subscribe":
            self._subscribed[each.process] = frozenset(each.argument)
        elif each.f in ("processed", "commit-offsets"):
            self._late.append(each)
        elif each.f == "send-offsets":
            if each.txn is not None and each.outcome != FAIL:
                self._sent.setdefault(each.txn, []).append(each)
        elif each.f == "end":
            self._ended(each)
        elif each.f == "committed" and each.outcome == OK:
            for key, offset in each.result or ():
                offset = UNKNOWN if offset == NOT_COMMITTED else offset
                place = self.place(each.argument, key)
                self._told.append((place, offset, each.invoked, answered(each), each.index))

    # -- Spans

    def _assigned(self, each: Operation) -> None:
        group, keys = each.argument
        known = self.groups.setdefault(each.process, group)
        self._joined.setdefault(each.process, each)
        if known != group:
            raise self._refuse(each, f"process {each.process} is a member of {known} and {group}")
        subscribed, have = self._subscribed.get(each.process), self._have_of(each.process)
        topics = None if subscribed is None else set(map(_topic, subscribed))
        for key in keys:
            if topics is not None and _topic(key) not in topics:
                what = f"process {each.process} is given {key}, to which it did not subscribe"
                raise self._refuse(each, what)
            if key in have:
                self._end(each.process, key, each.invoked, GIVEN_UP, each.index)
            have[key] = len(self._spans)
            self._had.add((each.process, key))
            place, given = self.place(group, key), answered(each)
            times = (each.invoked, given, NEVER)
            self._spans.append(
                [place, each.process, *times, GONE, each.index, NONE, self.mark_of(each)]
            )

    def _taken(self, each: Operation) -> None:
        have = self._have_of(each.process)
        for key in each.argument[1]:
            if key not in have:
                if (each.process, key) in self._had:
                    continue  # a client may call back twice
                what = f"process {each.process} gives up {key}, which it never had"
                raise self._refuse(each, what)
            if each.f == REVOKED and each.outcome == OK and each.completed is not None:
                self._end(each.process, key, each.completed, GIVEN_UP, each.index)
            else:
                how = TAKEN if each.f == LOST else GIVEN_UP
                self._end(each.process, key, each.invoked, how, each.index)

    def _end_all(self, process: int, at: int, how: int, operation: int) -> None:
        self._left.setdefault(process, at)
        for key in list(self._have_of(process)):
            self._end(process, key, at, how, operation)

    def _end(self, process: int, key: str | None, at: int, how: int, operation: int) -> None:
        row = self._have_of(process).pop(key)
        self._spans[row][4:6] = [at, how]
        self._spans[row][7] = operation

    def _have_of(self, process: int) -> dict[str | None, int]:
        return self._have.setdefault(process, {})

    # -- What was done with a place

    def _ended(self, each: Operation) -> None:
        """Offsets that were sent in a transaction are committed with it."""
        for sent in self._sent.pop(each.txn or 0, ()):
            if each.argument != COMMIT or each.outcome == FAIL:
                continue
            for key, offset in sent.argument[1]:
                place = self.place(sent.argument[0], key)
                # What was not answered need not be part of it.
                times = (sent.invoked, answered(each) if sent.outcome == OK else NEVER)
                row = (place, each.process, offset, *times, NONE, sent.index, self.mark_of(sent))
                self._commits.append(row)

    def _progress(self, each: Operation, spans: _Spans) -> None:
        group, offsets = each.argument
        if each.outcome == FAIL:
            return
        for key, offset in offsets:
            place = self.place(group, key)
            span, _ = spans.at(place, each.process, each.invoked, each.completed)
            if each.f == "processed":
                self._processed.append((place, span, offset, each.index))
                continue
            times = (each.invoked, answered(each))
            mark = self.mark_of(each)
            row = (place, each.process, offset, *times, span, each.index, mark)
            self._commits.append(row)

    def _shown(self, each: Operation) -> None:
        if each.isolation != READ_UNCOMMITTED:
            partition = self.partition(each.key)
            self._records += [(partition, offset) for offset, _ in each.result or ()]

    def _poll(self, each: Operation, spans: _Spans) -> None:
        if each.process not in self.groups:
            return
        if each.result is None and each.to is None and each.argument is None:
            return
        place = self.place(self.groups[each.process], each.key)
        offsets = [offset for offset, _ in each.result or ()]
        span, several = spans.at(place, each.process, each.invoked, each.completed)
        before = each.argument if each.argument is not None else self._stood.get(span)
        after = each.to
        if offsets:
            before = min(offsets) if before is None else min(before, *offsets)
            after = max(offsets) + 1 if after is None else max(after, max(offsets) + 1)
        elif before is None:
            before = after
        if before is None:
            return  # nothing was there, wherever it stood
        after = before if after is None else after
        if span != NONE:
            self._stood[span] = after
        times = (each.invoked, answered(each))
        # Who went back has read nothing on the way.
        went = (min(before, after), after, int(several), len(offsets))
        self._polled.append((place, each.process, span, *went, *times, each.index))

    def place(self, group: Any, key: str | None) -> int:
        self.partition(key)
        return self._places.setdefault((group, key), len(self._places))

    def partition(self, key: str | None) -> int:
        return self._partitions.setdefault(key, len(self._partitions))

    def mark(self, name: str) -> int:
        return self._marks.setdefault(name, len(self._marks))

    def mark_of(self, each: Operation) -> int:
        return NONE if each.mark is None else self.mark(each.mark)

    def _refuse(self, each: Operation, what: str) -> HistoryError:
        return HistoryError(self.history.source, each.line, what)

    def _lives(self) -> Iterator[tuple[int, ...]]:
        for process, joined in self._joined.items():
            group = self.groups[process]
            had = {key for (of, key) in self._places if of == group}
            end = self._left.get(process, self._last[process])
            wanted = self._subscribed.get(process, frozenset(had))
            topics = set(map(_topic, wanted))
            more = {key for key in had if _topic(key) in topics}
            for key in sorted(wanted | more, key=str):
                yield self.place(group, key), joined.invoked, end, joined.index

    def built(self, records: tuple[Ints, Ints] | None = None) -> Members:
        for process, have in self._have.items():
            for key in list(have):
                self._end(process, key, self._last[process], GONE, NONE)
        spans = _Spans(self._spans)
        for each in self._late:
            if each.f == "fetch":
                self._poll(each, spans)
            else:
                self._progress(each, spans)
        lives = list(self._lives())
        columns = tabled(self._spans, 9)
        columns[5] = columns[5].astype(np.int8)
        polled = tabled(self._polled, 10)
        polled[5] = polled[5].astype(bool)
        one, other = records or tabled(sorted(set(self._records)), 2)
        partition = [self._partitions[key] for _, key in self._places]
        return Members(
            Spans._make(columns),
            Commits._make(tabled(self._commits, 8)),
            Told._make(tabled(self._told, 5)),
            Polled._make(polled),
            Processed._make(tabled(self._processed, 4)),
            Lives._make(tabled(lives, 4)),
            np.array(partition, np.int64),
            (one, other),
            tuple(self._places),
            tuple(self._marks),
        )


class _Spans:
    """Which span an operation of a member was made in."""

    def __init__(self, rows: list[list[int]]) -> None:
        self._of: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for row, (place, process, begin, _, end, *_) in enumerate(rows):
            self._of.setdefault((place, process), []).append((begin, end, row))
        self._at: dict[tuple[int, int], int] = {}

    def at(self, place: int, process: int, invoked: int, completed: int | None) -> tuple[int, bool]:
        """The last that the member had meanwhile, or NONE, and whether it had others as well.

        Asked in the order in which operations were invoked, for each member and place.
        """
        mine = self._of.get((place, process))
        if mine is None:
            return NONE, False
        until = invoked if completed is None else completed
        first = self._at.get((place, process), 0)
        while first + 1 < len(mine) and mine[first][1] < invoked:
            first += 1
        self._at[place, process] = last = first
        while last + 1 < len(mine) and mine[last + 1][0] < until:
            last += 1
        begin, end, row = mine[last]
        return (NONE if begin > until or end < invoked else row), last > first


def _topic(key: str | None) -> str | None:
    """Partitions of one topic, where keys say which: `orders-3`; a topic may have more than its
    consumers were told when they subscribed.
    """
    topic, dash, partition = (key or "").rpartition("-")
    return topic if dash and partition.isdigit() else key


def _last_heard(operations: Iterable[Operation]) -> dict[int, int]:
    """When each process last said something."""
    found: dict[int, int] = {}
    for each in operations:
        last = each.invoked if each.completed is None else each.completed
        found[each.process] = max(found.get(each.process, last), last)
    return found
