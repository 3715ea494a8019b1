"""Members of consumer groups as columns: what they had, read, processed and committed, and when.

    members_of(history)   a `Members`, or None: nobody told of a group

Callbacks, subscriptions and ends of transactions, which are few, are taken one by one; what was
polled, processed and committed is found from their spans, all at once.

A *place* is a partition as one group reads it. A *span* is the time for which a member had a place:
it begins with the callback that gave it, and ends when the callback that took it is over, since
only then does the client say that it has given it up [KIP-429, KIP-848].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import (
    NEVER,
    UNKNOWN,
    Codes,
    Flags,
    Ints,
    answered,
    ends_of,
    indices,
    tabled,
)
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
from kraftcheck.traces.rows import NULL, OFFSETS, Rows, begins, history_of, rows_of

RARE: Final = (*CALLBACKS, "leave", "crash", "subscribe", "send-offsets", "end", "committed")
"""Verbs of what is taken one by one."""
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

    begin, given: when the callback that gave it began and was over. first, last: the operations
    that began and ended it.
    """

    place: Ints
    process: Ints
    begin: Ints
    given: Ints
    end: Ints
    """Until when it had the place for certain."""
    how: Codes
    """It ended."""
    first: Ints
    last: Ints
    mark: Ints
    """The member's id, a number in `Members.marks`, or NONE."""


class Commits(NamedTuple):
    """A row for each offset that was committed, or may have been."""

    place: Ints
    process: Ints
    offset: Ints
    invoked: Ints
    completed: Ints
    """NEVER, if it is not known that it was."""
    span: Ints
    """Of the member then, or NONE."""
    operation: Ints
    mark: Ints
    """As of Spans, its metadata."""


class CommittedReads(NamedTuple):
    """A row for each committed offset that a client was told; UNKNOWN: that there is none."""

    place: Ints
    offset: Ints
    invoked: Ints
    completed: Ints
    operation: Ints


class Polled(NamedTuple):
    """A row for each fetch of a member from a place, which went from `before` to `after`.

    It may have begun earlier, if there are no records between.
    """

    place: Ints
    process: Ints
    span: Ints
    """In which it was made, or NONE."""
    before: Ints
    after: Ints
    several: Flags
    """It may be of an earlier one."""
    shown: Ints
    """How many records."""
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
    """A row for each place to which a member subscribed, or which it had.

    It lasts from the member's first callback until the member left, or until nothing more was heard
    of it.
    """

    place: Ints
    begin: Ints
    end: Ints
    operation: Ints


class Members(NamedTuple):
    """All members of a history."""

    spans: Spans
    commits: Commits
    told: CommittedReads
    polled: Polled
    processed: Processed
    lives: Lives
    partition: Ints
    """Of each place, its number among those of `records`."""
    records: tuple[Ints, Ints]
    """Which offsets hold records that consumers may see, as (partition, offset), in their order."""
    places: tuple[tuple[Any, str | None], ...]
    """(group, partition) of each number."""
    marks: tuple[str, ...]
    """What the numbers stand for."""


def has_members(rows: Rows) -> bool:
    """Whether anybody tells of a consumer group: what its members were given, or its offsets."""
    return bool(rows.f.any_of(GROUP_OPERATIONS).any())


def members_of(history: History | Rows) -> Members | None:
    """The members of a history; None if it has none.

    Raises HistoryError: a member is given a partition of no topic that it subscribed to, gives up
    what it never had, or is a member of two groups at once. ValueError: as of `rows_of`.
    """
    rows = rows_of(history)
    if not has_members(rows):
        return None
    builder = _Builder(history_of(rows, indices(rows.f.any_of(RARE))), _last_heard(rows))
    fetch = rows.f.are("fetch")
    polls = indices(fetch & (rows.answered | (rows.to != UNKNOWN) | (rows.offset != UNKNOWN)))
    polls = polls[np.isin(rows.process[polls], [*builder.groups])]
    told = indices(rows.f.any_of(OFFSETS) & ~rows.outcome.are(FAIL))
    place = _places(rows, builder, polls, told)
    for key in np.unique(rows.key.codes[rows.f.are("append") | fetch]).tolist():
        builder.partition(None if key < 0 else rows.key.names[key])
    marks = np.array([*map(builder.mark, rows.mark.names), NONE], np.int64)
    found = builder.built(_records(rows, builder))
    spans = _Spans(found.spans)
    ends = ends_of(rows)
    span, _ = spans.at(place[told], rows, told)
    is_commit = rows.f.are("commit-offsets")[told]
    c, p = told[is_commit], told[~is_commit]
    committed = (
        *(place[c], rows.process[c], rows.offset[c], rows.invoked[c], ends[c]),
        *(span[is_commit], rows.number[c], marks[rows.mark.codes[c]]),
    )
    commits = Commits(*map(np.concatenate, zip(found.commits, committed, strict=True)))
    processed = Processed(place[p], span[~is_commit], rows.offset[p], rows.number[p])
    polled = _polled(rows, polls, place, spans, ends)
    return found._replace(commits=commits, processed=processed, polled=polled)


