"""One form for all steps that differ only in how nodes and values are called (L9).

Runs number their nodes and values as it happens; the specification tells neither apart. So a step
is renamed into a representative of its class before it is judged, and one verdict serves the class.
What is renamed is what the fields' declarations say (reference/kit/fields.py):

* nodes: one bijection of the nodes onto themselves, applied to the whole step (node, row, input,
  after, sent), which maps each set of those whom handlers know from the others (`Protocol.apart`)
  onto itself. The acting node becomes the first one. The others are told apart by a signature that
  no renaming changes; what signatures leave open is settled by trying every order and taking the
  step with the least encoding. A node that stands alone in its kind keeps its name; and so do the
  others in its steps (a partition's controller knows the order of assignment, C9), unless its
  handlers compare them for equality only as well (`NodeKind.renames`).
* values: numbered from 1 in the order of their first appearance in the row before, the input, the
  row after, the messages sent. The log's own values, below 1, stay.
* ranks: numbered in their order from 0 on, or, where handlers count from them, as the kind of node
  says (`NodeKind.ranked`). -1, and 0 of the beginning, stay.
* positions, in the steps of the actions that only compare them, pass them on and count from them
  (`NodeKind.shifted`): moved so that the least is the first there is.

Why that is sound. A bijection p of the nodes maps outcomes to outcomes, p(Step_A(n, row, input)) =
Step_A(p(n), p(row), p(input)), if Step_A compares node ids for equality only and mentions none by
name; p leaves the set of nodes as it is, since it maps that set onto itself, and leaves those who
are no nodes alone. Likewise for values, of which no handler inspects one, and for ranks under maps
that keep their order and, where handlers count from them, what is counted to as far from there as
it was. The handlers of voters and of brokers keep to that (tests/traces/jobs reads the modules and
says so, and lets TLC judge renamed steps). Epochs of leaders, offsets of logs, clients and
producers are not renamed. The constants belong to the key and are not renamed: the nodes as a set
are what they were.

Chaining and provenance are checked on recorded data, never on this form.

How it is done. Most rows are new, and most of what stands in their fields is not. So rows, inputs
and messages are kept in *pieces*, one object for what stands in each field, and whatever is asked
of one (what it says of nodes, which values it has, its bytes under other names) is found once and
joined for the whole. A record that stands in a field of one type is parted as well, so that the
fields of an image of metadata are pieces of a broker's row. MessagePack has no end marks: the bytes
of a row are those of its pieces one behind the other, each with what the encoder writes before it.

Laws of this file: nothing here knows of a protocol; nothing depends on what was met before; `whole`
undoes `apart`, and what `Item.encoded` joins is what the encoder makes of the whole that is renamed
(tested); equal forms are renamings of one step (always, since a form *is* a renaming of
its step, whatever representative was picked); and all renamings of a step that the reference can
take have equal forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import chain, count, permutations, product
from math import factorial, prod
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import astuple, fields, replace

from kraftcheck.reference.kit.fields import NODES, Field, Kind, fields_of, holds
from kraftcheck.reference.protocols import AnyConstants, kind_of, peers_of, protocol_of, takers_of
from tla_utils.errors import ToolError

# --- Renaming: what fields declare as nodes, values, ranks and positions ---

FIRST_VALUE: Final = 1
"""Of a client; values below it are the log's own."""

_encode = msgspec.msgpack.Encoder().encode


class Step(NamedTuple):
    """One recorded step. `input` is None for the Init step, whose `before` is its `after`.

    Rows, inputs and messages are those of some protocol.
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
    """How a step's numbers that are neither nodes nor values are renamed."""

    ranks: tuple[int, ...] = ()
    """Those of the step in ascending order, from 0 on; each becomes its place there, or what stands
    there in `to`.
    """
    shift: int = 0
    """By how much positions are lowered."""
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
        """A struct with all that it has.

        What becomes of one that has no values does not depend on the step's, so it is remembered:
        many logs have most records in common.
        """
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


# --- What of an item is to be renamed ---


class NumbersOfKinds(NamedTuple):
    """Numbers of each kind."""

    values: list[int]
    ranks: list[int]
    positions: list[int]


