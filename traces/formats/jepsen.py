"""Jepsen's history.edn: a map for each event, one to a line or all in one vector.

Source: jepsen.history and the workloads of jepsen.tests. A map has :process, :type, :f, :value and
mostly :time (ns from the start), :index and :error; others are left alone, and the record tag that
newer versions print is as good as none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from traces.formats.edn import Keyword, read_forms
from traces.formats.events import Fields, record
from traces.formats.export import operations_of
from traces.formats.text import read_text
from traces.formats.workloads import history_of
from traces.history import History

NAME = "jepsen"


def read(path: Path) -> History:
    """Raises HistoryError."""
    return read_edn(path, NAME)


def read_edn(path: Path, name: str) -> History:
    """A file of operations as EDN maps, as the format `name`. Raises HistoryError."""
    source = str(path)
    fields = Fields(source, colon=True)
    events = (fields.event(line, form) for line, form in read_forms(read_text(path), source))
    return history_of(source, name, record(source, events))


def write(history: History) -> Iterator[str]:
    """The history in Jepsen's form, line by line, so that Jepsen's checkers can judge it."""
    for operation in operations_of(history):
        pairs = (f":{name} {edn(value)}" for name, value in operation.items())
        yield "{" + ", ".join(pairs) + "}\n"


_ESCAPES = str.maketrans(
    {chr(code): f"\\u{code:04x}" for code in range(32)}
    | {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
)


def edn(value: Any) -> str:
    """The text of a value: words of the notation as keywords, sets and maps as such."""
    if value is None:
        return "nil"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, Keyword):
        return str(value)
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPES) + '"'
    if isinstance(value, tuple):
        return "[" + " ".join(map(edn, value)) + "]"
    if isinstance(value, frozenset):
        return "#{" + " ".join(sorted(map(edn, value))) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{edn(k)} {edn(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float):
        special = {"inf": "##Inf", "-inf": "##-Inf", "nan": "##NaN"}
        return special.get(repr(value), repr(value))
    return str(value)
