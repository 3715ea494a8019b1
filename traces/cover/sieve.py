"""Which recorded steps are of a graph's classes, without naming all the others.

To name a step's class is to find its canonical form (traces/steps/symmetry.py), which costs more
than to simulate it; and of the steps of a campaign few are of a bounded graph. So each step first
gets a *mark*: what of it no renaming changes and what is judged of it whatever the step does. Steps
of one class have one mark. A step whose mark none of the graph's has is of no class of the graph,
and only the others are named.

The mark is made of

* the action that is judged, the kind of node, and the constants under which it is judged;
* of the row before, the fields that the action looks at, and of the input all fields: what is not
  renamed as it is, of what is renamed only how long it is, where it is a sequence or a set;
* the reason for ignoring the input.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from kraftcheck.reference.protocols import (
    AnyConstants,
    is_composed,
    kind_of,
    nodes_of,
    row_has_form,
)
from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.charts import Namer
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.steps import symmetry
from kraftcheck.traces.steps.record import (
    Part,
    constants_text,
    decode_constants,
    decode_step_constants,
)
from kraftcheck.traces.steps.slicing import Relevance
from kraftcheck.traces.steps.symmetry import Step

Mark: TypeAlias = tuple[Hashable, ...]
KEPT: Final = 200_000
"""How many recorded steps are remembered with their classes, at most."""


class Sight(NamedTuple):
    """The first and the last run that took a class of steps, by their numbers."""

    first: int
    last: int


class _Fields(NamedTuple):
    """Of a type: the fields that no renaming changes, and those of which it leaves the length."""

    same: tuple[str, ...]
    renamed: tuple[str, ...]

    def mark(self, item: Any) -> Mark:
        lengths = [
            len(value) if isinstance(value, tuple) else None
            for value in [getattr(item, name) for name in self.renamed]
        ]
        return (*(getattr(item, name) for name in self.same), *lengths)


class _Marker:
    """Marks steps that are taken under one set of constants."""

    def __init__(self, constants: AnyConstants, specs: Path) -> None:
        self.constants = constants
        self._relevance = Relevance(constants, specs)
        self._plans: dict[tuple[str, str], tuple[Mark, _Fields]] = {}
        self._inputs: dict[type, _Fields] = {}

    def mark(self, node: int, action: str, before: Any, input: Any, ignored: str) -> Mark:
        judged = self.action(node, action, before, input)
        return (self.of_row(judged, node, before), self.of_input(input), ignored)

    def action(self, node: int, action: str, before: Any, input: Any) -> tuple[str, str]:
        """The action that is judged and where, which says what of a row is in a mark."""
        kind = kind_of(self.constants, node)
        return kind.name, self._relevance.label(node, action, before, input)

    def of_row(self, action: tuple[str, str], node: int, row: Any) -> Mark:
        known = self._plans.get(action)
        if known is None:
            looked_at, constants = self._relevance.matters(node, action[1])
            fields = self._fields(type(row), looked_at)
            known = self._plans[action] = (*action, constants_text(constants)), fields
        head, fields = known
        return (*head, *fields.mark(row))

    def of_input(self, input: Any) -> Mark:
        fields = self._inputs.get(type(input))
        if fields is None:
            every = frozenset(input.__struct_fields__)
            fields = self._inputs[type(input)] = self._fields(type(input), every)
        return (type(input).__name__, *fields.mark(input))

    def _fields(self, struct: Any, among: frozenset[str]) -> _Fields:
        same = symmetry.unrenamed(struct)
        return _Fields(
            tuple([name for name in same if name in among]),
            tuple([n for n in struct.__struct_fields__ if n in among and n not in same]),
        )


class Sieve:
    """Names the steps of recorded parts that can be of the classes of these graphs.

    It remembers what it has named, since the parts of a campaign have most steps in common.
    """

    def __init__(self, matchers: Iterable[Matcher], specs: Path = SPECS) -> None:
        self._specs = specs
        self._marks: set[Mark] = set()
        self._actions: set[str] = set()
        self._markers: dict[str, _Marker | None] = {}
        self._namers: dict[str, Namer] = {}
        self._known: dict[bytes, bytes] = {}
        self.named = 0
        """How many steps were named so far."""
        for matcher in matchers:
            marker = _Marker(matcher.book.constants, specs)
            for s in matcher.moves.steps:
                self._marks.add(marker.mark(s.node, s.action, s.before, s.input, s.result.ignored))
                self._actions.add(s.action)

    def admits(self, constants: AnyConstants, step: Step) -> bool:
        """Whether a step has a mark of the graphs."""
        marker = _Marker(constants, self._specs)
        mark = marker.mark(step.node, step.action, step.before, step.input, step.ignored)
        return mark in self._marks

    def sights(self, part: Part) -> dict[bytes, Sight]:
        """Give the runs of the part that took each class first and last.

        Classes of the graphs are there, and perhaps others. A step without a form in the spec has
        no class.
        """
        found: dict[bytes, Sight] = {}
        first, last = _runs_of_steps(part)
        for step in self._possible(part):
            key = self._key(part, step)
            own = Sight(first[step], last[step])
            found[key] = merged(found[key], own) if key in found else own
        return found

    def _possible(self, part: Part) -> list[int]:
        """The steps that were taken, have a form and a mark of the graphs."""
        rows: dict[tuple[int, tuple[str, str], int], Mark] = {}
        inputs: dict[int, Mark] = {}
        formed: dict[tuple[int, int, int], bool] = {}
        wanted = np.array([action in self._actions for action in part.action], dtype=np.bool_)
        taken = np.bincount(part.taken, minlength=len(part.node)) > 0
        possible = []
        for step in np.flatnonzero(wanted & taken).tolist():
            code, node = int(part.step_constants[step]), int(part.node[step])
            marker = self._marker(part.constants_texts[code])
            if marker is None:
                continue
            at, given = int(part.before[step]), int(part.input[step])
            row, input = part.rows[at], part.inputs[given]
            action = marker.action(node, part.action[step], row, input)
            of_row = rows.get((code, action, at))
            if of_row is None:
                of_row = rows[code, action, at] = marker.of_row(action, node, row)
            of_input = inputs.get(given)
            if of_input is None:
                of_input = inputs[given] = marker.of_input(input)
            if (of_row, of_input, part.ignored[step]) in self._marks:
                ends = [(code, node, end) for end in (at, int(part.after[step]))]
                if all([self._has_form(part, marker, end, formed) for end in ends]):
                    possible.append(step)
        return possible

    def _has_form(
        self,
        part: Part,
        marker: _Marker,
        end: tuple[int, int, int],
        formed: dict[tuple[int, int, int], bool],
    ) -> bool:
        known = formed.get(end)
        if known is None:
            _, node, row = end
            constants = marker.constants
            is_node = node in nodes_of(constants)
            formed[end] = known = is_node and row_has_form(constants, part.rows[row])
        return known

    def _marker(self, text: str) -> _Marker | None:
        """None for the constants of a cluster, under which nobody takes a step."""
        if text not in self._markers:
            constants = decode_constants(text)
            if is_composed(constants):
                self._markers[text] = None
            else:
                self._markers[text] = _Marker(constants, self._specs)
        return self._markers[text]

    def _key(self, part: Part, step: int) -> bytes:
        recorded = part.step_names[step]
        key = self._known.get(recorded)
        if key is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            text = part.constants_texts[part.step_constants[step]]
            namer = self._namers.get(text)
            if namer is None:
                namer = self._namers[text] = Namer(decode_step_constants(text), self._specs)
            key = self._known[recorded] = namer.name(part.step(step))
            self.named += 1
        return key


def _runs_of_steps(part: Part) -> tuple[Sequence[int], Sequence[int]]:
    """Per step: the first and the last run that took it."""
    runs = part.run[part.run_at]
    first = np.full(len(part.node), np.iinfo(np.int64).max, dtype=np.int64)
    last = np.full(len(part.node), -1, dtype=np.int64)
    np.minimum.at(first, part.taken, runs)
    np.maximum.at(last, part.taken, runs)
    return first.tolist(), last.tolist()


def merged(one: Sight, other: Sight) -> Sight:
    return Sight(min(one.first, other.first), max(one.last, other.last))
