"""A damaged file of a simulated and judged folder: every verb names it, or does not need it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from tests.traces.jobs.test_damage import flipped, kinds, ways

# TLC judges the folder once.
pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("damage")]

RUNS = 3
SIMULATE = ("simulate", "--scenario", "quorum", "--bug", "Z01", "--runs", RUNS, "--seed", 5)
VERBS = {
    "simulate": (*SIMULATE, "--out", "t"),
    "report": ("report", "t"),
    "replay": ("replay", "t", "--run", 0),
    "check": ("check", "t"),
}
RECORDED = ("inputs", "rows", "runs", "steps")
KINDS = (
    *("t/manifest.json", "t/summary.json"),
    *(f"t/part-N-N.{name}.parquet" for name in RECORDED),
    *("t/conform/rejected.parquet", "t/conform/steps.parquet"),
    *(f"t/conform/part-N-N.{name}" for name in ("classes.parquet", "keys.parquet", "facts.json")),
    "t/report.html",
)

READ = {
    "t/manifest.json": {"simulate", "replay", "check"},
    "t/summary.json": {"simulate", "report", "replay"},
    **{f"t/part-N-N.{name}.parquet": {"simulate", "replay"} for name in RECORDED},
    "t/part-N-N.runs.parquet": {"simulate", "replay", "check"},
    "t/conform/rejected.parquet": {"replay"},
}
"""The verbs that read a file, and so have to name it."""
SECONDS = re.compile(r"[0-9.]+ s\b")


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in (*words, "--quiet")])


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        assert run(*VERBS["simulate"]).exit_code in (0, 1)
        assert run("conform", "t").exit_code == 1
        assert run("report", "t").exit_code == 0
    return where


def outcome(verb: str) -> tuple[int, str, str]:
    """What a verb says and leaves, but for the seconds that it took; or what it refuses."""
    result = run(*VERBS[verb])
    assert "Traceback" not in result.output and "a defect" not in result.output, result.output
    if result.exit_code == 3:
        assert result.stderr.count("\n") == 1 and len(result.stderr) < 500
        return 3, result.stderr, ""
    page = Path("t/report.html").read_text("utf-8") if verb == "report" else ""
    return result.exit_code, SECONDS.sub("", result.output), SECONDS.sub("", page)


@pytest.mark.slow
def test_every_kind_of_file_is_here(judged: Path) -> None:
    assert sorted(kinds(judged)) == sorted(KINDS)


@pytest.fixture
def path(kind: str, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of this kind, in a copy of the folder in which we are."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return kinds(tmp_path)[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_named_or_does_not_matter(kind: str, path: Path) -> None:
    data = path.read_bytes()
    whole = {}
    for verb in VERBS:
        whole[verb] = outcome(verb)
        path.write_bytes(data)
    named = set()
    for damaged in ways(data):
        for verb in VERBS:
            path.write_bytes(damaged)
            code, said, page = outcome(verb)
            if code == 3:
                assert str(path) in said
                named.add(verb)
            else:
                assert (code, said, page) == whole[verb]
    assert named == READ.get(kind, set())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "simulate" in READ.get(kind, ())])
def test_damage_is_named_before_steps_are_judged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(flipped(path.read_bytes(), 30))
    monkeypatch.setattr("kraftcheck.traces.jobs.conform.judge", None)
    result = run("conform", "t")
    assert (result.exit_code, result.stdout) == (3, "") and path.name in result.stderr
