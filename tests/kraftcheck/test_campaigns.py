"""`campaign run`, `extend` and `compare`: exit codes, what is said, what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.traces.jobs import campaigns, ranges
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.sealed import sealed
from tests.traces.jobs.small_campaigns import StandIn

# One finished campaign serves all tests of this file.
pytestmark = pytest.mark.xdist_group("campaigning")

FILE = """
scenario = "quorum"
runs = 2
seed = 6
options = { voters = 3 }
[configuration.correct]
[configuration.bug]
bug = "Z06"
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["campaign", *map(str, arguments)])


@pytest.fixture(scope="module", autouse=True)
def one_process() -> Iterator[None]:
    """A stand-in for TLC, and no other process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaigns, "judge", StandIn())
        patch.setattr(Pool, "size", property(lambda self: 1))
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two configurations, one of them with a bug that its second run meets."""
    where = tmp_path_factory.mktemp("campaigning")
    (where / "both.toml").write_text(FILE, encoding="utf-8")
    result = run("run", where / "both.toml", "--out", where / "c", "--quiet")
    assert result.exit_code == 1, result.stderr
    return where / "c"


@pytest.fixture
def own(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / "c"


@pytest.mark.slow
def test_what_is_found_is_told(own: Path) -> None:
    result = run("run", own.parent / "both.toml", "--out", own, "--quiet")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1 and lines[0] == "verdict    violated"
    assert lines[1].startswith("runs       4, ")
    assert any(line.startswith("correct: holds, 2 runs, ") for line in lines)
    assert any(line.startswith("bug: violated, 2 runs, ") for line in lines)
    assert f"    kraftcheck replay {own / 'bug'} --run 1" in lines
    assert lines[-1] == f"report    {own / 'report.html'}"
    for verb in ("report", "conform"):
        asked = CliRunner().invoke(cli, [verb, str(own)])
        assert asked.exit_code == 3 and f"judged as it ran: its page is {own}" in asked.stderr
    page = (own / "report.html").read_text(encoding="utf-8")
    assert "<strong>VIOLATED</strong>" in page and "Side by side" in page
    (own / "report.html").unlink()
    asked = CliRunner().invoke(cli, ["report", str(own)])
    assert asked.exit_code == 3 and "is a campaign that has not ended" in asked.stderr
    told = run("run", own.parent / "both.toml", "--out", own, "--quiet", "--json")
    found = json.loads(told.stdout)
    assert (found["verdict"], found["runs"], found["seed"]) == ("violated", 4, 6)


def test_the_first_violation_is_said_at_once(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "code_digest", lambda specs: "of tomorrow")
    shutil.rmtree(own / "bug")
    result = run("run", own.parent / "both.toml", "--out", own, "--fail-fast")
    assert result.exit_code == 1
    said = result.stderr.splitlines()
    at = next(n for n, line in enumerate(said) if line.startswith("violated: bug, run "))
    assert said[at + 1].startswith(f"    kraftcheck replay {own / 'bug'} --run ")
    assert "the same command without --fail-fast goes on" in result.stdout
    told = run("run", own.parent / "both.toml", "--out", own, "--fail-fast", "--json", "--quiet")
    assert json.loads(told.stdout)["stopped"] is True


def test_more_runs(own: Path) -> None:
    result = run("extend", own, "--runs", 1, "--quiet", "--json")
    assert result.exit_code == 1, result.stderr
    found = json.loads(result.stdout)
    assert found["runs"] == 6
    again = run("run", own.parent / "both.toml", "--out", own)
    assert again.exit_code == 3 and "holds another campaign: runs 3 and not 2" in again.stderr
    again = run(
        "run", "--scenario", "quorum", "--bug", "Z01", *("--runs", 3, "--seed", 6), "--out", own
    )
    assert "configurations correct of quorum" in again.stderr, again.stderr
    assert " and not quorum with Z01; name another folder" in again.stderr, again.stderr


def test_one_campaign_against_another(own: Path, tmp_path: Path) -> None:
    same = run("compare", own, own)
    assert same.exit_code == 0 and same.stdout.count("nothing changed") == 2
    worse = tmp_path / "worse"
    shutil.copytree(own, worse)
    found = json.loads((own / "findings.json").read_text())
    correct, bug = found["configurations"]
    found["configurations"] = [{**bug, "name": correct["name"]}, bug]
    (worse / "findings.json").write_bytes(sealed(json.dumps(found).encode()))
    result = run("compare", own, worse)
    assert result.exit_code == 1
    assert "correct: holds -> violated" in result.stdout.splitlines()
    assert any(
        line.startswith("  ! invariant ") and line.split()[3:] == ["0", "->", "1"]
        for line in result.stdout.splitlines()
    ), result.stdout
    better = run("compare", worse, own, "--json")
    assert better.exit_code == 0 and json.loads(better.stdout)["worse"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--runs", "2", "--out", "c"], "name a file of configurations, or a --scenario"),
        (["run", "--scenario", "quorum", "--out", "c"], "how many runs? --runs N"),
        (["run", "--scenario", "quorom", "--runs", "2", "--out", "c"], "did you mean quorum?"),
        (
            ["run", "--scenario", "quorum", "--bug", "Z46", "--runs", "2", "--out", "c"],
            "scenario quorum never uses the rules of Z46",
        ),
        (["run", "odd.toml", "--runs", "2", "--out", "c"], "odd.toml: No such file"),
        (["extend", "c", "--runs", "2"], "campaign.json: no such file: not a campaign"),
        (["compare", "a", "b"], "findings.json: no such file: the campaign is not finished"),
    ],
)
def test_what_is_refused_is_one_line_and_writes_nothing(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert said in result.stderr and result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("runs = ", "Invalid value"),
        ('scenarios = "quorum"\n[configuration.a]', "unknown field `scenarios`"),
        ("runs = 2", "missing required field `configuration`"),
        ('[configuration."../a"]', "configuration '../a': letters, digits"),
        (
            'scenario = "quorum"\n[configuration.a.options]\nvoter = 9',
            "configuration a: no option 'voter'",
        ),
        ("[configuration]", "a campaign without a configuration is none"),
    ],
)
def test_a_file_that_is_wrong_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "asked.toml"
    path.write_text(text, encoding="utf-8")
    result = run("run", path, "--runs", "2", "--out", tmp_path / "c")
    assert result.exit_code == 3 and said in result.stderr and result.stderr.count("\n") == 1
    assert not (tmp_path / "c").exists()


def damaged(found: dict[str, Any]) -> str:
    return sealed(json.dumps({**found, "configurations": [{"name": "a"}]}).encode()).decode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: "{", "damaged"),
        (lambda found: "{}", "findings version None"),
        (damaged, "not what a campaign leaves"),
    ],
)
def test_damaged_findings_are_refused(own: Path, change: Any, said: str) -> None:
    path = own / "findings.json"
    path.write_text(change(json.loads(path.read_text())), encoding="utf-8")
    result = run("compare", own, own)
    assert result.exit_code == 3 and said in result.stderr and result.stderr.count("\n") == 1
