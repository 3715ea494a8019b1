"""Local steps of a protocol, and whether a relation on symbols makes them and nothing else.

A local step is what a node, its row and an input make; of the surrounding it sees nothing: it is an
edge of TLC's graph, or a step of a run. `differences` compares in both directions: some way through
the handler must make the step (else it is missing), and once all that the model makes is blocked,
no way may make anything else (else it is spare).

A relation is held against a step by a term: that each symbol is the value which the step has in its
place. All relations agree on what a number, a word, a set of nodes or a message is. What else a
relation has for symbols, and what it leaves out, it tells its `Comparison`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import z3

from kraftcheck.reference.proofs.symbolic import (
    Choice,
    NodeSet,
    Number,
    Truth,
    bits_of,
    choice_of,
    term_of,
    truth_of,
)


class LocalStep(NamedTuple):
    """What a node, its row and an input make: a row and messages."""

    action: str
    node: int
    before: Any
    input: Any
    after: Any
    sent: tuple[Any, ...]

    @property
    def told(self) -> str:
        """What it is made of, as a line."""
        return f"{self.action} of {self.node} in {self.before} at {self.input}"


def by_input(steps: Iterable[LocalStep]) -> list[list[LocalStep]]:
    """Steps without repetition, those of the same row and input of a node together."""
    groups: dict[tuple[Any, ...], dict[Any, LocalStep]] = defaultdict(dict)
    for step in steps:
        group = groups[step.action, step.node, step.before, step.input]
        group[step.after, step.sent] = step
    return [list(group.values()) for group in groups.values()]


class Relation(Protocol):
    """All ways through a protocol's handlers, on symbols."""

    def has(self, step: LocalStep) -> bool:
        """Whether it has symbols for a step like this."""
        ...

    def solutions(self, group: Sequence[LocalStep]) -> tuple[Collection[LocalStep], bool]:
        """Which of these steps of one row and input some way makes, and whether a way makes
        anything else.
        """
        ...


class Compared(NamedTuple):
    """steps: how many local steps were compared. skipped: how many have no symbol. missing: steps
    that no way makes; spare: rows and inputs of which a way makes something else; a line for each.
    """

    steps: int
    skipped: int
    missing: list[str]
    spare: list[str]


def differences(relation: Relation, steps: Iterable[LocalStep]) -> Compared:
    """Whether each step is a solution, and whether its row and input have any other."""
    given = list(steps)
    kept = list(filter(relation.has, given))
    groups = by_input(kept)
    compared = Compared(sum(map(len, groups)), len(given) - len(kept), [], [])
    for group in groups:
        made, other = relation.solutions(group)
        compared.missing.extend(step.told for step in group if step not in made)
        if other:
            compared.spare.append(group[0].told)
    return compared


class Same(Protocol):
    """When a symbol is a value, as a term."""

    def __call__(self, symbol: Any, value: Any, /) -> z3.BoolRef: ...


@dataclass(frozen=True)
class Comparison:
    """own: kind of symbol -> when it is a value, for those that other relations do not have or
    compare otherwise. fields: the same for whatever is in a field of this name. left_out: type ->
    the fields that are not compared. Kinds and types are exact: those below them are others.
    """

    own: Mapping[type, Same]
    fields: Mapping[str, Same] = field(default_factory=dict)
    left_out: Mapping[type, Collection[str]] = field(default_factory=dict)

    def same(self, symbol: Any, value: Any) -> z3.BoolRef:
        """That what is on symbols is this, in all that is compared."""
        if type(symbol) in self.own:
            return self.own[type(symbol)](symbol, value)
        if isinstance(symbol, Number):
            return symbol.term == term_of(value)
        if isinstance(symbol, Truth):
            return symbol.term == truth_of(value)
        if isinstance(symbol, Choice):
            return symbol.term == choice_of(value, symbol.words)
        if isinstance(symbol, NodeSet):
            bits = bits_of(value, list(symbol.bits))
            return z3.And([bit == bits[node] for node, bit in symbol.bits.items()])
        if isinstance(symbol, tuple):
            if len(symbol) != len(value):
                return z3.BoolVal(False)
            return z3.And([self.same(s, v) for s, v in zip(symbol, value, strict=True)])
        if hasattr(symbol, "__struct_fields__"):
            return self._same_fields(symbol, value)
        return z3.BoolVal(bool(symbol == value))

    def _same_fields(self, symbol: Any, value: Any) -> z3.BoolRef:
        if not isinstance(symbol, type(value)):
            return z3.BoolVal(False)
        skipped = self.left_out.get(type(symbol), ())
        return z3.And(
            [
                self.fields.get(name, self.same)(getattr(symbol, name), getattr(value, name))
                for name in symbol.__struct_fields__
                if name not in skipped
            ]
        )
