"""What a command costs: CPU-seconds and memory of all processes that it starts, however they end.

The system adds the CPU time of a process to the process that waits for its end. No process waits
for the workers of PySpark's daemon, so these are sampled while they run. They end with the work:
at most SAMPLE_S of each is missed. Memory is the resident memory of all processes, sampled. It is
an upper bound, because a page that processes share counts in each.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks._measure import apart
from kraftcheck import standalone

PLACES: Final = {
    "pool": ("--backend", "pool"),
    "local": ("--master", "local[2]"),
    "cluster": ("--master", standalone.MASTER),
}
KRAFTCHECK: Final = str(Path(sys.executable).with_name("kraftcheck"))
SAMPLE_S: Final = 0.5
SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER: orphans become children of this process, which can wait for them."""
DAEMON: Final = b"pyspark.daemon"
TICKS: Final = os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    seconds: float
    cpu: float
    memory: float
    """MiB, at the peak."""


def cost(words: Sequence[str], folder: Path, code: int = 0, place: str = "") -> Cost:
    """What a command costs in a folder; place: one of PLACES, with its cluster.

    Raises ValueError: it did not end with this exit code.
    """
    return apart(_cost, words, folder, code, place)


def _cost(words: Sequence[str], folder: Path, code: int, place: str) -> Cost:
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    watch = _Watch()
    watch.start()
    with _cluster(folder / "cluster") if place == "cluster" else nullcontext():
        begin = time.monotonic()
        words = [*words, *PLACES.get(place, ())]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=folder)
        seconds = time.monotonic() - begin
    watch.end()
    with suppress(ChildProcessError):
        while True:
            watch.workers.pop(os.wait()[0], None)
    if done.returncode != code:
        raise ValueError(f"{' '.join(words)}: ended with {done.returncode}: {done.stdout[-300:]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime + sum(watch.workers.values())
    return Cost(seconds, cpu, watch.peak)


@contextmanager
def _cluster(folder: Path) -> Iterator[None]:
    """A master and two workers."""
    call = "import pathlib, sys; from kraftcheck import standalone; "
    call += "standalone.serve(pathlib.Path(sys.argv[1]))"
    process = subprocess.Popen([sys.executable, "-c", call, folder], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise SystemExit(f"the cluster does not start: {folder} says why")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


class _Watch(threading.Thread):
    """peak: memory in MiB. workers: of those of PySpark's daemon the CPU-seconds, by their ids."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0
        self.workers: dict[int, float] = {}
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self._look()

    def end(self) -> None:
        self._over.set()
        self.join()

    def _look(self) -> None:
        there = dict(_processes())
        own, more = set[int](), {os.getpid()}
        while more:
            own |= more
            more = {pid for pid, each in there.items() if each.parent in own} - own
        below = {pid: there[pid] for pid in own if pid in there}
        self.peak = max(self.peak, sum(each.memory for each in below.values()))
        for pid, each in below.items():
            if each.daemon and each.parent in below and below[each.parent].daemon:
                self.workers[pid] = each.cpu


class _Process(NamedTuple):
    """A process; cpu: with those whose end it has seen; daemon: of PySpark, or forked by it."""

    parent: int
    cpu: float
    memory: float
    daemon: bool


def _processes() -> Iterator[tuple[int, _Process]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            # The name in brackets may hold anything; state and parent are behind it.
            behind = (folder / "stat").read_text().rpartition(")")[2].split()
            pages = int((folder / "statm").read_text().split()[1])
            daemon = DAEMON in (folder / "cmdline").read_bytes()
            cpu = sum(map(int, behind[11:15])) / TICKS
            yield int(folder.name), _Process(int(behind[1]), cpu, pages * PAGE / 2**20, daemon)
