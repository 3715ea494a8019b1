"""`check` and `conform` of many files: the pool, an embedded Spark, and a standalone cluster.

Files are made: Kafka logs as Jepsen writes them (history_files.py), and step traces of partitions
under drawn faults, at least STEPS steps a file. One poll or step of the last file is wrong, and
must be found. CPU-seconds and memory are those of all processes of the command, and of the cluster
with its start (_processes.py).

    python -m benchmarks files [check|conform] [--sizes N ...] [--places pool local cluster]

The default sizes are 500, 2,000 and 8,000 histories, or 8, 16 and 32 step traces.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks._processes import KRAFTCHECK, PLACES, cost
from benchmarks.history_files import lines
from kraftcheck.exits import VIOLATED
from kraftcheck.kafka.witness.speech import Outcome, Speech, header
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.formats import jepsen
from kraftcheck.traces.steps.record import Part, decode_step_constants

SIZES: Final = {"check": (500, 2_000, 8_000), "conform": (8, 16, 32)}
HEAD: Final = (
    "| verb | files | place | CPU-seconds | each further file | time | memory |\n"
    "|---|---:|---|---:|---:|---:|---:|"
)
OPERATIONS, STEPS, RUNS = 100, 1_000, 200
OPTIONS: Final = {
    "replicas": 3,
    "min_insync_replicas": 2,
    "elr": True,
    "unclean": False,
    "partitions": 1,
}

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


def main(arguments: Sequence[str]) -> None:
    """Raises ValueError: the planted fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks files")
    parser.add_argument("verbs", nargs="*", default=[*SIZES], metavar="check|conform")
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--places", nargs="+", choices=PLACES, default=[*PLACES])
    options = parser.parse_args(arguments)
    print(HEAD)
    spent: dict[tuple[str, str], tuple[int, float]] = {}
    for verb, size in ((v, n) for v in options.verbs for n in options.sizes or SIZES[v]):
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
            folder = Path(name) / "files"
            folder.mkdir()
            (histories if verb == "check" else traces)(folder, size)
            for place in options.places:
                words = [KRAFTCHECK, verb, str(folder), "--quiet"]
                # `check` has no --backend: without a master it is the pool.
                where = "" if (verb, place) == ("check", "pool") else place
                each = cost(words, folder.parent, VIOLATED, where)
                first = spent.setdefault((verb, place), (size, each.cpu))
                further = 1000 * (each.cpu - first[1]) / (size - first[0]) if size > first[0] else 0
                print(
                    f"| `{verb}` | {size:,} | {place} | {each.cpu:,.1f} | "
                    f"{f'{further:,.0f} ms' if further else ''} | {each.seconds:,.0f} s | "
                    f"{each.memory:,.0f} MiB |",
                    flush=True,
                )
