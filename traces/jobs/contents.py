"""What is in a field: the numbers that are renamed, and what is said of each node.

Law of this file: found by what fields declare (reference/kit/fields.py), and nothing here knows of
a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import astuple

from kraftcheck.reference.kit.fields import NODES, Field, Kind, fields_of, holds
from kraftcheck.traces.jobs.renaming import Names

# --- What of an item is to be renamed ---


class Found(NamedTuple):
    """Numbers of each kind."""

    values: list[int]
    ranks: list[int]
    positions: list[int]


_PLACES: Final = {Kind.VALUE: 0, Kind.RANK: 1, Kind.POSITION: 2}
_Collector: TypeAlias = Callable[[Any, Found], None]
"""Enters those that a value has."""


def _collect(item: msgspec.Struct, found: Found) -> None:
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

    def all_of_them(items: Any, found: Found) -> None:
        for item in items:
            _collect(item, found)

    return all_of_them


# --- What an item says of each node ---


def namer_of(field: Field) -> Callable[[Any], bool] | None:
    """What says of a value whether it may be another one where nodes have other names; None: it
    never is."""
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
