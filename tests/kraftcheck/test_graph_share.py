"""`campaign run --coverage`: what was seen of the graphs is told, written, and on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.traces.cover import campaigns as seen
from kraftcheck.traces.cover.charts import Chart, ChartClass, ChartStore
from kraftcheck.traces.jobs import campaigns
from kraftcheck.traces.jobs.backends import Pool
from tests.traces.jobs.small_campaigns import StandIn
from tla_utils import ToolError


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for TLC, and no other process."""
    monkeypatch.setattr(campaigns, "judge", StandIn())
    monkeypatch.setattr(Pool, "size", property(lambda self: 1))


def run(out: Path, *arguments: object) -> Result:
    given = ("run", "--scenario", "quorum", "--runs", 2, "--seed", 6, "--out", out, "--quiet")
    return CliRunner().invoke(cli, ["campaign", *map(str, (*given, *arguments))])


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def test_what_was_seen_is_told_written_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "c"
    assert run(out).exit_code == 0 and not (out / "graphs.json").exists()
    before = (out / "findings.json").read_bytes()
    slim = pq.read_table(min((out / "quorum" / "judged").glob("*.slim.parquet")))
    key = slim["key"][0].as_py().hex()
    classes = (ChartClass(key, "HandleFlush", 30), ChartClass("00" * 16, "HandleFlush", 10))
    monkeypatch.setattr(ChartStore, "chart", lambda _, model, note: Chart(model.name, 40, classes))
    # What the campaign has found out already is not worked out again.
    monkeypatch.setattr(seen, "Classes", None)
    result = run(out, "--coverage")
    assert result.exit_code == 0, result.output
    said = "    quorum-three-elect: 30 of 40 edges seen (75%), 1 of 2 local steps"
    assert said in result.stdout.splitlines() and "partition-three" not in result.stdout
    assert (out / "findings.json").read_bytes() == before
    (first, *others) = read(out / "graphs.json")["configurations"]["quorum"]
    assert (first["graph"], first["edges_seen"]) == ("quorum-three-elect", 30)
    assert first["growth"][-1] == {"runs": 2, "seen": 1, "edges_seen": 30} and len(others) == 2
    assert "Of bounded state graphs" in (out / "report.html").read_text("utf-8")
    told = json.loads(run(out, "--coverage", "--json").stdout)
    assert told["graphs"]["quorum"][0] == first


def test_a_damaged_chart_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object, **__: object) -> Chart:
        raise ToolError("x.json: damaged: remove it, and the graph is charted again")

    monkeypatch.setattr(ChartStore, "chart", damaged)
    result = run(tmp_path / "c", "--coverage")
    assert result.exit_code in (2, 3) and "x.json: damaged" in result.stderr
    assert "Traceback" not in result.output
