"""One form for all steps that differ only in how nodes and values are called (L9).

Runs number their nodes and values as it happens; the specification tells neither apart. So a step
is renamed into a representative of its class before it is judged, and one verdict serves the class.
What is renamed is what the fields' declarations say (reference/kit/fields.py):

* nodes: one bijection of the nodes onto themselves, applied to the whole step (node, row, input,
  after, sent), which maps each set of those whom handlers know from the others (`Protocol.apart`)
  onto itself. The acting node becomes the first one. The others are told apart by a signature that
  no renaming changes; what signatures leave open is settled by trying every order and taking the
  step with the least encoding. A node that stands alone in its kind (a partition's controller)
  keeps its name, and so do those that it knows: its elections know the order of assignment (C9).
* values: numbered from 1 in the order of their first appearance in the row before, the input, the
  row after, the messages sent. The log's own values, below 1, stay.
* ranks: numbered in their order from 0 on. -1, and 0 of the beginning, stay.
* positions, in the steps of the actions that only compare them, pass them on and count from them
  (`NodeKind.shifted`): moved so that the least is the first there is.

Why that is sound. A bijection p of the nodes maps outcomes to outcomes, p(Step_A(n, row, input)) =
Step_A(p(n), p(row), p(input)), if Step_A compares node ids for equality only and mentions none by
name; p leaves the set of nodes as it is, since it maps that set onto itself, and leaves those who
are no nodes alone. Likewise for values, of which no handler inspects one, and for ranks under maps
that keep their order. The handlers of voters and of brokers keep to that (tests/traces/jobs reads
the modules and says so, and lets TLC judge renamed steps). Epochs of leaders, offsets of logs,
clients and producers are not renamed. The constants belong to the key and are not renamed: the
nodes as a set are what they were.

Chaining and provenance are checked on recorded data, never on this form.

Laws of this file: equal forms are renamings of one step (always, since a form *is* a renaming of
its step, whatever representative was picked); and all renamings of a step that the reference can
take have equal forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import permutations, product
from math import factorial, prod
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import astuple, replace

from reference.kit.fields import NODES, Field, Kind, fields_of, holds
from reference.protocols import AnyConstants, kind_of, peers_of, protocol_of, takers_of
from tla_utils.errors import ToolError

UNNUMBERED: Final = -1
"""In place of a value that has no number yet, where messages are put in an order."""
FIRST_VALUE: Final = 1
"""Of a client; values below it are the log's own."""
NO_RANK: Final = -1
MEMO_LIMIT: Final = 200_000
"""How many renamed rows and messages are kept at most, each a few hundred bytes."""
MOST_ORDERS: Final = 120
"""With more orders than this to try, signatures alone decide: sound, but it may tell two renamings
of one step apart. Five nodes have at most 24 orders."""

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


class CanonicalStep(NamedTuple):
    """The representative of a class of steps, its parts encoded (msgpack).

    `input` is empty for an Init step; `sent` is in ascending order of bytes.
    """

    action: str
    node: int
    before: bytes
    input: bytes
    after: bytes
    sent: tuple[bytes, ...]
    ignored: str

    def digest(self, constants: bytes) -> bytes:
        """128 bits that name this class under these (encoded) constants (L8)."""
        parts = (constants, *self[:5], *self.sent, self.ignored)
        return blake2b(_encode(parts), digest_size=16).digest()


Names: TypeAlias = tuple[int, ...]
"""Per node, in their order, the name that it gets."""


class Renumbering(NamedTuple):
    """How a step's numbers that are neither nodes nor values are renamed.

    ranks: those of the step in ascending order, from 0 on; each becomes its place there. shift: by
    how much positions are lowered.
    """

    ranks: tuple[int, ...] = ()
    shift: int = 0


UNCHANGED: Final = Renumbering()


