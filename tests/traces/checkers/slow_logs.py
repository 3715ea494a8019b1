"""Can a promise explain what clients saw of a log? Every execution is tried, slow and plain.

The twin of everything in traces/checkers that judges logs, with nothing shared but the table of
promises. What is asked is not a level, but what a promise leaves standing: an order of all that
took effect, and a log that grows in it.

    items      each append that may have left its record, each read
    before     x comes before y if x was over before y began; and by the order of a process, where
               that is promised. Where stale reads are allowed, a read began before everything.
    the log    an append takes the next offset, or with gaps a later one; a fetch returns the
               records from where it began on and passes over none (of a compacted topic: that
               nothing later in the log at that point replaced); ends that were told are ends

Anomalies of movement and of single values are Jepsen's, by their own slow twin.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from kraftcheck.reference.clients.promises import Compaction, Configuration, Promise, promised
from kraftcheck.traces.history import FAIL, OK, History, Operation
from tests.traces.checkers.slow_anomalies import slow_anomalies

STEPS_MAX = 200_000
"""Then it is too large to try every order."""


class TooLarge(Exception):
    """Nothing is known."""


class _Item(NamedTuple):
    """must: it took effect. copy: it is what a retry of the append leaves, any number of times.
    told: the end that came with a fetch counts. shows: what it returned does. (Of a compacted topic
    each by itself, since Kafka takes the end first and cleans when it likes.) own: it is the
    operation, not what its process knew from then on.
    """

    operation: Operation
    begin: float
    end: float
    must: bool
    copy: bool = False
    told: bool = True
    shows: bool = True
    own: bool = True


class _State(NamedTuple):
    """records: (offset, value) in order. end: no record will stand below. start: of the log."""

    records: tuple[tuple[int, Any], ...]
    end: int
    start: int


def explained(
    history: History, promise: Promise, *, gaps: bool, compaction: Compaction = "none"
) -> bool:
    """Of a history of one log. Raises TooLarge."""
    if promise.nothing:
        return True
    subscribed = "group" in promise.rows
    copies = not promise.exactly_once
    for name, _, _ in slow_anomalies(history, subscribed, compaction == "keyed", copies):
        if name not in ("unseen", "unread") and not promise.allows(name):
            return False
    operations = [each for each in history.operations if each.key is not None]
    if promise.allows("inconsistent-offsets"):
        once = _once(operations) or promise.allows("duplicate")
        return once and all(map(_sound, operations)) and _sent(operations)
    search = _Search(operations, promise, gaps, compaction)
    if search.found():
        return True
    # Whoever is linearizable holds every level, however the clocks of its processes touch.
    return search.stale and _Search(operations, promise, gaps, compaction, stale=False).found()


def linearizable(history: History) -> bool:
    """Of a history of one log whose offsets count from 0. Raises TooLarge."""
    for each in history.operations:
        if each.f == "fetch" and each.to is not None:
            first = each.result[0][0] if each.result else each.argument
            if first is not None and each.to > first + len(each.result or ()):
                return False
    return _Search([*history.operations], promised(Configuration()), False, "none").found()


def _sound(fetch: Operation) -> bool:
    """Where offsets are used again, a fetch still goes forward from where it was asked to begin."""
    if fetch.f != "fetch" or fetch.outcome != OK or not fetch.result:
        return True
    offsets = [offset for offset, _ in fetch.result]
    asked = fetch.argument is None or offsets[0] >= fetch.argument
    return asked and all(one < two for one, two in pairwise(offsets))


def _sent(operations: list[Operation]) -> bool:
    """Whether somebody sent all that was read, and did not fail."""
    sent = {each.argument for each in operations if each.f == "append" and each.outcome != FAIL}
    return all(value in sent for each in operations for _, value in _records(each))


def _once(operations: list[Operation]) -> bool:
    """Whether no value stands at more offsets than it was sent, those that are deleted included."""
    sent = Counter(each.argument for each in operations if each.f == "append")
    where = {(value, offset) for each in operations for offset, value in _records(each)}
    for each in operations:
        if each.f == "append" and each.outcome == OK and each.result is not None:
            where.add((each.argument, each.result))
    return Counter(value for value, _ in where) <= sent


def _records(operation: Operation) -> tuple[tuple[int, Any], ...]:
    answered = operation.f == "fetch" and operation.outcome == OK
    return (operation.result or ()) if answered else ()


class _Search:
    def __init__(
        self,
        operations: list[Operation],
        promise: Promise,
        gaps: bool,
        compaction: Compaction,
        stale: bool = True,
    ) -> None:
        self.promise, self.gaps, self.compaction = promise, gaps, compaction
        self.operations = operations
        self.stale = stale and promise.allows("stale-read")
        self.starts = not promise.allows("start-regress")
        self.items = [item for each in operations for item in self._items(each)]
        self.edges = list(self._edges())
        self.read: dict[Any, set[int]] = {}
        """By value, where it was read."""
        self.taken: dict[int, set[Any]] = {}
        """By offset, what was read or acknowledged there."""
        for each in operations:
            for offset, value in _records(each):
                self.read.setdefault(value, set()).add(offset)
                self.taken.setdefault(offset, set()).add(value)
            if each.f == "append" and each.outcome == OK and each.result is not None:
                self.taken.setdefault(each.result, set()).add(each.argument)
        mentioned = [*self.taken, *(each.argument for each in operations if each.f == "fetch")]
        mentioned += [each.end for each in operations]
        mentioned += [each.result for each in operations if each.f in ("latest", "earliest")]
        self.last = max((each for each in mentioned if each is not None), default=0)
        copies = [each for each in self.items if each.copy]
        self.filler = min(copies, key=lambda each: each.begin, default=None)
        """Fills offsets that nobody saw: who can do so, if anything can."""
        self.failed: set[tuple[frozenset[int], _State]] = set()
        self.steps = 0

    # -- What there is to order

    def _items(self, each: Operation) -> Iterator[_Item]:
        promise = self.promise
        if each.f == "append":
            acked = each.outcome == OK
            if each.outcome == FAIL and not promise.allows("G1a"):
                return
            late = not acked or promise.allows("append-order")
            end = math.inf if late or each.completed is None else each.completed
            # Who was told an offset was told that it is there.
            must = acked and (promise.durable or each.result is not None)
            yield _Item(each, each.invoked, end, must)
            if not promise.exactly_once:
                yield _Item(each, each.invoked, math.inf, False, copy=True)
        elif each.outcome == OK and (each.result is not None or each.end is not None):
            begin = -math.inf if self.stale else each.invoked
            assert each.completed is not None
            if self.compaction != "none" and each.f == "fetch" and each.end is not None:
                yield _Item(each, begin, each.completed, True, shows=False)
                yield _Item(each, begin, each.completed, True, told=False)
            else:
                yield _Item(each, begin, each.completed, True)
            if self.stale and each.f == "fetch" and each.end is not None:
                # The end that comes with a fetch is nothing that its process knows from then on.
                yield _Item(each, begin, each.completed, True, told=False, own=False)

    def _edges(self) -> Iterator[tuple[int, int]]:
        """By the order of each process: from what it knew to what it did next; and of a fetch, from
        the end that it told to the records. What was aborted has no place in that order, nor in
        Jepsen's nonmonotonic-send.
        """
        for i, (one, two) in enumerate(pairwise(self.items)):
            if one.operation is two.operation and not one.shows:
                yield i, i + 1
        if not self.stale or self.promise.allows("session-regress"):
            return
        for i, one in enumerate(self.items):
            for j, two in enumerate(self.items):
                x, y = one.operation, two.operation
                follows = x.process == y.process and x.group != y.group and x.index < y.index
                follows &= FAIL not in (x.outcome, y.outcome)
                knows = x.f in ("append", "latest") or (
                    x.f == "fetch" and bool(x.result) and not (one.own and x.end is not None)
                )
                if follows and knows and not one.copy and not two.copy and two.own:
                    yield i, j

    # -- One order after the other

    def found(self) -> bool:
        if self.stale and self.starts and not self._starts_ascend():
            return False
        return self._from(frozenset(), _State((), 0, 0))

    def _from(self, placed: frozenset[int], state: _State) -> bool:
        if all(i in placed for i, item in enumerate(self.items) if item.must):
            return True
        if (placed, state) in self.failed:
            return False
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise TooLarge
        for i, item in enumerate(self.items):
            if i in placed or not self._may_come(i, placed):
                continue
            for after in self._after(state, item):
                if after is state:
                    # A read that fits and changes nothing may as well come now.
                    found = self._from(placed | {i}, state)
                    if not found:
                        self.failed.add((placed, state))
                    return found
                if self._from(placed if item.copy else placed | {i}, after):
                    return True
        self.failed.add((placed, state))
        return False

    def _may_come(self, i: int, placed: frozenset[int]) -> bool:
        begin = self.items[i].begin
        late = any(
            other.end < begin and j not in placed and other.must
            for j, other in enumerate(self.items)
        )
        # An append of unknown outcome need not come at all; if it comes, it is when it may.
        return not late and all(x in placed for x, y in self.edges if y == i and self.items[x].must)

    def _after(self, state: _State, item: _Item) -> Iterator[_State]:
        each = item.operation
        if each.f == "append":
            for offset in self._offsets(state, item):
                yield state._replace(
                    records=(*state.records, (offset, each.argument)), end=offset + 1
                )
        elif each.f == "latest":
            yield from self._ends(state, each.result)
        elif each.f == "earliest":
            if each.result >= state.start or self.stale or not self.starts:
                start = max(state.start, each.result)
                if self.gaps:
                    yield state._replace(end=max(state.end, each.result), start=start)
                elif state.end >= each.result:
                    yield state._replace(start=start)
        elif not item.shows or self._shows(state, each):
            told = each.end if item.told else None
            yield from ((state,) if told is None else self._ends(state, told))

    def _ends(self, state: _State, told: int) -> Iterator[_State]:
        if told == state.end:
            yield state
        elif self.gaps and told > state.end:
            yield state._replace(end=told)

    def _offsets(self, state: _State, item: _Item) -> Iterator[int]:
        each = item.operation
        own = each.outcome == OK and not item.copy
        if own and each.result is not None:
            offsets = [each.result]
        elif self.gaps:
            # Beyond all that was mentioned, one place is as good as another.
            offsets = [*range(state.end, self.last + 1), max(state.end, self.last + 1)]
        else:
            offsets = [state.end]
        for offset in offsets:
            fits = offset >= state.end if self.gaps else offset == state.end
            beyond = offset > self.last and item.copy
            beyond |= not self._matters(offset, item)
            if fits and not beyond and self.taken.get(offset, {each.argument}) == {each.argument}:
                yield offset

    def _matters(self, offset: int, item: _Item) -> bool:
        """Whether a record that may be there or not makes a difference at an offset. Where nobody
        saw it, it fills a place and no more; of a compacted topic it replaces others.
        """
        if item.must or self.compaction != "none" or offset in self.taken:
            return True
        return not self.gaps and self.filler in (item, None)

    def _shows(self, state: _State, fetch: Operation) -> bool:
        records, asked = fetch.result or (), fetch.argument
        if not records:
            return asked is None or self._shows_nothing(state, asked, fetch.end)
        first, last = records[0][0], records[-1][0]
        begin = first if asked is None else asked
        if self.compaction != "none" and fetch.end is not None and last >= fetch.end:
            return False
        if first < begin or any(record not in state.records for record in records):
            return False
        if self.starts and not self.stale and first < state.start:
            return False
        if any(one[0] >= two[0] for one, two in pairwise(records)):
            return False
        return all(
            self._gone(state, record)
            for record in state.records
            if begin <= record[0] <= last and record not in records
        )

    def _shows_nothing(self, state: _State, asked: int, end: int | None) -> bool:
        """There is none, below the end that was told before; or a fetch ended with what is gone."""
        if self.compaction == "none":
            end = None
        there = [each for each in state.records if each[0] >= asked]
        return not there or (end is not None and there[0][0] >= end) or self._gone(state, there[0])

    def _gone(self, state: _State, record: tuple[int, Any]) -> bool:
        if self.compaction == "none":
            return False
        if self.compaction == "keys-unknown":
            return record != state.records[-1]
        offset, (key, value) = record
        return value is None or any(at > offset and v[0] == key for at, v in state.records)

    def _starts_ascend(self) -> bool:
        """A replica's start does not go back, whatever else it hides: what saw less than a start
        that was told did not begin after that, nor see what was sent after that, nor an end beyond
        that.
        """
        sent: dict[Any, int] = {}
        for each in self.operations:
            if each.f == "append":
                sent[each.argument] = min(each.invoked, sent.get(each.argument, each.invoked))
        answered = [each for each in self.operations if each.outcome == OK]
        for told in (each for each in answered if each.f == "earliest"):
            for each in answered:
                least = each.result if each.f == "earliest" else None
                if each.f == "fetch" and each.result:
                    least = each.result[0][0]
                reach = max((least or 0, each.end or 0, *(at + 1 for at, _ in _records(each))))
                there = (v for at, values in self.taken.items() if at < reach for v in values)
                began = max([each.invoked, *(sent.get(v, each.invoked) for v in there)])
                assert told.completed is not None
                if least is not None and least < told.result and began > told.completed:
                    return False
        return True
