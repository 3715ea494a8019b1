"""TLA+ values as Python values, and both directions of text.

    TLA+                          Python
    TRUE, 3, "three"              True, 3, "three"
    a model value m               ModelValue("m")
    <<1, 2>>                      (1, 2)
    {1, 2}, 1..2                  frozenset({1, 2})
    [a |-> 1, b |-> 2]            Record(a=1, b=2)
    (5 :> "x" @@ 7 :> "y")        Function({5: "x", 7: "y"})

Laws of this file:

* One TLA+ value, one Python value. In TLA+ a function over 1..n *is* a sequence and a function over
  strings *is* a record, so `Function` refuses those domains and `function()` picks the right class.
* `parse(render(v)) == v`, and `render` gives the same bytes for equal values in every process: sets
  and functions are written in a fixed order, integers by size and everything else by its text.
* Python says `True == 1`, TLA+ does not. The classes here keep Python's equality, so code that
  merges equal values must first tell the types apart (`steps.py` does).

`parse` reads what TLC 2.15 prints, which includes values wrapped over several lines and intervals.
Two forms are symbolic and have no finite Python value (`Nat`, `Seq(S)`, large `SUBSET S`): they are
a ValueError, as is any text that is not exactly one value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, Union

Value: TypeAlias = Union[
    bool, int, str, "ModelValue", "tuple[Value, ...]", "frozenset[Value]", "Record", "Function"
]

# TLC 2.15 computes with Java ints; a larger literal is an overflow error inside TLC.
INT_MIN, INT_MAX = -(2**31), 2**31 - 1

# Words that SANY reads as keywords, so that they cannot stand as a record field.
_KEYWORDS = """
    ASSUME ASSUMPTION AXIOM BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN
    ELSE ENABLED EXCEPT EXTENDS HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS
    OMITTED ONLY OTHER PICK PROOF PROPOSITION PROVE QED RECURSIVE SF_ STATE SUBSET SUFFICES TAKE
    TEMPORAL THEN THEOREM UNCHANGED UNION USE VARIABLE VARIABLES WF_ WITH WITNESS TRUE FALSE
    BOOLEAN STRING ACTION"""
RESERVED = frozenset(_KEYWORDS.split())

# Sets that TLC prints by name.
_INFINITE = frozenset(("Int", "Nat", "Real"))

# An interval is a set of that many elements here; TLC prints larger ones only if a model has them.
INTERVAL_MAX = 1_000_000

_IDENTIFIER = re.compile(r"[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]*\Z")


class ModelValue:
    """A TLC model value: a named atom, equal only to itself (declared in a cfg as `m = m`)."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        if not _is_identifier(name) or name in _INFINITE:
            raise ValueError(f"{name!r} cannot name a model value")
        object.__setattr__(self, "name", name)

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError("ModelValue is immutable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelValue) and other.name == self.name

    def __hash__(self) -> int:
        return hash((ModelValue, self.name))

    def __repr__(self) -> str:
        return f"ModelValue({self.name!r})"

    def __reduce__(self) -> tuple[type[ModelValue], tuple[str]]:
        return (ModelValue, (self.name,))


class Record(Mapping[str, Value]):
    """A TLA+ record: an immutable, hashable mapping from field names to values.

    `Record(a=1)` and `Record({"a": 1})` build the same record; fields can be read as items or as
    attributes (`r["a"]`, `r.a`). Fields are kept sorted by name, so equal records iterate alike.
    Raises ValueError without fields (that is the empty sequence `()`), TypeError for a field
    name that is not a string.
    """

    __slots__ = ("_fields", "_hash")
    _fields: dict[str, Value]
    _hash: int | None

    def __init__(self, fields: Mapping[str, Value] | None = None, /, **more: Value) -> None:
        merged = {**(fields or {}), **more}
        if not merged:
            raise ValueError("a record without fields is the empty sequence: write ()")
        for name in merged:
            if not isinstance(name, str):
                raise TypeError(f"record field {name!r} is not a string")
        object.__setattr__(self, "_fields", {name: merged[name] for name in sorted(merged)})
        object.__setattr__(self, "_hash", None)

    def __getitem__(self, name: str) -> Value:
        return self._fields[name]

    def __getattr__(self, name: str) -> Value:
        # Looked up only when normal lookup fails; private names must not reach the fields, or
        # copying an instance that is not initialised yet would recurse.
        if name.startswith("_") and name not in self._fields_or_empty():
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            known = ", ".join(self._fields)
            raise AttributeError(f"the record has no field {name!r}; it has {known}") from None

    def _fields_or_empty(self) -> dict[str, Value]:
        try:
            fields: dict[str, Value] = object.__getattribute__(self, "_fields")
        except AttributeError:
            return {}
        return fields

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Record is immutable; use replace()")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and other._fields == self._fields

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((Record, tuple(self._fields.items()))))
        assert self._hash is not None
        return self._hash

    def __repr__(self) -> str:
        return f"Record({self._fields!r})"

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Value]]]:
        # Rebuilt on load: a cached hash of strings would be wrong in another process.
        return (Record, (self._fields,))

    def replace(self, **changes: Value) -> Record:
        """The same record with some of its fields changed; KeyError for an unknown field."""
        for name in changes:
            if name not in self._fields:
                raise KeyError(name)
        return Record(self._fields, **changes)


