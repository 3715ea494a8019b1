"""The screens that people see most, as they are: help pages, verdicts, refusals.

screens.txt has each command with its exit code and its output. After a change that is meant, write
it again with `python -m tests.kraftcheck.test_screens`, and read the difference as a user would.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck import exits
from kraftcheck.cli import cli
from tests.quality import tidy

STORED = Path(__file__).parent / "screens.txt"
ROOT = Path(__file__).resolve().parents[2]
HELP = (
    *("--help", "check --help", "conform --help", "simulate --help", "disk --help"),
    *("bugs --help", "bugs run --help", "spec check --help", "serve --help", "explore --help"),
    *("replay --help", "try --help"),
)
VERDICTS = (
    "check traces/samples/histories/register.edn",
    "check traces/samples/histories --faults clean",
    "bugs show Z01",
)
BY_TLC = (
    "conform examples/foreign/broker-bug.jsonl",
    "spec check --model quorum-one-voter",
)
REFUSALS = (
    "check traces/samples/histories/log.edn",
    "check README.md",
    "bugs show Z999",
    "disk docs",
    "conform docs",
    "spec check --model quorum-one",
    "explore chess",
    "simulate --scenario quorum --runs 3 --bug Z28 --out runs/screens",
    "serve --plan nowhere.toml",
    "try --rules nowhere.py",
)


def screen(command: str) -> str:
    """Return what a command prints, without what differs from run to run."""
    words = [*shlex.split(command), *([] if "--help" in command else ["--quiet"])]
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli, words, prog_name="kraftcheck")
    said = (done.stdout + done.stderr).replace(f"{ROOT}/", "")
    said = re.sub(r"\b\d+\.\d+ (?=s\b| ok$)", "N ", said, flags=re.MULTILINE)
    said = re.sub(r"(?<=\.tla:)\d+", "N", re.sub(r" +(?=N )", " ", said))
    return f"$ kraftcheck {command}\n{said.rstrip()}\n[{done.exit_code}]\n"


def stored() -> dict[str, str]:
    parts = re.split(r"^(?=\$ kraftcheck )", STORED.read_text("utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0].removeprefix("$ kraftcheck "): part.rstrip() for part in parts}


@pytest.mark.parametrize(
    "command",
    (
        *HELP,
        *VERDICTS,
        *(pytest.param(each, marks=pytest.mark.tlc) for each in BY_TLC),
        *REFUSALS,
    ),
)
def test_a_screen_is_as_stored(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert screen(command).rstrip() == stored()[command], "see the head of this module"


@pytest.mark.parametrize("command", ["explore --help", "bugs show Z999"])
def test_a_screen_that_changes_is_seen(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: another help text, and another exit code."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(cli.commands["explore"], "help", "Play a protocol.")
    monkeypatch.setattr(exits, "BAD_INPUT", exits.UNKNOWN)
    with pytest.raises(AssertionError, match="see the head of this module"):
        test_a_screen_is_as_stored(command, monkeypatch)


def test_refusals_end_with_3_in_one_line() -> None:
    known = stored()
    for command in REFUSALS:
        _, *said, code = known[command].splitlines()
        assert code == "[3]" and len(said) == 1, command


def test_screens_are_in_plain_english() -> None:
    lines = STORED.read_text("utf-8").splitlines()
    said = "\n".join(line.strip() for line in lines)
    found = [each for each in tidy.TWICE if re.search(each, said, re.IGNORECASE)]
    assert found == []


if __name__ == "__main__":
    STORED.write_text("\n".join(map(screen, (*HELP, *VERDICTS, *BY_TLC, *REFUSALS))), "utf-8")
