"""Shapes against the abstraction: TLC has the same fingerprint of both, for every kind of value.

Values are drawn from the declarations of rows and inputs, whether a run can have them or not.
"""

from __future__ import annotations

import random
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest

from kraftcheck.reference.kit.fields import Field, Kind, fields_of, within
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import KINDS
from kraftcheck.traces.steps.translation import (
    INIT_BYTES,
    INIT_INPUT,
    Abstraction,
    shape_of_inputs,
    shape_of_row,
)
from tests.tla_utils.same_values import differing
from tla_utils.steptable import EncodedSteps, StepTable
from tla_utils.stepvalues import FunctionOf, RecordOf, SequenceOf, Shape
from tla_utils.values import Value

encode = msgspec.msgpack.encode
NODES = ((1, 2, 3), (0, 4, 5), (2,))
"""Tuples by node are sequences, and functions that are none."""
SIZES = (0, 1, 2, 3, 20)
MANY = 25_000


class _Form(Abstraction):
    """The abstraction for these nodes, of whatever protocol."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self._nodes = nodes
        self._known = {None: {}, Kind.SET: {}, Kind.BY_NODE: {}}
        self._structs = {}


class _Draw:
    def __init__(self, seed: int, nodes: tuple[int, ...]) -> None:
        self.chance = random.Random(seed)
        self.nodes = nodes

    def struct(self, of: Any, depth: int = 0) -> Any:
        values = {}
        for field, own in zip(fields_of(of), msgspec.structs.fields(of), strict=True):
            default = own.default
            if default is not msgspec.NODEFAULT and self.chance.random() < 0.3:
                values[field.name] = default
            else:
                values[field.name] = self.field(field, depth)
        return of(**values)

    def field(self, field: Field, depth: int) -> Any:
        if not field.is_tuple:
            return self.value(field.type, depth)
        if field.many is Kind.BY_NODE:
            return tuple([self.value(field.type, depth + 1) for _ in self.nodes])
        size = self.chance.choice(SIZES if depth < 2 else SIZES[:3])
        items = [self.value(field.type, depth + 1) for _ in range(size)]
        return tuple(dict.fromkeys(items) if field.many is Kind.SET else items)

    def value(self, of: Any, depth: int) -> Any:
        origin = get_origin(of)
        if origin is Annotated:
            return self.value(get_args(of)[0], depth)
        if origin is Literal:
            return self.chance.choice(get_args(of))
        if origin in (Union, types.UnionType):
            return self.value(self.chance.choice(get_args(of)), depth)
        if origin is tuple:
            inside = get_args(of)[0]
            return tuple([self.value(inside, depth + 1) for _ in range(self.chance.randrange(3))])
        if of is bool:
            return self.chance.random() < 0.5
        if of is int:
            return self.chance.choice((-1, 0, 1, 2, 77, 300, -40, 70_000, 2**31 - 1))
        if of is str:
            return self.chance.choice(("", "Ready", "y" * 33))
        return self.struct(of, depth + 1)


def drawn(kind: NodeKind, nodes: tuple[int, ...], many: int) -> Iterator[tuple[Any, bool]]:
    """Rows and inputs of a kind of node, each type of input at least once; whether it is a row."""
    draw = _Draw(many, nodes)
    for _ in range(many):
        yield draw.struct(kind.row), True
    for at in range(max(many, len(kind.inputs))):
        yield draw.struct(kind.inputs[at % len(kind.inputs)]), False


def both(many: int) -> tuple[StepTable, EncodedSteps]:
    """Values of all kinds of nodes as text and encoded; `many` rows of each kind, and inputs."""
    values: list[Value] = []
    encoded: list[bytes] = []
    forms: list[tuple[Shape]] = []
    for at, kind in enumerate(KINDS):
        nodes = NODES[at % len(NODES)]
        form = _Form(nodes)
        own = [(shape_of_row(kind.row, nodes),), (shape_of_inputs(tuple(kind.inputs), nodes),)]
        start = len(forms)
        forms += own
        for item, is_row in drawn(kind, nodes, many):
            values.append(form.row(item) if is_row else form.input(item))
            encoded.append(bytes([start + (not is_row)]) + encode(item))
        values.append(INIT_INPUT)
        encoded.append(bytes([start + 1]) + INIT_BYTES)
    text = StepTable.from_steps([{"value": value} for value in values])
    return text, EncodedSteps(["value"], forms, encoded, lambda: text)


@pytest.mark.slow
def test_every_type_of_every_protocol_is_drawn() -> None:
    met: set[type[Any]] = set()

    def note(item: Any) -> None:
        if isinstance(item, tuple):
            for each in item:
                note(each)
        elif isinstance(item, msgspec.Struct):
            met.add(type(item))
            for name in item.__struct_fields__:
                note(getattr(item, name))

    for kind in KINDS:
        for item, _ in drawn(kind, NODES[0], 40):
            note(item)
    assert within(of for kind in KINDS for of in (kind.row, *kind.inputs)) <= met


@pytest.mark.tlc
@pytest.mark.slow
def test_values_of_every_kind_have_the_fingerprints_of_their_text() -> None:
    assert differing(*both(20)) == 0


@pytest.mark.tlc
@pytest.mark.slow
def test_many_drawn_values_have_the_fingerprints_of_their_text() -> None:
    """In batches, since so large a text is slow to parse."""
    text, _ = both(40)
    assert len(text) > 2000
    done = 0
    while done < MANY:
        pair = both(100 + done % 7)
        assert differing(*pair) == 0
        done += len(pair[0])


@pytest.mark.tlc
@pytest.mark.slow
def test_a_shape_that_is_not_the_abstraction_is_seen() -> None:
    """The planted fault: tuples by node are sequences, where nodes are not 1..n."""
    nodes = NODES[1]
    (kind,) = [kind for kind in KINDS if kind.name == "voter"]
    rows = [row for row, is_row in drawn(kind, nodes, 20) if is_row]
    text = StepTable.from_steps([{"value": _Form(nodes).row(row)} for row in rows])
    steps = [b"\0" + encode(row) for row in rows]
    shape = shape_of_row(kind.row, nodes)
    assert isinstance(shape, RecordOf)
    fields = [
        replace(field, shape=SequenceOf(field.shape.member))
        if isinstance(field.shape, FunctionOf)
        else field
        for field in shape.fields
    ]
    wrong = EncodedSteps(["value"], [(replace(shape, fields=tuple(fields)),)], steps, lambda: text)
    assert differing(text, wrong) == len(rows)
