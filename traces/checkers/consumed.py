"""Offsets that a group consumed within transactions: are they committed with the records, or not?

    torn-offsets    they are committed and the records of their transaction are not, or the other
                    way round
    input-twice, input-skipped    two committed transactions of a group consumed the same records,
                    or left some between them

It is taken for granted that only transactions commit offsets for these groups, and that a consumer
goes on from where its group is [KIP-447].
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from kraftcheck.traces.checkers.columns import NEVER, Flags, Ints, indices
from kraftcheck.traces.checkers.fates import Fates
from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.transactions import ABORTED, COMMITTED, NONE, Transactions
from kraftcheck.traces.checkers.verdict import shown


def torn_offsets(f: Fates) -> Broken:
    """A group was told what no transaction committed, or less than one that was seen did."""
    t, c = f.t, f.t.consumed
    undone = f.transactions(f.passed) | (t.ends.fate == ABORTED)
    places = _Places(f)
    found = []
    for row in indices(c.transaction == NONE).tolist():
        writers = places.writers.get((int(c.place[row]), int(c.offset[row])), ())
        if writers and all(undone[each] for each in writers):
            found.append((min(writers), row))
        elif (transaction := places.left_out(row)) != NONE:
            found.append((transaction, row))
    return Broken("torn-offsets", found, partial(_torn_offsets, t, undone))


class _Places:
    """What transactions sent, by group and partition. writers: those that sent an offset."""

    def __init__(self, f: Fates) -> None:
        t, c = f.t, f.t.consumed
        self._t = t
        self.writers: dict[tuple[int, int], set[int]] = {}
        self._sent: dict[int, list[int]] = {}
        for row in indices(c.transaction != NONE).tolist():
            place, transaction = int(c.place[row]), int(c.transaction[row])
            self.writers.setdefault((place, int(c.offset[row])), set()).add(transaction)
            self._sent.setdefault(place, []).append(row)
        seen = _first_seen(f)
        self._since: dict[int, list[int]] = {}
        self._most: dict[int, list[int]] = {}
        for place, rows in self._sent.items():
            rows = sorted(rows, key=lambda row: int(seen[c.transaction[row]]))
            self._since[place] = [int(seen[c.transaction[row]]) for row in rows]
            self._most[place] = []
            for row in rows:
                most = self._most[place][-1] if self._most[place] else row
                self._most[place].append(row if c.offset[row] > c.offset[most] else most)

    def left_out(self, row: int) -> int:
        """Find a transaction that a group should have been told of and was not.

        It had been seen when the group was told less than it had sent, and no other transaction can
        have taken it back. NONE: there is none.
        """
        c, ends, place = self._t.consumed, self._t.ends, int(self._t.consumed.place[row])
        before = bisect_left(self._since.get(place, []), int(c.invoked[row]))
        if not before:
            return NONE
        most = self._most[place][before - 1]
        if c.offset[most] <= c.offset[row]:
            return NONE
        begun = ends.begun[c.transaction[most]]
        others = (each for each in self._sent[place] if c.offset[each] <= c.offset[row])
        if any(ends.ended[c.transaction[each]] >= begun for each in others):
            return NONE
        return int(c.transaction[most])


def _first_seen(f: Fates) -> Ints:
    """Of each transaction, when a fetch that showed it first was over (NEVER: none did)."""
    t = f.t
    found = np.full(len(t.ends.number), NEVER)
    rows = indices((f.sender != NONE) & (t.shown.poll != NONE))
    transaction = t.sends.transaction[f.sender[rows]]
    np.minimum.at(found, transaction, t.polls.completed[t.shown.poll[rows]])
    return found


def _torn_offsets(t: Transactions, undone: Flags, found: tuple[int, int]) -> Evidence:
    (transaction, told), c = found, t.consumed
    group, key = t.places[c.place[told]]
    number = t.ends.number[transaction]
    said = f"group {shown(group)} was told offset {c.offset[told]} of {key}, "
    said += (
        f"which transaction {number} sent, and that was not committed"
        if undone[transaction]
        else f"which is less than transaction {number} sent, and that was committed"
    )
    return (t.ends.operation[transaction], c.operation[told]), said, key


def inputs(f: Fates) -> Iterator[Broken]:
    """Of committed transactions of one group and partition, what they consumed, side by side."""
    t, c = f.t, f.t.consumed
    begins = _consumed_from(t)
    seen = f.transactions(f.seen) | (t.ends.fate == COMMITTED)
    spans: dict[int, list[tuple[int, int, int]]] = {}
    for row in indices(c.transaction != NONE).tolist():
        transaction = int(c.transaction[row])
        begin = begins.get((transaction, int(c.partition[row])))
        if seen[transaction] and begin is not None and begin < c.offset[row]:
            spans.setdefault(int(c.place[row]), []).append((begin, int(c.offset[row]), row))
    twice, skipped = [], []
    for each in spans.values():
        each.sort()
        for (_, end, first), (begin, _, second) in pairwise(each):
            if c.transaction[first] == c.transaction[second]:
                continue
            if begin < end:
                twice.append((first, second))
            elif begin > end and _shown_between(t, int(c.partition[first]), end, begin):
                skipped.append((first, second))
    yield Broken("input-twice", twice, partial(_input, t, "both consumed records"))
    yield Broken("input-skipped", skipped, partial(_input, t, "left out records between them"))


def _consumed_from(t: Transactions) -> dict[tuple[int, int], int]:
    """By transaction and partition, from where the fetches inside it went."""
    found: dict[tuple[int, int], int] = {}
    polls = t.polls
    for row in indices(polls.transaction != NONE).tolist():
        key = (int(polls.transaction[row]), int(polls.partition[row]))
        begin = int(polls.before[row])
        found[key] = min(found.get(key, begin), begin)
    return found


def _shown_between(t: Transactions, partition: int, begin: int, end: int) -> bool:
    """Whether somebody read a committed record there: offsets alone may be control records."""
    some = (t.shown.partition == partition) & (t.shown.poll != NONE)
    return bool((some & (t.shown.offset >= begin) & (t.shown.offset < end)).any())


def _input(t: Transactions, what: str, pair: tuple[int, int]) -> Evidence:
    c, (first, second) = t.consumed, pair
    group, key = t.places[c.place[first]]
    one, two = (t.ends.number[c.transaction[each]] for each in pair)
    said = f"transactions {one} and {two} of group {shown(group)} {what} of {key}"
    return (c.operation[first], c.operation[second]), said, key
