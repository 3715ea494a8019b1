"""Jepsen's anomalies of partition logs once more, slow and plain: loops over dictionaries.

The twin of traces/checkers/version_order.py and anomalies_*.py: the same definitions, written from
docs/reference/log-checker.md, Places, with nothing shared. Each anomaly is found as (name, key,
details), where details say what any correct finder must agree on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kraftcheck.traces.history import FAIL, OK, History, Operation

Anomaly = tuple[str, Any, tuple[Any, ...]]


def slow_anomalies(
    history: History, subscribed: bool = False, keyed: bool = False, copies: bool = False
) -> Counter[Anomaly]:
    """keyed: values are pairs (key, value), and a record may be gone when another has its key.
    copies: an append may have left copies behind it, which have its key.
    """
    keys = dict.fromkeys(each.key for each in history.operations if each.key is not None)
    found: Counter[Anomaly] = Counter()
    for key in keys:
        log = Log(history, key, keyed, copies)
        for name, details in (
            *log.values_at_fault(),
            *log.polls_at_fault(history, subscribed),
            *log.sends_at_fault(),
        ):
            found[name, key, details] += 1
    return found


class Log:
    """One partition: who appended and read what, and the version order."""

    def __init__(self, history: History, key: str, keyed: bool, copies: bool) -> None:
        self.key, self.keyed, self.copies = key, keyed, copies
        ours = [each for each in history.operations if each.key == key]
        self.appends = [each for each in ours if each.f == "append"]
        self.fetches = [each for each in ours if each.f == "fetch" and each.result]
        asked = (each for each in ours if each.f == "fetch" and each.outcome == OK)
        answered = (each for each in asked if (each.result, each.end) != (None, None))
        self.asked = [each.argument or 0 for each in answered]
        told = [each.result for each in ours if each.f == "earliest" and each.outcome == OK]
        self.start = max((each for each in told if each is not None), default=0)
        self.at: dict[int, set[Any]] = defaultdict(set)
        for fetch in self.fetches:
            for offset, value in fetch.result:
                self.note(offset, value)
        for append in self.appends:
            if append.outcome == OK and append.result is not None:
                self.note(append.result, append.argument)
        self.index = {offset: place for place, offset in enumerate(sorted(self.at))}
        self.where: dict[Any, set[int]] = defaultdict(set)
        for offset, values in self.at.items():
            for value in values:
                self.where[value].add(self.index[offset])
        self.polled = {
            value for fetch in self.fetches if fetch.outcome == OK for _, value in fetch.result
        }

    def note(self, offset: int, value: Any) -> None:
        if offset >= self.start:
            self.at[offset].add(value)

    def gone(self, place: int | None) -> bool:
        """Whether the record at a place may have been replaced; None: a place that is unknown."""
        if not self.keyed:
            return False
        if place is None:
            return True
        (offset,) = [o for o, at in self.index.items() if at == place]
        (key, value), *_ = self.at[offset]
        later = any(o > offset and v[0] == key for o, values in self.at.items() for v in values)
        unplaced = any(
            each.argument[0] == key and each.outcome != FAIL
            for each in self.appends
            if self.copies or self.place(each) is None
        )
        return value is None or later or unplaced

    def writers(self, value: Any) -> list[Operation]:
        return [each for each in self.appends if each.argument == value]

    def place(self, append: Operation) -> int | None:
        if append.outcome == OK and append.result is not None:
            return self.index.get(append.result)
        read = {
            offset
            for fetch in self.fetches
            for offset, value in fetch.result
            if value == append.argument
        }
        alone = len(self.writers(append.argument)) == 1
        if alone and len(read) == 1:
            return self.index.get(next(iter(read)))
        return None

    # -- Values

    def values_at_fault(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        for offset, values in self.at.items():
            if len(values) > 1:
                yield "inconsistent-offsets", (offset,)
        for value, places in self.where.items():
            wrote = [each for each in self.writers(value) if each.outcome != FAIL]
            if len(places) > max(1, len(wrote)):
                yield "duplicate", (value,)
        yield from self.missing()
        for fetch in self.fetches:
            for offset, value in fetch.result:
                wrote = self.writers(value)
                if fetch.outcome == OK and wrote and all(w.outcome == FAIL for w in wrote):
                    yield "G1a", (fetch.index, offset, value)
                if len(wrote) == 1 and wrote[0].group == fetch.group:
                    yield "precommitted-read", (fetch.index, offset, value)

    def missing(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        for append in self.appends:
            if append.outcome != OK or append.argument in self.polled:
                continue
            place = self.place(append)
            if self.gone(place):
                continue
            if append.result is None or place is not None:
                before = (append.result or 0) < min(self.asked, default=0)
                yield ("unread" if before else "unseen"), (append.index,)
            if place is None or place != max(self.where[append.argument]):
                continue
            if any(self.passed(fetch, place) for fetch in self.fetches if fetch.outcome == OK):
                yield "lost-write", (append.index,)

    def passed(self, fetch: Operation, place: int) -> bool:
        """Whether a fetch went through a place."""
        firsts = [min(self.where[value]) for offset, value in fetch.result if offset >= self.start]
        begin = 0
        if fetch.argument is not None:
            begin = sum(offset < fetch.argument for offset in self.at)
        return bool(firsts) and begin <= place <= max(firsts)

    # -- Moves

    def moved(
        self, one: int | None, two: int | None, over: str, back: str, who: tuple[int, ...]
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        between = range(one + 1, two) if one is not None and two is not None else ()
        if not all(map(self.gone, between)):
            yield over, who
        if one is not None and two is not None and two - one < 1:
            yield back, who

    def polls_at_fault(
        self, history: History, subscribed: bool
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        last: dict[int, Operation] = {}
        before: dict[int, Operation] = {}
        inside = ("int-poll-skip", "int-nonmonotonic-poll")
        between = ("poll-skip", "nonmonotonic-poll")
        for each in history.operations:
            if each.f in ("assign", "subscribe", "crash"):
                kept = each.f != "crash" and not each.result and self.key in each.argument
                if not kept:
                    last.pop(each.process, None)
                    before.pop(each.process, None)
            if each.key != self.key or each.f != "fetch" or not each.result:
                continue
            places = [self.index.get(offset) for offset, _ in each.result]
            for one, two in pairwise(places):
                yield from self.moved(one, two, *inside, (each.index, each.index))
            previous = before.get(each.process)
            together = previous is not None and previous.group == each.group
            other = previous if together else last.get(each.process)
            if other is not None and each.argument is None:
                names = inside if together and not subscribed else between
                one = self.index.get(other.result[-1][0])
                yield from self.moved(one, places[0], *names, (other.index, each.index))
            before[each.process] = each
            if each.outcome == OK:
                last[each.process] = each

    def sends_at_fault(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        last: dict[int | str, Operation] = {}
        before: dict[int, Operation] = {}
        for each in self.appends:
            who = each.process if each.mark is None else each.mark
            previous, other = before.get(each.process), last.get(who)
            if previous is not None and previous.group == each.group:
                yield from self.moved(
                    self.place(previous),
                    self.place(each),
                    *("int-send-skip", "int-nonmonotonic-send"),
                    (previous.index, each.index),
                )
            if other is not None and other.group != each.group and each.outcome != FAIL:
                found = self.moved(
                    self.place(other),
                    self.place(each),
                    *("", "nonmonotonic-send"),
                    (other.index, each.index),
                )
                yield from (one for one in found if one[0])
            before[each.process] = each
            if each.outcome != FAIL and (each.mark is None or self.place(each) is not None):
                last[who] = each
