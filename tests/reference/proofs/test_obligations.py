"""An obligation is proved only if something was shown and all of it follows."""

from __future__ import annotations

from collections.abc import Iterator

import z3

from kraftcheck.reference.proofs.assumed import WrittenOnce
from kraftcheck.reference.proofs.obligations import (
    IMPLIES,
    Obligation,
    discharged,
    obligation_names,
)
from kraftcheck.reference.proofs.symbolic import Unknown

A = z3.Int("a")


def _told(*terms: z3.BoolRef) -> z3.Solver:
    solver = z3.SimpleSolver()
    solver.add(*terms)
    return solver


def _readable(model: z3.ModelRef) -> list[str]:
    return [f"a is {model.eval(A)}"]


def test_what_follows_is_proved_and_what_does_not_is_shown() -> None:
    done = Obligation("it")
    assert done.judge(_told(A > 3), {"low": A > 2, "lower": A > 1}, 1000, _readable)
    assert done == Obligation("it")
    assert not done.judge(_told(A > 3), {"low": A > 2, "high": A < 9}, 1000, _readable, [A == 12])
    assert done == Obligation("it", "failed", broken="high", state=["a is 12"])


def test_paths_are_looked_at_up_to_the_first_that_fails() -> None:
    done = Obligation("it")
    done.each([1, 2, 3], lambda path: path < 4)
    assert (done.status, done.paths) == ("proved", 3)
    seen: list[int] = []

    def keeps(path: int) -> bool:
        seen.append(path)
        solver = _told(path == A)
        return done.judge(solver, {"low": A < 2}, 1000, _readable)

    done = Obligation("it")
    done.each([1, 2, 3], keeps)
    assert seen == [1, 2] and (done.status, done.paths, done.broken) == ("failed", 2, "low")


def test_a_handler_without_a_path_is_not_proved() -> None:
    for called in ("path", "way"):
        done = Obligation("it")
        done.each([], lambda path: True, called)
        assert done.status == "unknown" and f"no {called}:" in done.reason


def test_paths_that_cannot_be_told_are_not_proved() -> None:
    def found() -> Iterator[int]:
        yield 1
        raise Unknown("the solver cannot tell")

    done = Obligation("it")
    done.each(found(), lambda path: True)
    assert done == Obligation("it", "unknown", paths=1, reason="the solver cannot tell")


def test_an_invariant_without_a_model_implies_nothing() -> None:
    done = Obligation("it")
    assert done.possible(_told(A > 3)) and done == Obligation("it")
    assert not done.possible(_told(A > 3, A < 2))
    assert done == Obligation("it", "unknown", reason="the invariant itself has no model")


def test_an_obligation_is_discharged_by_its_name() -> None:
    told: list[str] = []
    wanted = [f"of it: {name}" for name in obligation_names(["Acts"], ["Safe"])]
    for name in wanted:
        done = discharged(
            name,
            initially=lambda done: told.append(f"first {done.name}"),
            kept=lambda of, done: told.append(f"kept {of}"),
            implied=lambda of, done: told.append(f"implied {of}"),
            prefix="of it: ",
        )
        assert done.name == name and done.status == "proved" and done.seconds >= 0
    assert wanted[2] == f"of it: {IMPLIES}Safe"
    assert told == ["first of it: Init", "kept Acts", "implied Safe"]


def test_what_is_assumed_of_a_term_is_written_once() -> None:
    once = WrittenOnce()
    wrote: list[z3.ArithRef] = []

    def write() -> list[z3.BoolRef]:
        wrote.append(A)
        return [A + 1 > 2]

    first = once.parts("low", write, A + 1)
    assert once.parts("low", write, A + 1) is first and len(wrote) == 1
    once.parts("low", write, A)
    once.parts("high", write, A + 1)
    assert len(wrote) == 3
