"""Steps as values that TLC reads from a file, in place of the text of a module.

TLC takes a Java class that is called like a module for the operators of that module. The class
`StepValues` (java/StepValues.java) reads steps in MessagePack and makes TLC's own values of them.
Text costs more: Python writes it, and TLC's parser spends about 3 microseconds on each token.

A step is one encoded value for each column. What value of the specification that stands for is said
once for all steps, by *shapes*: an array may be a sequence, a set, a function or a record, and the
fields of a record may have other names. A value may also say itself what it is (PLAIN).

The file, in MessagePack but for the lengths (big-endian integers of four bytes):

    number of steps; the length of each; [names of the columns]; [shapes]; [forms]; the steps

A form has for each column the number of its shape. A step is the number of its form, and its values
in the order of the columns.

Law of this file: it knows nothing of what the columns mean; a value that has no form in TLA+ is an
error, here or in the class. The class is a second reading of values beside the text that
`values.render` writes. The tests hold one against the other by TLC's own fingerprints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias
from zlib import crc32

import msgspec

from tla_utils.interning import Interner
from tla_utils.values import INT_MAX, INT_MIN, ModelValue

MODULE: Final = "StepValues"
FILE: Final = "StepBatch.values"
UNDECODED: Final = "SB_undecoded"
"""In what TLC says where the class could not read a step."""
JAVA: Final = Path(__file__).with_name("java")
JAR: Final = JAVA / f"{MODULE}.jar"
SOURCE: Final = f"{MODULE}.sha256"
"""In the jar: the digest of the source that it was made of."""

_encode: Final = msgspec.msgpack.Encoder().encode
_SET, _FUNCTION, _MODEL_VALUE = 1, 2, 3


# --- Shapes ---


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that says itself what it is.

    Numbers, truth values, strings, arrays (sequences), maps (records), and extensions for the rest
    (`plain`).
    """


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, a truth value or a string."""


@dataclass(frozen=True, slots=True)
class SequenceOf:
    """An array."""

    member: Shape


@dataclass(frozen=True, slots=True)
class SetOf:
    """An array in which nothing stands twice."""

    member: Shape


@dataclass(frozen=True, slots=True)
class FunctionOf:
    """An array with the value for each argument."""

    member: Shape
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field: its name in the file and in the specification."""

    encoded: str
    name: str
    shape: Shape
    default: bytes = b""
    """Its encoded value where a record leaves it out."""


@dataclass(frozen=True, slots=True)
class RecordOf:
    """A map from the names of its fields, in their order, or an array of their values."""

    fields: tuple[FieldOf, ...]
    is_array: bool = False
    tag: tuple[str, str] | None = None
    """The name and value of a field that stands before the others."""


@dataclass(frozen=True, slots=True)
class UnionOf:
    """Records that differ in their tag."""

    cases: tuple[RecordOf, ...]
    untagged: Shape | None = None
    """The shape of all that has none."""


Shape: TypeAlias = Plain | Scalar | SequenceOf | SetOf | FunctionOf | RecordOf | UnionOf


class _Shapes:
    """Shapes by number, parts before wholes."""

    def __init__(self) -> None:
        self.numbers: dict[Shape, int] = {}
        self.encoded: list[list[object]] = []

    def number(self, shape: Shape) -> int:
        known = self.numbers.get(shape)
        if known is None:
            encoded = self.encode(shape)
            known = self.numbers[shape] = len(self.encoded)
            self.encoded.append(encoded)
        return known

    def encode(self, shape: Shape) -> list[object]:
        match shape:
            case Plain():
                return [0]
            case Scalar():
                return [1]
            case SequenceOf(member):
                return [2, self.number(member)]
            case SetOf(member):
                return [3, self.number(member)]
            case FunctionOf(member, arguments):
                return [4, self.number(member), arguments]
            case RecordOf(fields, is_array, tag):
                own = [[f.encoded, f.name, self.number(f.shape), f.default] for f in fields]
                return [5, int(is_array), *(tag or ("", "")), own]
            case UnionOf(cases, untagged):
                tags = [case.tag for case in cases if case.tag]
                if len(tags) != len(cases) or len({field for field, _ in tags}) != 1:
                    raise ValueError("records that are told apart by a tag have one, of one name")
                other = -1 if untagged is None else self.number(untagged)
                own = [[tag[1], self.number(case)] for tag, case in zip(tags, cases, strict=True)]
                return [6, other, tags[0][0], own]


# --- Values ---


def plain(interner: Interner, number: int, known: dict[int, bytes]) -> bytes:
    """The interned value in MessagePack, in the shape PLAIN.

    known: what was encoded before, by id. Raises ValueError for an integer beyond 32 bits.
    """
    encoded = known.get(number)
    if encoded is not None:
        return encoded
    node, value = interner.nodes[number], interner.values[number]
    parts = [plain(interner, part, known) for part in node.parts]
    if isinstance(value, ModelValue):
        encoded = _encode(msgspec.msgpack.Ext(_MODEL_VALUE, value.name.encode()))
    elif node.kind == "scalar":
        if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
            raise ValueError(f"{value} does not fit into the 32-bit integers of TLC")
        encoded = _encode(value)
    elif node.kind == "tuple":
        encoded = array(parts)
    elif node.kind == "record":
        pairs = zip(map(_encode, node.names), parts, strict=True)
        encoded = _head(0x80, len(parts)) + b"".join([part for pair in pairs for part in pair])
    else:
        code = _SET if node.kind == "set" else _FUNCTION
        encoded = _encode(msgspec.msgpack.Ext(code, array(parts)))
    known[number] = encoded
    return encoded


def array(items: Sequence[bytes]) -> bytes:
    """An array of encoded values."""
    return _head(0x90, len(items)) + b"".join(items)


def _head(small: int, size: int) -> bytes:
    """What stands before the items of an array (0x90) or a map (0x80)."""
    if size < 16:
        return bytes([small | size])
    long = 0xDC if small == 0x90 else 0xDE
    if size < 1 << 16:
        return bytes([long]) + size.to_bytes(2, "big")
    return bytes([long + 1]) + size.to_bytes(4, "big")


def file_of(
    columns: Sequence[str], forms: Iterable[Sequence[Shape]], steps: Sequence[bytes]
) -> bytes:
    """The file with these steps, each with the number of its form before its values."""
    shapes = _Shapes()
    numbers = [[shapes.number(shape) for shape in form] for form in forms]
    head = [_encode(each) for each in (list(columns), shapes.encoded, numbers)]
    lengths = [len(step).to_bytes(4, "big") for step in steps]
    return b"".join([_encode(len(steps)), *lengths, *head, *steps])


def assumption(data: bytes, steps: int) -> str:
    """That TLC has read this file, with so many steps: the definitions of a batch."""
    return f'ASSUME SB_Loaded("{crc32(data):x}", {steps})\n'


def module() -> Mapping[str, str]:
    """The module whose operators the class replaces, by its name."""
    return {MODULE: (JAVA / f"{MODULE}.tla").read_text(encoding="utf-8")}


def source_digest() -> str:
    """sha256 of the source of the class."""
    return sha256((JAVA / f"{MODULE}.java").read_bytes()).hexdigest()
