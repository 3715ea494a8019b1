"""Keys of objects: the text that the contract has for a key, and the key that a text stands for.

Two keys have one text only if they are equal (traces/values.py: `name`), however long they are.

A map of JSON has strings for keys, so that of a poll's answer `{"0": ...}` nobody knows whether the
key is 0 or "0". Such keys are read as a MapKey; how the file names its keys elsewhere decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from kraftcheck.traces.formats.edn import Symbol, Tagged, read_forms
from kraftcheck.traces.formats.text import TOKEN_MAX, shown, too_long
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.values import Map, edn_text, name, typed

NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")


class MapKey(str):
    """A key of a map of JSON: a string, or the text of another key."""

    __slots__ = ()


def plain(value: Any) -> Any:
    """A value of EDN or JSON as the contract has it (traces/values.py); a tag is dropped.

    Raises ValueError for a string that is too long.
    """
    kind = type(value)
    if kind is int or value is None:
        return value
    if kind is str:
        if len(value) > TOKEN_MAX:
            raise ValueError(too_long(len(value)))
        return value
    if kind is tuple or kind is list:
        return tuple([plain(each) for each in value])
    if kind is Tagged:
        return plain(value.value)
    if kind is frozenset:
        return frozenset(plain(each) for each in value)
    if kind is dict:
        return Map(frozenset((plain(k), plain(v)) for k, v in value.items()))
    if kind is Map:
        return Map(frozenset((plain(k), plain(v)) for k, v in value.pairs))
    return str(value) if kind is MapKey else typed(value)


def key_of(value: Any) -> str | None:
    """A key as the contract has it: its text. That of a MapKey is still to be decided."""
    if value is None or type(value) is MapKey:
        return value
    return name(plain(value))


def map_key(key: Any) -> str:
    """A key as a map of JSON has it."""
    return str(key) if isinstance(key, str) else "null" if key is None else edn_text(key)


def key_named(text: str | None) -> Any:
    """The key whose text it is; a text that no key has, as a string."""
    if text is None or name(text) == text:
        return text
    if text.startswith("'"):
        return Symbol(text[1:])
    try:
        # The nil in front keeps a list from being taken for a file of many.
        _, *forms = read_forms(f"nil {text}", "a key")
    except HistoryError:
        return text
    return plain(forms[0][1]) if len(forms) == 1 else text


def decided(path: str, line: int, key: MapKey, known: Collection[str | None]) -> str | None:
    """The text of the key that a MapKey is, in a file that names `known` keys elsewhere.

    Raises HistoryError: it could be either of two.
    """
    text = str(key)
    could_be = dict.fromkeys((text, name(text), None if text == "null" else text))
    both = [each for each in could_be if each in known]
    if len(both) > 1:
        said = f"key {shown(text)} of a map is {shown(text)} or {shown(edn_text(text))}, and "
        raise HistoryError(path, line, said + "there are both: use EDN, or other keys")
    if both:
        return both[0]
    return text if NUMBER.fullmatch(text) else name(text)
