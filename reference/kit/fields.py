"""What a field of a row, of a message or of constants holds, said where the field is declared.

Its Python type alone does not tell a node from an epoch, nor a set from a sequence. The aliases
below do, for whoever reads the declaration and for the code that is made from it: the translation
to values of the specification, canonical forms, the form of a foreign trace, and whether a row has
a form at all.

    Node          a node
    NodeOrNobody  a node, or -1
    Address       whom a message is from or for: a node, or one of those below -1, who are no nodes
                  or stand alone (a partition's controller, its clients)
    SetOf[T]      a set: a sorted tuple in which nothing stands twice
    ByNode[T]     a function from nodes: a tuple aligned with the sorted nodes
    Value         what a client wrote, or what else is only known from others (a transaction by its
                  number); numbers below 1 are the log's own
    Rank          a number that is only compared with others (an epoch of a broker), or counted on
                  from (`NodeKind.ranked`); -1, and 0 of the beginning, are themselves
    Position      an offset of the metadata log, or of one that is judged without its beginning
    tuple[T, ...] a sequence

All else is what it is: its meaning does not depend on how nodes and values are called.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache, lru_cache
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import msgspec
from msgspec import Meta, UnsetType
from msgspec.structs import fields

NOBODY: Final = -1
"""No node, where there could be one."""


class Kind(Enum):
    """What stands in an annotation; see the head of this file."""

    NODE = "node"
    NODE_OR_NOBODY = "node or nobody"
    ADDRESS = "address"
    SET = "set"
    BY_NODE = "by node"
    VALUE = "value"
    RANK = "rank"
    POSITION = "position"


AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)]
"""Of constants. TLC computes with Java's int."""

NODES: Final = frozenset({Kind.NODE, Kind.NODE_OR_NOBODY, Kind.ADDRESS})
"""The kinds of numbers that name nodes."""

T = TypeVar("T")

Node: TypeAlias = Annotated[int, Kind.NODE]
NodeOrNobody: TypeAlias = Annotated[int, Kind.NODE_OR_NOBODY]
Address: TypeAlias = Annotated[int, Kind.ADDRESS]
SetOf: TypeAlias = Annotated[tuple[T, ...], Kind.SET]
ByNode: TypeAlias = Annotated[tuple[T, ...], Kind.BY_NODE]
Value: TypeAlias = Annotated[int, Kind.VALUE]
Rank: TypeAlias = Annotated[int, Kind.RANK]
Position: TypeAlias = Annotated[int, Kind.POSITION]


def put(values: tuple[T, ...], position: int, value: T) -> tuple[T, ...]:
    """The tuple with one value replaced."""
    return (*values[:position], value, *values[position + 1 :])


class Field(NamedTuple):
    """What one field holds."""

    name: str
    many: Kind | None
    """SET or BY_NODE where it is one of these."""
    is_tuple: bool
    """That, or a sequence."""
    of: Kind | None
    """The kind of the number that it is, or that its members are."""
    structs: tuple[type[msgspec.Struct], ...]
    """The types that it, or a member, may be of."""
    type: Any
    """Its annotation, or that of a member."""

    @property
    def spec_name(self) -> str:
        return spec_name(self.name)


@cache
def spec_name(name: str) -> str:
    """The name that the specification gives a field: camel case."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def fields_of(struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """The fields of a type, in their order."""
    return tuple([_field(field.name, field.type) for field in fields(struct)])


def _field(name: str, annotation: Any) -> Field:
    whole, many = _parted(annotation)
    if get_origin(whole) not in (tuple, dict):
        return Field(name, None, False, many, _structs(whole), annotation)
    # Functions from nodes are objects in foreign traces (traces/foreign/forms.py).
    item = get_args(whole)[get_origin(whole) is dict]
    member, of = _parted(item)
    return Field(name, many, True, of, _structs(member), item)


def _parted(annotation: Any) -> tuple[Any, Kind | None]:
    """Give the plain type, and the kind that is said beside it.

    What may be absent is taken as if it were not.
    """
    if get_origin(annotation) in (Union, types.UnionType) and UnsetType in get_args(annotation):
        annotation = union([each for each in get_args(annotation) if each is not UnsetType])
    if get_origin(annotation) is not Annotated:
        return annotation, None
    plain, *said = get_args(annotation)
    return plain, next((each for each in said if isinstance(each, Kind)), None)


def union(kinds: Iterable[Any]) -> Any:
    """A union that is made at run time."""
    return Union[tuple(kinds)]  # noqa: UP007


def _structs(plain: Any) -> tuple[type[msgspec.Struct], ...]:
    among = get_args(plain) if get_origin(plain) in (Union, types.UnionType) else (plain,)
    return tuple([t for t in among if isinstance(t, type) and issubclass(t, msgspec.Struct)])


def within(structs: Iterable[type[msgspec.Struct]]) -> frozenset[type[msgspec.Struct]]:
    """These types, and all those that they have."""
    found: set[type[msgspec.Struct]] = set()
    waiting = list(structs)
    while waiting:
        struct = waiting.pop()
        if struct not in found:
            found.add(struct)
            waiting += [inner for field in fields_of(struct) for inner in field.structs]
    return frozenset(found)


@cache
def holds(struct: type[msgspec.Struct], kind: Kind) -> bool:
    """Whether a struct of this type has something of the kind, in itself or in what it has."""
    return any(
        kind in (field.many, field.of) or any(holds(inner, kind) for inner in field.structs)
        for field in fields_of(struct)
    )


# --- Whether a recorded value has a form ---

_Check: TypeAlias = Callable[[Any, int], bool]


def has_form(item: msgspec.Struct, nodes: int) -> bool:
    """Say whether sets have nothing twice, and functions an entry for each node.

    This is asked of a row and of all that it has.
    """
    return all([check(item, nodes) for check in _checks(type(item))])


@cache
def _checks(struct: type[msgspec.Struct]) -> tuple[_Check, ...]:
    found: list[_Check] = []
    for field in fields_of(struct):
        if field.many is Kind.SET:
            found.append(_has_no_repetition(field.name))
        elif field.many is Kind.BY_NODE:
            found.append(_is_aligned(field.name))
        if any(holds(inner, kind) for inner in field.structs for kind in (Kind.SET, Kind.BY_NODE)):
            found.append(_has_members_of_form(field.name, field.is_tuple))
    return tuple(found)


def _has_no_repetition(name: str) -> _Check:
    def check(item: Any, _: int) -> bool:
        members = getattr(item, name)
        return len(members) < 2 or len(set(members)) == len(members)

    return check


def _is_aligned(name: str) -> _Check:
    return lambda item, nodes: len(getattr(item, name)) == nodes


def _has_members_of_form(name: str, is_tuple: bool) -> _Check:
    if not is_tuple:
        return lambda item, nodes: _member_has_form(getattr(item, name), nodes)
    return lambda item, nodes: all([_member_has_form(each, nodes) for each in getattr(item, name)])


_member_has_form = lru_cache(1 << 16)(has_form)
"""Of what many rows have in common."""
