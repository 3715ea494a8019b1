"""Runs the columnar checker and Porcupine on cases of _log_cases.py, and takes their times.

Times are processor times: the machine may have other work.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks._log_cases import Case, rows_of
from benchmarks._log_synthetic import logs, part
from benchmarks._measure import peak_memory, spent
from kraftcheck.traces.checkers.columns import LogBatch
from kraftcheck.traces.checkers.log import BROKEN, HELD, judge
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED

OURS_SECONDS: Final = 0.3
"""For so long ours is repeated, but at least three times."""
REPEATS: Final = 5
_SAID: Final = {"Ok": HOLDS, "Illegal": VIOLATED, "Unknown": UNKNOWN}


class Ours(NamedTuple):
    """Seconds of one history: judged by itself, and its share of a batch of all of its case."""

    verdict: str
    alone: float
    batched: float


class Theirs(NamedTuple):
    """Of one history."""

    verdict: str
    why: str
    """Which limit it was over, if the verdict is unknown."""
    seconds: float
    megabytes: float


class Million(NamedTuple):
    """The first call in a process of its own; resident KiB before and at the peak."""

    seconds: float
    before: int
    after: int


# -- Ours


def ours(case: Case) -> Ours:
    batch = case.batch
    verdicts = judge(batch).verdicts
    verdict = UNKNOWN
    if (verdicts == HELD).all():
        verdict = HOLDS
    elif (verdicts == BROKEN).all():
        verdict = VIOLATED
    runs = [part(batch, segment, segment + 1) for segment in range(batch.segments)]

    def each() -> None:
        for run in runs:
            judge(run)

    batched = _best(lambda: judge(batch)) / batch.segments
    alone = _best(each) / batch.segments if batch.segments > 1 else batched
    return Ours(verdict, alone, batched)


def better(one: Ours, other: Ours) -> Ours:
    """The best times of two measurements. Raises ValueError: their verdicts differ."""
    if one.verdict != other.verdict:
        raise ValueError("one history, two verdicts")
    return Ours(one.verdict, min(one.alone, other.alone), min(one.batched, other.batched))


def by_turns(batches: Sequence[LogBatch], seconds: float) -> list[float]:
    """The best time of each batch. All are judged in turn, three times and until time is up."""
    best = [math.inf] * len(batches)
    begin, turns = time.process_time(), 0
    while batches and (turns < 3 or time.process_time() - begin < seconds):
        for at, batch in enumerate(batches):
            before = time.process_time()
            judge(batch)
            best[at] = min(best[at], time.process_time() - before)
        turns += 1
    return best


def rate(runs: int, operations: int, clients: int, unknown: float) -> float:
    """Seconds for a batch, all of whose runs must hold."""
    batch = logs(runs, operations, clients, unknown=unknown, seed=1)
    if (judge(batch).verdicts != HELD).any():
        raise ValueError("a valid log was not found to be one")
    return _best(lambda: judge(batch))


def _best(check: Callable[[], object]) -> float:
    best, spent, ran = math.inf, 0.0, 0
    while ran < 3 or spent < OURS_SECONDS:
        begin = time.process_time()
        check()
        took = time.process_time() - begin
        best, spent, ran = min(best, took), spent + took, ran + 1
    return best


def million(batch: LogBatch) -> Million:
    """To be asked in a process of its own."""
    # Loading NumPy's code is no part of the check.
    judge(logs(1, 10, 2))
    before = peak_memory()
    begin = time.process_time()
    judge(batch)
    return Million(time.process_time() - begin, before, peak_memory())


# -- Porcupine's


def porcupine(program: Path, case: Case, folder: Path, seconds: float, gigabytes: float) -> Theirs:
    """The mean of the best times of a case's histories, in a process of its own.

    Of as many as the limit of time leaves room for. If one is over it, of that one what it had
    taken by then.
    """
    names = []
    for segment in range(case.batch.segments):
        names.append(folder / f"{segment}.log")
        rows_of(part(case.batch, segment, segment + 1)).tofile(names[-1])
    before = spent()
    ran = subprocess.run(
        [str(program), str(REPEATS), f"{seconds}s", *map(str, names)],
        env=os.environ | {"GOMAXPROCS": "1"},
        capture_output=True,
        text=True,
        preexec_fn=lambda: _limited(gigabytes),
    )
    if ran.returncode != 0:
        if "out of memory" not in ran.stderr and "cannot allocate memory" not in ran.stderr:
            raise RuntimeError(f"Porcupine's driver failed: {ran.stderr.strip()[:200]}")
        return Theirs(UNKNOWN, "memory", spent().since(before).children, gigabytes * 1e3)
    *lines, last = (json.loads(line) for line in ran.stdout.splitlines())
    verdicts = [_SAID[each["verdict"]] for each in lines]
    wrong = [each for each in verdicts if each != case.expected]
    verdict = UNKNOWN if UNKNOWN in wrong else (wrong or [case.expected])[0]
    measured = lines[-1:] if UNKNOWN in verdicts else lines
    best = sum(each["best"] for each in measured) / len(measured) / 1e9
    return Theirs(verdict, "time", best, last["peak_after"] / 1024)


def _limited(gigabytes: float) -> None:
    limit = int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
