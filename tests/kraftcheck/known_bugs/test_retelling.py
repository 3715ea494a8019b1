"""A run in which a bug was found is told, and its page has a timeline."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.known_bugs.detecting import Detection
from kraftcheck.known_bugs.retelling import chosen


def detection(bug: str, oracle: str, replay: str = "kraftcheck replay") -> Detection:
    return Detection(bug=bug, oracle=oracle, verdict="found", replay=replay)


def test_of_each_bug_the_run_of_what_clients_saw_is_told() -> None:
    found = [
        detection("Z06", "steps"),
        detection("Z06", "histories"),
        detection("Z01", "tlc", replay=""),
        detection("Z03", "steps"),
    ]
    assert [(each.bug, each.oracle) for each in chosen(found)] == [
        ("Z06", "histories"),
        ("Z03", "steps"),
    ]


def test_one_command_replays_and_draws(tmp_path: Path) -> None:
    asked = ["bugs", "run", "Z58", "--oracle", "histories", "--replay", "--quiet"]
    shown = CliRunner().invoke(cli, [*asked, "--out", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert any(
        re.match("Z58, found by histories: promised .*, kept divergent", each) for each in lines
    )
    (page,) = [line.split()[-1] for line in lines if line.startswith("timeline")]
    assert "<svg" in Path(page).read_text("utf-8")
    assert sum("ProduceRequest" in line for line in lines) > 2
    assert any(line.startswith("tell Z58   kraftcheck replay ") for line in lines)