class Function(Mapping[Value, Value]):
    """A TLA+ function that is neither a sequence nor a record: immutable and hashable.

    Raises ValueError for a domain that makes it a sequence (1..n, or empty) or a record (strings
    only); `function()` accepts every domain.
    """

    __slots__ = ("_hash", "_pairs")
    _pairs: dict[Value, Value]
    _hash: int | None

    def __init__(self, pairs: Mapping[Any, Value]) -> None:
        if _is_sequence_domain(pairs):
            raise ValueError("a function over 1..n is a sequence: write a tuple, or function()")
        if all(isinstance(key, str) for key in pairs):
            raise ValueError("a function over strings is a record: write Record, or function()")
        ordered = {key: pairs[key] for key in sorted(pairs, key=_order)}
        object.__setattr__(self, "_pairs", ordered)
        object.__setattr__(self, "_hash", None)

    def __getitem__(self, key: Value) -> Value:
        return self._pairs[key]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Function is immutable")

    def __iter__(self) -> Iterator[Value]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and other._pairs == self._pairs

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((Function, tuple(self._pairs.items()))))
        assert self._hash is not None
        return self._hash

    def __repr__(self) -> str:
        return f"Function({self._pairs!r})"

    def __reduce__(self) -> tuple[type[Function], tuple[dict[Value, Value]]]:
        return (Function, (self._pairs,))


def function(pairs: Mapping[Any, Value] | Iterable[tuple[Value, Value]]) -> Value:
    """Make the TLA+ function with these (argument, value) pairs, in its one Python form.

    A tuple for the domain 1..n (`()` for the empty one), a Record for strings, else a Function.
    """
    mapping = dict(pairs)
    if _is_sequence_domain(mapping):
        return tuple(mapping[i] for i in range(1, len(mapping) + 1))
    if all(isinstance(key, str) for key in mapping):
        return Record({str(key): value for key, value in mapping.items()})
    return Function(mapping)


def renamed(value: Value, names: Mapping[str, Value]) -> Value:
    """The value with other values in place of the model values of these names."""
    match value:
        case ModelValue():
            return names.get(value.name, value)
        case tuple():
            return tuple([renamed(each, names) for each in value])
        case frozenset():
            return frozenset(renamed(each, names) for each in value)
        case Record():
            return Record({name: renamed(each, names) for name, each in value.items()})
        case Function():
            return function((renamed(k, names), renamed(each, names)) for k, each in value.items())
    return value


def render(value: Value) -> str:
    """The value as one line of TLA+ that SANY and TLC read back as the same value.

    The module that holds it must extend Integers (for negative numbers) and TLC (for functions).
    Model values are written as their names and must be constants of the module.
    Raises ValueError for an integer beyond 32 bits, TypeError for a Python object of another type.
    """
    if value is True:
        return "TRUE"
    if value is False:
        return "FALSE"
    if isinstance(value, int):
        return _render_int(value)
    if isinstance(value, str):
        return _render_string(value)
    if isinstance(value, tuple):
        return f"<<{', '.join([render(item) for item in value])}>>"
    if isinstance(value, frozenset):
        return f"{{{', '.join([render(item) for item in sorted(value, key=_order)])}}}"
    if isinstance(value, Record):
        return render_record([(name, render(item)) for name, item in value.items()])
    if isinstance(value, ModelValue):
        return value.name
    if isinstance(value, Function):
        return render_pairs([(render(key), render(item)) for key, item in value.items()])
    raise TypeError(f"{type(value).__name__} is not a TLA+ value: {value!r}")


