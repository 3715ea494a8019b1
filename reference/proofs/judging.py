"""Whether goals follow from what a solver has been told; and if not, exactly which of them do not.

First all goals at once: the solver is quickest so, and a proof is done. Only where that fails the
parts are told apart. A model in which some goals fail says which goals certainly do not follow; the
others are asked again, until those that are left follow together. What is found in this way is
decided part by part and is no matter of the models that came up.

Which model a solver finds depends on what its process has been asked before. So everything after
the first question is asked of solvers that are new, and the state that is shown is one in which the
first of the goals that fail does so. It is one of several: the order in which Z3 has put the
arguments of a sum or a conjunction may still lead it to another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import z3


@dataclass(frozen=True)
class Verdict:
    broken: tuple[str, ...] = ()
    """The goals that do not follow, in their order."""
    undecided: tuple[str, ...] = ()
    """Those of which the solver does not know, and why in reason."""
    reason: str = ""
    model: z3.ModelRef | None = None
    """A state in which the first of the broken fails."""


def judge(
    solver: z3.Solver,
    goals: Mapping[str, z3.BoolRef],
    timeout_ms: int,
    simpler: Sequence[z3.BoolRef] = (),
) -> Verdict:
    """The goals under what the solver has been told, which it keeps.

    timeout_ms: of each question but the first, whose limit is the solver's own. simpler: what a
    state to be shown should satisfy, the first that is possible; states read better so.
    """
    given = list(solver.assertions())
    solver.push()
    solver.add(z3.Not(z3.And(list(goals.values()))))
    answer = solver.check()
    solver.pop()
    if answer == z3.unsat:
        return Verdict()
    told = _Assumptions(given, timeout_ms)
    broken, undecided, reason = _decided(told, goals, answer)
    assert broken or undecided or answer != z3.sat, "together they fail, each for itself follows"
    model = _shown(told, goals[broken[0]], simpler) if broken else None
    return Verdict(broken, undecided, reason, model)


class _Assumptions:
    """What is assumed, to be told to solvers that know nothing else."""

    def __init__(self, given: Sequence[z3.BoolRef], timeout_ms: int) -> None:
        self.given = given
        self.timeout_ms = timeout_ms

    def fails(self, *terms: z3.BoolRef) -> tuple[z3.CheckSatResult, z3.ModelRef | None, str]:
        """Whether what is assumed allows these terms; the model, or why it is not known."""
        context = z3.Context()
        solver = z3.SimpleSolver(ctx=context)
        solver.set("timeout", self.timeout_ms)
        solver.add([term.translate(context) for term in (*self.given, *terms)])
        answer = solver.check()
        if answer == z3.sat:
            return answer, solver.model().translate(z3.main_ctx()), ""
        return answer, None, solver.reason_unknown() if answer == z3.unknown else ""


def _decided(
    told: _Assumptions, goals: Mapping[str, z3.BoolRef], answer: z3.CheckSatResult
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Which goals fail, of which it is not known, and why. answer: whether they fail together."""
    left = dict(goals)
    while left and answer == z3.sat:
        answer, model, _ = told.fails(z3.Not(z3.And(list(left.values()))))
        if model is not None:
            failing = [name for name, goal in left.items() if _is_false(model, goal)]
            if not failing:
                answer = z3.unknown
            for name in failing:
                del left[name]
    undecided, reason = {}, ""
    if answer == z3.unknown:
        for name, goal in list(left.items()):
            answer, _, why = told.fails(z3.Not(goal))
            if answer == z3.sat:
                del left[name]
            elif answer == z3.unknown:
                undecided[name] = goal
                reason = reason or why
    broken = tuple(name for name in goals if name not in left)
    return broken, tuple(undecided), reason


def _is_false(model: z3.ModelRef, goal: z3.BoolRef) -> bool:
    return bool(z3.is_false(model.eval(goal, model_completion=True)))


def _shown(
    told: _Assumptions, goal: z3.BoolRef, simpler: Sequence[z3.BoolRef]
) -> z3.ModelRef | None:
    for wish in (*simpler, z3.BoolVal(True)):
        _, model, _ = told.fails(z3.Not(goal), wish)
        if model is not None:
            return model
    return None
