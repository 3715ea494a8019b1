"""What a step is judged on: the fields that its handler mentions, and of logs their ends.

# Slices

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

Likewise for constants: what no definition mentions may have any value, so the step is judged under
the one in `Protocol.unmentioned`, together with steps of runs that had others. The nodes stay, and
so does a constant that says of which kind the node is.

Some handlers do little in most cases and much in a few. The spec has an action of its own for such
a case (`HandleHeartbeatResponse_Unmoved`), which the handler is built from, and which is disabled
in every other case. So it is the specification that says in which case a step is: a step that is
put into a wrong one here (`NodeKind.cases`) is refused, however good it is.

Two definitions of one name cannot be told apart here; TLA+ has none in modules that extend each
other. The tests judge recorded steps and damaged ones in both forms.

# Cuts, where a kind of node says so

A log grows, and most handlers append to it, compare it with another copy, or look for what is open
at its end. So steps that differ only in what a log began with are one step. In the form that is
judged, all logs of a step lack what they have in common at their beginning, up to behind a record
at which such a beginning may end (`Beginning.ends`), and positions are counted from there. The last
record of each stays, and no position is left out in which the step has something. Of a set to which
handlers only add positions (`Beginning.noted`), those that lie in the beginning are left out as
well, if they are there before and after.

Why that is sound. Let b be a sequence of records that ends with such a record, and b + s a step
with b before each of its logs, none of which is empty in s, and all its positions higher by the
length of b. A handler of which `Beginning.actions` says so does nothing with a log than append to
it, compare it with another that has b before it as well, look at its last record, count its
records, take those behind a position, and look for records with no end behind them, or for what
lies between two ends: b has nothing of the first kind, and what it has of the second lies in it
whole. With positions it does nothing than compare them, pass them on and count from them, so that
those it adds to a set lie behind b. So each outcome of b + s is b + o for an outcome o of s, and
the step is allowed with b iff it is allowed without. Nothing is left out that before and after do
not have in common: a step that changed a beginning keeps it, and is refused.

Which handlers keep to that is said with the kind of node, and tested: TLC judges recorded steps and
damaged ones in both forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.fields import Kind, fields_of, spec_name
from kraftcheck.reference.kit.protocol import Beginning, Case, NodeKind
from kraftcheck.reference.protocols import (
    AnyConstants,
    kind_named,
    kind_of,
    peers_of,
    protocol_of,
    takers_of,
)
from kraftcheck.traces.steps.symmetry import (
    Item,
    Layout,
    Pieces,
    Renaming,
    Renumbering,
    Step,
    apart,
    item_of,
    layout_of,
    step_apart,
    whole,
)
from kraftcheck.traces.steps.translation import INIT, constant_name, libraries
from tla_utils.mentions import Mentions, mentions
from tla_utils.overrides import ModuleSource, read_modules

# --- Cuts: logs without their beginnings ---

_Way: TypeAlias = tuple[int, tuple[str, ...]]
"""To a field of a row in pieces: its place, and the names of fields from there."""


class Beginnings:
    """Leaves them out of steps in pieces, of nodes of one kind."""

    def __init__(self, of: Beginning, row: type[msgspec.Struct], peers: tuple[int, ...]) -> None:
        """row: the type of their rows. peers: whom functions by node have entries of."""
        self._of = of
        self._layout = layout_of(row)
        self._logs = [_way(self._layout, log) for log in of.logs]
        self._noted = [_way(self._layout, noted) for noted in of.noted]
        self._peers = peers
        self._lowering: dict[int, Renaming] = {}

    def without(self, step: Step) -> Step:
        """The step without what its logs begin with, if its action is one of those."""
        if step.action not in self._of.actions:
            return step
        before, after = step.before, step.after
        bare = self._bare(before)
        bare_after = bare if after is before else self._bare(after)
        count = self._common(step, bare, bare_after)
        if count == 0:
            return step
        noted, noted_after = self._left(before, after, count)
        return step._replace(
            before=self._row(bare, noted, count),
            input=self._item(step.input, count),
            after=self._row(bare_after, noted_after, count),
            sent=tuple([self._item(message, count) for message in step.sent]),
        )

    def _common(self, step: Step, before: Pieces, after: Pieces) -> int:
        """How many records may be left out of each log."""
        logs = [*_found(before, self._logs)]
        if after is not before:
            logs += _found(after, self._logs)
        positions = [p for row in (before, after) for piece in row[1:] for p in piece.positions]
        positions += [p for item in (step.input, *step.sent) for p in item.positions]
        count = max(0, min([*[len(log) - 1 for log in logs], *positions], default=0))
        for other in logs[1:]:
            if other is not logs[0]:
                count = _alike(logs[0], other, count)
        while count and logs and not self._of.ends(logs[0][count - 1]):
            count -= 1
        return count

    def _bare(self, row: Pieces) -> Pieces:
        """The row with nothing in the sets of positions."""
        return _changed(row, self._noted, repeat(())) if self._noted else row

    def _left(
        self, before: Pieces, after: Pieces, count: int
    ) -> tuple[list[Sequence[int]], list[Sequence[int]]]:
        """What is left of the sets of positions, in both rows."""
        if not self._noted:
            return [], []
        sets, sets_after = _found(before, self._noted), _found(after, self._noted)
        both = list(zip(sets, sets_after, strict=True))
        out = [{p for p in one if p <= count and p in other} for one, other in both]
        left = [
            [tuple([p - count for p in each if p not in gone]) for each in pair]
            for pair, gone in zip(both, out, strict=True)
        ]
        return [one for one, _ in left], [other for _, other in left]

    def _row(self, bare: Pieces, noted: Sequence[Sequence[int]], count: int) -> Pieces:
        lowered = self._lowered(bare, count)
        if self._logs:
            logs = [log[count:] for log in _found(lowered, self._logs)]
            lowered = _changed(lowered, self._logs, iter(logs))
        return _changed(lowered, self._noted, iter(noted)) if self._noted else lowered

    def _item(self, item: Item, count: int) -> Item:
        return item_of(self._lowered(item.pieces, count)) if item.positions else item

    def _lowered(self, pieces: Pieces, count: int) -> Pieces:
        """The same with its positions lowered."""
        layout: Layout = pieces[0]
        lowering = self._lowering.get(count)
        if lowering is None:
            lowering = Renaming(self._peers, self._peers, int, Renumbering(shift=count))
            self._lowering[count] = lowering
        changed: dict[int, Any] = {}
        for at, piece in enumerate(pieces[1:], 1):
            if piece.positions:
                renaming = layout.places[at - 1].renaming
                assert renaming is not None, "it has positions"
                changed[at] = renaming(lowering, piece.value)
        return _with(pieces, changed) if changed else pieces


def _way(layout: Layout, path: str) -> _Way:
    names = path.split(".")
    for depth in range(1, len(names) + 1):
        place = ".".join(names[:depth])
        if place in layout.paths:
            return layout.paths.index(place) + 1, tuple(names[depth:])
    raise ValueError(f"a {layout.struct.__name__} has no field {path}")


def _found(row: Pieces, ways: Sequence[_Way]) -> list[Any]:
    """What stands where the ways lead to: of functions in each entry."""
    return [each for at, way in ways for each in _at(row[at].value, way)]


def _at(value: Any, way: Sequence[str]) -> Iterator[Any]:
    if not way:
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _at(each, way)
    elif hasattr(value, way[0]):
        yield from _at(getattr(value, way[0]), way[1:])


def _changed(row: Pieces, ways: Sequence[_Way], values: Iterator[Any]) -> Pieces:
    """The row with other values where the ways lead to, in the order of `_found`."""
    changed: dict[int, Any] = {}
    for at, way in ways:
        changed[at] = _put(changed.get(at, row[at].value), way, values.__next__)
    return _with(row, changed)


def _put(value: Any, way: Sequence[str], other: Callable[[], Any]) -> Any:
    if not way:
        return other()
    if isinstance(value, tuple):
        return tuple([_put(each, way, other) for each in value])
    if not hasattr(value, way[0]):
        return value
    inner = _put(getattr(value, way[0]), way[1:], other)
    return replace(value, **{way[0]: inner})


def _with(pieces: Pieces, changed: dict[int, Any]) -> Pieces:
    """The same with other values in some places."""
    layout: Layout = pieces[0]
    found = list(pieces)
    for at, value in changed.items():
        place = layout.places[at - 1]
        found[at] = place.known.get(value) or place.piece(value)
    return tuple(found)


def _alike(one: Sequence[Any], other: Sequence[Any], most: int) -> int:
    """How many records two logs have in common at their beginning, if not more than that."""
    if one[:most] == other[:most]:
        return most
    pairs = zip(one[:most], other[:most], strict=True)
    return next(at for at, (a, b) in enumerate(pairs) if a != b)


# --- Slices: rows without the fields that no definition mentions ---


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
    """What does not matter of a row, in places.

    If a step leaves one of these fields alone, its places get what stands there in the first row.
    """

    def __init__(
        self,
        first: Pieces,
        fields: Sequence[tuple[list[int], list[int]]],
        names: frozenset[str],
        entries: Sequence[tuple[int, str]],
    ) -> None:
        """fields: the places of each, and those among them that do not matter.

        names: of them. entries: places of functions by node of which one entry does, and the field
        of the input that says which.
        """
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
        """alone: whether each field was left alone.

        It takes from a row with the first one behind it.
        """
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


class SlicedStep(NamedTuple):
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

    def relevant(self, step: Step) -> Step:
        """The step as it is judged, as values."""
        judged = self.judged(step).step
        return judged._replace(
            before=whole(judged.before),
            input=None if judged.input is None else whole(judged.input.pieces),
            after=whole(judged.after),
            sent=tuple([whole(message.pieces) for message in judged.sent]),
        )

    def judged(self, step: Step) -> SlicedStep:
        label = self.label(step.node, step.action, step.before, step.input)
        return self.judged_as(label, step_apart(step))

    def judged_as(self, label: str, step: Step) -> SlicedStep:
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
        return SlicedStep(judged, constants)

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
        """Give the fields of a row that are judged as they are, whatever became of them.

        Also give the constants under which an action is judged.
        """
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

    def judged_as(self, label: str, step: Step) -> SlicedStep:
        return SlicedStep(step._replace(action=label), self._constants)


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
