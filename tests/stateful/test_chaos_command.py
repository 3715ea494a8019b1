"""`pytest --hypothesis-profile=chaos` as it is typed: what it collects and calls a search."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.stateful import coverage, reached, searching

SEARCH = "test_the_search_finds_nothing"


def collected(root: Path, *words: str) -> list[str]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "--hypothesis-profile=chaos"),
            *("--collect-only", "-q", "-p", "no:cacheprovider", *words),
        ],
        cwd=root,
        env={k: v for k, v in os.environ.items() if k != searching.MINUTES},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_without_a_path_only_searches_are_collected(repo_root: Path) -> None:
    found = collected(repo_root)
    assert len(found) == searching.MACHINES and all(each.endswith(SEARCH) for each in found)


@pytest.mark.slow
def test_a_path_means_what_pytest_means_by_it(repo_root: Path) -> None:
    found = collected(repo_root, "tests/stateful/test_telling.py")
    assert len(found) > 3 and all(each.startswith("tests/stateful/test_telling") for each in found)


def test_few_examples_are_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(searching.MINUTES, "2")
    monkeypatch.setattr(reached, "counts", {"a": Counter(examples=60), "b": Counter(examples=39)})
    with pytest.raises(pytest.skip.Exception, match=r"99 examples, fewer than 100.*try 3"):
        searching.refuse_few(["a", "b"])
    reached.of("b")["examples"] += 1
    searching.refuse_few(["a", "b"])


def test_the_summary_fits_on_a_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machines = {machine.name: Counter(examples=7) for machine in coverage.MACHINES[:-1]}
    lines = list(coverage.summary(machines, tmp_path))
    assert len(lines) <= 20 and f"{coverage.MACHINES[-1].name}: NOT searched" in lines
    assert f"all that was reached: {tmp_path / coverage.REACHED}" in lines
    # What a plain machine reaches is nothing of these.
    assert not coverage.missing({"voters": Counter({"action HandleReplaceDisk": 1})})
    assert "too early to judge" in (tmp_path / coverage.REACHED).read_text()