class Renaming:
    """One bijection of the nodes, one of the values, and a renumbering.

    nodes: all that there are, sorted. number: the number of a client's value; it may be another one
    for each item, since what is remembered holds no values.
    """

    def __init__(
        self,
        nodes: tuple[int, ...],
        names: Names,
        number: Callable[[int], int],
        renumbering: Renumbering = UNCHANGED,
    ) -> None:
        self.number = number
        self._name = dict(zip(nodes, names, strict=True))
        self._order = sorted(range(len(nodes)), key=lambda at: names[at])
        self._ranks = {rank: at for at, rank in enumerate(renumbering.ranks)}
        self._shift = renumbering.shift
        self._known: dict[Any, Any] = {}

    def node(self, node: int) -> int:
        return self._name.get(node, node)

    def value(self, value: int) -> int:
        return value if value < FIRST_VALUE else self.number(value)

    def rank(self, rank: int) -> int:
        return self._ranks.get(rank, rank)

    def position(self, position: int) -> int:
        return position - self._shift

    def item(self, item: msgspec.Struct) -> Any:
        """A struct with all that it has. What becomes of one that has no values does not depend on
        the step's, so it is remembered."""
        if _plan(type(item)).has_values:
            return self.once(item)
        known = self._known.get(item)
        if known is None:
            known = self._known[item] = self.once(item)
        return known

    def once(self, item: msgspec.Struct) -> Any:
        """The same of one that nobody asks for again: nothing is looked up but what it has."""
        changed = {}
        for name, renaming in _plan(type(item)).fields:
            old = getattr(item, name)
            new = renaming(self, old)
            if new is not old:
                changed[name] = new
        return replace(item, **changed) if changed else item

    def by_node(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
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


_Part: TypeAlias = Callable[[Renaming, Any], Any]

_OF_KIND: Final[Mapping[Kind, _Part]] = {
    **dict.fromkeys(NODES, Renaming.node),
    Kind.VALUE: Renaming.value,
    Kind.RANK: Renaming.rank,
    Kind.POSITION: Renaming.position,
}


class _Plan(NamedTuple):
    """Of a type: whether it has values, and the fields that are renamed, and how."""

    has_values: bool
    fields: tuple[tuple[str, _Part], ...]


@cache
def _plan(struct: type[msgspec.Struct]) -> _Plan:
    plans = [(field.name, _renaming(field)) for field in fields_of(struct)]
    return _Plan(
        holds(struct, Kind.VALUE),
        tuple([(name, renaming) for name, renaming in plans if renaming is not None]),
    )


def _renaming(field: Field) -> _Part | None:
    part: _Part | None = None
    if field.of is not None:
        part = _OF_KIND[field.of]
    elif any(_plan(struct).fields for struct in field.structs):
        part = _one_field(field.structs) or Renaming.item
    if not field.is_tuple:
        return part
    if field.many is Kind.BY_NODE:
        return Renaming.by_node if part is None else _reordered(part)
    if part is None:
        return None
    if field.many is Kind.SET:
        return _sorted_members(part, None if field.of in NODES else _encode)
    return _members(part)


def _one_field(structs: tuple[type[msgspec.Struct], ...]) -> _Part | None:
    """Of a type in which one field is renamed: records are, and there are many of them."""
    if len(structs) > 1 or len(_plan(structs[0]).fields) > 1:
        return None
    ((name, part),) = _plan(structs[0]).fields

    def renamed(self: Renaming, item: Any) -> Any:
        old = getattr(item, name)
        new = part(self, old)
        return item if new == old else replace(item, **{name: new})

    return renamed


def _members(part: _Part) -> _Part:
    def sequence(self: Renaming, members: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([part(self, each) for each in members]) if members else members

    return sequence


def _reordered(part: _Part) -> _Part:
    def by_node(self: Renaming, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.by_node(tuple([part(self, each) for each in entries]))

    return by_node


def _sorted_members(part: _Part, key: Callable[[Any], bytes] | None) -> _Part:
    def members(self: Renaming, members: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(sorted([part(self, each) for each in members], key=key)) if members else ()

    return members


def unrenamed(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a type that every renaming leaves as they are."""
    renamed = {name for name, _ in _plan(struct).fields}
    return tuple([name for name in struct.__struct_fields__ if name not in renamed])


# --- What of an item is to be renamed ---


class Facts(NamedTuple):
    """Client values, each once, in the order of first appearance; ranks; positions."""

    values: tuple[int, ...]
    ranks: frozenset[int]
    positions: tuple[int, ...]


_PLACES: Final = {Kind.VALUE: 0, Kind.RANK: 1, Kind.POSITION: 2}
_Found: TypeAlias = tuple[list[int], list[int], list[int]]
"""Numbers of each kind, by its place."""
_Collector: TypeAlias = Callable[[Any, _Found], None]


def facts_of(item: Any) -> Facts:
    """Of a row, an input or a message, with all that it has."""
    found: _Found = ([], [], [])
    _collect(item, found)
    values, ranks, positions = found
    own = tuple(dict.fromkeys([value for value in values if value >= FIRST_VALUE]))
    return Facts(own, frozenset(ranks), tuple(positions))


@lru_cache(maxsize=MEMO_LIMIT)
def _facts_of_part(item: Any) -> Facts:
    """Of what many rows have in common."""
    return facts_of(item)


def _collect(item: msgspec.Struct, found: _Found) -> None:
    for collector in _collectors(type(item)):
        collector(item, found)


@cache
def _collectors(struct: type[msgspec.Struct]) -> tuple[_Collector, ...]:
    return tuple([c for c in map(_collector, fields_of(struct)) if c is not None])


def _collector(field: Field) -> _Collector | None:
    content, place = attrgetter(field.name), _PLACES.get(field.of) if field.of else None
    if place is not None:
        if field.is_tuple:
            return lambda item, found: found[place].extend(content(item))
        return lambda item, found: found[place].append(content(item))
    if not any(_collectors(struct) for struct in field.structs):
        return None
    if field.is_tuple:
        return _collector_of_members(content, field.structs)
    if any(holds(struct, Kind.VALUE) for struct in field.structs):
        return lambda item, found: _collect(content(item), found)

    def part(item: Any, found: _Found) -> None:
        facts = _facts_of_part(content(item))
        found[1].extend(facts.ranks)
        found[2].extend(facts.positions)

    return part


def _collector_of_members(
    content: Callable[[Any], Any], structs: tuple[type[msgspec.Struct], ...]
) -> _Collector:
    plain = _plain_field(structs)
    if plain is not None:
        value, place = plain
        return lambda item, found: found[place].extend([value(each) for each in content(item)])

    def members(item: Any, found: _Found) -> None:
        for each in content(item):
            _collect(each, found)

    return members


def _plain_field(
    structs: tuple[type[msgspec.Struct], ...],
) -> tuple[Callable[[Any], int], int] | None:
    """Of a type with one number that is collected, and no more: records are, and there are many of
    them."""
    fields = fields_of(structs[0])
    of = [field for field in fields if field.structs or field.of in _PLACES]
    if len(structs) > 1 or len(of) > 1 or of[0].is_tuple or of[0].of not in _PLACES:
        return None
    return attrgetter(of[0].name), _PLACES[of[0].of]


# --- What an item says of each node ---

_Told: TypeAlias = tuple[tuple[object, ...], ...]
"""By node, in their order."""
_Column: TypeAlias = Callable[["Signatures", Any], Sequence[object]]
"""What one field says of each node."""


class Signatures:
    """What items say of nodes, in terms that no renaming of nodes and values changes.

    Sequences of records are left out: a signature need not tell everything.
    """

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self.nodes = nodes
        self._known: dict[Any, _Told] = {}

    def of(self, item: msgspec.Struct) -> _Told:
        known = self._known.get(item)
        if known is None:
            known = self._known[item] = self.once(item)
        return known

    def once(self, item: msgspec.Struct) -> _Told:
        """The same of one that nobody asks for again."""
        columns = [column(self, item) for column in _columns(type(item))]
        return tuple(zip(*columns, strict=True)) if columns else ((),) * len(self.nodes)

    def clear(self) -> None:
        self._known.clear()


@cache
def _columns(struct: type[msgspec.Struct]) -> tuple[_Column, ...]:
    return tuple([c for c in map(_column, fields_of(struct)) if c is not None])


def _column(field: Field) -> _Column | None:
    content = attrgetter(field.name)
    if field.many is Kind.BY_NODE:
        if field.structs:
            return lambda _, item: [astuple(entry) for entry in content(item)]
        return lambda _, item: content(item)
    if field.of in NODES:
        return _column_of_nodes(content, field)
    if field.many is Kind.SET:
        names = [f.name for each in field.structs for f in fields_of(each) if f.of in NODES]
        return _column_of_members(content, names) if names else None
    if not field.is_tuple and any(_columns(struct) for struct in field.structs):
        return lambda signatures, item: signatures.of(content(item))
    return None


def _column_of_nodes(content: Callable[[Any], Any], field: Field) -> _Column:
    if not field.is_tuple:

        def is_it(signatures: Signatures, item: Any) -> Sequence[object]:
            named = content(item)
            return [node == named for node in signatures.nodes]

        return is_it

    def places(signatures: Signatures, item: Any) -> Sequence[object]:
        """In a sequence; in a set, whether it is there."""
        listed = content(item)
        if not listed or field.many is Kind.SET:
            return [node in listed for node in signatures.nodes]
        return [listed.index(node) if node in listed else -1 for node in signatures.nodes]

    return places


def _column_of_members(content: Callable[[Any], Any], names: Sequence[str]) -> _Column:
    """Whether any member names the node."""

    def named(signatures: Signatures, item: Any) -> Sequence[object]:
        found = {getattr(each, name) for each in content(item) for name in names}
        return [node in found for node in signatures.nodes]

    return named


class _Item:
    """A row, an input or a message, which many steps have: what of it is to be renamed, what it
    says of each node, and its encoded forms, by names, numbers of its values, and renumbering."""

    __slots__ = ("facts", "forms", "item", "told")

    def __init__(self, item: Any) -> None:
        self.item = item
        self.facts = facts_of(item)
        self.told: _Told | None = None
        self.forms: dict[tuple[Names, tuple[int, ...], Renumbering], bytes] = {}


_Form: TypeAlias = tuple[tuple[bytes, ...], tuple[bytes, ...]]
"""The rows with the input between them, and the messages."""


class Canonicaliser:
    """Finds canonical forms under one set of constants, and remembers what it has renamed.

    What it remembers changes no result; it is forgotten when there is much of it.
    """

    def __init__(self, constants: AnyConstants) -> None:
        self.constants = constants
        self._items: dict[Any, _Item] = {}
        self._steps: dict[tuple[str, int, str, tuple[_Item, ...]], CanonicalStep] = {}
        """By action, node, why the input was ignored, and the items, each of them one object."""
        self._renamings: dict[tuple[Names, Renumbering], Renaming] = {}
        self._takers = frozenset(takers_of(constants))
        self._peers = peers_of(constants)
        apart = protocol_of(constants).apart(constants)
        self._kinds = [
            next((at for at, each in enumerate(apart) if node in each), -1) for node in self._peers
        ]
        self._first_names = {node: self._named((node,))[0] for node in self._peers}
        self._names: dict[Names, Names] = {}
        """Of nodes in an order: the name of each, in their own order."""
        self._signatures = Signatures(self._peers)
        self._first_rows_differ = any(
            field.of in NODES and getattr(constants, field.name) != self._peers
            for field in fields_of(constants.__class__)
        )

    def canonical(self, step: Step) -> CanonicalStep:
        """The representative of the step's class.

        Raises ToolError for a node that there is none of, and for rows of others.
        """
        if step.node not in self._takers:
            raise ToolError(f"{step.action} was recorded for {step.node}, which is no node")
        if max(len(self._items), len(self._steps)) > MEMO_LIMIT:
            self._items.clear()
            self._steps.clear()
            self._signatures.clear()
            self._renamings.clear()
        outside = [self._item(item) for item in _outside(step)]
        sent = [self._item(message) for message in step.sent]
        key = (step.action, step.node, step.ignored, (*outside, *sent))
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = self._representative(step, outside, sent)
        return known

    def _representative(
        self, step: Step, outside: Sequence[_Item], sent: Sequence[_Item]
    ) -> CanonicalStep:
        numbers = _extend({}, [value for each in outside for value in each.facts.values])
        try:
            renumbering = self._renumbering(step, [*outside, *sent])
            forms = [
                self._form(outside, sent, names, numbers, renumbering)
                for names in self._bijections(step, outside)
            ]
        except (ValueError, IndexError) as error:
            raise ToolError(
                f"{step.action} was recorded with a row that is not one of the nodes "
                f"{self._peers}: {error}"
            ) from error
        (before, *taken, after), messages = min(forms)
        node = self._first_names[step.node] if self._is_renamed(step) else step.node
        input = taken[0] if taken else b""
        return CanonicalStep(step.action, node, before, input, after, messages, step.ignored)

    def _item(self, item: Any) -> _Item:
        known = self._items.get(item)
        if known is None:
            known = self._items[item] = _Item(item)
        return known

    def _is_renamed(self, step: Step) -> bool:
        """First rows are not, where constants name some of the nodes."""
        named = step.input is None and self._first_rows_differ
        return step.node in self._peers and not named

    def _bijections(self, step: Step, outside: Sequence[_Item]) -> Iterator[Names]:
        """Names for the nodes, in their order: the acting one is the first, the rest as signed."""
        if not self._is_renamed(step):
            yield self._peers
            return
        for others in self._orders(step.node, outside):
            order = (step.node, *others)
            names = self._names.get(order)
            if names is None:
                names = self._names[order] = self._named(order)
            yield names

    def _named(self, order: Names) -> Names:
        """The names of nodes in this order: of those that handlers do not tell apart the first."""
        kind = dict(zip(self._peers, self._kinds, strict=True))
        free = {of: iter([n for n in self._peers if kind[n] == of]) for of in kind.values()}
        names = {node: next(free[kind[node]]) for node in order}
        return tuple([names[node] for node in sorted(order)])

    def _orders(self, acting: int, outside: Sequence[_Item]) -> Iterator[Names]:
        """The orders of the other nodes among which the least form is looked for."""
        others = [at for at, node in enumerate(self._peers) if node != acting]
        kinds = [
            [at for at in others if self._kinds[at] == kind] for kind in sorted({*self._kinds})
        ]
        groups = self._told_apart([kind for kind in kinds if kind], outside[0])
        for item in outside[1:]:
            if len(groups) < len(others):
                groups = self._told_apart(groups, item)
        if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
            yield tuple([self._peers[at] for group in groups for at in group])
            return
        for parts in product(*[permutations(group) for group in groups]):
            yield tuple([self._peers[at] for part in parts for at in part])

    def _told_apart(self, groups: list[list[int]], item: _Item) -> list[list[int]]:
        """Places of nodes in finer groups: those of one group of which the item says the same."""
        told = item.told
        if told is None:
            told = item.told = self._signatures.once(item.item)
        finer: list[list[int]] = []
        for group in groups:
            classes: dict[tuple[object, ...], list[int]] = {}
            for at in group:
                classes.setdefault(told[at], []).append(at)
            finer += [classes[each] for each in sorted(classes)] if len(classes) > 1 else [group]
        return finer

    def _form(
        self,
        outside: Sequence[_Item],
        sent: Sequence[_Item],
        names: Names,
        numbers: Mapping[int, int],
        renumbering: Renumbering,
    ) -> _Form:
        def encoded(item: _Item, numbers: Mapping[int, int]) -> bytes:
            return self._encode(item, names, numbers, renumbering)

        messages = sorted([encoded(each, numbers) for each in sent])
        if any([value not in numbers for each in sent for value in each.facts.values]):
            # Never so in a step of the reference, which sends what it has.
            order = sorted(sent, key=lambda each: encoded(each, numbers))
            numbers = _extend(numbers, [v for each in order for v in each.facts.values])
            messages = sorted([encoded(each, numbers) for each in sent])
        return tuple([encoded(each, numbers) for each in outside]), tuple(messages)

    def _encode(
        self,
        item: _Item,
        names: Names,
        numbers: Mapping[int, int],
        renumbering: Renumbering,
    ) -> bytes:
        own = tuple([numbers.get(value, UNNUMBERED) for value in item.facts.values])
        key = (names, own, renumbering)
        known = item.forms.get(key)
        if known is None:
            renaming = self._renamings.get((names, renumbering))
            if renaming is None:
                renaming = Renaming(self._peers, names, int, renumbering)
                self._renamings[names, renumbering] = renaming
            renaming.number = lambda value: numbers.get(value, UNNUMBERED)
            known = item.forms[key] = _encode(renaming.once(item.item))
        return known

    def renumbering(self, step: Step) -> Renumbering:
        """What becomes of the step's ranks and positions."""
        return self._renumbering(step, [*map(self._item, (*_outside(step), *step.sent))])

    def _renumbering(self, step: Step, items: Sequence[_Item]) -> Renumbering:
        if not self._is_renamed(step):
            return UNCHANGED
        ranks = {0}.union(*[each.facts.ranks for each in items])
        ranks.discard(NO_RANK)
        kind, shift = kind_of(self.constants, step.node), 0
        if step.action in kind.shifted:
            positions = [position for each in items for position in each.facts.positions]
            shift = min(positions) - kind.first_position
        return Renumbering(tuple(sorted(ranks)), shift)


def _outside(step: Step) -> list[Any]:
    """What values are numbered by, in this order: all but what is sent."""
    items = (step.before, step.input, step.after)
    return [item for item in items if item is not None]


def _extend(numbers: Mapping[int, int], values: Iterable[int]) -> dict[int, int]:
    extended = dict(numbers)
    for value in values:
        extended.setdefault(value, len(extended) + 1)
    return extended