# -- One by one


class _Builder:
    """Takes the operations that are RARE one by one, and numbers places, partitions and marks.

    last: when each process last said something. groups: of which each is a member.
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
        self._commits: list[tuple[int, ...]] = []
        self._sent: dict[int, list[Operation]] = {}
        self._told: list[tuple[int, ...]] = []
        for operation in history.operations:
            self._add(operation)

    def _add(self, each: Operation) -> None:
        if each.f == ASSIGNED:
            self._assigned(each)
        elif each.f in CALLBACKS:
            self._taken(each)
        elif each.f in ("leave", "crash"):
            self._end_all(each.process, each.invoked, GONE, each.index)
        elif each.f == "subscribe":
            self._subscribed[each.process] = frozenset(each.argument)
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
        keys: dict[Any, set[str | None]] = {}
        for of, key in self._places:
            keys.setdefault(of, set()).add(key)
        for process, joined in self._joined.items():
            group = self.groups[process]
            had = keys.get(group, set())
            end = self._left.get(process, self._last[process])
            wanted = self._subscribed.get(process, frozenset(had))
            topics = set(map(_topic, wanted))
            more = {key for key in had if _topic(key) in topics}
            for key in sorted(wanted | more, key=str):
                yield self.place(group, key), joined.invoked, end, joined.index

    def built(self, records: tuple[Ints, Ints]) -> Members:
        """records: which there are. Nothing is polled or processed yet."""
        for process, have in self._have.items():
            for key in list(have):
                self._end(process, key, self._last[process], GONE, NONE)
        lives = list(self._lives())
        columns = tabled(self._spans, 9)
        columns[5] = columns[5].astype(np.int8)
        partition = [self._partitions[key] for _, key in self._places]
        none = np.zeros(0, np.int64)
        return Members(
            Spans._make(columns),
            Commits._make(tabled(self._commits, 8)),
            CommittedReads._make(tabled(self._told, 5)),
            Polled._make([none] * 10),
            Processed._make([none] * 4),
            Lives._make(tabled(lives, 4)),
            np.array(partition, np.int64),
            records,
            tuple(self._places),
            tuple(self._marks),
        )


def _topic(key: str | None) -> str | None:
    """Give the partitions of one topic, where keys name them, as `orders-3` does.

    A topic may have more than its consumers were told of when they subscribed.
    """
    topic, dash, partition = (key or "").rpartition("-")
    return topic if dash and partition.isdigit() else key


# -- All at once


def _last_heard(rows: Rows) -> dict[int, int]:
    processes, of = np.unique(rows.process, return_inverse=True)
    last = np.full(len(processes), np.iinfo(np.int64).min)
    np.maximum.at(last, of, np.where(rows.completed == NEVER, rows.invoked, rows.completed))
    return dict(zip(processes.tolist(), last.tolist(), strict=True))


def _places(rows: Rows, builder: _Builder, polls: Ints, told: Ints) -> Ints:
    """Of each of these rows, its place."""
    found = np.full(len(rows.process), NONE, np.int64)
    processes = np.array(sorted(builder.groups), np.int64)
    numbers = [rows.group.names.index(builder.groups[p]) for p in processes.tolist()]
    mine = np.array(numbers, np.int64)[np.searchsorted(processes, rows.process[polls])]
    width = len(rows.key.names) + 1
    for at, group in ((polls, mine), (told, rows.group.codes[told])):
        pairs = group * width + rows.key.codes[at] + 1
        of = np.full(len(rows.group.names) * width, NONE, np.int64)
        for pair in np.unique(pairs).tolist():
            name, key = divmod(pair, width)
            label = rows.key.names[key - 1] if key else None
            of[pair] = builder.place(rows.group.names[name], label)
        found[at] = of[pairs]
    return found


def _records(rows: Rows, builder: _Builder) -> tuple[Ints, Ints]:
    """Which offsets hold records that consumers may see."""
    partitions = [builder.partition(name) for name in rows.key.names]
    unnamed = builder.partition(None) if (rows.key.codes < 0).any() else NONE
    partition = np.array([*partitions, unnamed], np.int64)[rows.key.codes]
    alone = rows.f.are("append") & (rows.txn == NULL)
    a = indices(alone & rows.outcome.are(OK) & (rows.offset != UNKNOWN))
    of_row = np.repeat(np.arange(len(rows.number)), np.diff(rows.splits))
    seen = ~rows.isolation.are(READ_UNCOMMITTED)[of_row]
    of = np.concatenate((partition[a], partition[of_row[seen]]))
    at = np.concatenate((rows.offset[a], rows.offsets[seen]))
    width = int(at.max(initial=0)) + 1
    if width * (int(of.max(initial=0)) + 1) >= 1 << 62:
        order = np.lexsort((at, of))
        new = order[begins(of[order], at[order])]
        return of[new], at[new]
    both = np.unique(of * width + at)
    return both // width, both % width


def _polled(rows: Rows, polls: Ints, place: Ints, spans: _Spans, ends: Ints) -> Polled:
    span, several = spans.at(place[polls], rows, polls)
    counts = rows.splits[polls + 1] - rows.splits[polls]
    low, high = _extremes(rows, polls, counts)
    asked, to = rows.offset[polls], rows.to[polls]
    after = np.where(to == UNKNOWN, high, np.maximum(to, high))
    after = np.where(after == UNKNOWN, asked, after)
    stood = _stood(span, after)
    before = np.where(asked == UNKNOWN, stood, asked)
    some = counts > 0
    before = np.where(some, np.where(before == UNKNOWN, low, np.minimum(before, low)), before)
    # One that shows nothing, of a member that stands nobody knows where, tells nothing.
    after = np.where(after == UNKNOWN, stood, after)
    before = np.where(before == UNKNOWN, after, before)
    # Who went back has read nothing on the way.
    found = Polled(
        *(place[polls], rows.process[polls], span, np.minimum(before, after), after, several),
        *(counts, rows.invoked[polls], ends[polls], rows.number[polls]),
    )
    return Polled._make(column[after != UNKNOWN] for column in found)


def _stood(span: Ints, after: Ints) -> Ints:
    """Where the member stood before each poll, as its polls before in that span tell."""
    order = np.argsort(span, kind="stable")
    span, at = span[order], np.arange(len(span))
    known = (after[order] != UNKNOWN) & (span != NONE)
    last = np.maximum.accumulate(np.where(known, at, -1))
    last = np.concatenate(([-1], last[:-1]))[: len(at)]
    same = (last >= 0) & (span[last] == span)
    found = np.full(len(after), UNKNOWN)
    found[order[same]] = after[order[last[same]]]
    return found


def _extremes(rows: Rows, polls: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """The least offset that each returned, and the one behind the greatest."""
    low, high = (np.full(len(polls), UNKNOWN) for _ in range(2))
    some = polls[counts > 0]
    if len(some):
        cuts = np.stack((rows.splits[some], rows.splits[some + 1]), 1).ravel()
        padded = np.append(rows.offsets, 0)
        low[counts > 0] = np.minimum.reduceat(padded, cuts)[::2]
        high[counts > 0] = np.maximum.reduceat(padded, cuts)[::2] + 1
    return low, high


class _Spans:
    """Which span operations were made in (members.py), all at once."""

    def __init__(self, spans: Spans) -> None:
        self._times = np.unique(np.concatenate((spans.begin, spans.end)))
        self._processes = np.unique(spans.process)
        self._who = np.unique(self._number(spans.place, spans.process))
        pair = self._pair(spans.place, spans.process)
        self._order = np.argsort(pair, kind="stable")
        self._begin = self._keyed(pair, spans.begin)[self._order]
        # The first that has not ended by some time is the first of which none before has.
        self._end = np.maximum.accumulate(self._keyed(pair, spans.end)[self._order])
        self._first = np.searchsorted(pair[self._order], np.arange(len(self._who) + 1))
        self._spans = spans

    def _number(self, place: Ints, process: Ints) -> Ints:
        """Of a place and a process that has spans."""
        of: Ints = place * len(self._processes) + np.searchsorted(self._processes, process)
        return of

    def _pair(self, place: Ints, process: Ints) -> Ints:
        """The number of each pair that has spans, or NONE."""
        if not len(self._who):
            return np.full(len(place), NONE)
        of = self._number(place, process)
        at = np.minimum(np.searchsorted(self._who, of), len(self._who) - 1)
        known = np.isin(process, self._processes) & (self._who[at] == of)
        found: Ints = np.where(known, at, NONE)
        return found

    def _keyed(self, pair: Ints, times: Ints) -> Ints:
        """Of times of one pair in their order, as far as it matters to spans."""
        keyed: Ints = pair * (len(self._times) + 1) + np.searchsorted(self._times, times)
        return keyed

    def at(self, place: Ints, rows: Rows, of: Ints) -> tuple[Ints, Flags]:
        """Give the last span that the member of each row had meanwhile, or NONE.

        Also say whether it had others as well.
        """
        pair = self._pair(place, rows.process[of])
        known = indices(pair != NONE)
        span, several = np.full(len(of), NONE), np.zeros(len(of), np.bool_)
        mine, invoked, completed = pair[known], rows.invoked[of[known]], rows.completed[of[known]]
        until = np.where(completed == NEVER, invoked, completed)
        low, high = self._first[mine], self._first[mine + 1]
        ended = np.searchsorted(self._end, self._keyed(mine, invoked), "left")
        first = np.minimum(ended, high - 1)
        begun = np.searchsorted(self._begin, self._keyed(mine, until), "left") - 1
        last = np.maximum(np.maximum(begun, first), low)
        row = self._order[last]
        none = (self._spans.begin[row] > until) | (self._spans.end[row] < invoked)
        span[known] = np.where(none, NONE, row)
        several[known] = last > first
        return span, several
