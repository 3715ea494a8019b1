"""Columns of operations (traces/rows.py), straight to what the checkers judge.

    batch_of(rows)     as `from_history` of the same operations
    members_of(rows)   as `members_of` of them

but for the numbers of values, places, partitions and sessions, which stand for the same in another
order. Only what is rare is made into operations: callbacks, subscriptions, who leaves. Where rows
tell what cannot be had so, `Unusual` is raised, and who asks makes operations of all.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.traces.checkers import members
from kraftcheck.traces.checkers.columns import (
    CODES,
    DID,
    EARLIEST,
    FETCH,
    LATEST,
    MAY,
    NEVER,
    OFFSET_MAX,
    UNKNOWN,
    Appends,
    Codes,
    Flags,
    Ints,
    LogBatch,
    Reads,
    indices,
    to_of,
)
from kraftcheck.traces.checkers.members import NONE, Builder, Commits, Members, Polled, Processed
from kraftcheck.traces.history import (
    CALLBACKS,
    FAIL,
    GROUP_OPERATIONS,
    LOG_OPERATIONS,
    OK,
    READ_UNCOMMITTED,
)
from kraftcheck.traces.rows import NULL, OFFSETS, Rows, Words, history_of, operation_numbers

RARE: Final = (*CALLBACKS, "leave", "committed", "subscribe", "crash")
ASSIGNMENTS: Final = ("assign", "subscribe", "crash")


class Unusual(Exception):
    """These rows tell what only operations can be judged by."""


def _outcomes(rows: Rows) -> Any:
    of = np.array([CODES[name] for name in rows.outcome.names], np.int8)
    return of[rows.outcome.codes]


def _ended(rows: Rows) -> Ints:
    return np.where(_outcomes(rows) == MAY, NEVER, rows.completed)


def configuration_of(rows: Rows) -> Configuration:
    """As `configuration_in` of the same operations."""
    append, fetch, latest = (rows.f.are(each) for each in ("append", "fetch", "latest"))
    listening = rows.f.any_of(CALLBACKS).any()
    subscribed = rows.f.are("subscribe").any()
    who = _pairs(rows.process, rows.key)
    appending, asking, reading = (np.unique(who[each]) for each in (append, latest, fetch))
    one_client = np.isin(appending, np.concatenate((asking, reading))).any()
    return Configuration(
        consumers="listen" if listening else "subscribe" if subscribed else "assign",
        one_client=bool(one_client),
        asks_latest=bool(np.isin(asking, reading).any()),
        goes_back=_goes_back(rows, who, fetch),
    )


def gaps_in(rows: Rows, configuration: Configuration) -> bool:
    """As `log.gaps_in` of the same operations."""
    if configuration.transactions or configuration.compaction != "none":
        return True
    same = rows.operation[1:] == rows.operation[:-1]
    append = rows.f.are("append")
    return bool((same & (append[1:] | append[:-1])).any())


def has_members(rows: Rows) -> bool:
    """As `has_members` of the same operations."""
    return bool(rows.f.any_of(GROUP_OPERATIONS).any())


def _pairs(processes: Ints, key: Words) -> Ints:
    """A number for each process and key."""
    low = int(processes.min(initial=0))
    of = processes - low
    if int(of.max(initial=0)) > 1 << 20:
        of = np.unique(processes, return_inverse=True)[1]
    numbers: Ints = of * (len(key.names) + 1) + key.codes + 1
    return numbers


def _goes_back(rows: Rows, who: Ints, fetch: Flags) -> bool:
    """Whether somebody asks from before what it has been returned."""
    at = indices(fetch & ((rows.offset != UNKNOWN) | (rows.splits[1:] > rows.splits[:-1])))
    at = at[np.argsort(who[at], kind="stable")]
    if not (rows.offset[at] != UNKNOWN).any():
        return False
    some = rows.splits[at + 1] > rows.splits[at]
    last = np.zeros(len(at), np.int64)
    last[some] = rows.offsets[rows.splits[at[some] + 1] - 1] + 1
    # The furthest of each process and partition, one after the other.
    asked, of = rows.offset[at], who[at]
    known = np.unique(np.concatenate((last, asked, (0,))))

    def keyed(offsets: Ints) -> Ints:
        numbers: Ints = of * len(known) + np.searchsorted(known, offsets)
        return numbers

    so_far = np.maximum.accumulate(keyed(last))
    before = np.maximum(np.concatenate(((0,), so_far[:-1])), keyed(np.zeros(len(at), np.int64)))
    return bool(((asked != UNKNOWN) & (keyed(asked) < before)).any())


# -- Logs


def batch_of(rows: Rows, *, named: bool = True) -> LogBatch:
    """A segment for each topic-partition. named: it says what the numbers of values stand for.
    Raises Unusual.
    """
    at = indices(rows.f.any_of(LOG_OPERATIONS))
    if not len(at) or rows.isolation.are(READ_UNCOMMITTED).any():
        raise Unusual
    largest = max(
        int(each.max(initial=0)) for each in (rows.offset, rows.offsets, rows.end - 1, rows.to - 1)
    )
    if largest > OFFSET_MAX:
        raise Unusual
    # In the order in which keys appear, and of each key in the order of rows.
    codes = rows.key.codes[at] + 1
    first = np.full(len(rows.key.names) + 1, len(at))
    first[codes[::-1]] = np.arange(len(at))[::-1]
    keys = np.argsort(first)[: int((first < len(at)).sum())]
    place = np.argsort(np.argsort(first))
    segment = place[codes]
    order = np.argsort(segment, kind="stable")
    at, segment = at[order], segment[order]
    labels = [rows.key.names[key - 1] if key else None for key in keys.tolist()]
    index, group = operation_numbers(rows), rows.operation
    outcome, ended = _outcomes(rows), _ended(rows)
    is_append = rows.f.are("append")[at]
    a, r = at[is_append], at[~is_append]
    says = rows.answered[r] | (rows.end[r] != UNKNOWN)
    session, apart = (each[says] for each in _sessions(rows, r))
    of, r = segment[~is_append][says], r[says]
    counts = rows.splits[r + 1] - rows.splits[r]
    splits = np.concatenate(([0], np.cumsum(counts)))
    inside = np.arange(int(splits[-1])) - np.repeat(splits[:-1], counts)
    told = np.repeat(rows.splits[r], counts) + inside
    # Numbers of values go on from one segment to the next.
    both = pa.concat_arrays([rows.value.take(pa.array(a)), rows.returned.take(pa.array(told))])
    encoded = both.dictionary_encode()
    value = np.asarray(encoded.indices.to_numpy(), np.int64)
    known = (outcome[a] == DID) & (rows.offset[a] != UNKNOWN)
    appends = Appends(
        *(segment[is_append], rows.process[a], rows.invoked[a], ended[a], value[: len(a)]),
        *(np.where(known, rows.offset[a], UNKNOWN), outcome[a], index[a], group[a]),
    )
    reads = Reads(
        *(of, rows.process[r], session, rows.invoked[r], ended[r]),
        *(_kinds(rows, r), rows.offset[r], rows.end[r], outcome[r]),
        *(index[r], group[r], splits, rows.offsets[told], value[len(a) :]),
        to=to_of(np.where(rows.f.are("fetch")[r] & ~apart, rows.to[r], UNKNOWN)),
    )
    if rows.f.are("subscribe").any() and not rows.f.any_of(CALLBACKS).any():
        reads = reads._replace(to=None)  # A rebalance may have come within any fetch.
    counted = np.bincount(segment, minlength=len(keys)).astype(np.int64)
    values = tuple(encoded.dictionary.to_pylist()) if named else ()
    return LogBatch(len(keys), counted, appends, reads, tuple(labels), values)


def _kinds(rows: Rows, reads: Ints) -> Codes:
    found = np.full(len(reads), FETCH, np.int8)
    for name, kind in (("latest", LATEST), ("earliest", EARLIEST)):
        found[rows.f.are(name)[reads]] = kind
    return found


def _sessions(rows: Rows, reads: Ints) -> tuple[Ints, Flags]:
    """Of each read its session (columns.py: sessions_of), of who asks for an end, its process; and
    whether a rebalance came within it.
    """
    found, apart = rows.process[reads].copy(), np.zeros(len(reads), bool)
    fetch = rows.f.are("fetch")[reads]
    found[fetch], apart[fetch] = _sessions_of_fetches(rows, reads[fetch])
    return found, apart


def _sessions_of_fetches(rows: Rows, fetches: Ints) -> tuple[Ints, Flags]:
    who = _pairs(rows.process, rows.key)
    called = indices(rows.f.any_of(CALLBACKS))
    assigned, others = _resets(rows, who, fetches)
    every = np.concatenate((fetches, called, assigned))
    by = np.concatenate((who[fetches], who[called], others))
    is_reset = np.arange(len(every)) >= len(fetches)
    is_callback = is_reset & (np.arange(len(every)) < len(fetches) + len(called))
    order = np.lexsort((every, by))
    new = np.concatenate(([True], by[order][1:] != by[order][:-1]))[: len(order)]
    numbers = np.cumsum(new | is_reset[order])
    # Within which a callback came, is a session of its own.
    following = np.concatenate((~new[1:] & is_callback[order][1:], [False]))[: len(order)]
    completed = rows.completed[every[order]]
    begun = np.concatenate((rows.invoked[every[order]][1:], [0]))[: len(order)]
    alone = following & ~is_reset[order] & (completed > begun)
    numbers[alone] = int(numbers.max(initial=0)) + 1 + np.arange(int(alone.sum()))
    found, apart = np.empty(len(every), np.int64), np.empty(len(every), bool)
    found[order], apart[order] = numbers, alone
    return found[: len(fetches)], apart[: len(fetches)]


def _resets(rows: Rows, who: Ints, fetches: Ints) -> tuple[Ints, Ints]:
    """Of what an assignment does not keep (of a consumer that is torn down, of all): its row, and
    whose place in which partition (as `who`)."""
    at = indices(rows.f.any_of(ASSIGNMENTS))
    if not len(at):
        return at, at
    pairs = np.unique(who[fetches])
    example = {pair: row for pair, row in zip(who[fetches].tolist(), fetches.tolist(), strict=True)}
    of_process: dict[int, list[int]] = {}
    for pair in pairs.tolist():
        of_process.setdefault(int(rows.process[example[pair]]), []).append(pair)
    found: list[tuple[int, int]] = []
    for _, of in groupby(at.tolist(), key=lambda row: int(rows.operation[row])):
        row, *more = of
        forgets = rows.f.of(row) == "crash" or rows.answered[row]
        named = [each for each in (row, *more) if rows.key.codes[each] != NULL]
        kept = set() if forgets else {int(who[each]) for each in named}
        for pair in of_process.get(int(rows.process[row]), ()):
            if pair not in kept:
                found.append((row, pair))
    rows_of = np.array(found, np.int64).reshape(len(found), 2)
    return rows_of[:, 0], rows_of[:, 1]


# -- Members


def members_of(rows: Rows) -> Members | None:
    """Raises HistoryError: as of `members_of`. Unusual."""
    if not has_members(rows):
        return None
    offsets = rows.f.any_of(OFFSETS)
    index = operation_numbers(rows)
    builder = Builder(history_of(rows, indices(rows.f.any_of(RARE))), _last_heard(rows))
    for each in builder.history.operations:
        builder.add(each)
    fetch = rows.f.are("fetch")
    polls = indices(fetch & (rows.answered | (rows.to != UNKNOWN) | (rows.offset != UNKNOWN)))
    polls = polls[np.isin(rows.process[polls], [*builder.groups])]
    told = indices(offsets & ~rows.outcome.are(FAIL))
    place = _places(rows, builder, polls, told)
    for key in np.unique(rows.key.codes[rows.f.are("append") | fetch]).tolist():
        builder.partition(None if key < 0 else rows.key.names[key])
    marks = [builder.mark(name) for name in rows.mark.names]
    found = builder.built(_records(rows, builder))
    spans = _Spans(found.spans)
    answered = np.where(_outcomes(rows) == MAY, NEVER, rows.completed)
    span, _ = spans.at(place[told], rows, told)
    is_commit = rows.f.are("commit-offsets")[told]
    c, p = told[is_commit], told[~is_commit]
    mark = np.array([*marks, NONE], np.int64)[rows.mark.codes[c]]
    commits = Commits(
        *(place[c], rows.process[c], rows.offset[c], rows.invoked[c], answered[c]),
        *(span[is_commit], index[c], mark),
    )
    processed = Processed(place[p], span[~is_commit], rows.offset[p], index[p])
    polled = _polled(rows, polls, place, spans, answered, index)
    return found._replace(commits=commits, processed=processed, polled=polled)


def _last_heard(rows: Rows) -> dict[int, int]:
    processes, of = np.unique(rows.process, return_inverse=True)
    last = np.full(len(processes), np.iinfo(np.int64).min)
    np.maximum.at(last, of, np.where(rows.completed == NEVER, rows.invoked, rows.completed))
    return dict(zip(processes.tolist(), last.tolist(), strict=True))


def _places(rows: Rows, builder: Builder, polls: Ints, told: Ints) -> Ints:
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


def _records(rows: Rows, builder: Builder) -> tuple[Ints, Ints]:
    """Which offsets hold records that consumers may see."""
    partitions = [builder.partition(name) for name in rows.key.names]
    unnamed = builder.partition(None) if (rows.key.codes < 0).any() else NONE
    partition = np.array([*partitions, unnamed], np.int64)[rows.key.codes]
    a = indices(rows.f.are("append") & rows.outcome.are(OK) & (rows.offset != UNKNOWN))
    f = indices(rows.f.are("fetch"))
    counts = rows.splits[f + 1] - rows.splits[f]
    of = np.concatenate((partition[a], np.repeat(partition[f], counts)))
    at = np.concatenate((rows.offset[a], rows.offsets))
    width = int(at.max(initial=0)) + 1
    if width * (int(of.max(initial=0)) + 1) >= 1 << 62:
        raise Unusual
    both = np.sort(of * width + at)
    new = np.concatenate(([True], both[1:] != both[:-1]))[: len(both)]
    return both[new] // width, both[new] % width


def _polled(
    rows: Rows, polls: Ints, place: Ints, spans: _Spans, answered: Ints, index: Ints
) -> Polled:
    span, several = spans.at(place[polls], rows, polls)
    counts = rows.splits[polls + 1] - rows.splits[polls]
    low, high = _extremes(rows, polls, counts)
    some = counts > 0
    asked, to = rows.offset[polls], rows.to[polls]
    if ((asked == UNKNOWN) & (to == UNKNOWN) & ~some).any():
        raise Unusual
    after = np.where(to == UNKNOWN, high, np.maximum(to, high))
    after = np.where(after == UNKNOWN, asked, after)
    # Where the member stood before, if it was in the same span.
    stood = np.full(len(polls), UNKNOWN)
    order = np.argsort(span, kind="stable")
    same = (span[order][1:] == span[order][:-1]) & (span[order][1:] != NONE)
    stood[order[1:][same]] = after[order[:-1][same]]
    before = np.where(asked == UNKNOWN, stood, asked)
    before = np.where(some, np.where(before == UNKNOWN, low, np.minimum(before, low)), before)
    before = np.where(before == UNKNOWN, after, before)
    return Polled(
        *(place[polls], rows.process[polls], span, np.minimum(before, after), after, several),
        *(counts, rows.invoked[polls], answered[polls], index[polls]),
    )


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

    def __init__(self, spans: members.Spans) -> None:
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
        """Of each of these rows, the last span that its member had meanwhile, or NONE; and whether
        it had others as well."""
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