_PLACES: Final = {Kind.VALUE: 0, Kind.RANK: 1, Kind.POSITION: 2}
_Collector: TypeAlias = Callable[[Any, NumbersOfKinds], None]
"""Enters those that a value has."""


def _collect(item: msgspec.Struct, found: NumbersOfKinds) -> None:
    for name, collector in _collectors(type(item)):
        collector(getattr(item, name), found)


@cache
def _collectors(struct: type[msgspec.Struct]) -> tuple[tuple[str, _Collector], ...]:
    listed = [(field.name, collector_of(field)) for field in fields_of(struct)]
    return tuple([(name, collector) for name, collector in listed if collector is not None])


def collector_of(field: Field) -> _Collector | None:
    """What enters the numbers that a value of the field has; None: it never has any."""
    place = _PLACES.get(field.of) if field.of else None
    if place is not None:
        if field.is_tuple:
            return lambda values, found: found[place].extend(values)
        return lambda value, found: found[place].append(value)
    if not any(_collectors(struct) for struct in field.structs):
        return None
    return _collecting(field.structs) if field.is_tuple else _collect


def _collecting(structs: tuple[type[msgspec.Struct], ...]) -> _Collector:
    """Of a sequence or a set. Records have one number that is collected, and there are many."""
    own = [field for field in fields_of(structs[0]) if collector_of(field) is not None]
    place = _PLACES.get(own[0].of) if own and own[0].of and not own[0].is_tuple else None
    if place is not None and len(own) == len(structs) == 1:
        number = attrgetter(own[0].name)
        return lambda items, found: found[place].extend([number(item) for item in items])

    def all_of_them(items: Any, found: NumbersOfKinds) -> None:
        for item in items:
            _collect(item, found)

    return all_of_them


# --- What an item says of each node ---


def namer_of(field: Field) -> Callable[[Any], bool] | None:
    """Give the function that says of a value whether renaming nodes may change it.

    None: it never does.
    """
    inner = any(_has_names(struct) for struct in field.structs)
    if field.many is Kind.BY_NODE:
        return lambda entries: inner or any(each != entries[0] for each in entries[1:])
    if field.of in NODES:
        return bool if field.is_tuple else lambda node: bool(node >= 0)
    if not inner:
        return None
    return bool if field.is_tuple else _may_name


def _may_name(item: msgspec.Struct) -> bool:
    return _has_names(type(item))


@cache
def _has_names(struct: type[msgspec.Struct]) -> bool:
    return any(holds(struct, kind) for kind in (*NODES, Kind.BY_NODE))


_Column: TypeAlias = Callable[[Names, Any], Sequence[Any]]
"""What a value says of each of these nodes, in terms that no renaming of nodes and values changes.
Sequences of records are left out: not everything need be told."""


def _told(nodes: Names, item: msgspec.Struct) -> Sequence[Any]:
    columns = [column(nodes, getattr(item, name)) for name, column in _columns(type(item))]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * len(nodes)


@cache
def _columns(struct: type[msgspec.Struct]) -> tuple[tuple[str, _Column], ...]:
    listed = [(field.name, column_of(field)) for field in fields_of(struct)]
    return tuple([(name, column) for name, column in listed if column is not None])


def column_of(field: Field) -> _Column | None:
    """What a value of the field says of nodes; None: nothing."""
    if field.many is Kind.BY_NODE:
        if field.structs:
            return lambda _, entries: [astuple(entry) for entry in entries]
        return lambda _, entries: entries
    if field.of in NODES:
        if not field.is_tuple:
            return lambda nodes, named: [node == named for node in nodes]
        return _are_in if field.many is Kind.SET else _places_in
    if field.many is Kind.SET:
        names = [f.name for each in field.structs for f in fields_of(each) if f.of in NODES]
        return _column_of_members(names) if names else None
    if not field.is_tuple and any(_columns(struct) for struct in field.structs):
        return _told
    return None


def _are_in(nodes: Names, listed: Any) -> Sequence[Any]:
    return [node in listed for node in nodes]


