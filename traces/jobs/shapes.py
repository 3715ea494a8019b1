"""The shapes of recorded values: what TLC's class for values makes of their bytes.

A shape follows from the declaration of a type as the abstraction does (abstraction.py), so that
rows and inputs go to TLC in the bytes in which a trace keeps them. The two translations are held
against each other by TLC's fingerprints (tests/traces/jobs/test_shapes.py).

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from kraftcheck.reference.kit.fields import Field, Kind, fields_of
from tla_utils.errors import ToolError
from tla_utils.stepvalues import (
    FieldOf,
    FunctionOf,
    Plain,
    RecordOf,
    Scalar,
    SequenceOf,
    SetOf,
    Shape,
    UnionOf,
)

INIT_INPUT: Final = msgspec.msgpack.encode({"type": "Init"})
"""In the bytes of an input: what a node's first step has, which nothing causes."""
_INIT: Final = RecordOf((), tag=("type", "Init"))


@lru_cache(256)
def shape_of_row(row: Any, nodes: tuple[int, ...]) -> Shape:
    """nodes: whom tuples by node belong to."""
    return _of_struct(row, nodes)


@lru_cache(256)
def shape_of_inputs(inputs: tuple[Any, ...], nodes: tuple[int, ...]) -> Shape:
    """The shape of whatever is one of these types, or INIT_INPUT."""
    return UnionOf((_INIT, *[_of_struct(each, nodes) for each in inputs]))


@lru_cache(4096)
def _of_struct(struct: Any, nodes: tuple[int, ...]) -> RecordOf:
    config = struct.__struct_config__
    tag = None if config.tag is None else (str(config.tag_field), str(config.tag))
    declared = zip(fields_of(struct), msgspec.structs.fields(struct), strict=True)
    fields = tuple(
        [
            FieldOf(
                own.encode_name,
                field.spec_name,
                _of_field(field, nodes),
                msgspec.msgpack.encode(own.default)
                if config.omit_defaults and own.default is not msgspec.NODEFAULT
                else b"",
            )
            for field, own in declared
        ]
    )
    return RecordOf(fields, bool(config.array_like), tag)


def _of_field(field: Field, nodes: tuple[int, ...]) -> Shape:
    inside = _of_type(field.type, nodes)
    if not field.is_tuple:
        return inside
    if field.many is Kind.SET:
        return SetOf(inside)
    return FunctionOf(inside, nodes) if field.many is Kind.BY_NODE else SequenceOf(inside)


def _of_type(of: Any, nodes: tuple[int, ...]) -> Shape:
    """What is declared of tuples within tuples does not count, as in the abstraction."""
    origin = get_origin(of)
    if origin is Annotated:
        return _of_type(get_args(of)[0], nodes)
    if origin is tuple:
        members = [_of_type(each, nodes) for each in get_args(of) if each is not Ellipsis]
        if len(set(members)) > 1:
            raise ToolError(f"a recorded value of type {of} has no form in the spec")
        return SequenceOf(members[0] if members else Plain())
    if origin is Literal or of in (int, str, bool):
        return Scalar()
    if origin in (Union, types.UnionType):
        return _of_union([_of_type(each, nodes) for each in get_args(of)], of)
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        return _of_struct(of, nodes)
    raise ToolError(f"a recorded value of type {of} has no form in the spec")


def _of_union(several: Sequence[Shape], of: Any) -> Shape:
    distinct = list(dict.fromkeys(several))
    if len(distinct) == 1:
        return distinct[0]
    tagged = [each for each in distinct if isinstance(each, RecordOf) and each.tag]
    others = [each for each in distinct if each not in tagged]
    if len(others) > 1:
        raise ToolError(f"a recorded value of type {of} has no form in the spec")
    return UnionOf(tuple(tagged), others[0] if others else None)
