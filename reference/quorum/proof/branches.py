"""Logs as branches of a tree: exact but for the values of records.

Each epoch is opened once, by one leader, where that leader's log ended: at an offset `START`, after
a record of the epoch `BEFORE` (0: at the root). So the epochs are a tree, and a log whose last
record is of epoch e is the branch of e, cut at the log's length. A log is then no more than

    its length, and the epoch of its last record (0 when it is empty)

and that two logs with a record of the same offset and epoch are the same below it (LogMatching) is
how they are written down. What must be shown is that each handler leaves such a log: what is
appended must belong to the branch at that very place. Where it does not, what comes out is `LOST`,
of which nothing is known.

`START`, `BEFORE` and `AT` (the epoch of the record at an offset of a branch) never change once the
epoch has been won. They are foretold: whichever tree a run makes is chosen before it begins, and
the step that opens an epoch says where it is. The functions of kit/log.py follow from the tree;
where they need more of it than the last epoch, what is assumed of the answer is in `cut_facts` and
`look_facts`: theorems on trees, which the tests hold against the functions themselves.

One record is watched: the one at offset `END` - 1, written in epoch `EPOCH`. `HOLDS` says of which
branches it is a part.
"""

from __future__ import annotations

from typing import Any, Final

import z3
from msgspec.structs import replace

