"""The quorum's relations against local steps (local_steps.py).

An `Abstraction` says how logs are held, and so what is compared.

`ELECTIONS`: logs are lengths (relation.py). What that relation leaves open after a step is not
compared; all else is.

`IN_BRANCHES`: logs are branches (branches.py). What the proof foretells is known here: the tree is
that of the epoch caches and logs at hand, in the row and in what came of it, and what it says of an
epoch's end is what kit/log.py answers on them. Of an epoch that none of them has, nothing is said.
The watched record is each of theirs in turn, so a theorem that is wrong for one of them makes the
step missing. Everything is compared but the values of records, which the relation leaves out, and
the order in which a leader that resigns names successors, which it leaves open: it has the value
here that it has in the step. Of a log its length and last epoch are compared, of a cache its latest
epoch.

A relation looks at one parked fetch, of the peer: steps from rows with others are counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import z3

from kraftcheck.reference.kit.log import EpochCache, cache_of, end_offset_for_epoch
from kraftcheck.reference.proofs.symbolic import Cache, Log, Number, term_of
from kraftcheck.reference.quorum.messages import (
    MESSAGES,
    Append,
    FetchMaxWait,
    FetchResponse,
    RequestTimeout,
)
from kraftcheck.reference.quorum.proof.branches import (
    AT,
    BEFORE,
    BRANCHES,
    END,
    EPOCH,
    HOLDS,
    LOOK_END,
    LOOK_EPOCH,
    START,
    WATCHED,
    Records,
    won,
    written,
)
from kraftcheck.reference.quorum.proof.relation import (
    KIND_OF,
    Case,
    Logs,
    cases,
    sent_of,
    whole_log,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants, Outcome, Row
from tests.reference.proofs.local_steps import Comparison, LocalStep

_SUCCESSORS: Final = z3.Int("successors!1")
"""Whom a leader that resigns would have, as `order` has it; no other symbol is made where it is."""


# --- The tree of epochs.


class Tree:
    """Epochs as the caches and logs at hand have them.

    start, below: epoch -> the offset of its first record, and the epochs of the records below it.
    records: (epoch, end offset) of each record that the logs have.
    """

    def __init__(self, caches: Iterable[EpochCache], logs: Iterable[Sequence[Any]]) -> None:
        self.start: dict[int, int] = {}
        self.below: dict[int, tuple[int, ...]] = {}
        self.cache: dict[int, EpochCache] = {}
        logs = list(logs)
        for cache in (*caches, *(cache_of(tuple(log)) for log in logs)):
            below: tuple[int, ...] = ()
            for at, (epoch, start) in enumerate((entry.epoch, entry.start) for entry in cache):
                if at:
                    below += (cache[at - 1].epoch,) * (start - len(below))
                self.start[epoch], self.below[epoch] = start, below
                self.cache[epoch] = cache[: at + 1]
        self.records = sorted({(r.epoch, end) for log in logs for end, r in enumerate(log, 1)})

    def told(self) -> Iterator[z3.BoolRef]:
        """All of it but for what is watched."""
        for e, below in self.below.items():
            yield won(z3.IntVal(e))
            yield START(e) == self.start[e]
            yield BEFORE(e) == (below[-1] if below else 0)
            yield from (AT(e, at) == epoch for at, epoch in enumerate(below))
            for asked in range(e):
                # What is asked of an epoch below the branch's own does not depend on its length.
                found = end_offset_for_epoch(self.cache[e], self.start[e] + 1, asked)
                yield LOOK_EPOCH(e, asked) == found.epoch
                yield LOOK_END(e, asked) == found.end_offset

    def watched(self) -> list[list[z3.BoolRef]]:
        """For each record, that it is the one that is watched; of no logs, that one is."""
        return [list(self._watched(*each)) for each in self.records] or [list(WATCHED)]

    def _watched(self, epoch: int, end: int) -> Iterator[z3.BoolRef]:
        yield from (epoch == EPOCH, end == END, *WATCHED)
        for e, below in self.below.items():
            yield HOLDS(e) == (e == epoch if end > self.start[e] else below[end - 1] == epoch)


def foretold(step: LocalStep) -> list[list[z3.BoolRef]]:
    """The tree that the rows before and after a step have, with each of its records watched."""
    rows = (step.before, step.after)
    tree = Tree([row.epoch_cache for row in rows], [row.log for row in rows])
    return [[*tree.told(), *watched] for watched in tree.watched()]


# --- What is on symbols, and what it is.


def order(nodes: Sequence[int]) -> int:
    """Voters in order as a number: another one for each order."""
    number = 0
    for node in nodes:
        number = number * 16 + node + 1
    return number


def _same_number(symbol: Number, value: Any) -> z3.BoolRef:
    return symbol.term == (order(value) if isinstance(value, tuple) else term_of(value))


def _same_length(symbol: Log, value: Any) -> z3.BoolRef:
    return symbol.length.term == len(value)


def _same_records(symbol: Log, value: Any) -> z3.BoolRef:
    # Of none, the epoch of the last one says nothing.
    ends = [symbol.top.term == value[-1].epoch] if value else []
    return z3.And(_same_length(symbol, value), *ends)


def _same_log(whole: Callable[[Any], Log], symbol: Any, value: Any) -> z3.BoolRef:
    log = whole(symbol)
    last = value[-1].epoch if value else 0
    return z3.And(_same_length(log, value), log.top.term == last)


_OWN: Final[Mapping[type, Any]] = {
    Number: _same_number,
    Cache: lambda symbol, value: symbol.latest.term == (value[-1].epoch if value else 0),
}
_VALUES: Final[Mapping[type, Sequence[str]]] = {Append: ("value",)}
_NOTED: Final = (
    *("flushed", "high_watermark", "epoch_start", "end_offsets", "fetched_voters", "announced"),
)
"""Fields of a row that the relation with lengths leaves open (relation.py says why)."""


class Abstraction(NamedTuple):
    """logs: how they are held. before: when symbols are a row and an input; after: when they are
    what came of it. foretold: what is known besides, once for each choice of what is watched.
    """

    logs: Logs
    before: Comparison
    after: Comparison
    foretold: Callable[[LocalStep], Sequence[Sequence[z3.BoolRef]]]


ELECTIONS: Final = Abstraction(
    logs=Logs(),
    before=Comparison(
        own={**_OWN, Log: _same_records},
        fields={"log": partial(_same_log, whole_log)},
        left_out=_VALUES,
    ),
    after=Comparison(
        own={**_OWN, Log: _same_length},
        fields={"log": lambda symbol, value: _same_length(whole_log(symbol), value)},
        left_out={**_VALUES, Row: _NOTED, FetchResponse: ("diverging", "high_watermark")},
    ),
    foretold=lambda step: [[]],
)
_BRANCHED: Final = Comparison(
    own={**_OWN, Records: _same_records},
    fields={"log": partial(_same_log, written)},
    left_out=_VALUES,
)
IN_BRANCHES: Final = Abstraction(BRANCHES, _BRANCHED, _BRANCHED, foretold)


# --- The comparison.


class QuorumRelation:
    """All ways through the handlers, found when asked for: by action, node, and who else has a part
    in the step.
    """

    def __init__(
        self,
        constants: Constants,
        held: Abstraction,
        rules: type[QuorumRules] = QuorumRules,
    ) -> None:
        self.constants = constants
        self.held = held
        self._rules = rules(constants)
        self._known: dict[tuple[str, int, int], list[Case]] = {}

    def ways(self, step: LocalStep) -> Iterator[Case]:
        """Those from a row of this shape: its role and, of a follower, its leader."""
        key = (step.action, step.node, self.peer(step))
        if key not in self._known:
            action, n, peer = key
            kinds = [KIND_OF[action]]
            found = cases(self.constants, self._rules, kinds, n, [peer], self.held.logs)
            self._known[key] = list(found)
        row = step.before
        for case in self._known[key]:
            follows = row.role != "Follower" or case.row.leader == row.leader
            if case.row.role == row.role and follows:
                yield case

    def peer(self, step: LocalStep) -> int:
        """Who has a part in a step besides the node: who sent the input, or whom it is about; if
        nobody has, any other.
        """
        input = step.input
        if isinstance(input, MESSAGES):
            return int(input.source)
        if isinstance(input, RequestTimeout):
            return input.peer
        if isinstance(input, FetchMaxWait):
            return input.request.source
        return self.constants.others(step.node)[0]

    def has(self, step: LocalStep) -> bool:
        return [m.source for m in step.before.parked] in ([], [self.peer(step)])

    def solutions(self, group: Sequence[LocalStep]) -> tuple[list[LocalStep], bool]:
        ways = self._open_ways(group[0])
        made, other = [], False
        for step in group:
            found = [self._solved(ways, given, step, group) for given in self.held.foretold(step)]
            if all(is_made for is_made, _ in found):
                made.append(step)
            other = other or any(is_other for _, is_other in found)
        return made, other

    def _open_ways(self, one: LocalStep) -> list[tuple[Outcome, list[z3.BoolRef]]]:
        """What this row and this input may make, with that the symbols are these."""
        found = []
        same = self.held.before.same
        for case in self.ways(one):
            is_one = z3.simplify(z3.And(same(case.row, one.before), same(case.input, one.input)))
            if not z3.is_false(is_one):
                found.append((case.outcome, [is_one, *case.condition]))
        return found

    def _solved(
        self,
        ways: Sequence[tuple[Outcome, list[z3.BoolRef]]],
        given: Sequence[z3.BoolRef],
        step: LocalStep,
        wanted: Sequence[LocalStep],
    ) -> tuple[bool, bool]:
        """Whether a way makes this step, and whether one makes what no step is."""
        solver = z3.SimpleSolver()
        limit, successors = self.constants.fetch_max_records, order(step.after.successors)
        solver.add(z3.Int("fetch_max_records") == limit, successors == _SUCCESSORS, *given)
        found = other = False
        for outcome, condition in ways:
            solver.push()
            solver.add(*condition)
            if solver.check() != z3.unsat:
                outcomes = {each: self._made(outcome, each) for each in wanted}
                found = found or solver.check(outcomes[step]) == z3.sat
                other = other or solver.check(z3.Not(z3.Or([*outcomes.values()]))) != z3.unsat
            solver.pop()
        return found, other

    def _made(self, outcome: Outcome, step: LocalStep) -> z3.BoolRef:
        """That an outcome on symbols is what came of a step: its row, and what is sent as a set."""
        sent, same = sent_of(outcome), self.held.after.same
        told = [same(outcome.row, step.after)]
        for condition, m in sent:
            told.append(z3.Implies(condition, z3.Or([same(m, other) for other in step.sent])))
        for other in step.sent:
            told.append(z3.Or([z3.And(condition, same(m, other)) for condition, m in sent]))
        return z3.And(told)
