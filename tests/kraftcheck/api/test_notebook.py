"""The notebooks in examples/: each cell is executed, in order, in one namespace."""

from __future__ import annotations

import json
from collections import Counter
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


def test_seven_questions_to_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = executed(NOTEBOOKS / "runs.ipynb", tmp_path, monkeypatch)
    asked = ("unclean", "leaderless", "before_alter", "behind", "ignored", "sent", "stalled")
    assert all(names[name] for name in asked), "each question has an answer in these runs"
    # Against the same runs without SQL.
    trace = names["folder"]
    of_runs = [
        row
        for part in read_parts(trace)
        for row in of_part("messages", part, "partition")["type"].to_pylist()
    ]
    assert {row["type"]: row["messages"] for row in names["sent"]} == Counter(of_runs)


def test_every_notebook_is_executed() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {"histories", "runs"}
