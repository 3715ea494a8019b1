"""A Spark cluster on this machine: its processes, and how it ends when they do.

That a campaign on it leaves the same bytes as without Spark is tried by hand: three JVMs and two
executors are too much for a test.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kraftcheck import standalone
from kraftcheck.exits import BadInput
from kraftcheck.standalone import HOST, MASTER, WORKERS, processes, serve


def test_one_master_and_its_workers() -> None:
    master, *workers = processes()
    assert master[0].endswith("Master") and len(workers) == WORKERS
    assert all(command[0].endswith("Worker") and command[-1] == MASTER for command in workers)
    assert len({command[command.index("--work-dir") + 1] for command in workers}) == WORKERS
    for command in processes():
        assert command[command.index("--host") + 1] == HOST


def test_a_port_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        monkeypatch.setattr(standalone, "PORT", taken.getsockname()[1])
        with pytest.raises(BadInput, match=r"something listens on 127\.0\.0\.1:\d+ already"):
            serve(tmp_path / "spark")
    assert not (tmp_path / "spark").exists()


def stand_in(scripts: dict[str, str], started: list[subprocess.Popen[bytes]]) -> object:
    """In the place of `start`: a process that runs a line of Python."""

    def start(launcher: Path, scratch: Path, command: Sequence[str]) -> subprocess.Popen[bytes]:
        assert launcher.name == "spark-class" and launcher.exists()
        script = scripts[command[0].rpartition(".")[2]]
        process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
        started.append(process)
        return process

    return start


def test_a_master_that_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(standalone, "listening", lambda: False)
    monkeypatch.setattr(standalone, "start", stand_in({"Master": "exit(7)"}, started))
    with pytest.raises(BadInput, match="master ended with 7"):
        serve(tmp_path)
    assert len(started) == 1


def test_when_a_worker_ends_all_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    answers = iter([False, True])
    monkeypatch.setattr(standalone, "listening", lambda: next(answers))
    waits = "import time; time.sleep(600)"
    monkeypatch.setattr(standalone, "start", stand_in({"Master": waits, "Worker": ""}, started))
    with pytest.raises(BadInput, match="a process of the cluster ended"):
        serve(tmp_path)
    assert len(started) == 1 + WORKERS
    assert all(process.poll() is not None for process in started)
