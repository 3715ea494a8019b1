"""`bugs show` recommends a command that finds the bug: it is tried."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.bugs import FINDERS, _simulated
from kraftcheck.cli import cli
from kraftcheck.reference.bugs.catalog import CATALOG, bug


def commands(id: str) -> list[list[str]]:
    return [shlex.split(said)[1:] for _, said in _simulated(bug(id))]


@pytest.mark.parametrize("id", ["Z01", "Z38", "Z96"])
def test_the_recommended_command_finds_it(id: str, tmp_path: Path) -> None:
    (words,) = commands(id)
    if words[0] == "simulate":
        words = [*words[:-1], str(tmp_path / "runs")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1, done.output
    assert "violated in" in done.stdout or "\n!! " in done.stdout


def test_every_command_is_one_of_ours() -> None:
    verbs = {words[0] for each in CATALOG for words in commands(each.id)}
    assert verbs <= {"simulate", "replay", "conform", "check", "bugs"}


def test_of_every_bug_that_a_run_has_shown_one_is_stored() -> None:
    shown = [
        each.id
        for each in CATALOG
        if each.in_scope and not each.is_control
        # Of the others is said why none has: `no run`, or TLC alone can see it.
        if any(one in each.detectors and one not in each.no_run for one in FINDERS)
    ]
    assert len(shown) > 70 and [id for id in shown if not commands(id)] == []


def test_a_schedule_without_a_wrong_state_is_judged_and_not_only_told() -> None:
    """Z46: every state is right, and one step is not."""
    assert commands("Z46") == [["bugs", "run", "Z46", "--oracle", "steps", "--stored"]]


def test_every_file_that_a_command_names_is_there() -> None:
    replayed = [words for each in CATALOG for words in commands(each.id) if words[0] == "replay"]
    missing = [words[1] for words in replayed if not (Path.cwd() / words[1]).is_file()]
    assert len(replayed) >= 10 and missing == []
