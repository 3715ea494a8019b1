"""Plain rows: a CSV line or a JSON object for each record that was acked or consumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import kraftcheck
from kraftcheck.traces.formats import detect, records
from kraftcheck.traces.history import HistoryError

HEAD = "client,op,topic,partition,offset,value,time,sent"
ROWS = (
    "p,acked,pay,0,0,41,17.25,17.20",
    "p,acked,pay,0,1,42,17.26,17.21",
    "c,consumed,pay,0,0,41,17.31,",
    "c,consumed,pay,0,1,42,17.31,",
)


def written(folder: Path, *rows: str, head: str = HEAD) -> Path:
    path = folder / "rows.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def as_json(folder: Path) -> Path:
    names = HEAD.split(",")
    path = folder / "rows.jsonl"
    lines = []
    for row in ROWS:
        cells = {k: v for k, v in zip(names, row.split(","), strict=True) if v}
        told: dict[str, Any] = {**cells, "offset": int(cells["offset"]), "partition": 0}
        told |= {name: float(cells[name]) for name in ("time", "sent") if name in cells}
        lines.append(json.dumps({**told, "value": int(cells["value"])}))
    path.write_text("\n".join(lines))
    return path


def test_rows_are_a_history(tmp_path: Path) -> None:
    path = written(tmp_path, *ROWS)
    assert detect.detect(path) == records.NAME
    history = detect.read(path)
    kinds = [(each.f, each.process, each.invoked, each.completed) for each in history.operations]
    assert history.time_unit == "ns"
    assert [kind[0] for kind in kinds] == ["append", "fetch", "append"]
    # Two appends of one client were on their way at once; both records came with one poll.
    assert len({process for _, process, _, _ in kinds}) == 3
    assert kraftcheck.check(path).holds


def test_json_says_the_same(tmp_path: Path) -> None:
    csv, lines = written(tmp_path, *ROWS), as_json(tmp_path)
    assert detect.detect(lines) == records.NAME
    # Their lines are others: a CSV file has a line with the names of its columns.
    found = [replace(each, line=each.line + 1) for each in detect.read(lines).operations]
    assert tuple(found) == tuple(detect.read(csv).operations)


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ((*ROWS, "c,consumed,pay,0,2,43,17.4,"), "unseen"),
        ((*ROWS, "d,consumed,pay,0,1,44,17.5,"), "inconsistent-offsets"),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, rows: tuple[str, ...], kind: str) -> None:
    found = kraftcheck.check(written(tmp_path, *rows))
    assert found.verdict == "violated", kind


def test_an_append_without_a_begin_accuses_nobody(tmp_path: Path) -> None:
    """It may have been asked for before it was read, long before its ack."""
    late = ("c,consumed,pay,0,0,41,1,", "p,acked,pay,0,0,41,9,")
    assert kraftcheck.check(written(tmp_path, *late)).holds
    asked = ("c,consumed,pay,0,0,41,1,", "p,acked,pay,0,0,41,9,8")
    assert kraftcheck.check(written(tmp_path, *asked)).verdict == "violated"


def test_an_append_without_an_answer_may_be_read_or_not(tmp_path: Path) -> None:
    head = "client;op;topic;partition;offset;value;time;error"
    rows = ["p;produce;pay;0;0;a;1;", "p;produce;pay;0;;b;2;TimedOut", "c;consume;pay;0;0;a;3;"]
    assert kraftcheck.check(written(tmp_path, *rows, head=head)).holds
    read = [*rows, "c;consume;pay;0;1;b;4;"]
    assert kraftcheck.check(written(tmp_path, *read, head=head)).holds


def test_without_times_lines_are_in_order(tmp_path: Path) -> None:
    head = "client,op,offset,value"
    found = detect.read(written(tmp_path, "p,acked,0,1", "c,consumed,0,1", head=head))
    assert found.time_unit == "event" and {each.key for each in found.operations} == {"topic-0"}


@pytest.mark.parametrize(
    ("said", "nanoseconds"),
    [
        (17, 17_000_000_000),
        ("17.25", 17_250_000_000),
        (1_700_000_000, 1_700_000_000_000_000_000),
        (1_700_000_000_123, 1_700_000_000_123_000_000),
        (1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        ("2023-11-14T22:13:20.5Z", 1_700_000_000_500_000_000),
        ("2023-11-14 22:13:20.5", 1_700_000_000_500_000_000),
    ],
)
def test_times(said: object, nanoseconds: int) -> None:
    assert records._nanoseconds("file", 1, said) == nanoseconds


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("p,deleted,pay,0,0,1,1,", "op is deleted, not acked or consumed"),
        ("p,acked,pay,0,x,1,1,", "offset is x, not an integer"),
        ("p,acked,pay,0,,1,1,", "offset is missing"),
        ("p,acked,pay,x,0,1,1,", "partition is x, not an integer"),
        ("p,acked,pay,0,0,,1,", "no value: records have to be told apart"),
        ("p,acked,pay,0,0,1,soon,", "time is soon, not a number or a date"),
        ("p,acked,pay,0,0,1,inf,", "time is inf, not a number or a date"),
        ("p,acked,pay,0,0,1", "6 cells, and 8 columns"),
        ("p,acked,pay,0,2,43,,", "no time, and other rows have one"),
    ],
)
def test_what_is_no_row_is_refused(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(HistoryError) as raised:
        detect.read(written(tmp_path, *ROWS, row))
    assert raised.value.line == len(ROWS) + 2 and said in raised.value.reason


def test_columns_alone_are_empty(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="empty"):
        detect.read(written(tmp_path))


def test_an_unknown_file_is_told_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello,world\n")
    with pytest.raises(kraftcheck.BadInput, match="rows of acked and consumed records are read"):
        kraftcheck.check(tmp_path / "x")
