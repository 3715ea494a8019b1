"""Plain rows: a CSV line, or a JSON object, for each record that was acknowledged or consumed.

What a team that has no history has: a log of its producers' acks and of what its consumers got.

    client,op,topic,partition,offset,value,time,sent
    billing-1,acked,pay,0,12,41,17.25,17.20
    audit,consumed,pay,0,12,41,17.31,

Law of this file: what rows do not say is assumed to be as weak as it can be, so that nothing is
found that may not have been. An append without `sent` may have begun with the first row, and is of
a client of its own; a consumer's poll begins where its last one ended.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.formats.events import Event, Fields, record
from kraftcheck.traces.formats.jsonlines import Placed
from kraftcheck.traces.formats.text import head_lines, lines_of, read_text, shown
from kraftcheck.traces.formats.workloads import history_of
from kraftcheck.traces.history import History, HistoryError

NAME: Final = "records"
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "client": ("client", "client_id", "clientid", "process", "producer", "consumer", "member"),
    "op": ("op", "operation", "type", "event", "kind"),
    "topic": ("topic",),
    "partition": ("partition",),
    "offset": ("offset",),
    "value": ("value", "key"),
    "time": ("time", "timestamp", "ts", "at"),
    "sent": ("sent", "start", "sent_at", "invoked"),
    "error": ("error", "exception"),
}
"""What a column means, by the names that it may have; the first that is there counts."""
APPENDS: Final = frozenset(("acked", "ack", "produce", "produced", "send", "append", "appended"))
READS: Final = frozenset(("consumed", "consume", "fetch", "fetched", "poll", "polled", "read"))
DELIMITERS: Final = ",;\t"
UNITS: Final = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
"""A time below the first number is in units of so many nanoseconds: s, ms or µs; others are ns."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
WAY_OUT: Final = (
    "rows of acked and consumed records are read as well: `kraftcheck manual histories`"
)


class Row(NamedTuple):
    """A record that was acknowledged, consumed, or sent without an answer (offset is None)."""

    line: int
    client: Any
    is_append: bool
    key: str
    offset: int | None
    value: Any
    time: int | None
    sent: int | None
    error: str | None


def claims(head: bytes) -> bool:
    """Whether the first line is such a row, or the names of its columns."""
    lines = head_lines(head)
    if not lines:
        return False
    if lines[0][:1] == "{":
        try:
            value = msgspec.json.decode(lines[0])
        except (msgspec.DecodeError, RecursionError, ValueError):
            return False
        # `f` is of an operation, `name` of what Kafka's own tools print.
        return isinstance(value, dict) and _fits(value) and not {"f", "name"} & {*value}
    return _fits(_split(lines[0], _delimiter(lines[0])))


def _fits(names: Iterable[str]) -> bool:
    lower = {name.strip().lower() for name in names}
    return "offset" in lower and bool(lower.intersection(COLUMNS["op"]))


def read(path: Path) -> History:
    """Raises HistoryError."""
    source = str(path)
    rows = list(_rows(source, read_text(path)))
    if not rows:
        raise HistoryError(source, 0, "empty: a history has at least one operation")
    return history_of(source, NAME, record(source, _events(source, rows)))


# -- Rows


def _rows(path: str, text: str) -> Iterator[Row]:
    if text.lstrip()[:1] == "{":
        for line, part in lines_of(text, path):
            form = jsonlines.decoded(path, line, part)
            if not isinstance(form, dict):
                raise HistoryError(path, line, f"{shown(part)} is no object")
            yield _row(path, line, {str(k).lower(): v for k, v in form.items()})
        return
    names: list[str] = []
    delimiter = ","
    for line, part in lines_of(text, path):
        if not names:
            delimiter = _delimiter(part)
            names = [name.strip().lower() for name in _split(part, delimiter)]
            continue
        cells = _split(part, delimiter)
        if len(cells) != len(names):
            raise HistoryError(path, line, f"{len(cells)} cells, and {len(names)} columns")
        filled = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        yield _row(path, line, {name: _cell(cell) for name, cell in filled.items() if cell})


def _delimiter(line: str) -> str:
    return max(DELIMITERS, key=line.count)


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # A carriage return within it: no line of CSV.
        return []


