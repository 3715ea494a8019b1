"""Reads a foreign trace: from a file of JSON lines to values of the specification.

Everything that is wrong with a line is refused with its number and the field: a field that is
missing, unknown, of another type or twice, a node that does not exist, a set with a member twice.
Nothing is guessed and nothing is skipped, blank lines included.

Law of this file: a step that was read says what its line says, no more and no less. A field that
was absent has no value here either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType, inspect as info
from msgspec.structs import astuple

from kraftcheck.osutil.files import lines as lines_of, open_file
from kraftcheck.reference.kit.fields import NOBODY, NODES, Field, Kind, fields_of
from kraftcheck.reference.kit.protocol import NodeKind, Protocol
from kraftcheck.reference.protocols import (
    PROTOCOLS,
    AnyConstants,
    kind_of,
    nodes_of,
    peers_of,
    protocol_of,
)
from kraftcheck.traces.foreign.forms import LINES, Header
from kraftcheck.traces.schema import TraceError
from tla_utils import Record, Value, function

Fields: TypeAlias = Mapping[str, Value]
"""A row, an input or a message by the names of the spec, as far as it is known."""

_PROTOCOLS: Final[Mapping[str, Protocol]] = {
    str(each.constants.__struct_config__.tag): each for each in PROTOCOLS
}


@dataclass(frozen=True, slots=True)
class ForeignStep:
    """One line: what a node did, as far as it was logged.

    node, run: who took the step, in which run. input, sent, ignored: None when they are hidden;
    before and after have no fields then. action: the spec's name for the step, "" when the input is
    hidden.
    """

    line: int
    """Its number in the file, from 1."""
    run: int
    node: int
    before: Fields
    input: Fields | None
    after: Fields
    sent: tuple[Fields, ...] | None
    ignored: str | None

    @property
    def action(self) -> str:
        return f"Handle{self.input['type']}" if self.input is not None else ""


@dataclass(frozen=True, slots=True)
class ForeignTrace:
    """A trace as it was read."""

    path: Path
    constants: AnyConstants
    full: bool
    """Every field of every line is there."""
    from_initial: bool
    causal: bool
    producer: str
    steps: list[ForeignStep]

    def kind(self, step: ForeignStep) -> NodeKind:
        """The kind of the node that took the step."""
        return kind_of(self.constants, step.node)


def read_foreign(path: Path) -> ForeignTrace:
    """Reads the file.

    Raises TraceError, with line and field, for whatever the format does not allow; for a file
    without steps as well, since an empty trace is no evidence. OSError: it cannot be read, or has a
    line that is too long.
    """
    with open_file(path) as file:
        lines = enumerate(lines_of(file, path), start=1)
        first = next(lines, None)
        if first is None:
            raise TraceError(f"{path}: the file is empty: an empty trace is no evidence")
        reader = _Reader(path)
        header, constants = reader.header(first[1])
        full = header.rows == "full"
        steps = list(reader.steps(lines, constants, full))
    if not steps:
        raise TraceError(f"{path}: no step follows the header: an empty trace is no evidence")
    return ForeignTrace(
        path=path,
        constants=constants,
        full=full,
        from_initial=header.start == "initial",
        causal=header.order == "causal",
        producer=header.producer,
        steps=steps,
    )


class StepReader:
    """Reads lines one at a time, as they are said by a node that is driven.

    path: what stands before each error. Raises TraceError: this is no header.
    """

    def __init__(self, path: Path, header: bytes) -> None:
        self._reader = _Reader(path)
        said, self.constants = self._reader.header(header)
        self.from_initial = said.start == "initial"

    def step(self, number: int, text: bytes, full: bool) -> ForeignStep:
        """Raises TraceError as read_foreign."""
        (found,) = self._reader.steps(iter([(number, text)]), self.constants, full)
        return found


class _Who(msgspec.Struct, frozen=True):
    """What must be known of a line before it can be read: whose it is."""

    node: int


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.decoders: dict[tuple[str, bool], msgspec.json.Decoder[Any]] = {}
        self.who = msgspec.json.Decoder(_Who)

    def header(self, text: bytes) -> tuple[Header, AnyConstants]:
        if b'"format"' not in text:
            head = '{"format": "kraftcheck steps 1", "constants": ...}'
            raise self._refusal(1, "", f"the first line is to be the header, {head}")
        header: Header = self._decoded(1, text, msgspec.json.Decoder(Header))
        said: Any = header.constants
        protocol = _PROTOCOLS[said.__struct_config__.tag]
        try:
            return header, protocol.constants(*astuple(said))
        except AssertionError as error:
            raise self._refusal(1, "constants", str(error)) from None

    def steps(
        self, lines: Iterator[tuple[int, bytes]], constants: AnyConstants, full: bool
    ) -> Iterator[ForeignStep]:
        nodes = nodes_of(constants)
        for number, text in lines:
            node = self._decoded(number, text, self.who).node
            if node not in nodes:
                raise self._refusal(number, "node", f"{node} is none of the nodes {_listed(nodes)}")
            kind = kind_of(constants, node).name
            line = self._decoded(number, text, self._decoder(kind, full))
            try:
                yield _Valuer(constants).step(number, line)
            except _Refused as error:
                raise self._refusal(number, error.field, error.what) from None

    def _decoder(self, kind: str, full: bool) -> msgspec.json.Decoder[Any]:
        known = self.decoders.get((kind, full))
        if known is None:
            types = LINES[kind]
            known = msgspec.json.Decoder(types.full if full else types.partial)
            self.decoders[kind, full] = known
        return known

    def _decoded(self, number: int, text: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
        if not text.strip():
            raise TraceError(f"{self.path}:{number}: the line is empty")
        try:
            decoded = decoder.decode(text)
            json.loads(text, object_pairs_hook=_once)
        except msgspec.ValidationError as error:
            field, what = _explained(str(error))
            if what.startswith(NO_SUCH_WORD):
                what += _allowed(decoder.type, field)
            elif what.endswith("array, got null"):
                # As Go writes a slice that is nil.
                what += "; [] is none"
            raise self._refusal(number, field, what) from None
        except _Refused as error:
            raise self._refusal(number, error.field, error.what) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise TraceError(f"{self.path}:{number}: no JSON object: {error}") from None
        return decoded

    def _refusal(self, number: int, field: str, what: str) -> TraceError:
        place = f"{field}: " if field else ""
        return TraceError(f"{self.path}:{number}: {place}{what}")


class _Refused(Exception):
    def __init__(self, field: str, what: str) -> None:
        super().__init__(field, what)
        self.field = field
        self.what = what


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(twice, "the field stands twice in one object")
    return found


NO_SUCH_WORD: Final = ("invalid enum value", "invalid value")
CONTAINERS: Final = (
    *(info.UnionType, info.DictType, info.Metadata),
    *(info.VarTupleType, info.ListType),
)
_AT = re.compile(r" - at `(?:key` in `)?\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")


def _explained(message: str) -> tuple[str, str]:
    """(field, what is wrong) out of what the decoder says."""
    at = _AT.search(message)
    path = at["path"] if at else ""
    what = message[: at.start()] if at else message
    for pattern, said in ((_MISSING, "the field is missing"), (_UNKNOWN, "no such field")):
        named = pattern.fullmatch(what)
        if named:
            return ".".join(part for part in (path, named["name"]) if part), said
    return path, what[:1].lower() + what[1:].replace("`", "")


def _allowed(of: Any, path: str) -> str:
    """The words that may stand at a field, in words."""
    found, words = [info.type_info(of)], list[str]()
    for part in [*path.replace("[...]", "").split("."), ""]:
        while any(isinstance(each, CONTAINERS) for each in found):
            found = [inner for each in found for inner in _within(each)]
        types = [each for each in found if isinstance(each, info.StructType)]
        words = [str(each.tag) for each in types if part and each.tag_field == part] or words
        fields = [f for each in types for f in each.fields]
        found = [f.type for f in fields if f.encode_name == part] if part else found
    words += [str(w) for each in found if isinstance(each, info.LiteralType) for w in each.values]
    return f"; one of {', '.join(dict.fromkeys(words))}" if words else ""


def _within(kind: Any) -> list[Any]:
    match kind:
        case info.UnionType():
            return list(kind.types)
        case info.DictType():
            return [kind.value_type]
        case info.Metadata():
            return [kind.type]
        case info.VarTupleType() | info.ListType():
            return [kind.item_type]
    return [kind]


class _Valuer:
    """From decoded lines to values of the spec, under some constants."""

    def __init__(self, constants: AnyConstants) -> None:
        self._nodes = peers_of(constants)
        outsiders = protocol_of(constants).outsiders
        self._named = {
            Kind.NODE: {*self._nodes},
            Kind.NODE_OR_NOBODY: {*self._nodes, NOBODY},
            Kind.ADDRESS: {*nodes_of(constants), *outsiders},
        }
        """What may stand where a node is named."""

    def step(self, number: int, line: Any) -> ForeignStep:
        sent = _known(line.sent)
        return ForeignStep(
            line=number,
            run=line.run,
            node=line.node,
            before=self._fields("before", line.before),
            input=None if line.input is UNSET else self._fields("input", line.input),
            after=self._fields("after", line.after),
            sent=None if sent is None else tuple([self._fields("sent[...]", m) for m in sent]),
            ignored=_known(line.ignored),
        )

    def _fields(self, path: str, struct: msgspec.Struct | UnsetType) -> Fields:
        """The known fields of a struct, with its tag."""
        if isinstance(struct, UnsetType):
            return {}
        config = struct.__struct_config__
        fields: dict[str, Value] = {}
        if config.tag is not None:
            fields[str(config.tag_field)] = str(config.tag)
        for field in fields_of(type(struct)):
            value = getattr(struct, field.name)
            if value is not UNSET:
                fields[field.name] = self._value(f"{path}.{field.name}", field, value)
        return fields

    def _value(self, path: str, field: Field, value: Any) -> Value:
        """The value of a field."""
        if isinstance(value, dict):
            if sorted(value) != list(self._nodes):
                raise _Refused(path, f"needs an entry for each of {_listed(self._nodes)}, no other")
            return function(
                (node, self._member(f"{path}[{node}]", field, value[node])) for node in self._nodes
            )
        if isinstance(value, tuple):
            items = [self._member(f"{path}[...]", field, item) for item in value]
            if field.many is not Kind.SET:
                return tuple(items)
            members = frozenset(items)
            if len(members) < len(items):
                raise _Refused(path, "a member stands twice in the set")
            return members
        return self._member(path, field, value)

    def _member(self, path: str, field: Field, value: Any) -> Value:
        """A value of a field, or one that it has several of."""
        if isinstance(value, msgspec.Struct):
            return Record(self._fields(path, value))
        if field.of in NODES and value not in self._named[field.of]:
            raise _Refused(path, f"{value} is none of the nodes {_listed(self._nodes)}")
        assert isinstance(value, bool | int | str), "the types of lines have no others"
        return value


def _known(value: Any) -> Any:
    return None if value is UNSET else value


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))
