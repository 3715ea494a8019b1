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
it only on the way to fields of its own: then it is nowhere read or replaced as a whole. So is a
function by node that only the action's own definition mentions, and always in the entry of one node
that the input names (`row.read[m.source]`): of the other entries, those that the step left alone
are made like that one.

Where a kind of node says so, logs then lose what they begin with (beginnings.py).

Likewise for constants: what no definition mentions may have any value, so the step is judged under
the one in `Protocol.unmentioned`, together with steps of runs that had others. The nodes stay, and
so does a constant that says of which kind the node is.

Some handlers do little in most cases and much in a few. The spec has an action of its own for such
a case (`HandleHeartbeatResponse_Unmoved`), which the handler is built from, and which is disabled
in every other case. So it is the specification that says in which case a step is: a step that is
put into a wrong one here (`NodeKind.cases`) is refused, however good it is.

Two definitions of one name cannot be told apart here; TLA+ has none in modules that extend each
other. The tests judge recorded steps and damaged ones in both forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.fields import Kind, fields_of, spec_name
from kraftcheck.reference.kit.protocol import Case, NodeKind
from kraftcheck.reference.protocols import (
    AnyConstants,
    kind_named,
    kind_of,
    peers_of,
    protocol_of,
    takers_of,
)
from kraftcheck.traces.jobs.abstraction import constant_name
from kraftcheck.traces.jobs.beginnings import Beginnings
from kraftcheck.traces.jobs.pieces import Pieces, apart, step_apart, whole
from kraftcheck.traces.jobs.renaming import Step
from kraftcheck.traces.jobs.step_frames import INIT, libraries
from tla_utils.mentions import Mentions, mentions
from tla_utils.overrides import ModuleSource, read_modules


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


class _Plan:
    """What does not matter of a row, in places: of each of these fields, if a step leaves it alone,
    those that get what stands there in the first row."""

    def __init__(
        self,
        first: Pieces,
        fields: Sequence[tuple[list[int], list[int]]],
        names: frozenset[str],
        entries: Sequence[tuple[int, str]],
    ) -> None:
        """fields: the places of each, and those among them that do not matter. names: of them.
        entries: places of functions by node of which one entry does, and the field of the input
        that says which."""
        self.names = names
        self.entries = entries
        self._first = first
        self._free = [places for _, places in fields]
        self._fields = [itemgetter(*places) for places, _ in fields]
        every = [at for places, _ in fields for at in places]
        self._all = itemgetter(*every) if every else None
        self._takes: dict[tuple[bool, ...], itemgetter[Any]] = {}
        self._take_all = self._take((True,) * len(fields))

    def reduced(self, before: Pieces, after: Pieces) -> tuple[Pieces, Pieces]:
        """Two rows of a step, without what does not matter to it."""
        if self._all is None:
            return before, after
        take = self._take_all
        if before is not after and self._all(before) != self._all(after):
            take = self._take(tuple([_equal(f(before), f(after)) for f in self._fields]))
        reduced = take(before + self._first)
        return reduced, reduced if before is after else take(after + self._first)

    def with_entry(self, step: Step, peers: tuple[int, ...]) -> Step:
        """The step with all entries that it left alone like the one that it may look at."""
        before, after = list(step.before), list(step.after)
        for at, name in self.entries:
            layout = step.input.pieces[0]
            node = step.input.pieces[1 + layout.paths.index(name)].value
            old, new = before[at].value, after[at].value
            if node in peers and len(old) == len(new) == len(peers):
                one = old[peers.index(node)]
                alone = [a == b and n != node for a, b, n in zip(old, new, peers, strict=True)]
                place = step.before[0].places[at - 1]
                before[at] = place.piece(_replaced(old, alone, one))
                after[at] = place.piece(_replaced(new, alone, one))
        return step._replace(before=tuple(before), after=tuple(after))

    def _take(self, alone: tuple[bool, ...]) -> itemgetter[Any]:
        """alone: whether each field was left alone. It takes from a row with the first one behind
        it."""
        known = self._takes.get(alone)
        if known is None:
            count = len(self._first)
            free = zip(self._free, alone, strict=True)
            first = {at for places, is_alone in free if is_alone for at in places}
            chosen = [at + count if at in first else at for at in range(count)]
            known = self._takes[alone] = itemgetter(*chosen)
        return known


def _replaced(entries: Sequence[Any], which: Sequence[bool], by: Any) -> tuple[Any, ...]:
    return tuple([by if other else each for each, other in zip(entries, which, strict=True)])


def _equal(one: Any, other: Any) -> bool:
    """Of pieces. Mostly those that are equal are one object."""
    if isinstance(one, tuple):
        return all([a is b or a.value == b.value for a, b in zip(one, other, strict=True)])
    return one is other or bool(one.value == other.value)


class Judged(NamedTuple):
    """A step as it is judged, in pieces, and the constants under which it is."""

    step: Step
    constants: AnyConstants


