"""What a command is said to cost, with workers whose end nobody waits for, as PySpark's are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import files
from benchmarks._processes import cost

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")

WORKER = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if not os.fork():
    while time.process_time() < 1.5:
        pass
    time.sleep(2)
    os._exit(0)
time.sleep(float(sys.argv[2]))
"""
"""A daemon by its second word, and a worker of it that computes for 1.5 s, and rests."""


@pytest.mark.slow
@pytest.mark.parametrize("lives", [12, 0], ids=["the daemon lives on", "the worker lives on"])
def test_a_worker_is_counted_once(tmp_path: Path, lives: int) -> None:
    words = [sys.executable, "-c", WORKER, "pyspark.daemon", str(lives)]
    assert 1.4 < cost(words, tmp_path).cpu < 2.2


def test_another_end_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ended with 3"):
        cost([sys.executable, "-c", "exit(3)"], tmp_path)


@pytest.mark.slow
def test_what_files_cost_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """And their wrong lines are found, which is asked of the exit code."""
    files.main(["check", "--sizes", "2", "4", "--places", "pool"])
    assert capsys.readouterr().out.count("| `check` |") == 2
