"""Symbols for bounded searches of the quorum: logs and epoch caches as they are, up to a bound.

As partition_exact.py for a partition, with two differences: a record has its value too, because
LogMatching is about what stands at an offset (a leader that loses a record and writes another in
the same epoch breaks it), and the functions on epoch caches are those of core/log.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import z3

from reference.core.log import EpochEnd
from reference.proofs.partition_exact import (
    PLACES,
    ExactCache,
    ExactRecords,
    cache_append,
    cache_assign,
    cache_truncate,
    exact_cache,
)
from reference.proofs.partition_symbols import least
from reference.proofs.symbolic import Number, term_of

NONE: Final = z3.IntVal(0)


class ValuedRecords(ExactRecords):
    """At most one record, as a fetch response of this search has it, with its value."""

    __slots__ = ("value",)

    def __init__(self, number: z3.ArithRef, epoch: z3.ArithRef, value: z3.ArithRef) -> None:
        super().__init__(number, epoch)
        self.value = value


class ValuedLog:
    """A log: its length, and the epoch and the value of each record, 0 where there is none."""

    __slots__ = ("epochs", "length", "values")

    def __init__(
        self, length: z3.ArithRef, epochs: Sequence[z3.ArithRef], values: Sequence[z3.ArithRef]
    ) -> None:
        self.length = length
        self.epochs = tuple(epochs)
        self.values = tuple(values)

    def __iter__(self) -> Iterator[Any]:
        # `(*log, entry)` is how a handler appends: what was there goes in whole.
        return iter([self])

    def __add__(self, more: Any) -> ValuedLog:
        """With records behind it; none, or the one of a fetch response."""
        if not isinstance(more, ValuedRecords):
            assert more == (), "records are symbols here"
            return self
        there = more.number > 0

        def put(old: Sequence[z3.ArithRef], new: z3.ArithRef) -> list[z3.ArithRef]:
            return [
                z3.If(z3.And(self.length == at, there), new, each) for at, each in enumerate(old)
            ]

        length = self.length + more.number
        return ValuedLog(length, put(self.epochs, more.epoch), put(self.values, more.value))

    def below(self, offset: z3.ArithRef) -> ValuedLog:
        """What is left when it is cut."""
        length = least(self.length, z3.If(offset < 0, 0, offset))

        def kept(old: Sequence[z3.ArithRef]) -> list[z3.ArithRef]:
            return [z3.If(at < length, each, 0) for at, each in enumerate(old)]

        return ValuedLog(length, kept(self.epochs), kept(self.values))

    def same_below(self, other: ValuedLog, offset: z3.ArithRef) -> z3.BoolRef:
        """Whether the two have the same records at all places below an offset that both reach."""
        return z3.And(
            [
                z3.Implies(
                    at < offset,
                    z3.And(
                        self.epochs[at] == other.epochs[at], self.values[at] == other.values[at]
                    ),
                )
                for at in range(PLACES)
            ]
        )

    def holds(self, other: ValuedLog) -> z3.BoolRef:
        """Whether it begins with all records of another."""
        return z3.And(self.length >= other.length, self.same_below(other, other.length))


def written(log: Any) -> ValuedLog:
    """A log that a handler has put together from a log and records of its own behind it."""
    if isinstance(log, ValuedLog):
        return log
    whole = ValuedLog(NONE, [NONE] * PLACES, [NONE] * PLACES)
    for part in log:
        if isinstance(part, ValuedLog):
            whole = part
        else:
            one = ValuedRecords(z3.IntVal(1), term_of(part.epoch), term_of(part.value))
            whole = whole + one
    return whole


# --- The functions of core/log.py by their names.


def end_offset(log: Any) -> Number:
    return Number(written(log).length)


def prefix(log: Any, offset: Any) -> ValuedLog:
    return written(log).below(term_of(offset))


def slice_of(log: Any, offset: Any, end: Any, limit: Any) -> ValuedRecords:
    """One record from the offset on, or none: fetches of the search carry one."""
    assert limit == 1, "a fetch of the search carries one record"
    whole, begin = written(log), term_of(offset)
    there = z3.And(begin >= 0, begin < term_of(end), begin < whole.length)
    epoch: z3.ArithRef = NONE
    value: z3.ArithRef = NONE
    for at in range(PLACES):
        epoch = z3.If(begin == at, whole.epochs[at], epoch)
        value = z3.If(begin == at, whole.values[at], value)
    return ValuedRecords(z3.If(there, 1, 0), z3.If(there, epoch, 0), z3.If(there, value, 0))


def latest_epoch(cache: Any) -> Number:
    last = exact_cache(cache).last
    return Number(z3.If(last < 0, 0, last))


def cache_of(log: ValuedLog) -> ExactCache:
    """The cache that a log implies."""
    cache = exact_cache(())
    for at, (epoch, value) in enumerate(zip(log.epochs, log.values, strict=True)):
        record = ValuedRecords(z3.If(at < log.length, z3.IntVal(1), NONE), epoch, value)
        cache = cache_append(cache, at, record)
    return cache


def end_offset_for_epoch(cache: Any, end: Any, epoch: Any) -> EpochEnd:
    """The largest cached epoch that is not above the one asked for, and where it ends."""
    entries, asked = list(exact_cache(cache).entries()), term_of(epoch)
    below, above = NONE, z3.IntVal(-1)
    for e, start in entries:
        below = z3.If(z3.And(start >= 0, e <= asked), e, below)
    for e, start in reversed(entries):
        above = z3.If(z3.And(start >= 0, e > asked), start, above)
    # An epoch below every cached one ends, under its own name, where the first one begins.
    found: Any = Number(z3.If(z3.And(below == 0, above >= 0), asked, below))
    ends: Any = Number(z3.If(above >= 0, above, term_of(end)))
    return EpochEnd(found, ends)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "end_offset": end_offset,
    "prefix": prefix,
    "slice_of": slice_of,
    "latest_epoch": latest_epoch,
    "cache_assign": cache_assign,
    "cache_truncate": cache_truncate,
    "cache_append": cache_append,
    "end_offset_for_epoch": end_offset_for_epoch,
}
"""For `relation.abstract_logs`."""
