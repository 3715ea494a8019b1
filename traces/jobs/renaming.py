"""How a step is renamed: whatever fields declare as nodes, values, ranks and positions
(reference/kit/fields.py). What that is good for says canonical.py.

Law of this file: nothing here knows of a protocol, nor which renaming is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.fields import NODES, Field, Kind, fields_of, holds

FIRST_VALUE: Final = 1
"""Of a client; values below it are the log's own."""

_encode = msgspec.msgpack.Encoder().encode


class Step(NamedTuple):
    """One recorded step. `input` is None for the Init step, whose `before` is its `after`.

    Rows, inputs and messages are those of some protocol (protocols.py).
    """

    action: str
    node: int
    before: Any
    input: Any
    after: Any
    sent: tuple[Any, ...]
    ignored: str


Names: TypeAlias = tuple[int, ...]
"""Per node, in their order, the name that it gets."""


class Renumbering(NamedTuple):
    """How a step's numbers that are neither nodes nor values are renamed.

    ranks: those of the step in ascending order, from 0 on; each becomes its place there, or what
    stands there in `to`. shift: by how much positions are lowered.
    """

    ranks: tuple[int, ...] = ()
    shift: int = 0
    to: tuple[int, ...] | None = None


UNCHANGED: Final = Renumbering()


class Renaming:
    """One bijection of the nodes, one of the values, and a renumbering.

    nodes: all that there are, sorted. number: the number of a client's value. forms: for whoever
    asks for encodings under it again.
    """

    def __init__(
        self,
        nodes: tuple[int, ...],
        names: Names,
        number: Callable[[int], int],
        renumbering: Renumbering = UNCHANGED,
    ) -> None:
        self.names = names
        self.number = number
        self.shift = renumbering.shift
        self._name = dict(zip(nodes, names, strict=True))
        self._order = sorted(range(len(nodes)), key=lambda at: names[at])
        self.forms: dict[Any, bytes] = {}
        self._known: dict[Any, Any] = {}
        to = count() if renumbering.to is None else renumbering.to
        self._ranks = dict(zip(renumbering.ranks, to, strict=False))

    def node(self, node: int) -> int:
        return self._name.get(node, node)

    def value(self, value: int) -> int:
        return value if value < FIRST_VALUE else self.number(value)

    def rank(self, rank: int) -> int:
        return self._ranks.get(rank, rank)

    def position(self, position: int) -> int:
        return position - self.shift

    def item(self, item: msgspec.Struct) -> Any:
        """A struct with all that it has. What becomes of one that has no values does not depend on
        the step's, so it is remembered: many logs have most records in common."""
        if holds(type(item), Kind.VALUE):
            return self._renamed(item)
        known = self._known.get(item)
        if known is None:
            known = self._known[item] = self._renamed(item)
        return known

    def _renamed(self, item: msgspec.Struct) -> Any:
        changed = {}
        for name, renaming in _plan(type(item)):
            old = getattr(item, name)
            new = renaming(self, old)
            if new is not old:
                changed[name] = new
        return replace(item, **changed) if changed else item

    def by_node(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(entries) != len(self._order):
            raise ValueError(f"{len(entries)} entries of {len(self._order)} nodes")
        return tuple([entries[at] for at in self._order])

    def step(self, step: Step) -> Step:
        """The whole step."""
        return Step(
            action=step.action,
            node=self.node(step.node),
            before=self.item(step.before),
            input=None if step.input is None else self.item(step.input),
            after=self.item(step.after),
            sent=tuple(sorted([self.item(m) for m in step.sent], key=_encode)),
            ignored=step.ignored,
        )


Renamed: TypeAlias = Callable[[Renaming, Any], Any]
"""What becomes of a value."""

_OF_KIND: Final[Mapping[Kind, Renamed]] = {
    **dict.fromkeys(NODES, Renaming.node),
    Kind.VALUE: Renaming.value,
    Kind.RANK: Renaming.rank,
    Kind.POSITION: Renaming.position,
}


@cache
def _plan(struct: type[msgspec.Struct]) -> tuple[tuple[str, Renamed], ...]:
    """The fields of a type that are renamed, and how."""
    plans = [(field.name, renaming_of(field)) for field in fields_of(struct)]
    return tuple([(name, renaming) for name, renaming in plans if renaming is not None])


def renaming_of(field: Field) -> Renamed | None:
    """What becomes of what a field holds; None: no renaming changes it."""
    part: Renamed | None = None
    if field.of is not None:
        part = _OF_KIND[field.of]
    elif any(_plan(struct) for struct in field.structs):
        part = Renaming.item
    if not field.is_tuple:
        return part
    if field.many is Kind.BY_NODE:
        return Renaming.by_node if part is None else _reordered(part)
    if part is None:
        return None
    if field.many is Kind.SET:
        return _sorted_members(part, None if field.of in NODES else _encode)
    return _members(part)


def _members(part: Renamed) -> Renamed:
    def sequence(self: Renaming, members: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([part(self, each) for each in members]) if members else members

    return sequence


def _reordered(part: Renamed) -> Renamed:
    def by_node(self: Renaming, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.by_node(tuple([part(self, each) for each in entries]))

    return by_node


def _sorted_members(part: Renamed, key: Callable[[Any], bytes] | None) -> Renamed:
    def members(self: Renaming, members: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(sorted([part(self, each) for each in members], key=key)) if members else ()

    return members


def unrenamed(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a type that every renaming leaves as they are."""
    renamed = {name for name, _ in _plan(struct)}
    return tuple([name for name in struct.__struct_fields__ if name not in renamed])
