"""Kafka's messages, read and written: a compiler from Kafka's own descriptions to Python.

`messages/*.json` are the descriptions that Apache Kafka publishes. For a message and a version of
it `reader` and `writer` give functions, whose source is made when they are first asked for. A
message is a dict; names are those of the description in snake case, what is left out is the
field's default. `uuid` is 16 bytes, `records` are bytes.

Law of this file: functions of their arguments; nothing here knows what a message means.
(KIP-482: from its flexible version on a message has compact lengths and tagged fields.)
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

MESSAGES: Final = Path(__file__).with_name("messages")
NO_UUID: Final = bytes(16)

Message: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[bytes, int], tuple[Message, int]]
"""From bytes and where to begin to the message and where it ends. Raises Malformed."""
Writer: TypeAlias = Callable[[bytearray, Message], None]
"""Appends the message. Raises ValueError: a key that no version of the message has."""

_FIXED: Final = {
    **{"bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"},
    **{"int64": "q", "float64": "d", "uuid": "16s"},
}
_SIZED: Final = ("string", "bytes", "records")


class Malformed(ValueError):
    """Bytes that are no such message."""


class Versions(NamedTuple):
    """A range; none if `last` is below `first`."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


_NONE: Final = Versions(0, -1)


class _Field(NamedTuple):
    name: str
    type: str
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    flexible: Versions | None
    """Where it differs from its message."""
    default: object
    fields: tuple[_Field, ...]
    """Of a structure, or of the structures in an array."""


class Description(NamedTuple):
    """What Kafka says of a message."""

    name: str
    key: int
    """Of the API; -1 for a header."""
    valid: Versions
    flexible: Versions
    fields: tuple[_Field, ...]


# --- Descriptions


@cache
def description(name: str) -> Description:
    """Raises KeyError: no message of this name is described."""
    path = MESSAGES / f"{name}.json"
    if not path.exists():
        raise KeyError(name)
    text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    said = json.loads(text)
    common = {each["name"]: each["fields"] for each in said.get("commonStructs", ())}
    return Description(
        name,
        said.get("apiKey", -1),
        _versions(said["validVersions"]),
        _versions(said["flexibleVersions"]),
        tuple([_field(each, common) for each in said["fields"]]),
    )


def _versions(said: str) -> Versions:
    if said == "none":
        return _NONE
    first, dash, last = said.rstrip("+").partition("-")
    return Versions(int(first), int(last) if dash else 1 << 15 if "+" in said else int(first))


def _field(said: dict[str, Any], common: dict[str, Any]) -> _Field:
    kind: str = said["type"]
    inner = said.get("fields") or common.get(kind.removeprefix("[]"), ())
    own = said.get("flexibleVersions")
    return _Field(
        snake(said["name"]),
        kind,
        _versions(said["versions"]),
        _versions(said.get("nullableVersions", "none")),
        _versions(said.get("taggedVersions", "none")),
        said.get("tag", -1),
        None if own is None else _versions(own),
        _default(kind, said.get("default")),
        tuple([_field(each, common) for each in inner]),
    )


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _default(kind: str, said: object) -> object:
    if said == "null":
        return None
    if kind == "string":
        return said or ""
    if kind == "bool":
        return said in (True, "true")
    if kind == "float64":
        return float(str(said or 0))
    if kind == "uuid":
        return NO_UUID
    if kind in _FIXED:
        return int(str(said or 0), 0)
    if kind in _SIZED:
        return b""
    return [] if kind.startswith("[]") else {}


# --- What made source calls


def uvarint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends. Raises IndexError, Malformed."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 28:
            raise Malformed("a number of more than 32 bits")