def render_record(fields: list[tuple[str, str]]) -> str:
    """A record from field names and already rendered values, in the order given."""
    if all(_is_identifier(name) for name, _ in fields):
        return f"[{', '.join([f'{name} |-> {text}' for name, text in fields])}]"
    return render_pairs([(_render_string(name), text) for name, text in fields])


def render_pairs(pairs: list[tuple[str, str]]) -> str:
    """Write a function from rendered pairs, as a balanced tree of `@@`.

    A flat chain would nest one call per link inside TLC and overflow its stack at about 2000 links.
    """
    if len(pairs) == 1:
        return f"({pairs[0][0]} :> {pairs[0][1]})"
    middle = len(pairs) // 2
    return f"({render_pairs(pairs[:middle])} @@ {render_pairs(pairs[middle:])})"


def parse(text: str) -> Value:
    """The one value that the text holds, as TLC prints it or `render` writes it.

    Raises ValueError, with the offset, for anything else.
    """
    value, end = parse_prefix(text)
    rest = text[end:].strip()
    if rest:
        raise ValueError(f"text after the value at offset {end}: {rest[:40]!r}")
    return value


def parse_prefix(text: str, start: int = 0) -> tuple[Value, int]:
    """The value that begins at offset `start`, and the offset behind it (as for `parse`)."""
    reader = _Reader(text, start)
    value = reader.value()
    return value, reader.value_end


def parse_state(text: str) -> dict[str, Value]:
    """The variables of a state as TLC prints it: `/\\ x = 1` lines, or a bare `x = 1`.

    Raises ValueError when the text has another shape or names a variable twice.
    """
    reader = _Reader(text, 0)
    state: dict[str, Value] = {}
    bulleted = reader.kind == "bullet"
    while reader.kind != "end":
        if bulleted:
            reader.expect("bullet", "/\\")
        name = reader.text_of("word", "a variable name")
        reader.expect("equals", "=")
        if name in state:
            raise ValueError(f"variable {name} stands twice in one state")
        state[name] = reader.value()
        if not bulleted and reader.kind != "end":
            raise reader.error("the end of a state with one variable")
    if not state:
        raise ValueError("a state without variables")
    return state


def _is_identifier(text: str) -> bool:
    return _IDENTIFIER.match(text) is not None and text not in RESERVED


def _is_sequence_domain(pairs: Mapping[Value, Value]) -> bool:
    return all(isinstance(key, int) and not isinstance(key, bool) for key in pairs) and set(
        pairs
    ) == set(range(1, len(pairs) + 1))


