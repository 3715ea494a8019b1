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
way, by mentioning the first row, is judged on all fields. Where an operator stands in the place of
another one (`NodeKind.replaces`), who mentions the one mentions both. A record within a row (the
image of metadata) is treated alike where it was left as it was, and where the definitions mention
it only on the way to fields of its own: then it is nowhere read or replaced as a whole.

Likewise for constants: what no definition mentions may have any value, so the step is judged under
the one in `Protocol.unmentioned`, together with steps of runs that had others. The nodes stay.

Some handlers do little in most cases and much in a few. The spec has an action of its own for such
a case (`HandleHeartbeatResponse_Unmoved`), which the handler is built from, and which is disabled
in every other case. So it is the specification that says in which case a step is: a step that is
put into a wrong one here (`NodeKind.cases`) is refused, however good it is.

Two definitions of one name cannot be told apart here; TLA+ has none in modules that extend each
other. The tests judge recorded steps and damaged ones in both forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from reference.kit.fields import spec_name
from reference.kit.protocol import Case, NodeKind
from reference.protocols import AnyConstants, kind_named, kind_of, protocol_of
from tla_utils.mentions import Mentions, mentions
from tla_utils.overrides import ModuleSource, read_modules
from traces.jobs.abstraction import constant_name
from traces.jobs.canonical import Step
from traces.jobs.step_frames import INIT, libraries


@lru_cache(maxsize=8)
def _modules(kind: str, specs: Path) -> dict[str, ModuleSource]:
    of = kind_named(kind)
    return read_modules([of.module], libraries(of, specs))


@lru_cache(maxsize=1024)
def mentions_of(kind: str, action: str, specs: Path) -> Mentions:
    """What the definition of an action mentions, for a kind of node by its name.

    Raises ToolError: the spec has no such action.
    """
    of = kind_named(kind)
    operator = first_row(of) if action == INIT else f"{of.operators}{action}"
    replaced = {old: new.rpartition(" ")[2] for old, new in of.replaces}
    return mentions(operator, _modules(kind, specs), replaced)


def first_row(kind: NodeKind) -> str:
    """The operator of the spec that makes a row from nothing."""
    return kind.first_row.partition("(")[0]


def action_of(label: str) -> str:
    """The action that was recorded, of the one that is judged."""
    return label.partition("_")[0]


class _Plan(NamedTuple):
    """Of a record: the fields that do not matter, with their values in the first row; and those of
    which only fields within may matter. values: of the former those that a record has."""

    unmentioned: tuple[tuple[str, Any], ...]
    within: tuple[tuple[str, _Plan], ...]
    values: Callable[[Any], tuple[Any, ...]]


class Judged(NamedTuple):
    """A step as it is judged, and the constants under which it is."""

    step: Step
    constants: AnyConstants


class Relevance:
    """Takes from steps what does not matter, under one set of constants and for one spec."""

    def __init__(self, constants: AnyConstants, specs: Path) -> None:
        self._constants = constants
        self._specs = specs
        self._plans: dict[tuple[int, str], tuple[_Plan | None, AnyConstants]] = {}
        self._cases: dict[tuple[int, str], Case | None] = {}

    def of(self, step: Step) -> Step:
        """The step as it is judged."""
        return self.judged(step).step

    def judged(self, step: Step) -> Judged:
        label = self.label(step.node, step.action, step.before, step.input)
        plan, constants = self._known(step.node, label)
        before, after = step.before, step.after
        if plan is not None:
            before, after = _reduced(before, after, plan)
        # Not `_replace`, which takes three times as long, for every step that is new.
        judged = Step(label, step.node, before, step.input, after, step.sent, step.ignored)
        return Judged(judged, constants)

    def label(self, node: int, action: str, before: Any, input: Any) -> str:
        """The action that is judged: that of the case, where the handler has one that holds."""
        try:
            case = self._cases[node, action]
        except KeyError:
            case = self._cases[node, action] = kind_of(self._constants, node).case(action)
        if case is None or not isinstance(input, case.input) or not case.holds(before, input):
            return action
        return f"{action}_{case.label}"

    def matters(self, node: int, label: str) -> tuple[frozenset[str], AnyConstants]:
        """The fields of a row that are judged as they are, whatever became of them, and the
        constants under which an action is judged."""
        plan, constants = self._known(node, label)
        fields = frozenset(
            kind_of(self._constants, node).initial(self._constants).__struct_fields__
        )
        if plan is None:
            return fields, constants
        replaced = {name for name, _ in (*plan.unmentioned, *plan.within)}
        return fields - replaced, constants

    def _known(self, node: int, label: str) -> tuple[_Plan | None, AnyConstants]:
        """What is done to rows, and the constants, by the action that is judged."""
        known = self._plans.get((node, label))
        if known is None:
            kind = kind_of(self._constants, node)
            found = mentions_of(kind.name, label, self._specs)
            # An operator that makes a row from nothing sets fields that it does not mention.
            makes = label == INIT or first_row(kind) in found.operators
            plan = None if makes else self._plan(kind.initial(self._constants), found)
            known = plan, self._relevant_constants(found)
            self._plans[node, label] = known
        return known

    def _relevant_constants(self, mentioned: Mentions) -> AnyConstants:
        free = {
            field: value
            for field, value in protocol_of(self._constants).unmentioned.items()
            if constant_name(field) not in mentioned.constants
        }
        return replace(self._constants, **free) if free else self._constants

    def _plan(self, initial: Any, mentioned: Mentions) -> _Plan:
        unmentioned, within = [], []
        for name in initial.__struct_fields__:
            first, field = getattr(initial, name), spec_name(name)
            if field not in mentioned.fields:
                unmentioned.append((name, first))
            elif field not in mentioned.whole and isinstance(first, msgspec.Struct):
                within.append((name, self._plan_within(field, first, mentioned)))
        return _plan_of(unmentioned, within)

    def _plan_within(self, field: str, initial: Any, mentioned: Mentions) -> _Plan:
        """Of a record that is only a way to fields within: those to which no way leads."""
        ends = {end for way, end in mentioned.paths if way == field}
        names = [name for name in initial.__struct_fields__ if spec_name(name) not in ends]
        return _plan_of([(name, getattr(initial, name)) for name in names], [])


def _plan_of(unmentioned: Sequence[tuple[str, Any]], within: Sequence[tuple[str, _Plan]]) -> _Plan:
    # Of no field and of one attrgetter makes no tuple of values.
    names = [name for name, _ in unmentioned]
    many = len(names) > 1
    values = attrgetter(*names) if many else lambda row: tuple([getattr(row, n) for n in names])
    return _Plan(tuple(unmentioned), tuple(within), values)


def _reduced(before: Any, after: Any, plan: _Plan) -> tuple[Any, Any]:
    if before is after:
        of_both = dict(plan.unmentioned)
    else:
        values = zip(plan.unmentioned, plan.values(before), plan.values(after), strict=True)
        of_both = dict([first for first, old, new in values if old is new or old == new])
    for name, inner in plan.within:
        old = getattr(before, name)
        if old == getattr(after, name):
            of_both[name] = _reduced(old, old, inner)[0]
    if not of_both:
        return before, after
    reduced = replace(before, **of_both)
    return reduced, reduced if before is after else replace(after, **of_both)
