"""Rows, inputs and messages in pieces: what stands in each field, known by one object each.

Most rows are new, and most of what stands in their fields is not. So whatever is asked of a row
(what it says of nodes, which values it has, what it is called under other names, its bytes) is
found once for what stands in a field, and joined for the row.

A record that stands in a field of one type is parted as well, so that the fields of an image of
metadata are pieces of a broker's row. MessagePack has no end marks: the bytes of a row are those of
its pieces one behind the other, each with what the encoder writes before it.

Law of this file: nothing depends on what was met before; `whole` undoes `apart`, and what
`Item.encoded` joins is what the encoder makes of the whole that is renamed (tested).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from operator import attrgetter
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import fields

from kraftcheck.reference.kit.fields import Field, Kind, fields_of
from kraftcheck.traces.jobs.contents import Found, collector_of, column_of, namer_of
from kraftcheck.traces.jobs.renaming import FIRST_VALUE, Names, Renaming, Step, renaming_of

MOST: Final = 200_000
"""Of how many pieces something is remembered, each in some hundreds of bytes."""

_encode = msgspec.msgpack.Encoder().encode


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
        found = Found([], [], [])
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
        """Its encoding under other names, if a renaming may change it."""
        if self._key is None:
            return self.bytes
        key = self._key(self, renaming)
        known = self._forms.get(key)
        if known is None:
            renamed = self._place.renaming
            assert renamed is not None, "others are as they are"
            known = self._forms[key] = self._place.encoded(renamed(renaming, self.value))
        return known

    def told(self, nodes: Names) -> Names:
        """Of each of these nodes its place among them by what is said of it: in terms that no
        renaming of nodes and values changes. Empty where it is the same of all."""
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
    """A field, wherever it stands, with all that was found in it. head: what the encoder writes
    before what stands there. omitted: what it does not write."""

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
        """The places of a field, and of all that it has, from 1 on: `Pieces` begin with the
        layout."""
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

    def told(self, nodes: Names) -> tuple[Names, ...]:
        """What its pieces say of each of these nodes, where it is not the same of all.

        Raises ValueError where it is not one of so many nodes.
        """
        known = self._told.get(nodes)
        if known is None:
            if self._counts - {len(nodes)}:
                raise ValueError(f"a {self._layout.struct.__name__} of others")
            told = [piece.told(nodes) for piece in self._telling]
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
    """What the encoder has before so many fields: their number, and the tag. How long it is depends
    on how many there could be."""
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