def _places_in(nodes: Names, listed: Any) -> Sequence[Any]:
    """In a sequence."""
    if not listed:
        return _are_in(nodes, listed)
    return [listed.index(node) if node in listed else -1 for node in nodes]


def _column_of_members(names: Sequence[str]) -> _Column:
    """Whether any member names the node."""

    def named(nodes: Names, members: Any) -> Sequence[Any]:
        found = {getattr(each, name) for each in members for name in names}
        return [node in found for node in nodes]

    return named


# --- Pieces ---

MOST: Final = 200_000
"""Of how many pieces something is remembered, each in some hundreds of bytes."""


class Piece:
    """What stands in a field.

    values, ranks, positions: that it has; of client values each once, in the order of first
    appearance. tells: whether it says something of each node. bytes: its encoding, if no renaming
    changes it, else empty.
    """

    __slots__ = (
        *("_forms", "_key", "_place", "_told"),
        *("bytes", "positions", "ranks", "tells", "value", "values"),
    )

    def __init__(self, place: Place, value: Any) -> None:
        found = NumbersOfKinds([], [], [])
        if place.collector is not None:
            place.collector(value, found)
        self.value = value
        self.values = tuple(dict.fromkeys([each for each in found.values if each >= FIRST_VALUE]))
        self.ranks = frozenset(found.ranks) - _UNCHANGED_RANKS
        self.positions = tuple(found.positions)
        named = place.names is not None and place.names(value)
        self.tells = named and place.column is not None
        self._place = place
        self._key = _KEYS[named, bool(self.values), bool(self.ranks), bool(self.positions)]
        self.bytes = b"" if self._key else place.encoded(value)
        self._forms: dict[Any, bytes] = {}
        self._told: dict[Names, Names] = {}

    def form(self, renaming: Renaming) -> bytes:
        """Its encoding under other names, of one that a renaming may change."""
        renamed = self._place.renaming
        assert self._key is not None and renamed is not None, "others are as they are"
        key = self._key(self, renaming)
        known = self._forms.get(key)
        if known is None:
            known = self._forms[key] = self._place.encoded(renamed(renaming, self.value))
        return known

    def order(self, nodes: Names) -> Names:
        """Order these nodes by what is said of them, which renaming does not change.

        Neither names of nodes nor values are in it. Empty where the same is said of all.
        """
        known = self._told.get(nodes)
        if known is None:
            column = self._place.column
            assert column is not None, "others say nothing"
            said = column(nodes, self.value)
            if len(said) != len(nodes):
                raise ValueError(f"{len(said)} entries of {len(nodes)} nodes")
            places = {each: at for at, each in enumerate(sorted(set(said)))}
            known = tuple([places[each] for each in said]) if len(places) > 1 else ()
            self._told[nodes] = known
        return known


_UNCHANGED_RANKS: Final = frozenset({-1, 0})
_Key: TypeAlias = Callable[[Piece, Renaming], Any]


def _key(named: bool, values: bool, ranks: bool, positions: bool) -> _Key | None:
    """What the form of a piece depends on, which has something of these; None: on nothing."""
    of: list[_Key] = []
    if named:
        of.append(lambda _, renaming: renaming.names)
    if values:
        of.append(lambda piece, renaming: tuple(map(renaming.number, piece.values)))
    if ranks:
        of.append(lambda piece, renaming: tuple(map(renaming.rank, piece.ranks)))
    if positions:
        of.append(lambda _, renaming: renaming.shift)
    if len(of) < 2:
        return of[0] if of else None
    return lambda piece, renaming: tuple([each(piece, renaming) for each in of])


_KEYS: Final = {has: _key(*has) for has in product((False, True), repeat=4)}


Pieces: TypeAlias = tuple[Any, ...]
"""Of a row, an input or a message: its layout, and what stands in each of its places."""


# --- Places ---

_places: Final[list[Place]] = []
"""All that there are."""


