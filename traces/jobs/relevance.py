"""What a step is judged on: the fields that its handler's definition mentions.

Most handlers look at a few fields of the row and leave the others alone. So a heartbeat is the same
step whatever the log holds, and is judged once. In the form that is judged, a field that the
specification of the action does not mention, and that the step left as it was, has the value of the
first row, before and after.

Why that is sound. Let f be a field that no definition mentions which the handler of the spec is
built from (tla_utils/mentions.py reads the modules). Rows are made from rows with EXCEPT, so an
outcome of the spec has in f what was there before, and is otherwise a function of the other fields.
A step that left f alone is therefore allowed with one value of f iff it is allowed with any other.
A step that changed f keeps what it had, and TLC refuses it. A handler that builds rows in another
way, by mentioning the first row, is judged on all fields. A record within a row (the image of
metadata) is treated alike where it was left as it was, and where the definitions mention it only on
the way to fields of its own: then it is nowhere read or replaced as a whole.

Two definitions of one name cannot be told apart here; TLA+ has none in modules that extend each
other. The tests judge recorded steps and damaged ones in both forms.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from tla_utils.mentions import Mentions, mentions
from tla_utils.overrides import ModuleSource, read_modules
from traces.jobs.abstraction import spec_names
from traces.jobs.canonical import Step
from traces.jobs.protocols import AnyConstants, kind_of

FIRST_ROWS: Final = frozenset({"InitialRow", "InitialController"})
"""Operators that make a row from nothing."""


@lru_cache(maxsize=8)
def _modules(frame: str, specs: Path) -> dict[str, ModuleSource]:
    return read_modules([frame], [specs, specs / "steps"])


@lru_cache(maxsize=1024)
def mentions_of(frame: str, action: str, specs: Path) -> Mentions | None:
    """What matters to an action; None if all fields may.

    Raises ToolError: the frame has no such action.
    """
    found = mentions(f"Step_{action}", _modules(frame, specs))
    return None if found.operators & FIRST_ROWS else found


class _Plan(NamedTuple):
    """Of a record: the fields that do not matter, with their values in the first row; and those of
    which only fields within may matter."""

    unmentioned: tuple[tuple[str, Any], ...]
    within: tuple[tuple[str, _Plan], ...]


class Relevance:
    """Takes from steps what does not matter, under one set of constants and for one spec."""

    def __init__(self, constants: AnyConstants, specs: Path) -> None:
        self._constants = constants
        self._specs = specs
        self._names = spec_names(constants)
        self._plans: dict[tuple[str, str], _Plan | None] = {}

    def of(self, step: Step) -> Step:
        """The step as it is judged."""
        kind = kind_of(self._constants, step.node)
        key = (kind.frame, step.action)
        if key not in self._plans:
            found = mentions_of(*key, self._specs)
            initial = kind.initial(self._constants)
            self._plans[key] = None if found is None else self._plan(initial, found)
        plan = self._plans[key]
        if plan is None:
            return step
        before, after = _reduced(step.before, step.after, plan)
        return step._replace(before=before, after=after)

    def _plan(self, initial: Any, mentioned: Mentions) -> _Plan:
        unmentioned, within = [], []
        for name in initial.__struct_fields__:
            first, field = getattr(initial, name), self._names[name]
            if field not in mentioned.fields:
                unmentioned.append((name, first))
            elif field not in mentioned.whole and isinstance(first, msgspec.Struct):
                within.append((name, self._plan_within(field, first, mentioned)))
        return _Plan(tuple(unmentioned), tuple(within))

    def _plan_within(self, field: str, initial: Any, mentioned: Mentions) -> _Plan:
        """Of a record that is only a way to fields within: those to which no way leads."""
        ends = {end for way, end in mentioned.paths if way == field}
        names = [name for name in initial.__struct_fields__ if self._names[name] not in ends]
        return _Plan(tuple([(name, getattr(initial, name)) for name in names]), ())


def _reduced(before: Any, after: Any, plan: _Plan) -> tuple[Any, Any]:
    of_both: dict[str, Any] = {}
    for name, first in plan.unmentioned:
        old, new = getattr(before, name), getattr(after, name)
        if old is new or old == new:
            of_both[name] = first
    for name, inner in plan.within:
        old = getattr(before, name)
        if old == getattr(after, name):
            of_both[name] = _reduced(old, old, inner)[0]
    if not of_both:
        return before, after
    return replace(before, **of_both), replace(after, **of_both)
