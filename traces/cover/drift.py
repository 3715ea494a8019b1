"""The relation that is proved of, against TLC's graph, in both directions.

A local step (reference/proofs/local_steps.py) is compared in all fields that the relation does
not abstract from. Every edge of a graph is a local step in a surrounding that the step does not
see; so what holds of all local steps holds of all edges, and the solutions at a state are those at
its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import z3

from reference.core.messages import MESSAGES
from reference.core.rules import QuorumRules
from reference.core.types import Constants, Row
from reference.proofs.bounded import Flat, flat_message, flat_row
from reference.proofs.local_steps import LocalStep
from reference.proofs.quorum_ways import QuorumWays
from reference.proofs.relation import Case, sent_of
from reference.proofs.terms import is_symbol
from traces.cover.matching import Matcher

# Fields of a row that the relation leaves open (relation.py says why).
OPEN = ("top", "flushed", "high_watermark", "epoch_start", "end_offset", "fetched_voters")
Outcome: TypeAlias = tuple[tuple[tuple[str, str], ...], frozenset[Any]]


def seen(flat: Flat) -> tuple[tuple[str, str], ...]:
    """The fields that are compared, as text."""
    return tuple(
        sorted(
            (name, str(z3.simplify(term)))
            for name, term in flat.items()
            if not name.startswith((*OPEN, "announced", "successors"))
        )
    )


def message_seen(m: Any) -> tuple[Any, ...]:
    return (type(m).__name__, m.source, str(m.destination), seen(flat_message(m)))


def outcome_of(step: LocalStep, voters: tuple[int, ...]) -> Outcome:
    """What a local step of the graph makes."""
    sent = frozenset(message_seen(m) for m in step.sent)
    return seen(flat_row(step.after, voters)), sent


class Relation:
    """All solutions at rows without parked fetches, of which flat rows say nothing."""

    def __init__(self, constants: Constants, rules: type[QuorumRules]) -> None:
        self.voters = constants.voters
        self._ways = QuorumWays(constants, rules)

    def about(self, step: LocalStep) -> int:
        """Who has a part in a step, besides the node."""
        return self._ways.peer(step.node, step.input)

    def solutions(
        self, action: str, n: int, row: Row, peer: int, inputs: list[Any]
    ) -> dict[Any, set[Outcome]]:
        """Input -> outcomes, each found by the solver and then blocked, until there is no other."""
        found: dict[Any, set[Outcome]] = defaultdict(set)
        for case in self._ways.of(action, n, peer, row):
            if case.row.parked or row.parked:
                continue
            names = _values(flat_row(case.row, self.voters), flat_row(row, self.voters))
            solver = z3.Solver()
            solver.add(*(z3.substitute(term, *names) for term in case.path.condition))
            if isinstance(case.input, MESSAGES):
                solver.add(z3.Or([_is(case.input, m) for m in inputs]))
            while solver.check() == z3.sat:
                model = solver.model()
                outcome, term = self._made(case, names, model)
                taken = self._input(case, model, inputs)
                found[taken].add(outcome)
                known = z3.BoolVal(True) if taken is None else _is(case.input, taken)
                solver.add(z3.Not(z3.And(known, term)))
        return found

    def _input(self, case: Case, model: z3.ModelRef, inputs: list[Any]) -> Any:
        if not isinstance(case.input, MESSAGES):
            return None
        return next(m for m in inputs if z3.is_true(model.eval(_is(case.input, m), True)))

    def _made(
        self, case: Case, names: list[tuple[Any, Any]], model: z3.ModelRef
    ) -> tuple[Outcome, z3.BoolRef]:
        """The outcome in a model, and the condition that it is this one."""
        row = {
            name: z3.substitute(term, *names)
            for name, term in flat_row(case.outcome.row, self.voters).items()
        }
        fixed = {name: model.eval(term, True) for name, term in row.items()}
        same = [row[name] == fixed[name] for name, _ in seen(fixed)]
        sent = set()
        for condition, m in sent_of(case.outcome):
            if z3.is_true(model.eval(z3.substitute(condition, *names), True)):
                flat = {
                    key: model.eval(z3.substitute(term, *names), True)
                    for key, term in flat_message(m).items()
                }
                to = m.destination
                if not isinstance(to, int):
                    to = model.eval(z3.substitute(to.term, *names), True)
                sent.add((type(m).__name__, m.source, str(to), seen(flat)))
        return (seen(fixed), frozenset(sent)), z3.And(same)


def _is(symbol: Any, m: Any) -> z3.BoolRef:
    wanted, given = flat_message(symbol), flat_message(m)
    return z3.And([wanted[name] == given[name] for name in given])


def _values(symbols: Flat, values: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    return [(s, z3.simplify(values[name])) for name, s in symbols.items() if is_symbol(s)]


def local_steps(matcher: Matcher) -> Iterator[LocalStep]:
    """All local steps of a graph, in the order in which they were found."""
    for step in matcher.moves.steps:
        made = step.result
        yield LocalStep(step.action, step.node, step.before, step.input, made.row, made.sent)


def differences(
    matcher: Matcher,
    most_rows: int | None = None,
    rules: type[QuorumRules] = QuorumRules,
) -> tuple[int, int, list[str]]:
    """(local steps compared, solutions found, differences) over the rows of a graph.

    most_rows: at most so many rows, taken evenly; None for all. rules: the relation's. A solution
    counts for a pair of row and message only if the graph has that pair, and within the graph's
    bounds.
    """
    composition: Any = matcher.composition
    relation = Relation(composition.constants, rules)
    steps: dict[tuple[Any, ...], dict[Any, set[Outcome]]] = {}
    for step in local_steps(matcher):
        message = isinstance(step.input, MESSAGES)
        of_row = steps.setdefault((step.action, step.node, step.before, relation.about(step)), {})
        key = step.input if message else None
        of_row.setdefault(key, set()).add(outcome_of(step, composition.nodes))
    compared = solved = 0
    told: list[str] = []
    stride = max(1, len(steps) // (most_rows or len(steps)))
    for (action, node, row, peer), wanted in list(steps.items())[::stride]:
        found = relation.solutions(action, node, row, peer, [m for m in wanted if m is not None])
        for input, outcomes in wanted.items():
            compared += len(outcomes)
            solved += len(found[input])
            if found[input] != outcomes:
                told.append(f"{action} of {node} in {row} at {input}")
    return compared, solved, told