class Place:
    """A field, wherever it stands, with all that was found in it.

    head: what the encoder writes before what stands there. omitted: what it does not write.
    """

    def __init__(self, head: bytes, field: Field, omitted: Any) -> None:
        _places.append(self)
        self.known: dict[Any, Piece] = {}
        self.renaming = renaming_of(field)
        self.column = column_of(field)
        self.collector = collector_of(field)
        self.names = namer_of(field)
        self.is_by_node = field.many is Kind.BY_NODE
        self._head = head
        self._omitted = omitted

    def piece(self, value: Any) -> Piece:
        """The one object for what stands here."""
        return self.known.setdefault(value, Piece(self, value))

    def encoded(self, value: Any) -> bytes:
        return b"" if value is self._omitted else self._head + _encode(value)


class Layout:
    """Of a type: its places, in their order, and by which way each is reached."""

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        self.struct = struct
        config = struct.__struct_config__
        head = b"" if config.omit_defaults else _opening(struct, len(fields(struct)))
        placed, self._tail = _lay(struct, "", head)
        self._defaults = config.omit_defaults
        self.paths = [path for path, _ in placed]
        self.places = [place for _, place in placed]
        self._known = [place.known for place in self.places]
        self.by_node = [at for at, place in enumerate(self.places, 1) if place.is_by_node]
        self.varying = [at for at, place in enumerate(self.places) if place.renaming is not None]
        """From 0 on, those that a renaming may change."""
        self._read = _reader(self.paths)

    def apart(self, item: Any) -> Pieces:
        values = self._read(item)
        found = list(map(dict.get, self._known, values))
        if None in found:
            for at, piece in enumerate(found):
                if piece is None:
                    found[at] = self.places[at].piece(values[at])
        return (self, *found)

    def joined(self, forms: Sequence[bytes]) -> bytes:
        """The encoding of the whole, made of those of its pieces."""
        body = b"".join(forms) + self._tail
        if not self._defaults:
            return body
        return _opening(self.struct, sum(map(bool, forms))) + body

    @cache  # noqa: B019 - as long as its type
    def under(self, name: str) -> list[int]:
        """Give the places of a field and of all that it has, from 1 on.

        `Pieces` begin with the layout.
        """
        ways = enumerate(self.paths, 1)
        return [at for at, path in ways if path == name or path.startswith(f"{name}.")]


@cache
def layout_of(struct: type[msgspec.Struct]) -> Layout:
    return Layout(struct)


def apart(item: msgspec.Struct) -> Pieces:
    """A row, an input or a message in pieces."""
    return layout_of(type(item)).apart(item)


def step_apart(step: Step) -> Step:
    """A step whose rows are in pieces, and whose input and messages are items."""
    return Step(
        step.action,
        step.node,
        apart(step.before),
        None if step.input is None else item_of(apart(step.input)),
        apart(step.after),
        tuple([item_of(apart(message)) for message in step.sent]),
        step.ignored,
    )


class Item:
    """A row, an input or a message in pieces, which many steps have.

    values, ranks, positions: that it has; values each once, in the order of first appearance.
    """

    __slots__ = (
        *("_counts", "_forms", "_layout", "_still", "_telling", "_told", "_varying"),
        *("pieces", "positions", "ranks", "values"),
    )

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self._layout: Layout = pieces[0]
        self._still = [piece.bytes for piece in pieces[1:]]
        self._varying = [(at, pieces[at + 1]) for at in self._layout.varying if not self._still[at]]
        varying = [piece for _, piece in self._varying]
        values = [value for piece in varying for value in piece.values]
        self.values = tuple(dict.fromkeys(values))
        self.ranks = frozenset().union(*[piece.ranks for piece in varying])
        self.positions = [position for piece in varying for position in piece.positions]
        self._telling = [piece for piece in varying if piece.tells]
        self._counts = {len(pieces[at].value) for at in self._layout.by_node}
        self._told: dict[Names, tuple[Names, ...]] = {}
        self._forms: dict[Renaming, bytes] = {}

    def orders(self, nodes: Names) -> tuple[Names, ...]:
        """What its pieces say of each of these nodes, where it is not the same of all.

        Raises ValueError where it is not one of so many nodes.
        """
        known = self._told.get(nodes)
        if known is None:
            if self._counts - {len(nodes)}:
                raise ValueError(f"a {self._layout.struct.__name__} of others")
            told = [piece.order(nodes) for piece in self._telling]
            known = self._told[nodes] = tuple(filter(None, told))
        return known

    def encoded(self, renaming: Renaming) -> bytes:
        """The bytes of the whole under other names."""
        known = self._forms.get(renaming)
        if known is None:
            forms, found = self._still.copy(), renaming.forms
            for at, piece in self._varying:
                form = found.get(piece)
                if form is None:
                    form = found[piece] = piece.form(renaming)
                forms[at] = form
            known = self._forms[renaming] = self._layout.joined(forms)
        return known