def _cell(text: str) -> Any:
    """A whole number as one, anything else as text."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else text


def _row(path: str, line: int, cells: Mapping[str, Any]) -> Row:
    """Raises HistoryError: what it must say is missing, or is not what it must be."""

    def cell(column: str) -> Any:
        found = (cells[name] for name in COLUMNS[column] if cells.get(name) is not None)
        return next(found, None)

    op = str(cell("op")).lower()
    if op not in APPENDS and op not in READS:
        raise HistoryError(path, line, f"op is {shown(cell('op'))}, not acked or consumed")
    offset, value, partition = cell("offset"), cell("value"), cell("partition") or 0
    error = cell("error")
    if type(offset) is not int and (offset is not None or op in READS or error is None):
        what = "is missing" if offset is None else f"is {shown(offset)}, not an integer"
        raise HistoryError(path, line, f"offset {what}")
    if type(partition) is not int:
        raise HistoryError(path, line, f"partition is {shown(partition)}, not an integer")
    if value is None:
        raise HistoryError(path, line, "no value: records have to be told apart")
    return Row(
        line=line,
        client=cell("client"),
        is_append=op in APPENDS,
        key=f"{cell('topic') or 'topic'}-{partition}",
        offset=offset,
        value=value,
        time=_nanoseconds(path, line, cell("time")),
        sent=_nanoseconds(path, line, cell("sent")),
        error=None if error is None else str(error),
    )


def _nanoseconds(path: str, line: int, time: Any) -> int | None:
    """Seconds, or units as small as the number is large; or a date by ISO 8601."""
    if time is None:
        return None
    wrong = HistoryError(path, line, f"time is {shown(time)}, not a number or a date")
    try:
        number = Decimal(str(time))
    except InvalidOperation:
        try:
            date = datetime.fromisoformat(str(time))
        except ValueError:
            raise wrong from None
        since = (date if date.tzinfo else date.replace(tzinfo=UTC)) - EPOCH
        return since // timedelta(microseconds=1) * 1000
    if not number.is_finite() or abs(number) > 2**62:
        raise wrong
    factor = next((of for bound, of in UNITS if abs(number) < bound), 1)
    return int(number * factor)


# -- Events


def _events(path: str, rows: Sequence[Row]) -> Iterator[Event]:
    """Raises HistoryError: some rows have times and some have none."""
    timed = [row.time is not None for row in rows]
    if any(timed) != all(timed):
        line = rows[timed.index(False)].line
        raise HistoryError(path, line, "no time, and other rows have one")
    # Without times the order of lines is the order of events.
    ends = [row.line if row.time is None else row.time for row in rows]
    told = sorted(_told(rows, ends), key=lambda each: (each.time, each.after))
    fields = Fields(path, colon=False)
    for each in told:
        form = {**each.form, "time": each.time} if any(timed) else each.form
        yield jsonlines.event(fields, path, each.line, form)


def _told(rows: Sequence[Row], ends: Sequence[int]) -> Iterator[Placed]:
    first = min([*ends, *(row.sent for row in rows if row.sent is not None)])
    processes = iter(range(len(rows)))
    lanes: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    polls: dict[tuple[Any, int], list[Row]] = defaultdict(list)
    for row, end in zip(rows, ends, strict=True):
        if not row.is_append:
            polls[row.client, end].append(row)
            continue
        begin = first if row.sent is None else min(row.sent, end)
        process = (
            next(processes) if row.sent is None else _lane(lanes[row.client], begin, end, processes)
        )
        asked = {"process": process, "f": "send", "value": [["send", row.key, row.value]]}
        yield Placed(begin, 0, row.line, {**asked, "type": "invoke"})
        if row.offset is None:
            yield Placed(end, 1, row.line, {**asked, "type": "info", "error": row.error})
        else:
            got = [["send", row.key, [row.offset, row.value]]]
            yield Placed(end, 1, row.line, {**asked, "type": "ok", "value": got})
    yield from _polls(polls, first, processes)


def _lane(lanes: list[tuple[int, int]], begin: int, end: int, processes: Iterator[int]) -> int:
    """A process of the client that is free: a producer has several appends on their way."""
    at = next((at for at, (_, until) in enumerate(lanes) if until < begin), len(lanes))
    process = lanes[at][0] if at < len(lanes) else next(processes)
    lanes[at : at + 1] = [(process, end)]
    return process


def _polls(
    polls: Mapping[tuple[Any, int], list[Row]], first: int, processes: Iterator[int]
) -> Iterator[Placed]:
    """Records that a client got at one time are of one poll, which began after the last one."""
    clients: dict[Any, tuple[int, int]] = {}
    for (client, end), rows in sorted(polls.items(), key=lambda each: each[0][1]):
        process, begin = clients.get(client) or (next(processes), first)
        asked = {"process": process, "f": "poll"}
        after = 0 if client not in clients else 2
        yield Placed(begin, after, rows[0].line, {**asked, "type": "invoke", "value": [["poll"]]})
        got: dict[str, list[list[Any]]] = defaultdict(list)
        for row in rows:
            got[row.key].append([row.offset, row.value])
        value = [["poll", {key: sorted(each) for key, each in got.items()}]]
        yield Placed(end, 1, rows[0].line, {**asked, "type": "ok", "value": value})
        clients[client] = process, end
