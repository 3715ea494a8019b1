"""`shrink` and `replay` of a schedule, as a user sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp("shrink") / "runs"
    options = ("--scenario", "partition", "--runs", 14, "--seed", 1, "--bug", "Z34")
    assert run("simulate", *options, "--out", found, "--quiet").exit_code == 1
    return found


@pytest.mark.slow
def test_a_failing_run_becomes_a_schedule_that_fails_alike(folder: Path) -> None:
    path = folder.parent / "small.schedule"
    command = ("shrink", folder, "--run", 13, "--attempts", 150, "--out", path, "--json")
    result = run(*command, "--quiet")
    assert result.exit_code == 1, result.output
    told = json.loads(result.stdout)
    assert told["violates"] == "WeakIsr"
    again = run("replay", path)
    assert again.exit_code == 1
    assert "!! WeakIsr: " in again.stdout and "choices are not in" not in again.stdout


def test_a_schedule_of_another_version_is_unknown(folder: Path) -> None:
    path = folder.parent / "other.schedule"
    run("shrink", folder, "--run", 13, "--attempts", 1, "--out", path, "--quiet")
    path.write_text(path.read_text().replace("violates  WeakIsr", "violates  StrongIsr"))
    result = run("replay", path)
    assert result.exit_code == 2
    assert "it violates WeakIsr: another version" in result.stdout


def test_choices_that_a_schedule_lacks_are_counted(folder: Path) -> None:
    path = folder.parent / "cut.schedule"
    run("shrink", folder, "--run", 13, "--attempts", 1, "--out", path, "--quiet")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith("workload")))
    assert "choices are not in the schedule: the simplest was made" in run("replay", path).stdout


def test_what_cannot_be_is_one_line(folder: Path, tmp_path: Path) -> None:
    good = run("shrink", folder, "--run", 0, "--quiet")
    assert good.exit_code == 3
    assert "run 0: the run violates nothing and makes progress" in good.stderr
    none = tmp_path / "none.schedule"
    none.write_text(
        "kraftcheck schedule 1\nscenario  quorom\nbug none\nviolates none\noptions {}\n"
    )
    refused = run("replay", none)
    assert refused.exit_code == 3 and "no scenario 'quorom'; did you mean quorum?" in refused.stderr
    assert run("replay", folder).exit_code == 3