def _order(value: Value) -> tuple[int, int, str]:
    """Sort key of set elements and function arguments: integers by size, the rest by text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (0, value, "")
    return (1, 0, render(value))


def _render_int(value: int) -> str:
    if not INT_MIN < value <= INT_MAX:
        # -(2**31) itself is excluded: SANY reads the literal 2147483648 before it negates.
        raise ValueError(f"{value} does not fit into the 32-bit integers of TLC")
    return str(value)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f"}
_UNESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPE = re.compile("|".join(re.escape(raw) for raw in _ESCAPES))
_UNESCAPE = re.compile(r"\\(.)", re.DOTALL)


def _render_string(text: str) -> str:
    for character in text:
        if not (character.isprintable() or character in _ESCAPES):
            raise ValueError(f"character {character!r} cannot stand in a TLA+ string")
    return f'"{_ESCAPE.sub(lambda m: _ESCAPES[m.group()], text)}"'


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _UNESCAPE.sub(lambda m: _UNESCAPES.get(m.group(1), m.group(1)), text)


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<interval>-?\d+\.\.-?\d+)
    | (?P<int>-?\d+(?![A-Za-z_\d]))
    | (?P<word>[A-Za-z0-9_]+)
    | (?P<maps>\|->|:>|@@)
    | (?P<bullet>/\\)
    | (?P<open><<|\{|\[|\()
    | (?P<close>>>|\}|\]|\))
    | (?P<comma>,)
    | (?P<equals>=)
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)


class _Reader:
    """A recursive-descent reader over one text, one token ahead."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.token_start = start
        self.token_end = start
        self.value_end = start
        self.kind = ""
        self.token = ""
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.token_end)
        if match is None:
            # Text behind a value may be anything (TLC prints values amid messages): only asking
            # for this token makes it an error.
            self.token_start = self.token_end
            self.kind, self.token = "unreadable", self.text[self.token_end : self.token_end + 10]
            return
        self.kind = kind = match.lastgroup or ""
        self.token = match[kind]
        self.token_start, self.token_end = match.span(kind)

    def error(self, wanted: str) -> ValueError:
        return ValueError(f"expected {wanted} at offset {self.token_start}, found {self.token!r}")

    def take(self) -> str:
        token = self.token
        self.value_end = self.token_end
        self.advance()
        return token

    def text_of(self, kind: str, wanted: str) -> str:
        if self.kind != kind:
            raise self.error(wanted)
        return self.take()

    def expect(self, kind: str, token: str) -> None:
        if self.kind != kind or self.token != token:
            raise self.error(repr(token))
        self.take()

    def value(self) -> Value:
        kind = self.kind
        if kind == "int":
            return self.integer(self.take())
        if kind == "string":
            return _unescape(self.take()[1:-1])
        if kind == "word":
            return self.atom()
        if kind == "interval":
            low, high = (self.integer(end) for end in self.take().split(".."))
            if high - low >= INTERVAL_MAX:
                raise ValueError(f"the interval {low}..{high} has too many elements")
            return frozenset(range(low, high + 1))
        if kind == "open":
            opener = self.take()
            if opener == "<<":
                return tuple(self.items(">>"))
            if opener == "{":
                return frozenset(self.items("}"))
            if opener == "[":
                return self.record()
            return self.function_or_parenthesised()
        raise self.error("a value")

    def integer(self, digits: str) -> int:
        # Longer ones would be refused below, but only after int() has read every digit.
        number = int(digits) if len(digits) <= 11 else INT_MAX + 1
        if not INT_MIN <= number <= INT_MAX:
            raise ValueError(f"{digits[:20]} is beyond the 32-bit integers of TLC")
        return number

    def atom(self) -> Value:
        word = self.take()
        if word == "TRUE":
            return True
        if word == "FALSE":
            return False
        if not _is_identifier(word) or self.kind == "open" or word in _INFINITE:
            raise ValueError(f"{word} before offset {self.token_start} is not a finite value")
        return ModelValue(word)

    def items(self, closer: str) -> Iterator[Value]:
        if self.kind == "close":
            self.expect("close", closer)
            return
        while True:
            yield self.value()
            if self.kind != "comma":
                break
            self.take()
        self.expect("close", closer)

    def record(self) -> Value:
        fields: dict[str, Value] = {}
        while True:
            # A field called `1a` or `2` cannot be told from a number by its first letter.
            name = self.text_of("word", "a field name")
            self.expect("maps", "|->")
            if name in fields:
                raise ValueError(f"field {name} stands twice in one record")
            fields[name] = self.value()
            if self.kind != "comma":
                break
            self.take()
        self.expect("close", "]")
        return Record(fields)

    def function_or_parenthesised(self) -> Value:
        """What follows "(": pairs joined by @@, or a whole function in brackets of its own."""
        pairs: dict[Value, Value] = {}
        while True:
            if self.kind == "open" and self.token == "(":
                self.take()
                inner = self.function_or_parenthesised()
                if self.kind == "maps" and self.token == ":>":
                    self.take()
                    pairs.setdefault(inner, self.value())
                else:
                    for key, item in _pairs_of(inner):
                        pairs.setdefault(key, item)
            else:
                key = self.value()
                self.expect("maps", ":>")
                # f @@ g keeps the value of f where both are defined.
                pairs.setdefault(key, self.value())
            if self.kind == "maps" and self.token == "@@":
                self.take()
                continue
            self.expect("close", ")")
            return function(pairs)


def _pairs_of(value: Value) -> Iterable[tuple[Value, Value]]:
    if isinstance(value, tuple):
        return list(enumerate(value, start=1))
    if isinstance(value, Record | Function):
        return list(value.items())
    raise ValueError(f"{value!r} is not a function, so @@ cannot join it")
