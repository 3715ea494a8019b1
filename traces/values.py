"""What clients asked and were told, as values that are equal only if a client could mean the same.

Python takes True for 1, and a keyword of EDN that is a string for that string. A checker that
compares such values passes a register that answers `true` where 1 was written. So values are made
their own kind once, where a history is made (`Operation`), and no checker or model thinks of it:

    None, int, str    as they are
    Truth             true and false: equal to Python's own, and to no number
    Real              a number with a fraction, or one that EDN wrote with a point: 1.0 is not 1
    Word              a bare word of EDN (keyword, symbol, ratio, character): equal to no string
    tuple, frozenset  a list and a set of values
    Map               a map of values

JSON and Python know one kind of number, of which 1 and 1.0 are two spellings: `typed` makes a
float without a fraction the integer that it is. EDN knows two, which Clojure's `=`, and with it
every checker of Jepsen's, tells apart: its reader makes a Real of whatever has a point.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import msgspec

INTEGRAL: Final = 1e63
"""Floats from here on stay floats: the integer would be longer than those that are read."""


class Truth:
    """`true` or `false`."""

    __slots__ = ("_is",)

    def __init__(self, is_true: bool) -> None:
        self._is = is_true

    def __bool__(self) -> bool:
        return self._is

    def __eq__(self, other: object) -> bool:
        return type(other) in (Truth, bool) and bool(other) is self._is

    def __hash__(self) -> int:
        return hash(self._is)

    def __repr__(self) -> str:
        return "true" if self._is else "false"


TRUE: Final = Truth(True)
FALSE: Final = Truth(False)


class Real(float):
    """A number that is equal to no integer. Not a number (NaN) is one value, equal to itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, float):
            return False
        return float.__eq__(self, other) or (math.isnan(self) and math.isnan(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return 0 if math.isnan(self) else float.__hash__(self)


class Word(str):
    """A bare word as EDN writes it, a keyword with its colon: equal to no string."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Map(msgspec.Struct, frozen=True, gc=False):
    """A map of values."""

    pairs: frozenset[tuple[Any, Any]]
    """Of its keys and what they stand for."""


_AS_THEY_ARE: Final = frozenset((int, str, type(None)))


def typed(value: Any) -> Any:
    """A value of Python or JSON as the value that it is; those of other kinds are left alone."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is bool:
        return TRUE if value else FALSE
    if kind is float:
        return int(value) if value.is_integer() and abs(value) < INTEGRAL else Real(value)
    if kind is tuple:
        return value if _AS_THEY_ARE.issuperset(map(type, value)) else tuple(map(typed, value))
    return frozenset(map(typed, value)) if kind is frozenset else value


# -- Values as text


_ESCAPES = str.maketrans(
    {chr(code): f"\\u{code:04x}" for code in range(32)}
    | {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
)
_SPECIAL: Final = {"inf": "##Inf", "-inf": "##-Inf", "nan": "##NaN"}


def edn_text(value: Any) -> str:
    """A value in EDN: two values have one text only if they are equal."""
    if value is None:
        return "nil"
    if isinstance(value, bool | Truth):
        return "true" if value else "false"
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPES) + '"'
    if isinstance(value, tuple | list):
        return "[" + " ".join(map(edn_text, value)) + "]"
    if isinstance(value, frozenset):
        return "#{" + " ".join(sorted(map(edn_text, value))) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{edn_text(k)} {edn_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Map):
        return "{" + ", ".join(sorted(f"{edn_text(k)} {edn_text(v)}" for k, v in value.pairs)) + "}"
    if isinstance(value, float):
        return _SPECIAL.get(repr(value), repr(value))
    return str(value)


_OTHERWISE: Final = re.compile(
    r"$|[:'\"\[({#\\]|(?:nil|true|false)$|[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$"
)
"""Strings that, without quotes, would be taken for a value of another kind."""


def name(value: Any) -> str:
    """A value as a name, of a key or on a page: as EDN, but most strings go without quotes.

    Two values have one name only if they are equal: a string that reads as anything else keeps its
    quotes ("1", ":a"), and a word that is no keyword has one in front ('a).
    """
    if type(value) is str:
        return edn_text(value) if _OTHERWISE.match(value) else value
    if isinstance(value, Word) and not value.startswith(":"):
        return f"'{value}"
    return edn_text(value)
