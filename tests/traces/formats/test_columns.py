"""Operations in columns: what is refused, and that verbs take them as any other history."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kraftcheck.cli import cli
from kraftcheck.reference.clients.promises import promised
from kraftcheck.traces.checkers.check import check_log
from kraftcheck.traces.formats import columns, detect
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.rows import history_of
from tests.traces.checkers.member_worlds import CONFIGURATION, world

GOOD: dict[str, list[Any]] = {
    "operation": [0, 1, 2, 3, 4],
    "process": [1, 1, 2, 2, 2],
    "f": ["append", "append", "partitions-assigned", "fetch", "commit-offsets"],
    "outcome": ["ok"] * 5,
    "invoked": [1, 3, 5, 7, 9],
    "completed": [2, 4, 6, 8, 10],
    "group": [None, None, "g", None, "g"],
    "key": ["t-0"] * 5,
    "value": [10, 11, None, None, None],
    "offset": [0, 1, None, 0, 2],
    "offsets": [None, None, None, [0, 1], None],
    "values": [None, None, None, [10, 11], None],
}


def stored(folder: Path, told: dict[str, Any], **noted: str) -> Path:
    path = folder / "h.parquet"
    pq.write_table(pa.table(told).replace_schema_metadata(noted or None), path)
    return path


def changed(name: str, row: int, value: Any) -> dict[str, list[Any]]:
    column = [*GOOD[name]]
    column[row] = value
    return {**GOOD, name: column}


def without(name: str) -> dict[str, list[Any]]:
    return {each: column for each, column in GOOD.items() if each != name}


def test_it_is_known_by_its_columns(tmp_path: Path) -> None:
    path = stored(tmp_path, GOOD)
    assert detect.detect(path) == columns.NAME
    history = detect.read(path)
    assert [each.f for each in history.operations] == GOOD["f"]
    assert history.operations[3].result == ((0, 10), (1, 11))


@pytest.mark.parametrize(
    ("told", "what"),
    [
        (changed("f", 1, "append?"), "h.parquet:2: append? is none of append, fetch,"),
        (changed("f", 1, "end"), "h.parquet:2: end is none of"),
        (changed("outcome", 0, "maybe"), "h.parquet:1: maybe is none of ok, fail, indeterminate"),
        (changed("invoked", 2, 2), "h.parquet:3: time goes back"),
        (changed("operation", 2, 0), "h.parquet:3: the number of the operation goes back"),
        (changed("completed", 0, 1), "h.parquet:1: completed before it was invoked"),
        (changed("completed", 0, None), "h.parquet:1: answered, and never completed"),
        (changed("completed", 0, 5), "h.parquet:2: process 1 asks while row 1 is still open"),
        (changed("group", 2, None), "h.parquet:3: a member's operation without a group"),
        (changed("key", 2, None), "h.parquet:3: no key"),
        (changed("offset", 4, None), "h.parquet:5: no offset"),
        (changed("offset", 3, -4), "h.parquet:4: an offset below 0"),
        (changed("offsets", 3, [0, -1]), "h.parquet:4: an offset below 0"),
        (changed("values", 3, [10]), "h.parquet:4: offsets and values differ in number"),
        (changed("value", 1, None), "h.parquet:2: an append of no value"),
        (changed("process", 0, None), "h.parquet:1: no process"),
        (changed("operation", 4, 3), "h.parquet:5: not as the row before, of the same operation"),
        ({**GOOD, "process": ["1"] * 5}, "h.parquet: column process is string"),
        ({**GOOD, "value": ["10", "11", *[None] * 3]}, "h.parquet: corrupt Parquet file of"),
        (
            {name: column[:0] for name, column in GOOD.items()},
            "h.parquet: empty: a history has at least one operation",
        ),
    ],
)
def test_bad_input_is_one_line(told: dict[str, Any], what: str, tmp_path: Path) -> None:
    path = stored(tmp_path, told)
    with pytest.raises(HistoryError) as refused:
        columns.read(path)
    text = str(refused.value).removeprefix(f"{tmp_path}/")
    assert text.startswith(what) and "\n" not in text
    done = CliRunner().invoke(cli, ["check", str(path), "--format", "columns"])
    assert done.exit_code == 3 and what.partition(": ")[2] in done.output


def test_metadata_are_refused(tmp_path: Path) -> None:
    for name, value, what in (
        ("time_unit", "s", "time_unit is s, not one of ns, us, event"),
        ("annotations", "{}", "annotations: Expected `array`, got `object`"),
    ):
        with pytest.raises(HistoryError, match=what):
            columns.read(stored(tmp_path, GOOD, **{name: value}))


def test_more_than_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "ROWS_MAX", 4)
    with pytest.raises(HistoryError, match=r"5 rows of .* bytes: at most 4 and 2 GiB are read"):
        columns.read(stored(tmp_path, GOOD))


def test_a_file_without_a_column_is_no_history(tmp_path: Path) -> None:
    path = stored(tmp_path, without("process"))
    done = CliRunner().invoke(cli, ["check", str(path)])
    assert done.exit_code == 3 and "without a column process" in done.output


def test_within_a_callback_a_member_may_ask(tmp_path: Path) -> None:
    """A poll is open, in which a callback is, in which it commits."""
    told = {
        "operation": [0, 1, 2, 3],
        "process": [1] * 4,
        "f": ["partitions-assigned", "fetch", "partitions-revoked", "commit-offsets"],
        "outcome": ["ok"] * 4,
        "invoked": [1, 3, 4, 5],
        "completed": [2, 8, 7, 6],
        "group": ["g", None, "g", "g"],
        "key": ["t-0"] * 4,
        "offset": [None, 0, None, 0],
    }
    assert len(columns.read(stored(tmp_path, told)).operations) == 4
    with pytest.raises(HistoryError, match="asks while row 2 is still open"):
        columns.read(stored(tmp_path, {**told, "invoked": [1, 3, 4, 6], "completed": [2, 8, 5, 7]}))


@pytest.mark.parametrize("seed", [3, 5, 8, 13])
def test_check_says_of_columns_what_it_says_of_lines(seed: int, tmp_path: Path) -> None:
    history = world(seed)
    told = {}
    made = tmp_path / "made.parquet"
    made.write_bytes(columns.write(history))
    lines = tmp_path / "lines.jsonl"
    run = CliRunner().invoke
    assert run(cli, ["convert", str(made), "--to", "jsonlines", "--out", str(lines)]).exit_code == 0
    for path in (made, lines):
        done = run(cli, ["check", str(path), "--json", "--quiet"])
        found = done.stdout.replace(str(path), "F")
        for name in ("columns", "jsonlines"):
            found = found.replace(f'"{name}"', "N")
        told[path.name] = (
            done.exit_code,
            [line for line in found.splitlines() if "seconds" not in line],
        )
    assert told["made.parquet"] == told["lines.jsonl"]


def test_what_it_has_no_place_for_is_not_written() -> None:
    history = world(1)
    ended = history.operations[0].__class__(
        index=0, process=1, f="end", invoked=1, completed=2, outcome="ok", group=0, txn=1
    )
    wrong = history.__class__(
        source="made", format="made", time_unit="ns", operations=(ended,), model="partition-log"
    )
    with pytest.raises(HistoryError, match="no place for end"):
        columns.write(wrong)


@pytest.mark.slow
def test_what_was_written_is_read_and_judged_as_before(tmp_path: Path) -> None:
    """With all certificates."""
    promise = promised(CONFIGURATION)
    path, found = tmp_path / "h.parquet", Counter[str]()
    for seed in range(150):
        history = world(seed)
        path.write_bytes(columns.write(history))
        rows = columns.rows_of(path)
        assert [replace(e, line=0) for e in history_of(rows).operations] == [*history.operations]
        if any(each.f in ("append", "fetch") for each in history.operations):
            told = check_log(history, promise, CONFIGURATION, gaps=True, complete=False)
            assert check_log(rows, promise, CONFIGURATION, gaps=True, complete=False) == told, seed
            found[told.verdict] += 1
    assert found["holds"] > 100 and found["violated"] > 10, found