from kraftcheck.reference.proofs.symbolic import Cache, Log, Number, assume, term_of
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import FetchResponse
from kraftcheck.reference.quorum.proof.relation import (
    SUMMARISED,
    Logs,
    Summarised,
    SymbolicHandlers,
    number,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, Constants, EpochEnd, Row

_INT: Final = z3.IntSort()
START: Final = z3.Function("start", _INT, _INT)
"""Epoch -> the offset of its first record."""
BEFORE: Final = z3.Function("before", _INT, _INT)
"""Epoch -> the epoch of the record below that; 0 if there is none."""
AT: Final = z3.Function("at", _INT, _INT, _INT)
"""Epoch, offset below its START -> the epoch of the record there."""
HOLDS: Final = z3.Function("holds", _INT, z3.BoolSort())
"""Epoch -> whether the watched record is on its branch."""
LOST: Final = z3.Function("lost", _INT, _INT, _INT, _INT)
"""An epoch of which nothing is known, for a log that is no branch."""
LOOK_EPOCH: Final = z3.Function("look.epoch", _INT, _INT, _INT)
LOOK_END: Final = z3.Function("look.end", _INT, _INT, _INT)
"""Branch, epoch below the branch's -> what end_offset_for_epoch answers."""
WINNER: Final = z3.Array("winner", _INT, _INT)
"""Who won an epoch, before the step: the name is that of election.py."""
EPOCH: Final = z3.Int("watched.epoch")
END: Final = z3.Int("watched.end")

WATCHED: Final = (
    *(EPOCH >= 1, START(EPOCH) >= 0, START(EPOCH) < END),
    *(HOLDS(EPOCH), z3.Not(HOLDS(0))),
)
"""The record is watched that would be at END - 1: a record of the epoch itself, if there is one."""


def won(e: z3.ArithRef) -> z3.BoolRef:
    return z3.Select(WINNER, e) != NOBODY


def valid(length: z3.ArithRef, last: z3.ArithRef, winner: z3.ArrayRef = WINNER) -> z3.BoolRef:
    """Whether a log of this length and last epoch is a branch that has been cut."""
    opened = z3.And(last >= 1, z3.Select(winner, last) != NOBODY, length > START(last))
    return z3.Or(z3.And(last == 0, length == 0), opened)


def has(length: z3.ArithRef, last: z3.ArithRef) -> z3.BoolRef:
    """Whether the watched record is in this log."""
    return z3.And(length >= END, HOLDS(last))


def cut(e: z3.ArithRef, at: z3.ArithRef) -> z3.ArithRef:
    """The epoch of the last record of a branch below an offset; 0 if there is none."""
    return z3.If(z3.Or(at <= 0, e <= 0), 0, z3.If(at > START(e), e, AT(e, at - 1)))


def cut_facts(e: z3.ArithRef, at: z3.ArithRef) -> z3.BoolRef:
    """What is known of a branch below an offset at which it has been opened already."""
    left = AT(e, at - 1)
    facts = [
        *(left >= 1, left <= BEFORE(e), won(left), START(left) < at),
        z3.Implies(at >= END, HOLDS(left) == HOLDS(e)),
        z3.Implies(z3.And(HOLDS(e), at >= END), left >= EPOCH),
        z3.Implies(z3.And(HOLDS(e), at < END), left <= EPOCH),
    ]
    return z3.Implies(z3.And(e >= 1, won(e), at >= 1, at <= START(e)), z3.And(facts))


def nested_facts(e: z3.ArithRef, at: z3.ArithRef, lower: z3.ArithRef) -> z3.BoolRef:
    """What is cut twice is cut where it is shorter."""
    opened = z3.And(e >= 1, won(e), lower >= 0, lower <= at)
    return z3.Implies(opened, cut(cut(e, at), lower) == cut(e, lower))


def look_facts(e: z3.ArithRef, asked: z3.ArithRef) -> z3.BoolRef:
    """What is known of where an epoch below a branch's own ends on that branch."""
    epoch, end = LOOK_EPOCH(e, asked), LOOK_END(e, asked)
    below = z3.And(epoch >= 1, epoch <= asked, epoch <= BEFORE(e), won(epoch), START(epoch) < end)
    facts = [
        *(end >= 0, end <= START(e)),
        z3.Or(z3.And(end == 0, epoch == asked), below),
        z3.Implies(z3.And(HOLDS(e), asked >= EPOCH), z3.And(epoch >= EPOCH, end >= END)),
        z3.Implies(z3.And(HOLDS(e), asked < EPOCH), end < END),
    ]
    return z3.Implies(z3.And(e >= 1, won(e), asked >= 0, asked < e), z3.And(facts))


def region_facts(e: z3.ArithRef, asked: z3.ArithRef, at: z3.ArithRef) -> z3.BoolRef:
    """Records from where an epoch begins on a branch to where it ends are of that epoch."""
    epoch, end = LOOK_EPOCH(e, asked), LOOK_END(e, asked)
    inside = z3.And(epoch >= 1, START(epoch) < at, at <= end)
    opened = z3.And(e >= 1, won(e), asked >= 0, asked < e)
    return z3.Implies(z3.And(opened, inside), AT(e, at - 1) == epoch)


class Records(Log):
    """Some records of a branch from an offset on. top: the epoch of the last one."""

    __slots__ = ("base",)

    def __init__(self, length: Number, top: Number, base: Number) -> None:
        super().__init__(length, top)
        self.base = base


class Branch(Log):
    """A log. top: the epoch of its last record."""

    __slots__ = ()

    def __add__(self, more: Any) -> Branch:
        if not more:
            return self
        last = more.top.term
        fits = z3.And(more.base.term == self.length.term, joins(self.top.term, more))
        top = z3.If(fits, last, LOST(self.length.term, self.top.term, last))
        return Branch(self.length + more.length, Number(top))


def joins(last: z3.ArithRef, more: Records) -> z3.BoolRef:
    """Whether records follow, on their branch, a record of this epoch."""
    at = more.base.term
    assume(cut_facts(more.top.term, at))
    return cut(more.top.term, at) == last


def written(log: Any) -> Branch:
    """A log that a handler has put together from a branch and records of its own behind it.

    A record goes on with its epoch's branch, or opens it here.
    """
    if isinstance(log, Branch):
        return log
    length, top = z3.IntVal(0), z3.IntVal(0)
    for part in log:
        if isinstance(part, Branch):
            length, top = part.length.term, part.top.term
            continue
        e = term_of(part.epoch)
        opens = z3.And(START(e) == length, BEFORE(e) == top)
        top = z3.If(z3.Or(top == e, opens), e, LOST(length, top, e))
        length = length + 1
    return Branch(Number(length), Number(top))


def _end_offset(log: Any) -> Number:
    return written(log).length


def _prefix(log: Any, offset: Any) -> Branch:
    whole, at = written(log), term_of(offset)
    length, top = whole.length.term, whole.top.term
    assume(cut_facts(top, at))
    left = z3.If(at < 0, LOST(length, top, at), cut(top, at))
    return Branch(Number(z3.If(at < length, at, length)), Number(left))


def slice_of(log: Any, offset: Any, end: Any, limit: Any) -> Records:
    """As the function of this name, on branches."""
    whole, begin = written(log), term_of(offset)
    length, top = whole.length.term, whole.top.term
    stop = begin + term_of(limit)
    for bound in (term_of(end), length):
        stop = z3.If(bound < stop, bound, stop)
    count = z3.If(stop > begin, stop - begin, 0)
    for at in (begin, stop):
        assume(cut_facts(top, at))
    assume(nested_facts(top, stop, begin))
    return Records(Number(count), Number(cut(top, stop)), Number(begin))


def _any_slice_of(log: Any, offset: Any, end: Any, limit: Any) -> Records:
    """The same for a limit that is not known: the proof is of any fetch_max_records."""
    return slice_of(log, offset, end, number("fetch_max_records"))


def _up_to_epoch(records: Any, epoch: Any) -> Any:
    """All of them, unless some are of a later epoch: then nothing is known of what is left."""
    if records.top <= epoch:
        return records
    length, top = records.length.term, records.top.term
    left = Number(LOST(length, top, term_of(epoch)))
    return Records(left, left, records.base)


def _latest_epoch(cache: Any) -> Any:
    return cache.latest if isinstance(cache, Cache) else Number(z3.IntVal(0))


def _cache_assign(cache: Any, epoch: Any, start: Any) -> Cache:
    e, at, latest = term_of(epoch), term_of(start), cache.latest.term
    opens = z3.And(START(e) == at, BEFORE(e) == latest)
    return Cache(Number(z3.If(z3.Or(latest == e, opens), e, LOST(at, latest, e))))


def _cache_truncate(cache: Any, offset: Any) -> Cache:
    at, latest = term_of(offset), cache.latest.term
    assume(cut_facts(latest, at))
    return Cache(Number(cut(latest, at)))


def _cache_append(cache: Any, offset: Any, records: Any) -> Cache:
    at, latest, last = term_of(offset), cache.latest.term, records.top.term
    fits = z3.And(records.base.term == at, joins(latest, records))
    return Cache(Number(z3.If(fits, last, LOST(at, latest, last))))


def _end_offset_for_epoch(cache: Any, end: Any, epoch: Any) -> Any:
    """What it is for a branch's own epoch and above, and what the tree says below it."""
    latest, asked = cache.latest.term, term_of(epoch)
    assume(look_facts(latest, asked))
    own = z3.Or(latest == 0, asked >= latest)
    found: Any = Number(z3.If(own, latest, LOOK_EPOCH(latest, asked)))
    ends: Any = Number(z3.If(own, term_of(end), LOOK_END(latest, asked)))
    return EpochEnd(found, ends)


class BranchHandlers(SymbolicHandlers):
    """The handlers with what a leader notes of fetches, and its high watermark."""

    def __init__(self, constants: Constants, rules: QuorumRules) -> None:
        super().__init__(constants, rules)
        truths = SUMMARISED | {"log_ok", "may_advance_high_watermark", "may_announce_leader"}
        # A stand-in that hands every question on, and so no subclass of the rules.
        self.rules = Summarised(rules, truths, {"majority_end_offset"})  # type: ignore[assignment]

    note_fetch = QuorumHandlers.note_fetch
    advance_high_watermark = QuorumHandlers.advance_high_watermark


def _row(row: Row) -> Row:
    log: Any = Branch(number("row.length"), number("row.top"))
    return replace(row, log=log)


def _message(m: Any) -> Any:
    if not isinstance(m, FetchResponse):
        return m
    base: Any = m.request.fetch_offset
    records: Any = Records(number("m.records"), number("m.records.top"), base)
    return replace(m, records=records)


BRANCHES: Final = Logs(
    functions={
        "end_offset": _end_offset,
        "prefix": _prefix,
        "slice_of": _any_slice_of,
        "up_to_epoch": _up_to_epoch,
        "latest_epoch": _latest_epoch,
        "cache_assign": _cache_assign,
        "cache_truncate": _cache_truncate,
        "cache_append": _cache_append,
        "end_offset_for_epoch": _end_offset_for_epoch,
    },
    handlers=BranchHandlers,
    row=_row,
    message=_message,
)
"""Logs as branches, for `relation.cases`."""