_items: Final[dict[Pieces, Item]] = {}


def item_of(pieces: Pieces) -> Item:
    """The one object for these pieces."""
    known = _items.get(pieces)
    if known is None:
        if len(_items) >= MOST:
            _items.clear()
        known = _items[pieces] = Item(pieces)
    return known


def whole(pieces: Pieces) -> Any:
    """The row, the input or the message that is in pieces."""
    layout, *found = pieces
    values = {path: piece.value for path, piece in zip(layout.paths, found, strict=True)}
    return _built(layout.struct, "", values)


def _built(struct: type[msgspec.Struct], path: str, values: dict[str, Any]) -> Any:
    own = {}
    for field in fields_of(struct):
        at = f"{path}{field.name}"
        inner = field.structs[0] if at not in values else None
        own[field.name] = _built(inner, f"{at}.", values) if inner else values[at]
    return struct(**own)


def make_room(most: int = MOST) -> None:
    """Forgets all that was found, if there is more of it."""
    if sum(len(place.known) for place in _places) > most:
        _items.clear()
        for place in _places:
            place.known.clear()


# --- Layouts ---

_Laid: TypeAlias = tuple[list[tuple[str, Place]], bytes]
"""Places by their paths; and what is to be written before whatever comes next."""


def _lay(struct: type[msgspec.Struct], path: str, head: bytes) -> _Laid:
    """head: what is to be written before the first field."""
    config = struct.__struct_config__
    placed: list[tuple[str, Place]] = []
    for field, own in zip(fields_of(struct), fields(struct), strict=True):
        if not config.array_like:
            head += _encode(own.encode_name)
        at = f"{path}{field.name}"
        if _is_in_pieces(field):
            inner = field.structs[0]
            laid, head = _lay(inner, f"{at}.", head + _opening(inner, len(fields(inner))))
            placed += laid
        else:
            placed.append((at, Place(head, field, own.default if config.omit_defaults else _NONE)))
            head = b""
    return placed, head


_NONE: Final = object()


@cache
def _opening(struct: type[msgspec.Struct], count: int) -> bytes:
    """What the encoder has before so many fields: their number, and the tag.

    How long it is depends on how many there could be.
    """
    config = struct.__struct_config__
    tagged = config.tag is not None
    short, long = (0x90, b"\xdc") if config.array_like else (0x80, b"\xde")
    is_short = len(struct.__struct_fields__) + tagged < 16
    count += tagged
    head = bytes([short | count]) if is_short else long + count.to_bytes(2, "big")
    if not tagged:
        return head
    return head + (b"" if config.array_like else _encode(config.tag_field)) + _encode(config.tag)


def _is_in_pieces(field: Field) -> bool:
    """Whether it holds a record of one type, always, of which all is written."""
    if field.is_tuple or field.type not in field.structs:
        return False
    return not field.structs[0].__struct_config__.omit_defaults


