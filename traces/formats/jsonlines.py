"""A JSON object for each event, with Jepsen's keys without their colon; or an array of them.

Jepsen has no JSON of its own; this is the usual mapping: keywords are strings, sets are arrays, a
map's keys are strings. Read with msgspec, an object at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from traces.formats.edn import Keyword
from traces.formats.events import Event, Fields, record
from traces.formats.export import operations_of
from traces.formats.text import DEPTH_MAX, lines_of, long_token, read_text, shown
from traces.formats.workloads import history_of
from traces.history import History, HistoryError

NAME = "jsonlines"


def read(path: Path) -> History:
    """Raises HistoryError."""
    source = str(path)
    return history_of(source, NAME, record(source, _events(source, read_text(path))))


def _events(path: str, text: str) -> Iterator[Event]:
    fields = Fields(path, colon=False)
    objects = _elements(path, text) if text.lstrip()[:1] == "[" else lines_of(text)
    for line, part in objects:
        form = decoded(path, line, part)
        if type(form) is dict:
            for name in ("value", "from", "ends", "key"):
                if type(form.get(name)) in (list, dict):
                    form[name] = _fixed(path, line, form[name])
        yield fields.event(line, form)


_DECODER = msgspec.json.Decoder()
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])


def decoded(path: str, line: int, text: str) -> Any:
    """One JSON value. Raises HistoryError."""
    problem = long_token(text)
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
    """Arrays as tuples."""
    if depth > DEPTH_MAX:
        raise HistoryError(path, line, f"nested deeper than {DEPTH_MAX}")
    kind = type(value)
    if kind is list:
        return tuple(
            [
                _fixed(path, line, each, depth + 1) if type(each) in (list, dict) else each
                for each in value
            ]
        )
    if kind is dict:
        return {key: _fixed(path, line, each, depth + 1) for key, each in value.items()}
    return value


def write(history: History) -> Iterator[str]:
    """The history, line by line."""
    for operation in operations_of(history):
        yield msgspec.json.encode(_json(operation)).decode() + "\n"


def _json(value: Any) -> Any:
    if isinstance(value, Keyword):
        return value.removeprefix(":")
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if isinstance(value, frozenset):
        return sorted((_json(each) for each in value), key=repr)
    if isinstance(value, dict):
        return {str(_json(key)): _json(each) for key, each in value.items()}
    return value
