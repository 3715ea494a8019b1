"""A history as Parquet is the history that JSON lines tell, or one line says why it is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from kraftcheck import convert
from kraftcheck.checking.judge import judge_file
from kraftcheck.checking.options import Options
from kraftcheck.screen import Screen
from kraftcheck.traces.formats import detect, jsonlines, parquet
from kraftcheck.traces.history import HistoryError
from tests.live.samples import DATA
from tests.traces.formats.builders import histories
from tests.traces.formats.test_round_trip import MODELS, bare

EVENTS: dict[str, list[Any]] = {
    "process": [0, 0, 0, 0, 0, 0, None, 1, 1],
    "type": ["invoke", "ok", "invoke", "ok", "invoke", "ok", "info", "invoke", "ok"],
    "f": ["begin", "begin", "send", "send", "end", "end", "kill", "poll", "poll"],
    "txn": [7, 7, 7, 7, 7, 7, None, None, None],
    "value": [
        *(None, None, '[["send", "pay-0", 41]]', '[["send", "pay-0", [12, 41]]]'),
        *('"commit"', '"commit"', '"b1"', '[["poll"]]', '[["poll", {"pay-0": [[12, 41]]}]]'),
    ],
    "from": [None] * 8 + ['[{"pay-0": 12}]'],
    "to": [None] * 8 + ['[{"pay-0": 14}]'],
    "time": [*range(10, 19)],
    "partition": [3] * 9,  # somebody's own
}
"""A transaction told by steps, and a poll that shows its record."""
PASSED = '[["poll", {"pay-0": []}]]'


def file(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "history"
    pq.write_table(pa.table({**EVENTS, **changes}), path)
    return path


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
def test_what_is_written_is_read(
    model: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    history = data.draw(histories(model))
    path = tmp_path_factory.getbasetemp() / f"{model}.parquet"
    path.write_bytes(parquet.write(history))
    assert detect.detect(path) == parquet.NAME
    lines = path.with_suffix(".jsonl")
    lines.write_text("".join(jsonlines.write(history)), encoding="utf-8")
    assert bare(detect.read(path)) == bare(detect.read(lines)) == bare(history)


def test_transactions_are_judged(tmp_path: Path) -> None:
    options = Options(configuration={"faults": "clean", "transactional": True})
    assert judge_file(file(tmp_path), options).verdict == "holds"
    lost = file(tmp_path, value=[*EVENTS["value"][:8], PASSED])
    verdict = judge_file(lost, options)
    assert verdict.verdict == "violated"
    assert verdict.certificate is not None and verdict.certificate.kind == "lost-commit"


def test_a_recorded_history_is_the_same_as_parquet(tmp_path: Path) -> None:
    with ZipFile(DATA / "txn-kill.zip") as archive:
        archive.extract("history.jsonl", tmp_path)
    path, out = tmp_path / "history.jsonl", tmp_path / "history.parquet"
    how: Any = {"to": "parquet", "format": "auto", "run": None, "screen": Screen(json=True)}
    assert convert.convert(path, out=out, **how) == 0
    lines = tmp_path / "again.jsonl"
    lines.write_text("".join(jsonlines.write(detect.read(path))), encoding="utf-8")
    assert bare(detect.read(out)) == bare(detect.read(lines))
    options = Options(configuration={"faults": "clean", "transactional": True})
    assert judge_file(out, options).verdict == judge_file(path, options).verdict == "holds"
    assert out.stat().st_size < path.stat().st_size / 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"type": [0] * 9}, "column type is int64, not string"),
        ({"process": ["0"] * 9}, "column process is string, not int64"),
        ({"value": [[1]] * 9}, "column value is list<.*>, not JSON as a string"),
        ({"value": ['"a"'] * 8 + ["{"]}, ":9: .*breaks off"),
        ({"type": ["invoke"] * 8 + ["done"]}, ":9: type is done"),
    ],
)
def test_what_is_no_history_is_one_line(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(HistoryError, match=reason):
        detect.read(file(tmp_path, **changes))


def test_other_parquet_files_and_damaged_ones(tmp_path: Path) -> None:
    path = tmp_path / "part"
    pq.write_table(pa.table({"process": [1], "type": ["ok"]}), path)
    with pytest.raises(detect.Unrecognised, match="without a column f: if it is of a trace"):
        detect.read(path)
    with pytest.raises(HistoryError, match="no column f"):
        detect.read(path, "parquet")
    empty = {name: pa.array([], pa.string()) for name in ("type", "f")}
    pq.write_table(pa.table({"process": pa.array([], pa.int64()), **empty}), path)
    with pytest.raises(HistoryError, match="empty: a history has at least one operation"):
        detect.read(path)
    data = file(tmp_path).read_bytes()
    for cut in (b"PAR1abc", data[:-10], data[: len(data) // 2], data[:4] + data[60:]):
        path.write_bytes(cut)
        with pytest.raises(HistoryError, match="corrupt Parquet file of"):
            detect.read(path)


def test_a_file_that_unpacks_to_much_more_is_refused(tmp_path: Path) -> None:
    """By its rows, and by its texts; of files as short, what is ordinary is read."""
    rows = 20_000
    table = {"process": pa.array([0] * rows, pa.int64()), "type": pa.array(["ok"] * rows)}
    path = tmp_path / "history.parquet"
    pq.write_table(pa.table({**table, "f": pa.array(["read"] * rows)}), path, compression="zstd")
    with pytest.raises(HistoryError, match="bytes that are 320,000 or more when they are unpacked"):
        parquet.read(path)
    table = {name: column[:200] for name, column in table.items()}
    of = {**table, "f": pa.array(["read"] * 200), "error": pa.array(["x" * 5000] * 200)}
    pq.write_table(pa.table(of), path, compression="zstd")
    with pytest.raises(HistoryError, match="or more when they are unpacked: at most 262,144 are"):
        parquet.read(path)
