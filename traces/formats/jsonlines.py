"""A JSON object for each event, with Jepsen's keys without their colon; or an array of them.

Jepsen has no JSON of its own; this is the usual mapping: words are strings, sets are arrays, a
map's keys are strings. Read with msgspec, an object at a time. A history in which two values would
become one is not written: EDN can say both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.osutil.files import LINE_MAX
from kraftcheck.traces.formats.events import Event, Fields, record
from kraftcheck.traces.formats.export import Verb, operations_of
from kraftcheck.traces.formats.keys import MapKey, key_named, map_key, plain
from kraftcheck.traces.formats.text import (
    DEPTH_MAX,
    lines_of,
    long_token,
    read_text,
    shown,
    too_long,
)
from kraftcheck.traces.formats.workloads import history_of
from kraftcheck.traces.history import History, HistoryError
from kraftcheck.traces.values import Map, Real, Truth, Word, edn_text, typed

NAME = "jsonlines"


def read(path: Path) -> History:
    """Raises HistoryError."""
    source = str(path)
    return history_of(source, NAME, record(source, _events(source, read_text(path))))


def _events(path: str, text: str) -> Iterator[Event]:
    fields = Fields(path, colon=False)
    objects = _elements(path, text) if text.lstrip()[:1] == "[" else lines_of(text, path)
    for line, part in objects:
        yield event(fields, path, line, decoded(path, line, part))


def event(fields: Fields, path: str, line: int, form: Any) -> Event:
    """One operation, as msgspec has it. Raises HistoryError."""
    if type(form) is dict:
        for name in PARTS:
            if type(form.get(name)) in _OTHERWISE:
                form[name] = _fixed(path, line, form[name])
    return fields.event(line, form)


class Placed(NamedTuple):
    """An event as a map, and where it belongs: for formats that tell of no events.

    At one time, what begins comes before what ends, unless the same client has just ended
    something.
    """

    time: int
    after: int
    line: int
    form: dict[str, Any]


PARTS: Final = ("value", "from", "ends", "to", "key")
"""Keys whose values have parts."""
_OTHERWISE = frozenset((list, dict, bool, float))
"""What msgspec makes of a value that the contract has as something else."""
_DECODER = msgspec.json.Decoder()
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])


def decoded(path: str, line: int, text: str) -> Any:
    """One JSON value. Raises HistoryError."""
    problem = long_token(text)
    if len(text) > LINE_MAX:
        problem = too_long(len(text), "operation", LINE_MAX)
    if problem is None:
        try:
            return _DECODER.decode(text)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            problem = _problem(error)
    raise HistoryError(path, line, problem)


def _problem(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"nested deeper than {DEPTH_MAX}"
    text = shown(str(error), 120)
    return "breaks off: " + text if "truncated" in text else text


def _elements(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the elements of the array that is the whole file."""
    data = text.encode()
    try:
        parts = _RAWS.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise HistoryError(path, 0, _problem(error)) from None
    line, at = 1, 0
    for part in parts:
        found = data.find(bytes(part), at)
        line += data.count(b"\n", at, found)
        yield line, bytes(part).decode()
        line += bytes(part).count(b"\n")
        at = found + len(bytes(part))


def _fixed(path: str, line: int, value: Any, depth: int = 1) -> Any:
    """A value as the contract has it, but for maps, whose keys are still to be decided."""
    if depth > DEPTH_MAX:
        raise HistoryError(path, line, f"nested deeper than {DEPTH_MAX}")
    kind = type(value)
    if kind is list:
        return tuple(
            [
                _fixed(path, line, each, depth + 1) if type(each) in _OTHERWISE else each
                for each in value
            ]
        )
    if kind is dict:
        return {MapKey(key): _fixed(path, line, each, depth + 1) for key, each in value.items()}
    return typed(value)


def write(history: History) -> Iterator[str]:
    """The history, line by line. Raises HistoryError: JSON would make one value of two."""
    for operation in objects(history):
        yield msgspec.json.encode(operation).decode() + "\n"


def objects(history: History) -> Iterator[dict[str, Any]]:
    """The history, an object for each event. Raises HistoryError as `write` does."""
    _refuse_what_becomes_one(history)
    for operation in operations_of(history):
        yield _json(operation)


def _json(value: Any) -> Any:
    if isinstance(value, Verb):
        return value.removeprefix(":")
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, Truth):
        return bool(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else None
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if isinstance(value, frozenset):
        return sorted((_json(each) for each in value), key=repr)
    if isinstance(value, dict):
        return {map_key(key): _json(each) for key, each in value.items()}
    if isinstance(value, Map):
        return {map_key(k): _json(v) for k, v in sorted(value.pairs, key=edn_text)}
    return value


def _refuse_what_becomes_one(history: History) -> None:
    """JSON has no words and no sets, one kind of number, and maps with strings for keys."""
    became: dict[Any, Any] = {}
    for part in _parts(_values(history)):
        if (again := _again(part)) != part:
            became.setdefault(again, part)
    told = _parts(_values(history)) if became else ()
    pairs = [(became[again], part) for part in told if (again := _again(part)) in became]
    if history.model == "partition-log":
        names: dict[str, Any] = {}
        pairs += [(names.setdefault(map_key(key), key), key) for key in _keys(history)]
    for one, other in pairs:
        if one != other:
            what = f"{shown(edn_text(one))} and {shown(edn_text(other))} would be one value in JSON"
            raise HistoryError(history.source, 0, what + ": convert to jepsen")


def _keys(history: History) -> list[Any]:
    return [key_named(key) for key in dict.fromkeys(each.key for each in history.operations)]


def _values(history: History) -> Iterator[Any]:
    """Keys, arguments and results; of what was read of a set, which is one again, the elements."""
    yield from _keys(history)
    for each in history.operations:
        yield each.argument
        if history.model == "set" and type(each.result) is frozenset:
            yield from sorted(each.result, key=edn_text)
        else:
            yield each.result


def _again(value: Any) -> Any:
    """What is read again of a value that was written."""
    return plain(_fixed("", 0, _json(value)))


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """The values and all that they hold; keys of maps as the words that they become."""
    for value in values:
        yield value
        if isinstance(value, Map):
            for key, each in sorted(value.pairs, key=edn_text):
                yield from _parts((key if isinstance(key, str) else Word(map_key(key)), each))
        elif isinstance(value, tuple | frozenset):
            yield from _parts(value if type(value) is tuple else sorted(value, key=edn_text))
