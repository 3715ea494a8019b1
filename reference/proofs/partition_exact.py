"""Symbols for bounded searches of a partition: logs and epoch caches as they are, up to a bound.

Where partition_symbols.py has of a log what an unbounded proof can have, a search that unrolls
steps has all of it: the epoch of each record, in as many places as the search allows. Epoch caches
are exact for as many epochs. So nothing is assumed of logs here, and no lemma is needed.

Left out: values of records (two of one epoch at one offset are taken for the same), producer state,
and batches of more than one record. The handlers confirm what is found, with all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import z3

from reference.core.partition_log import UNDEFINED, EpochEnd
from reference.proofs.partition_symbols import (
    PrefixLog,
    Records,
    abstract_partition,
    least,
    replacing,
)
from reference.proofs.symbolic import Number, term_of

PLACES: Final = 2
"""How many records a log has at most."""
EPOCHS: Final = 5
"""The latest epoch that an epoch cache can tell."""


class ExactRecord:
    """A record: its epoch."""

    __slots__ = ("epoch",)

    def __init__(self, epoch: z3.ArithRef) -> None:
        self.epoch = Number(epoch)


class ExactRecords(Records):
    """At most one record, as a fetch response of this search has it."""

    __slots__ = ("epoch",)

    def __init__(self, number: z3.ArithRef, epoch: z3.ArithRef) -> None:
        super().__init__(number)
        self.epoch = epoch

    def __getitem__(self, at: int) -> ExactRecord:
        return ExactRecord(self.epoch)

    def __iter__(self) -> Iterator[ExactRecord]:
        return iter([ExactRecord(self.epoch)] if self else [])


def _one_record(records: Any) -> ExactRecords:
    """Records on symbols, or a tuple of those."""
    if isinstance(records, ExactRecords):
        return records
    epoch = records[0].epoch.term if records else z3.IntVal(0)
    return ExactRecords(z3.IntVal(len(records)), epoch)


class ExactLog(PrefixLog):
    """A log: its length, and the epoch of each record, 0 where there is none."""

    __slots__ = ("epochs",)

    def __init__(self, length: z3.ArithRef, epochs: Sequence[z3.ArithRef]) -> None:
        super().__init__(length, length)
        self.epochs = tuple(epochs)

    def __getitem__(self, part: slice) -> ExactLog:
        assert part.start is None and part.step is None, "only prefixes are asked for"
        cut = term_of(part.stop)
        length = least(self.length, z3.If(cut < 0, 0, cut))
        return ExactLog(length, [z3.If(at < length, e, 0) for at, e in enumerate(self.epochs)])

    def __add__(self, records: Any) -> ExactLog:
        more = _one_record(records)
        epochs = [
            z3.If(z3.And(self.length == at, more.number > 0), more.epoch, e)
            for at, e in enumerate(self.epochs)
        ]
        return ExactLog(self.length + more.number, epochs)


class ExactCache:
    """An epoch cache: where each epoch begins, -1 for those that it does not have."""

    __slots__ = ("starts",)

    def __init__(self, starts: Sequence[z3.ArithRef]) -> None:
        self.starts = tuple(starts)

    def entries(self) -> Iterator[tuple[int, z3.ArithRef]]:
        """(epoch, start), ascending."""
        return enumerate(self.starts, 1)

    @property
    def last(self) -> z3.ArithRef:
        """The latest epoch, -1 for none."""
        found: z3.ArithRef = z3.IntVal(UNDEFINED)
        for epoch, start in self.entries():
            found = z3.If(start >= 0, epoch, found)
        return found


def exact_cache(cache: Any) -> ExactCache:
    """An epoch cache, symbolic or not, for the epochs of the search."""
    if isinstance(cache, ExactCache):
        return cache
    starts = {entry.epoch: entry.start for entry in cache}
    return ExactCache([z3.IntVal(starts.get(e, UNDEFINED)) for e in range(1, EPOCHS + 1)])


# --- The functions of core/log.py and core/partition_log.py by their names.


def cache_assign(cache: Any, epoch: Any, start: Any) -> ExactCache:
    old, new, begin = exact_cache(cache), term_of(epoch), term_of(start)
    last = old.last
    there = [z3.And(last == e, new == e, s <= begin) for e, s in old.entries()]
    same = z3.Or(there)
    starts = []
    for e, s in old.entries():
        kept = z3.And(e < new, s >= 0, s < begin)
        starts.append(z3.If(same, s, z3.If(new == e, begin, z3.If(kept, s, UNDEFINED))))
    return ExactCache(starts)


def cache_truncate(cache: Any, offset: Any) -> ExactCache:
    end = term_of(offset)
    return ExactCache([z3.If(s < end, s, UNDEFINED) for _, s in exact_cache(cache).entries()])


def cache_append(cache: Any, offset: Any, records: Any) -> ExactCache:
    old, more = exact_cache(cache), _one_record(records)
    new = cache_assign(old, Number(more.epoch), offset)
    there = more.number > 0
    return ExactCache([z3.If(there, b, a) for a, b in zip(old.starts, new.starts, strict=True)])


def last_epoch_of(cache: Any) -> Number:
    return Number(exact_cache(cache).last)


def end_offset_for(cache: Any, end: Any, epoch: Any) -> EpochEnd:
    known, asked = exact_cache(cache), term_of(epoch)
    below, above = asked, z3.IntVal(UNDEFINED)
    for e, s in known.entries():
        below = z3.If(z3.And(s >= 0, e <= asked), e, below)
    for e, s in reversed(list(known.entries())):
        above = z3.If(z3.And(s >= 0, e > asked), s, above)
    latest = known.last == asked
    silent = z3.Or(asked == UNDEFINED, z3.And(z3.Not(latest), above == UNDEFINED))
    found_epoch: Any = Number(z3.If(silent, UNDEFINED, z3.If(latest, asked, below)))
    found_end: Any = Number(z3.If(silent, UNDEFINED, z3.If(latest, term_of(end), above)))
    return EpochEnd(found_epoch, found_end)


def batches_from(log: ExactLog, offset: Any, end: Any, limit: Any) -> ExactRecords:
    """One record from the offset on, or none."""
    begin = term_of(offset)
    epoch: z3.ArithRef = z3.IntVal(0)
    for at, e in enumerate(log.epochs):
        epoch = z3.If(begin == at, e, epoch)
    there = z3.And(begin >= 0, begin < term_of(end))
    return ExactRecords(z3.If(there, 1, 0), z3.If(there, epoch, 0))


def _nothing(*given: Any) -> tuple[Any, ...]:
    return ()


_EXACT: Final[Mapping[str, Callable[..., Any]]] = {
    "end_offset_for": end_offset_for,
    "last_epoch_of": last_epoch_of,
    "cache_assign": cache_assign,
    "cache_truncate": cache_truncate,
    "cache_append": cache_append,
    "batches_from": batches_from,
    **dict.fromkeys(
        ("producers_of", "producers_from", "producers_after_append"),
        _nothing,
    ),
    "duplicate_in": lambda *given: UNDEFINED,
    "sequence_error": lambda *given: "NONE",
}


@contextmanager
def exact_partition(also: Sequence[Any] = ()) -> Iterator[None]:
    """While it lasts, the core computes with the symbols of this file. also: modules of a bug."""
    with abstract_partition(also), replacing(_EXACT, also):
        yield


def holds(log: ExactLog, other: ExactLog) -> z3.BoolRef:
    """Whether a log has all records of another at their places."""
    same = [
        z3.Implies(at < other.length, mine == theirs)
        for at, (mine, theirs) in enumerate(zip(log.epochs, other.epochs, strict=True))
    ]
    return z3.And(log.length >= other.length, *same)
