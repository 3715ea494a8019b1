"""Which goals follow is decided goal by goal, and the same whatever was asked before."""

from __future__ import annotations

import pytest
import z3

from kraftcheck.reference.proofs.judging import judge

A, B, C = z3.Ints("a b c")
GOALS = {"low": A <= 3, "follows": A >= 1, "other": B >= 0, "both": z3.And(A >= 0, C < 5)}


def _told(*terms: z3.BoolRef) -> z3.Solver:
    solver = z3.SimpleSolver()
    solver.add(A >= 1, *terms)
    return solver


def test_every_goal_that_does_not_follow_is_named() -> None:
    found = judge(_told(), GOALS, 1000)
    assert found.broken == ("low", "other", "both") and not found.undecided
    assert found.model is not None and found.model.eval(A).as_long() > 3


def test_goals_that_follow_are_proved_and_nothing_is_kept() -> None:
    solver = _told(A <= 2, B == 0, C == 1)
    assert judge(solver, GOALS, 1000) == judge(solver, GOALS, 1000)
    assert judge(solver, GOALS, 1000).broken == () and len(solver.assertions()) == 4


def test_a_goal_that_is_a_constant_takes_nothing_from_what_is_known() -> None:
    assert judge(_told(), {"never": z3.BoolVal(False), "follows": A >= 1}, 1000).broken == (
        "never",
    )


def test_the_state_is_a_simpler_one_if_there_is_one() -> None:
    found = judge(_told(), GOALS, 1000, [A < 0, z3.And(A == 7, B == 2)])
    assert found.model is not None and found.model.eval(A).as_long() == 7


def test_the_state_does_not_depend_on_what_was_asked_before() -> None:
    def state() -> str:
        found = judge(_told(A + B > C, z3.Or(A > 9, B > C)), {"one": A * B + C < 4}, 1000)
        return str(found.model)

    first = state()
    for number in range(50):
        judge(_told(z3.Int(f"x{number}") > A), {"y": z3.Int(f"x{number}") > 5}, 1000)
    assert state() == first


def test_what_is_not_known_is_told_and_does_not_hide_what_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = z3.Solver.check

    def sometimes(solver: z3.Solver, *given: z3.BoolRef) -> z3.CheckSatResult:
        told = str(solver.assertions())
        return z3.unknown if "b >= 0" in told else check(solver, *given)

    monkeypatch.setattr(z3.Solver, "check", sometimes)
    found = judge(_told(), GOALS, 1000)
    assert (found.broken, found.undecided) == (("low", "both"), ("other",))
    assert judge(_told(), {"other": B >= 0}, 1000).broken == ()
