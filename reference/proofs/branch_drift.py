"""The relation with logs as branches against local steps that TLC's graph has, in both directions.

A local step (local_steps.py) is an edge in a surrounding that the step does not
see. Given its row, its input and the tree of epochs, some way through the handler must make what
the model makes (else the step is missing), and no way anything else (else there is a spare one).

What the proof foretells is known here: the tree is that of the epoch caches and logs at hand, in
the row and in what came of it, and what it says of an epoch's end is what core/log.py answers on
them. Of an epoch that none of them has, nothing is said. The watched record is each of theirs in
turn, so a theorem that is wrong for one of them makes the step missing.

Everything is compared but the values of records, which the relation leaves out, and the order in
which a leader that resigns names successors, which it leaves open: it has the value here that it
has in the step. Of a log its length and last epoch are compared, of a cache its latest epoch. The
relation looks at one parked fetch, of the peer: steps from rows with others are counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import z3

from reference.core.log import EpochCache, cache_of, end_offset_for_epoch
from reference.core.messages import Append
from reference.core.rules import QuorumRules
from reference.core.types import Constants, Outcome
from reference.proofs.branches import (
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
    Branch,
    Records,
    won,
    written,
)
from reference.proofs.local_steps import Comparison, LocalStep, by_input
from reference.proofs.quorum_ways import QuorumWays
from reference.proofs.relation import Case, Logs, sent_of
from reference.proofs.symbolic import Cache, Number, term_of

_SUCCESSORS: Final = z3.Int("successors!1")
"""The only symbol that a path makes: whom a leader that resigns would have, as `order` has it."""


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


def tree_of(step: LocalStep) -> Tree:
    """The tree that the rows before and after a step have."""
    rows = (step.before, step.after)
    return Tree([row.epoch_cache for row in rows], [row.log for row in rows])


# --- What is on symbols, and what it is.


def order(nodes: Sequence[int]) -> int:
    """Voters in order as a number: another one for each order."""
    number = 0
    for node in nodes:
        number = number * 16 + node + 1
    return number


def _same_number(symbol: Number, value: Any) -> z3.BoolRef:
    return symbol.term == (order(value) if isinstance(value, tuple) else term_of(value))


def _same_records(symbol: Records, value: Any) -> z3.BoolRef:
    # Of none, the epoch of the last one says nothing.
    ends = [symbol.top.term == value[-1].epoch] if value else []
    return z3.And(symbol.length.term == len(value), *ends)


def _same_log(symbol: Any, value: Any) -> z3.BoolRef:
    log: Branch = written(symbol)
    last = value[-1].epoch if value else 0
    return z3.And(log.length.term == len(value), log.top.term == last)


_COMPARISON: Final = Comparison(
    own={
        Number: _same_number,
        Cache: lambda symbol, value: symbol.latest.term == (value[-1].epoch if value else 0),
        Records: _same_records,
    },
    fields={"log": _same_log},
    left_out={Append: ("value",)},
)
same: Final = _COMPARISON.same
"""That what is on symbols is this."""


def made(outcome: Outcome, step: LocalStep) -> z3.BoolRef:
    """That an outcome on symbols is what came of a step: its row, and what is sent as a set."""
    sent = sent_of(outcome)
    told = [same(outcome.row, step.after)]
    for condition, m in sent:
        told.append(z3.Implies(condition, z3.Or([same(m, other) for other in step.sent])))
    for other in step.sent:
        told.append(z3.Or([z3.And(condition, same(m, other)) for condition, m in sent]))
    return z3.And(told)


# --- The comparison.


class Compared(NamedTuple):
    """steps: how many local steps were compared. skipped: how many have no symbol. missing: steps
    that no way makes; spare: rows and inputs of which a way makes something else; a line for each.
    """

    steps: int
    skipped: int
    missing: list[str]
    spare: list[str]


class BranchRelation(QuorumWays):
    """All ways of the handlers with logs as branches."""

    def __init__(
        self,
        constants: Constants,
        rules: type[QuorumRules] = QuorumRules,
        logs: Logs = BRANCHES,
    ) -> None:
        super().__init__(constants, rules, logs)

    def ways(self, step: LocalStep) -> Iterator[Case]:
        """Those that a step may take."""
        return self.of(step.action, step.node, self.about(step), step.before)

    def about(self, step: LocalStep) -> int:
        """Who has a part in it, besides the node."""
        return self.peer(step.node, step.input)


def differences(relation: BranchRelation, steps: Iterable[LocalStep]) -> Compared:
    """Each step, and what else may come of its row and input."""
    given = list(steps)
    kept = [
        step
        for step in given
        if [m.source for m in step.before.parked] in ([], [relation.about(step)])
    ]
    groups = by_input(kept)
    compared = Compared(sum(map(len, groups)), len(given) - len(kept), [], [])
    for group in groups:
        _compare(relation, group, compared)
    return compared


def _compare(relation: BranchRelation, wanted: Sequence[LocalStep], compared: Compared) -> None:
    """Steps of the same row and input."""
    one = wanted[0]
    ways = _open_ways(relation, one)
    trees = [(step, tree_of(step)) for step in wanted]
    for step, tree in trees:
        for watched in tree.watched():
            given = [*tree.told(), *watched]
            found, other = _solved(relation, ways, given, step, wanted)
            if not found:
                compared.missing.append(one.told)
            if other:
                compared.spare.append(one.told)


def _open_ways(relation: BranchRelation, one: LocalStep) -> list[tuple[Case, list[z3.BoolRef]]]:
    """The ways that this row and this input may take, with that the symbols are these."""
    found = []
    for case in relation.ways(one):
        is_one = z3.simplify(z3.And(same(case.row, one.before), same(case.input, one.input)))
        if not z3.is_false(is_one):
            found.append((case, [is_one, *case.path.condition]))
    return found


def _solved(
    relation: BranchRelation,
    ways: Sequence[tuple[Case, list[z3.BoolRef]]],
    given: Sequence[z3.BoolRef],
    step: LocalStep,
    wanted: Sequence[LocalStep],
) -> tuple[bool, bool]:
    """Whether a way makes this step, and whether one makes what no step is."""
    solver = z3.SimpleSolver()
    limit = relation.constants.fetch_max_records
    solver.add(z3.Int("fetch_max_records") == limit, order(step.after.successors) == _SUCCESSORS)
    solver.add(*given)
    found = other = False
    for case, condition in ways:
        solver.push()
        solver.add(*condition)
        if solver.check() != z3.unsat:
            found = found or solver.check(made(case.outcome, step)) == z3.sat
            outcomes = [made(case.outcome, each) for each in wanted]
            other = other or solver.check(z3.Not(z3.Or(outcomes))) != z3.unsat
        solver.pop()
    return found, other
