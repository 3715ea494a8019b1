"""Lines of a log: Jepsen's `INFO  jepsen.util - 3<tab>:invoke<tab>:cas<tab>[1 2]`, and the like.

Source: jepsen.util/log-op, the etcd histories published with porcupine, and history.txt, which has
the same columns without anything in front. In front may stand what any logger puts there; lines of
other loggers are passed over. A line that begins as an operation and does not go on as one is
damage.

    process (or :nemesis), type, f, value, and at times an error; separated by tabs or blanks

A compare-and-set that fails has been compared, and found the register otherwise (`COMPARED`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kraftcheck.traces.formats.edn import Keyword, read_forms
from kraftcheck.traces.formats.events import Event, Fields, record
from kraftcheck.traces.formats.text import lines_of, read_text, shown
from kraftcheck.traces.formats.workloads import history_of
from kraftcheck.traces.history import COMPARED, History, HistoryError

NAME = "loglines"

OPERATION = re.compile(
    r"(?:^|[\s:-])(?P<process>-?[0-9]{1,19}|:nemesis)[ \t]+:(?P<type>invoke|ok|fail|info)"
    r"[ \t]+:(?P<f>[^\s,()\[\]{}\";]+)[ \t]+(?P<rest>\S.*)$"
)
_BEGUN = re.compile(r"jepsen\.util(?:\s+-|:)?\s+(?:-?[0-9]|:nemesis\b)")
_BARE = re.compile(r"(?:-?[0-9]+|:nemesis)[ \t]+:")
"""How a line begins that is about an operation: Jepsen's logger, or nothing in front."""
PREFIX = "INFO  jepsen.util - "


def read(path: Path) -> History:
    """Raises HistoryError."""
    source = str(path)
    return history_of(source, NAME, record(source, _events(source, read_text(path))), COMPARED)


def _events(path: str, text: str) -> Iterator[Event]:
    fields = Fields(path, colon=False)
    whole = text.endswith("\n")
    last = text.count("\n") + 1
    for line, content in lines_of(text, path):
        match = OPERATION.search(content)
        if match is None:
            cut = line == last and not whole and PREFIX.startswith(content)
            if _BEGUN.search(content) or _BARE.match(content) or cut:
                what = "breaks off" if line == last else "no operation"
                raise HistoryError(path, line, f"{what}: {shown(content)}")
            continue
        yield _event(path, line, fields, match)


def _event(path: str, line: int, fields: Fields, match: re.Match[str]) -> Event:
    process, kind, f, rest = match.group("process", "type", "f", "rest")
    if process == ":nemesis":
        # What a nemesis says of itself need not be EDN.
        label = None if rest == "nil" else shown(rest, 120)
        return fields.event(line, _form("nemesis", kind, f, label, None))
    try:
        # The nil in front keeps a list-valued operation from being taken for a file of many.
        _, *said = (form for _, form in read_forms(f"nil {rest}", path))
    except HistoryError as refused:
        raise HistoryError(path, line, refused.reason) from None
    value = said[0] if said else None
    error = said[1] if len(said) > 1 else None
    if isinstance(value, Keyword) and kind in ("fail", "info"):
        # `:timed-out` stands where the value stood.
        value, error = None, error or value
    return fields.event(line, _form(int(process), kind, f, value, error))


def _form(process: object, kind: str, f: str, value: object, error: object) -> dict[str, object]:
    return {"process": process, "type": kind, "f": f, "value": value, "error": error}
