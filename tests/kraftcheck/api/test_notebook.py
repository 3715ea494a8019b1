"""The notebooks in examples/: each cell is executed, in order, in one namespace."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kraftcheck.traces.jobs.tables import of_part
from kraftcheck.traces.store import read_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTEBOOKS = Path(__file__).resolve().parents[3] / "examples" / "notebooks"


def executed(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the cells leave."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    notebook = json.loads(path.read_text("utf-8"))
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert len(cells) > 3 and not any(each["outputs"] for each in cells), "outputs are not stored"
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    return names


def test_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = executed(NOTEBOOKS / "histories.ipynb", tmp_path, monkeypatch)
    assert names["report"].holds and names["violated"].verdict == "violated"


@pytest.mark.slow
def test_seven_questions_to_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = executed(NOTEBOOKS / "runs.ipynb", tmp_path, monkeypatch)
    asked = ("unclean", "leaderless", "before_alter", "ignored", "sent", "stalled")
    assert all(names[name] for name in asked), "each question has an answer in these runs"
    sent = Counter(row["type"] for row in _rows(names["folder"], "messages"))
    assert {row["type"]: row["messages"] for row in names["sent"]} == sent
    assert {row["run"]: row["steps"] for row in names["behind"]} == _behind(names["folder"])


def _rows(trace: Path, table: str) -> Iterator[dict[str, Any]]:
    """A table without SQL."""
    for part in read_parts(trace):
        yield from of_part(table, part, "partition").to_pylist()


def _behind(trace: Path) -> Counter[int]:
    """Of each run, the steps after which a broker of the ISR ends below the high watermark."""
    found, committed, isr = Counter[int](), Counter[int](), dict[int, list[int]]()
    for row in _rows(trace, "steps"):
        run, after = row["run"], json.loads(row["after"])
        if row["kind"] == "controller":
            isr[run] = after["partition"]["isr"]
            continue
        committed[run] = max(committed[run], after["highWatermark"])
        end = after["logStart"] + len(after["log"])
        found[run] += row["node"] in isr.get(run, []) and end < committed[run]
    return +found


def test_every_notebook_is_executed() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {"histories", "runs"}