def put_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _cut(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    end = at + size
    if size < 0 or end > len(data):
        raise Malformed(f"{size} bytes where {len(data) - at} are left")
    return data[at:end], end


def _skip_tag(data: bytes, at: int) -> int:
    size, at = uvarint(data, at)
    return _cut(data, at, size)[1]


def _counted(data: bytes, at: int, count: int) -> int:
    """Every element has a byte: so a message cannot claim more of them than it has bytes."""
    if count < 0 or count > len(data) - at:
        raise Malformed(f"{count} elements in {len(data) - at} bytes")
    return count


_GLOBALS: Final = {
    **{"struct": struct, "uvarint": uvarint, "put_uvarint": put_uvarint, "cut": _cut},
    **{"skip_tag": _skip_tag, "counted": _counted, "Malformed": Malformed},
}


# --- The compiler

_UVARINT: Final = ("n = d[a]", "a += 1", "if n > 127: n, a = uvarint(d, a - 1)")
"""Lines that read a number; most have one byte."""


class _Source:
    """Functions of one message in one version."""

    def __init__(self, of: Description, version: int) -> None:
        self.version = version
        self.flexible = version in of.flexible
        self.lines: list[str] = []
        self.scope: dict[str, Any] = dict(_GLOBALS)
        self._names = 0

    def name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def constant(self, value: object) -> str:
        name = self.name("k")
        self.scope[name] = value
        return name

    def is_flexible(self, field: _Field) -> bool:
        return self.flexible if field.flexible is None else self.version in field.flexible

    def split(self, fields: tuple[_Field, ...]) -> tuple[list[_Field], list[_Field]]:
        """Those in the body, and the tagged ones, in this version."""
        there = [each for each in fields if self.version in each.versions]
        tagged = [each for each in there if self.flexible and self.version in each.tagged]
        return [each for each in there if each not in tagged], tagged

    def compile(self, function: str) -> Any:
        exec("\n".join(self.lines), self.scope)
        return self.scope[function]

    # Reading

    def reads(self, fields: tuple[_Field, ...]) -> str:
        """Makes a function that reads a structure; its name."""
        body, tagged = self.split(fields)
        lines = ["v = {}"]
        for run in _runs(body):
            if run[0].type in _FIXED:
                packed = self.constant(struct.Struct(">" + "".join(_FIXED[f.type] for f in run)))
                names = ", ".join(f"v[{f.name!r}]" for f in run)
                lines.append(f"{names}, = {packed}.unpack_from(d, a)")
                lines.append(f"a += {packed}.size")
            else:
                lines += self._read(run[0], f"v[{run[0].name!r}]")
        if self.flexible:
            lines += self._read_tags(tagged)
        for each in tagged:
            fresh = f"{each.default!r}"
            lines.append(f"v.setdefault({each.name!r}, {fresh})")
        lines.append("return v, a")
        return self._function("read", "d, a", lines)

    def _read_tags(self, tagged: list[_Field]) -> list[str]:
        lines = [*_UVARINT, "for _ in range(n):", " t, a = uvarint(d, a)"]
        for each in tagged:
            lines.append(f" if t == {each.tag}:")
            inner = ["s, a = uvarint(d, a)", "e = cut(d, a, s)[1]"]
            if each.type in _FIXED:
                packed = self.constant(struct.Struct(">" + _FIXED[each.type]))
                inner += [f"v[{each.name!r}], = {packed}.unpack_from(d, a)", f"a += {packed}.size"]
            else:
                inner += self._read(each, f"v[{each.name!r}]")
            inner += ["if a != e: raise Malformed('a tag of another length')", "continue"]
            lines += [f"  {line}" for line in inner]
        return [*lines, " a = skip_tag(d, a)"]

    def _length(self, field: _Field, small: bool) -> list[str]:
        if self.is_flexible(field):
            return [*_UVARINT, "n -= 1"]
        packed = self.constant(struct.Struct(">h" if small else ">i"))
        return [f"n, = {packed}.unpack_from(d, a)", f"a += {packed}.size"]

    def _null(self, field: _Field, to: str) -> list[str]:
        if self.version in field.nullable:
            return ["if n == -1:", f" {to} = None", "else:"]
        return ["if n == -1: raise Malformed('null')", "else:"]

    def _read(self, field: _Field, to: str) -> list[str]:
        """Lines that read one field of variable size."""
        kind = field.type
        if kind in _SIZED:
            text = [f"{to} = str(b, 'utf-8')"] if kind == "string" else [f"{to} = b"]
            inner = ["b, a = cut(d, a, n)", *text]
            lines = [*self._length(field, kind == "string"), *self._null(field, to)]
            return lines + [f" {line}" for line in inner]
        if kind.startswith("[]"):
            rows, of = self.name("rows"), field._replace(type=kind[2:], nullable=_NONE)
            inner = [f"{rows} = {to} = []", "for _ in range(counted(d, a, n)):"]
            inner += [f" {line}" for line in self._read_element(of, rows)]
            lines = [*self._length(field, False), *self._null(field, to)]
            return lines + [f" {line}" for line in inner]
        read = self.reads(field.fields)
        if self.version not in field.nullable:
            return [f"{to}, a = {read}(d, a)"]
        return [
            "a += 1",
            "if d[a - 1] > 127:",
            f" {to} = None",
            "else:",
            f" {to}, a = {read}(d, a)",
        ]

    def _read_element(self, of: _Field, rows: str) -> list[str]:
        if of.type in _FIXED:
            packed = self.constant(struct.Struct(">" + _FIXED[of.type]))
            return [f"{rows}.append({packed}.unpack_from(d, a)[0])", f"a += {packed}.size"]
        return [*self._read(of, "x"), f"{rows}.append(x)"]

    # Writing

    def writes(self, fields: tuple[_Field, ...]) -> str:
        """Makes a function that writes a structure; its name."""
        body, tagged = self.split(fields)
        known = self.constant(frozenset(each.name for each in fields))
        lines = [
            f"if not v.keys() <= {known}: raise ValueError(f'no field {{v.keys() - {known}}}')"
        ]
        for run in _runs(body):
            if run[0].type in _FIXED:
                packed = self.constant(struct.Struct(">" + "".join(_FIXED[f.type] for f in run)))
                values = ", ".join(f"v.get({f.name!r}, {f.default!r})" for f in run)
                lines.append(f"o += {packed}.pack({values})")
            else:
                lines.append(f"x = v.get({run[0].name!r}, {run[0].default!r})")
                lines += self._write(run[0])
        if self.flexible:
            lines += self._write_tags(tagged)
        return self._function("write", "o, v", lines)

    def _write_tags(self, tagged: list[_Field]) -> list[str]:
        if not tagged:
            return ["o.append(0)"]
        lines = ["tags = []"]
        for each in sorted(tagged, key=lambda field: field.tag):
            lines += [
                f"x = v.get({each.name!r}, {each.default!r})",
                f"if x != {each.default!r}:",
                " u, o = o, bytearray()",
                *[f" {line}" for line in self._write_value(each)],
                f" tags.append(({each.tag}, o))",
                " o = u",
            ]
        return [
            *lines,
            "put_uvarint(o, len(tags))",
            "for t, x in tags:",
            " put_uvarint(o, t)",
            " put_uvarint(o, len(x))",
            " o += x",
        ]

    def _write_value(self, field: _Field) -> list[str]:
        if field.type in _FIXED:
            packed = self.constant(struct.Struct(">" + _FIXED[field.type]))
            return [f"o += {packed}.pack(x)"]
        return self._write(field)

    def _put_length(self, field: _Field, small: bool, of: str) -> str:
        if self.is_flexible(field):
            # Most have one byte.
            return f"o.append({of} + 1) if {of} < 127 else put_uvarint(o, {of} + 1)"
        packed = self.constant(struct.Struct(">h" if small else ">i"))
        return f"o += {packed}.pack({of})"

    def _write(self, field: _Field) -> list[str]:
        """Lines that write `x`, of variable size."""
        kind = field.type
        if kind in _SIZED:
            text = ["b = x.encode()"] if kind == "string" else ["b = x"]
            put = self._put_length(field, kind == "string", "len(b)")
            return self._or_null(field, kind == "string", [*text, put, "o += b"])
        if kind.startswith("[]"):
            of = field._replace(type=kind[2:], nullable=_NONE)
            inner = self._write_value(of)
            put = self._put_length(field, False, "len(x)")
            return self._or_null(
                field, False, [put, "for x in x:", *[f" {line}" for line in inner]]
            )
        write = self.writes(field.fields)
        if self.version not in field.nullable:
            return [f"{write}(o, x)"]
        return ["if x is None: o.append(255)", "else:", " o.append(1)", f" {write}(o, x)"]

    def _or_null(self, field: _Field, small: bool, lines: list[str]) -> list[str]:
        if self.version not in field.nullable:
            return lines
        null = self._put_length(field, small, "-1")
        return [f"if x is None: {null}", "else:", *[f" {line}" for line in lines]]

    def _function(self, stem: str, parameters: str, lines: list[str]) -> str:
        name = self.name(stem)
        self.lines += [f"def {name}({parameters}):", *[f" {line}" for line in lines]]
        return name


def _runs(fields: list[_Field]) -> Iterator[list[_Field]]:
    """Neighbours of fixed size together, everything else alone."""
    run: list[_Field] = []
    for each in fields:
        if each.type in _FIXED:
            run.append(each)
            continue
        if run:
            yield run
            run = []
        yield [each]
    if run:
        yield run


@cache
def reader(name: str, version: int) -> Reader:
    """Raises KeyError: there is no such message, or no such version of it."""
    of = _described(name, version)
    source = _Source(of, version)
    read = source.compile(source.reads(of.fields))

    def checked(data: bytes, at: int = 0) -> tuple[Message, int]:
        try:
            found: tuple[Message, int] = read(data, at)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise Malformed(f"{name} {version}: {error}") from None
        return found

    return checked


@cache
def writer(name: str, version: int) -> Writer:
    """Raises KeyError as `reader` does."""
    of = _described(name, version)
    source = _Source(of, version)
    write: Writer = source.compile(source.writes(of.fields))
    return write


def _described(name: str, version: int) -> Description:
    of = description(name)
    if version not in of.valid:
        raise KeyError(f"{name} {version}")
    return of


def encoded(name: str, version: int, message: Message) -> bytes:
    """Raises KeyError, ValueError as `writer` and what it gives do."""
    out = bytearray()
    writer(name, version)(out, message)
    return bytes(out)
