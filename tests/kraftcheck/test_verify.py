"""`report` and `verify`: the page, the whole job at a small size, and what it removes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck import artifacts, report, verify
from kraftcheck.artifacts import Part, merge
from kraftcheck.cli import cli
from tests.tla_utils.toyspecs import write_specs


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.tlc
@pytest.mark.acceptance
def test_the_whole_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Toy models and few runs; the recorded steps are judged by the real specs."""
    write_specs(tmp_path / "specs")
    monkeypatch.setattr(verify, "SPECS", tmp_path / "specs")
    monkeypatch.setattr(verify, "PLANTED_RUNS", 2)
    monkeypatch.setattr(verify, "OTHERS", {"partition": 2, "cluster": 1})
    out = tmp_path / "out"
    # What an earlier run has left must not be taken for this one's.
    (out / "conform").mkdir(parents=True)
    (out / "summary.json").write_text('{"parts": {"conform": "stale"}}')
    result = run("verify", "--out", out, "--runs", 2, "--seed", 5)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    stages = ("models", "simulation", "conformance", "partition", "cluster", "canary")
    assert [line.split()[:2] for line in lines[:6]] == [[name, "holds"] for name in stages]
    doing = [line.partition(" of 6, ")[2] for line in result.stderr.splitlines()]
    assert [each for each in doing if each] == [f"{name}: {verify.DOING[name]}" for name in stages]
    assert lines[-1] == str(out / "report.html") and lines[-2].startswith("verdict     holds, ")
    assert (out / "report.html").stat().st_size > 10_000
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["parts"]) == [
        "spec",
        "simulate",
        "conform",
        "partition",
        "cluster",
        "canary",
    ]
    assert summary["parts"]["canary"]["rejected_steps"] > 0
    for scenario in ("partition", "cluster"):
        found = summary["parts"][scenario]
        assert (found["rejected_steps"], found["histories"]) == (0, "holds")
        assert found["distinct_steps"] > 100
    assert summary["verdict"] == "holds" and summary["seeds"] == {"quorum": 5}
    assert {"spec", "simulate", "judge", "canary"} <= set(summary["seconds"])
    planted = json.loads((out / "canary" / "summary.json").read_text())
    assert planted["verdict"] == "violated" and planted["trace"]["bug"] == "Z01"

    page = (out / "report.html").read_text()
    title = " ".join(page.partition("<title>")[2].partition("</title>")[0].split())
    assert title.startswith("kraftcheck: holds ")
    assert title.endswith(" models, and runs of quorum, partition, cluster")
    links = re.findall('<a href="([^"]+)"', page)
    assert links == [f"{each}/report.html" for each in ("partition", "cluster", "canary")]
    assert all((out / each).is_file() for each in links)
    # Models are not told as of the one scenario whose figures are on this page.
    assert page.index("Models checked by TLC") < page.index("All below is of it")

    again = run("report", out)
    assert (again.exit_code, again.stdout) == (0, f"{out}/report.html\n")
    told = run("report", out / "canary", "--json")
    assert told.exit_code == 0 and json.loads(told.stdout)["verdict"] == "violated"
    # A page whose own scenario holds is as bad as the worst that it links to.
    artifacts.merge(out, artifacts.Part("partition", "violated", 1.0, ["partition: planted"]))
    told = run("report", out, "--json")
    assert told.exit_code == 0 and json.loads(told.stdout)["verdict"] == "violated"
    assert "<strong>VIOLATED</strong>" in (out / "report.html").read_text()


@pytest.mark.tlc
def test_a_model_that_is_not_as_expected_is_found_beside_the_other_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_specs(tmp_path / "specs")
    manifest = tmp_path / "specs" / "models.toml"
    manifest.write_text(manifest.read_text().replace("distinct = 4", "distinct = 5", 1))
    monkeypatch.setattr(verify, "SPECS", tmp_path / "specs")
    out = tmp_path / "out"

    def simulated(job: object) -> tuple[int, str]:
        merge(out, Part("simulate", "holds", 0.0))
        return 0, "not done here"

    monkeypatch.setattr(verify._Job, "simulation", simulated)
    for name in ("conformance", "canary"):
        monkeypatch.setattr(verify._Job, name, lambda job: (0, "not done here"))
    monkeypatch.setattr(verify._Job, "other", lambda job, scenario: (0, "not done here"))
    monkeypatch.setattr(report, "make", lambda folder: (folder / "report.html", "holds"))
    result = run("verify", "--out", out)
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines()[0].split()[:2] == ["models", "violated"]
    summary = json.loads((out / "summary.json").read_text())
    assert list(summary["parts"]) == ["spec", "simulate"]
    assert summary["reasons"] == ["model toy: distinct is 4, not 5"]
    assert (out / "specs.json").is_file() and (out / "tlc" / "toy.out").is_file()


def found(**changed: Any) -> dict[str, Any]:
    violations = {"runs": 0, "by_name": {}}
    usual = {"verdict": "violated", "rejected_steps": 9, "runs": 300}
    return {**usual, "invariant_violations": violations, **changed}


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "holds"),
        ({"rejected_steps": 0, "verdict": "holds"}, "violated"),
        # Found by an invariant only: then it was not the step relation that saw it.
        ({"rejected_steps": 0, "verdict": "violated"}, "violated"),
        ({"rejected_steps": 0, "verdict": "unknown"}, "unknown"),
    ],
)
def test_a_canary_that_lives_is_no_evidence(changed: dict[str, Any], verdict: str) -> None:
    part = verify.judged_canary(found(**changed), 1.0)
    assert part.verdict == verdict
    assert bool(part.reasons) == (verdict != "holds")
    assert all("Z01 was not found in 300 runs" in reason for reason in part.reasons)


def test_only_what_is_ours_is_removed(tmp_path: Path) -> None:
    for name in ("summary.json", "specs.json", "part-0.runs.parquet", "notes.txt", "conform.txt"):
        (tmp_path / name).touch()
    (tmp_path / "conform" / "deep").mkdir(parents=True)
    (tmp_path / "thesis").mkdir()
    verify.clear(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "conform.txt",
        "notes.txt",
        "thesis",
    ]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "conform").mkdir()
    result = run("verify", "--out", tmp_path)
    assert result.exit_code == 3 and "holds conform, which is not ours" in result.stderr
    assert (tmp_path / "conform").is_dir()


def test_what_was_not_judged_has_no_report(tmp_path: Path) -> None:
    result = run("report", tmp_path)
    assert result.exit_code == 3
    assert f"run `kraftcheck conform {tmp_path}` first" in result.stderr
    (tmp_path / "summary.json").write_text('{"parts": {"conform": {}}}')
    result = run("report", tmp_path)
    assert result.exit_code == 3 and result.stderr.count("\n") == 1
