"""A relation, unrolled from a first state: which moves lead to a state that is looked for.

A `Move` is one way through a handler: a guard, and new values of the variables that it changes. In
each step exactly one move is taken. A step is one term, made once and renamed for each step; its
numbers are bit vectors (finite.py), so that the solver searches over bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

import z3

from reference.proofs.finite import Finite, bit_solver
from reference.proofs.terms import symbol_like, symbols_in

WIDTH: Final = 5
"""Bits of a number: an epoch, an offset or a length grows by one in a step."""

State = Mapping[str, z3.ExprRef]


@dataclass(frozen=True)
class Move:
    """guard: when it may be taken. updates: variable -> its new value, of those that change. about:
    whatever tells how to do it.

    Terms are over the variables' own names; every other symbol is an input of the step.
    """

    guard: z3.BoolRef
    updates: Mapping[str, z3.ExprRef]
    about: Any


@dataclass
class Answer:
    """model: of a state that was found. reason: why nothing is known, if so; neither: none."""

    model: z3.ModelRef | None = None
    reason: str = ""


@dataclass
class Unrolled:
    """first: each variable's value at first, a constant. moves: what may happen. width: bits."""

    first: State
    moves: Sequence[Move]
    width: int = WIDTH
    depth: int = 0
    known: list[z3.BoolRef] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.finite = Finite(self.width)
        self.symbols = {name: symbol_like(name, value) for name, value in self.first.items()}
        self._later = {
            name: symbol_like(f"next {name}", value) for name, value in self.first.items()
        }
        self._taken = [z3.Bool(f"takes {number}") for number in range(len(self.moves))]
        self._step = self.finite.of(self._relation())
        own = symbols_in(*self.symbols.values(), *self._later.values(), *self._taken)
        inputs = symbols_in(self._step)
        self._inputs = [term for name, term in inputs.items() if name not in own]
        same = [self.at(0)[name] == value for name, value in self.first.items()]
        self.known.append(self.finite.of(z3.And(same)))

    def _relation(self) -> z3.BoolRef:
        """A step over the variables, what they are next, and which move is taken."""
        told: list[z3.BoolRef] = [z3.PbEq([(bit, 1) for bit in self._taken], 1)]
        changed: dict[str, z3.ExprRef] = dict(self.symbols)
        for bit, move in zip(self._taken, self.moves, strict=True):
            told.append(z3.Implies(bit, move.guard))
            for name, term in move.updates.items():
                changed[name] = z3.If(bit, term, changed[name])
        told += [self._later[name] == term for name, term in changed.items()]
        return z3.And(told)

    def at(self, step: int) -> dict[str, z3.ExprRef]:
        """The variables after so many steps."""
        return {name: symbol_like(f"{step} {name}", value) for name, value in self.first.items()}

    def extend(self) -> None:
        """One step more."""
        now, later = self.at(self.depth), self.at(self.depth + 1)
        of = self.finite.of
        pairs = [(of(symbol), of(now[name])) for name, symbol in self.symbols.items()]
        pairs += [(of(symbol), of(later[name])) for name, symbol in self._later.items()]
        pairs += [(bit, self._bit(self.depth, n)) for n, bit in enumerate(self._taken)]
        pairs += [(term, self.input(self.depth, term)) for term in self._inputs]
        self.known.append(z3.substitute(self._step, *pairs))
        self.known.append(self.finite.within(list(later.values())))
        self.depth += 1

    def _bit(self, step: int, number: int) -> z3.BoolRef:
        return z3.Bool(f"{step} takes {number}")

    def input(self, step: int, term: z3.ExprRef) -> z3.ExprRef:
        """An input as this step has it."""
        return z3.Const(f"{step} input {term.decl().name()}", term.sort())

    def find(self, wanted: z3.BoolRef, timeout_s: float) -> Answer:
        """Whether the steps so far may make this true, a term over the variables of `at`."""
        solver = bit_solver()
        solver.set("timeout", max(1, int(timeout_s * 1000)))
        solver.add(*self.known, self.finite.of(wanted))
        answer = solver.check()
        if answer == z3.sat:
            return Answer(model=solver.model())
        return Answer(reason=solver.reason_unknown() if answer == z3.unknown else "")

    def taken(self, model: z3.ModelRef) -> list[Move]:
        """The moves of what was found."""
        found = []
        for step in range(self.depth):
            bits = [self._bit(step, number) for number in range(len(self.moves))]
            found.append(self.moves[next(n for n, b in enumerate(bits) if z3.is_true(model[b]))])
        return found

    def value(self, model: z3.ModelRef, step: int, term: z3.ExprRef) -> Any:
        """A term over the variables and inputs, as the model has it before this step."""
        now = self.at(step)
        of = self.finite.of
        bits = of(term)
        pairs = [(of(symbol), of(now[name])) for name, symbol in self.symbols.items()]
        pairs += [
            (each, self.input(step, each))
            for name, each in symbols_in(bits).items()
            if name not in self.symbols
        ]
        found = model.eval(z3.substitute(bits, *pairs), model_completion=True)
        return z3.is_true(found) if z3.is_bool(found) else found.as_signed_long()


def shortest(
    unrolled: Unrolled, wanted: Any, bound: int, timeout_s: float, least: int = 1
) -> tuple[Answer, int]:
    """The first depth from `least` on at which something is found, or of which nothing is known; up
    to the bound. wanted: what is looked for, of an unrolled relation. timeout_s: for all depths.
    """
    begin = monotonic()
    while unrolled.depth < bound:
        unrolled.extend()
        if unrolled.depth < least:
            continue
        left = timeout_s - (monotonic() - begin)
        if left <= 0:
            told = f"the time limit of {timeout_s:g} s, at {unrolled.depth} steps"
            return Answer(reason=told), unrolled.depth
        answer = unrolled.find(wanted(unrolled), left)
        if answer.reason:
            answer.reason = f"the solver at {unrolled.depth} steps: {answer.reason}"
        if answer.reason or answer.model is not None:
            return answer, unrolled.depth
    return Answer(), unrolled.depth