class Relevance:
    """Takes from steps what does not matter, under one set of constants and for one spec."""

    def __init__(self, constants: AnyConstants, specs: Path) -> None:
        self._constants = constants
        self._specs = specs
        self._plans: dict[tuple[int, str], tuple[_Plan | None, AnyConstants]] = {}
        self._cases: dict[tuple[int, str], Case | None] = {}
        self._peers = peers_of(constants)
        self._beginnings = {
            kind.name: Beginnings(kind.beginning, kind.row, self._peers)
            for kind in protocol_of(constants).kinds
            if kind.beginning is not None
        }

    def of(self, step: Step) -> Step:
        """The step as it is judged, as values."""
        judged = self.judged(step).step
        return judged._replace(
            before=whole(judged.before),
            input=None if judged.input is None else whole(judged.input.pieces),
            after=whole(judged.after),
            sent=tuple([whole(message.pieces) for message in judged.sent]),
        )

    def judged(self, step: Step) -> Judged:
        label = self.label(step.node, step.action, step.before, step.input)
        return self.judged_as(label, step_apart(step))

    def judged_as(self, label: str, step: Step) -> Judged:
        """The same of a step in pieces, with the action that is judged."""
        plan, constants = self._known(step.node, label)
        before, after = step.before, step.after
        if plan is not None:
            before, after = plan.reduced(before, after)
        # Not `_replace`, which takes three times as long, for every step that is new.
        judged = Step(label, step.node, before, step.input, after, step.sent, step.ignored)
        if plan is not None and plan.entries:
            judged = plan.with_entry(judged, self._peers)
        beginnings = self._beginnings.get(kind_of(self._constants, step.node).name)
        if beginnings is not None:
            judged = beginnings.without(judged)
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
        kind = kind_of(self._constants, node)
        fields = frozenset(kind.row.__struct_fields__)
        of = kind.beginning
        if of is not None and label in of.actions:
            fields -= {way.partition(".")[0] for way in (*of.logs, *of.noted)}
        return (fields if plan is None else fields - plan.names), constants

    def _known(self, node: int, label: str) -> tuple[_Plan | None, AnyConstants]:
        """What is done to rows, and the constants, by the action that is judged."""
        known = self._plans.get((node, label))
        if known is None:
            kind = kind_of(self._constants, node)
            found = mentions_of(kind.name, label, self._specs)
            constants = self._relevant_constants(node, found)
            known = _plan(kind.name, label, constants, self._specs), constants
            self._plans[node, label] = known
        return known

    def _relevant_constants(self, node: int, mentioned: Mentions) -> AnyConstants:
        constants = self._constants
        kind = kind_of(constants, node)
        free = {
            field: value
            for field, value in protocol_of(constants).unmentioned.items()
            if constant_name(field) not in mentioned.constants
        }
        for some in (free, *[{field: value} for field, value in free.items()]):
            other = replace(constants, **some)
            if node in takers_of(other) and kind_of(other, node) is kind:
                constants = other
                if some is free:
                    break
        return constants


class AsRecorded(Relevance):
    """Takes nothing from steps: what operators look at that others have put there is not known."""

    def label(self, node: int, action: str, before: Any, input: Any) -> str:
        return action

    def judged_as(self, label: str, step: Step) -> Judged:
        return Judged(step._replace(action=label), self._constants)


@lru_cache(maxsize=4096)
def _plan(of: str, label: str, constants: AnyConstants, specs: Path) -> _Plan | None:
    """For a kind of node by its name. None: all fields matter."""
    kind, mentioned = kind_named(of), mentions_of(of, label, specs)
    # An operator that makes a row from nothing sets fields that it does not mention.
    if label == INIT or first_row(kind) in mentioned.operators:
        return None
    initial = kind.initial(constants)
    first = apart(initial)
    layout = first[0]
    names: set[str] = set()
    fields: list[tuple[list[int], list[int]]] = []
    entries: list[tuple[int, str]] = []
    by_node = {field.name for field in fields_of(layout.struct) if field.many is Kind.BY_NODE}
    for name in initial.__struct_fields__:
        value, field, places = getattr(initial, name), spec_name(name), layout.under(name)
        if field not in mentioned.fields:
            fields.append((places, places))
            names.add(name)
        elif field not in mentioned.whole and isinstance(value, msgspec.Struct):
            # A record that is only a way to fields within: those to which no way leads.
            ends = {end for way, end in mentioned.paths if way == field}
            free = [n for n in value.__struct_fields__ if spec_name(n) not in ends]
            fields.append((places, [at for n in free for at in layout.under(f"{name}.{n}")]))
            names.add(name)
        elif name in by_node and mentioned.entries.get(field):
            entries.append((places[0], snake(mentioned.entries[field])))
            names.add(name)
    return _Plan(first, fields, frozenset(names), entries)