def _reader(paths: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """What finds what stands at these paths."""
    if len(paths) > 1:
        return attrgetter(*paths)
    of = [attrgetter(path) for path in paths]
    return lambda item: [read(item) for read in of]


# --- Canonical forms ---

UNNUMBERED: Final = -1
"""In place of a value that has no number yet, where messages are put in an order."""
NO_RANK: Final = -1
MEMO_LIMIT: Final = 200_000
"""How many steps are kept at most, each with a few hundred bytes."""
MOST_ORDERS: Final = 120
"""With more orders than this to try, signatures alone decide: sound, but it may tell two renamings
of one step apart. Five nodes have at most 24 orders."""


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


Values: TypeAlias = tuple[int, ...]
Told: TypeAlias = tuple[Names, ...]
"""What an item says of nodes, one thing after the other."""
_Form: TypeAlias = tuple[tuple[bytes, ...], tuple[bytes, ...]]
"""The rows with the input between them, and the messages."""


class Canonicaliser:
    """Finds canonical forms under one set of constants, and remembers what it has renamed.

    What it remembers changes no result; it is forgotten when there is much of it.
    """

    def __init__(self, constants: AnyConstants, renames: bool = True) -> None:
        """renames: nodes and ranks; values are at any rate."""
        self.constants = constants
        self._renames = renames
        self._steps: dict[tuple[Any, ...], CanonicalStep] = {}
        """By action, node, why the input was ignored, and the items, each of them one object."""
        self._renamings: dict[tuple[Names, Values, Renumbering], Renaming] = {}
        self._takers = frozenset(takers_of(constants))
        self._peers = peers_of(constants)
        apart = protocol_of(constants).apart(constants)
        self._kinds = [
            next((at for at, each in enumerate(apart) if node in each), -1) for node in self._peers
        ]
        self._first_names = {node: self._named((node,))[0] for node in self._peers}
        self._names: dict[tuple[int, tuple[Told, ...]], list[Names]] = {}
        """By the acting node, and by what items tell of nodes: the names to try."""
        self._first_rows_differ = any(
            field.of in NODES and getattr(constants, field.name) != self._peers
            for field in fields_of(constants.__class__)
        )

    def canonical(self, step: Step) -> CanonicalStep:
        """The representative of the step's class. Raises as `of_pieces` does."""
        return self.of_pieces(step_apart(step))

    def of_pieces(self, step: Step) -> CanonicalStep:
        """The same of a step that is in pieces.

        Raises ToolError for a node that there is none of, and for rows of others.
        """
        if step.node not in self._takers:
            raise ToolError(f"{step.action} was recorded for {step.node}, which is no node")
        if len(self._steps) > MEMO_LIMIT:
            self._steps.clear()
            self._renamings.clear()
            self._names.clear()
        outside = _outside(step)
        key = (step.action, step.node, step.ignored, *outside, step.sent)
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = self._representative(step, outside)
        return known

    def _representative(self, step: Step, outside: Sequence[Item]) -> CanonicalStep:
        sent: Sequence[Item] = step.sent
        values = _each_once(outside)
        try:
            renumbering = self._renumbering(step, [*outside, *sent])
            forms = [
                self._form(outside, sent, names, values, renumbering)
                for names in self._bijections(step, outside)
            ]
        except (ValueError, IndexError) as error:
            raise ToolError(
                f"{step.action} was recorded with a row that is not one of the nodes "
                f"{self._peers}: {error}"
            ) from error
        (before, *taken, after), messages = min(forms)
        node = step.node
        if self._is_renamed(step):
            node = self._first_names.get(node, node)
        input = taken[0] if taken else b""
        return CanonicalStep(step.action, node, before, input, after, messages, step.ignored)

    def _is_renamed(self, step: Step) -> bool:
        """First rows are not, where constants name some of the nodes."""
        if not self._renames or (step.input is None and self._first_rows_differ):
            return False
        return step.node in self._peers or kind_of(self.constants, step.node).renames

    def _bijections(self, step: Step, outside: Sequence[Item]) -> Sequence[Names]:
        """Names for the nodes, in their order: the acting one is the first, the rest as signed."""
        told = tuple([each.orders(self._peers) for each in (*outside, *step.sent)])[: len(outside)]
        if not self._is_renamed(step):
            return (self._peers,)
        found = self._names.get((step.node, told))
        if found is None:
            first = (step.node,) if step.node in self._peers else ()
            orders = self._orders(step.node, told)
            found = [self._named((*first, *others)) for others in orders]
            self._names[step.node, told] = found
        return found

    def _named(self, order: Names) -> Names:
        """The names of nodes in this order: of those that handlers do not tell apart the first."""
        kind = dict(zip(self._peers, self._kinds, strict=True))
        free = {of: iter([n for n in self._peers if kind[n] == of]) for of in kind.values()}
        names = {node: next(free[kind[node]]) for node in order}
        return tuple([names[node] for node in sorted(order)])

    def _orders(self, acting: int, told: Sequence[Told]) -> Iterator[Names]:
        """The orders of the other nodes among which the least form is looked for.

        told: of nodes, by one item after the other.
        """
        others = [at for at, node in enumerate(self._peers) if node != acting]
        kinds = [
            [at for at in others if self._kinds[at] == kind] for kind in sorted({*self._kinds})
        ]
        groups = [kind for kind in kinds if kind]
        for places in chain.from_iterable(told):
            groups = _told_apart(groups, places)
        if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
            yield tuple([self._peers[at] for group in groups for at in group])
            return
        for parts in product(*[permutations(group) for group in groups]):
            yield tuple([self._peers[at] for part in parts for at in part])

    def _form(
        self,
        outside: Sequence[Item],
        sent: Sequence[Item],
        names: Names,
        values: Values,
        renumbering: Renumbering,
    ) -> _Form:
        renaming = self._renaming(names, values, renumbering)
        messages = [each.encoded(renaming) for each in sent]
        if any([value not in values for each in sent for value in each.values]):
            # Never so in a step of the reference, which sends what it has.
            order = [sent[at] for at in sorted(range(len(sent)), key=messages.__getitem__)]
            renaming = self._renaming(names, _each_once(order, values), renumbering)
            messages = [each.encoded(renaming) for each in sent]
        return tuple([each.encoded(renaming) for each in outside]), tuple(sorted(messages))

    def _renaming(self, names: Names, values: Values, renumbering: Renumbering) -> Renaming:
        """The one object. values: in the order of their numbers."""
        known = self._renamings.get((names, values, renumbering))
        if known is None:
            numbers = {value: number for number, value in enumerate(values, 1)}
            known = Renaming(
                self._peers, names, lambda value: numbers.get(value, UNNUMBERED), renumbering
            )
            self._renamings[names, values, renumbering] = known
        return known

    def renumbering(self, step: Step) -> Renumbering:
        """What becomes of the step's ranks and positions."""
        apart = step_apart(step)
        return self._renumbering(apart, [*_outside(apart), *apart.sent])

    def _renumbering(self, step: Step, items: Sequence[Item]) -> Renumbering:
        kind, shift = kind_of(self.constants, step.node), 0
        if not self._is_renamed(step):
            return UNCHANGED
        ranks = {0}.union(*[each.ranks for each in items])
        ranks.discard(NO_RANK)
        if step.action in kind.shifted:
            positions = [position for each in items for position in each.positions]
            shift = min(positions) - kind.first_position
        if kind.ranked is None:
            return Renumbering(tuple(sorted(ranks)), shift)
        ranks = {rank for rank in ranks if rank > NO_RANK}
        became = kind.ranked(self.constants, ranks)
        moved = [rank for rank in sorted(ranks) if became[rank] != rank]
        return Renumbering(tuple(moved), shift, tuple([became[rank] for rank in moved]))


def _told_apart(groups: list[list[int]], told: Sequence[Any]) -> list[list[int]]:
    """Places of nodes in finer groups: those of one group of which the same is told."""
    finer: list[list[int]] = []
    for group in groups:
        classes: dict[Any, list[int]] = {}
        for at in group:
            classes.setdefault(told[at], []).append(at)
        finer += [classes[each] for each in sorted(classes)] if len(classes) > 1 else [group]
    return finer


def _outside(step: Step) -> list[Item]:
    """What values are numbered by, in this order: all but what is sent."""
    before = item_of(step.before)
    after = before if step.after is step.before else item_of(step.after)
    return [before, after] if step.input is None else [before, step.input, after]


def _each_once(items: Iterable[Item], values: Values = ()) -> Values:
    """These values, and those of the items, in the order of first appearance."""
    return tuple(dict.fromkeys([*values, *[value for each in items for value in each.values]]))
