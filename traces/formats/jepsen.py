"""A map of EDN for each event, one to a line or all in one vector: Jepsen's, and two like it.

jepsen      history.edn. Source: jepsen.history and the workloads of jepsen.tests. A map has
            :process, :type, :f, :value and mostly :time (ns from the start), :index and :error;
            others are left alone, and the record tag that newer versions print is as good as
            none
knossos     the same without index and time: the position in the file is the order of events.
            Source: knossos.cli, knossos.op
porcupine   of strings, with :key, get, put and append, which adds to the end of the string
            under its key; types are invoke and ok only. Source: porcupine_test.go, which takes
            these files apart by a regular expression
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kraftcheck.traces.formats.edn import read_forms
from kraftcheck.traces.formats.events import Fields, record
from kraftcheck.traces.formats.export import operations_of
from kraftcheck.traces.formats.text import read_text
from kraftcheck.traces.formats.workloads import history_of
from kraftcheck.traces.history import History
from kraftcheck.traces.values import edn_text

NAME: Final = "jepsen"
KNOSSOS: Final = "knossos"
PORCUPINE: Final = "porcupine"


def read(path: Path, name: str = NAME) -> History:
    """name: of the format, which is read like the others. Raises HistoryError."""
    source = str(path)
    fields = Fields(source, colon=True)
    events = (fields.event(line, form) for line, form in read_forms(read_text(path), source))
    return history_of(source, name, record(source, events))


def write(history: History) -> Iterator[str]:
    """The history in Jepsen's form, line by line, so that Jepsen's checkers can judge it."""
    for operation in operations_of(history):
        pairs = (f":{name} {edn_text(value)}" for name, value in operation.items())
        yield "{" + ", ".join(pairs) + "}\n"
