"""`check` and `conform` of many files: the pool, an embedded Spark, and a standalone cluster.

Files are made: Kafka logs as Jepsen writes them (history_files.py), and step traces of partitions
under drawn faults, at least STEPS steps a file. One poll or step of the last file is wrong, and
must be found. CPU-seconds are those of all processes of the command, and of the cluster with its
start. On Spark **they lack the time of Python's workers**: PySpark's daemon does not wait for its
workers, so the system adds their time to no process. Memory is that of the largest process.

    python -m benchmarks.files [check|conform] [--sizes N ...] [--places pool local cluster]

The default sizes are 500, 2,000 and 8,000 histories, or 8, 16 and 32 step traces. All of it takes
an hour of two cores.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.board import KRAFTCHECK
from benchmarks.history_files import lines
from kraftcheck import standalone
from kraftcheck.exits import VIOLATED
from kraftcheck.kafka.witness.speech import Outcome, Speech, header
from kraftcheck.osutil.children import processor_seconds
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.formats import jepsen
from kraftcheck.traces.steps.record import Part, decode_step_constants

SIZES: Final = {"check": (500, 2_000, 8_000), "conform": (8, 16, 32)}
PLACES: Final = {
    "pool": (),
    "local": ("--master", "local[2]"),
    "cluster": ("--master", standalone.MASTER),
}
OPERATIONS, STEPS, RUNS = 100, 1_000, 200
OPTIONS: Final = {
    "replicas": 3,
    "min_insync_replicas": 2,
    "elr": True,
    "unclean": False,
    "partitions": 1,
}
SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER: orphans become children of this process, which can wait for them."""


class Cost(NamedTuple):
    cpu: float
    """Seconds."""
    memory: float
    """MiB."""


# -- Files


def histories(folder: Path, files: int) -> None:
    for number in range(files):
        told = [*lines(OPERATIONS + number % 50, jepsen.NAME)]
        if number == files - 1:
            told[-1] = re.sub(r"\[(\d+) \d+\]", r"[\1 999999]", told[-1], count=1)
        (folder / f"{number:05}.edn").write_text("".join(told), encoding="utf-8")


def traces(folder: Path, files: int) -> None:
    steps = _runs()
    for number in range(files):
        head, told = next(steps)
        while len(told) < STEPS:
            told += next(steps)[1]
        if number == files - 1:
            told[-1] = re.sub(r'"ignored":"\w*"', '"ignored":"Planted"', told[-1])
        (folder / f"{number:05}.jsonl").write_text("\n".join([head, *told, ""]), encoding="utf-8")


def _runs() -> Iterator[tuple[str, list[str]]]:
    """The header of a trace, and the lines of a run."""
    for first in count(0, RUNS):
        part = Part(simulate_part("partition", 1, first, RUNS, options=OPTIONS))
        constants = decode_step_constants(*part.constants_texts)
        speech, told = Speech(constants), list[str]()
        for at in range(RUNS):
            for step in map(part.step, part.steps_of_run[at].tolist()):
                outcome = Outcome(step.after, step.sent, step.ignored)
                line = speech.line(step.node, step.before, step.input, outcome)
                told.append(f'{{"run":{at},{line[1:]}')
            yield header(constants, "benchmarks/files.py"), told
            told = []


# -- What they cost


@contextmanager
def cluster(folder: Path) -> Iterator[None]:
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


def cost(verb: str, folder: Path, place: str) -> Cost:
    """In a process of its own, which waits for all that was started.

    Raises ValueError: the planted fault was not found.
    """
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    before = processor_seconds()
    words = [KRAFTCHECK, verb, str(folder), "--quiet", *PLACES[place]]
    with cluster(folder.with_name("cluster")) if place == "cluster" else nullcontext():
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=folder.parent)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    if done.returncode != VIOLATED:
        raise ValueError(f"{' '.join(words)}: ended with {done.returncode}: {done.stdout[-300:]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(processor_seconds() - before, used.ru_maxrss / 1024)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files")
    parser.add_argument("verbs", nargs="*", default=[*SIZES], metavar="check|conform")
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--places", nargs="+", choices=PLACES, default=[*PLACES])
    options = parser.parse_args(arguments or [])
    print("| verb | files | place | CPU-seconds | memory |\n|---|---:|---|---:|---:|")
    for verb, size in ((v, n) for v in options.verbs for n in options.sizes or SIZES[v]):
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
            folder = Path(name) / "files"
            folder.mkdir()
            (histories if verb == "check" else traces)(folder, size)
            for place in options.places:
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    each = pool.submit(cost, verb, folder, place).result()
                told = (
                    f"| `{verb}` | {size:,} | {place} | {each.cpu:,.1f} | {each.memory:,.0f} MiB |"
                )
                print(told, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
