"""Logs without their beginnings, for handlers that look at no more than their ends.

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
from itertools import repeat
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import Beginning
from kraftcheck.traces.jobs.pieces import Item, Layout, Pieces, item_of, layout_of
from kraftcheck.traces.jobs.renaming import Renaming, Renumbering, Step

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
