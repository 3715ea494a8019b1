"""Consumer groups, which are not registered yet: they take part by `--protocol`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "reference" / "groups"
KRAFTCHECK = Path(sys.executable).parent / "kraftcheck"

pytestmark = [pytest.mark.slow, pytest.mark.tlc, pytest.mark.xdist_group("groups")]


def said(*words: object, cwd: Path = ROOT, code: int = 0, **more: str) -> str:
    done = subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_its_runs_hold_and_are_steps_of_the_spec(tmp_path: Path) -> None:
    verbs = (KRAFTCHECK, "--protocol", FOLDER)
    out = tmp_path / "runs"
    words = ("simulate", "--scenario", "groups", "--runs", 40, "--seed", 7, "--out", out)
    assert "verdict   holds" in said(*verbs, *words, cwd=tmp_path)
    told = said(*verbs, "conform", out, cwd=tmp_path)
    assert "rejected  0 distinct steps" in told and "never " not in told


def test_two_members_fetch_one_partition_as_kafka_reports(tmp_path: Path) -> None:
    """Z109."""
    words = ("simulate", "--scenario", "groups", "--bug", "Z109", "--runs", 40, "--seed", 1)
    told = said(
        *(KRAFTCHECK, "--protocol", FOLDER, *words, "--out", tmp_path / "runs"),
        cwd=tmp_path,
        code=1,
    )
    assert "verdict   violated" in told


def test_rules_and_properties_of_both_sides_agree() -> None:
    """In a process that knows the protocol; a rule that is another one is told there, too."""
    tests = "tests/conformance/test_groups.py"
    words = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", tests)
    assert "3 passed" in said(*words, KRAFTCHECK_PROTOCOL=str(FOLDER))
