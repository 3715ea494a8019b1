"""The general search against Porcupine on the same histories: registers and maps, real and made.

Both read the same operations in one run of this benchmark: the etcd and key-value histories that
are published with Porcupine (from its module, or from `--histories DIR`, a folder with a
verdicts.json), and generated ones. Porcupine runs on one processor, as ours does; of processor
times the best and the mean of all repeats are summed. Memory: what one check allocates at its peak
(ours, by tracemalloc) or in total (Porcupine, by its runtime), and the resident peak of the
process.

Where Go is absent, or Porcupine cannot be had, one line says so and only ours is measured; the
published histories are then read from `--histories` alone.

    python -m benchmarks history_search [--histories DIR] [--repeats N] [--seconds N]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks._measure import apart, peak_memory
from benchmarks._objects import history_of
from benchmarks._porcupine import build, module_folder
from kraftcheck.traces.checkers.models import model_of
from kraftcheck.traces.checkers.search import Limits, check
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.formats.detect import read
from kraftcheck.traces.history import INDETERMINATE, OK, History, Operation

VERDICTS: Final = {"Ok": HOLDS, "Illegal": VIOLATED, "Unknown": UNKNOWN}
LISTED: Final = 20
"""Of sets of up to so many cases each has its line."""


class Case(NamedTuple):
    """A history, what it should be found to be, and the set that it counts in."""

    set: str
    name: str
    history: History
    expected: str


class Figures(msgspec.Struct, frozen=True):
    """Of one history: verdict, seconds, and bytes."""

    verdict: str
    best: float
    mean: float
    allocated: int


class Measured(NamedTuple):
    """Of all histories of a set; peaks of resident memory in KiB, before the first and after."""

    figures: list[Figures]
    before: int
    after: int


# -- Which histories


def published(folder: Path) -> Iterator[Case]:
    """Every file that the folder's verdicts.json names."""
    known = json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    for name, said in sorted(known.items()):
        yield _case(folder / name, name, said["model"], said["linearizable"])


def in_module(folder: Path) -> Iterator[Case]:
    """Porcupine's own test data, with the verdicts that its tests expect."""
    tests = (folder / "porcupine_test.go").read_text(encoding="utf-8")
    for number, good in re.findall(r"checkJepsen\(t, (\d+), (true|false)\)", tests):
        name = f"etcd_{int(number):03d}.log"
        path = folder / "test_data" / "jepsen" / name
        yield _case(path, name, "cas-register", good == "true")
    for name, good in re.findall(r'checkKv\(t, "([^"]+)", (true|false), true\)', tests):
        path = folder / "test_data" / "kv" / f"{name}.txt"
        yield _case(path, path.name, "kv", good == "true")


def _case(path: Path, name: str, model: str, good: bool) -> Case:
    history = msgspec.structs.replace(read(path), model=model)
    what = "etcd" if model == "cas-register" else "key-value"
    return Case(f"{what}, published", name, history, HOLDS if good else VIOLATED)


def generated() -> Iterator[Case]:
    """Of each size one that holds and one with a stale read at its end."""
    sizes = [("cas-register", 1, 1_000, c) for c in (5, 10, 20)]
    sizes += [("kv", 10, n, c) for n in (1_000, 10_000) for c in (10, 30)]
    for model, keys, operations, clients in sizes:
        for stale in (False, True):
            history = history_of(
                model, operations=operations, clients=clients, seed=1, keys=keys, stale=stale
            )
            name = f"{operations:,} operations, {clients} clients{', stale read' * stale}"
            yield Case(f"{model}, generated", name, history, VIOLATED if stale else HOLDS)


# -- Ours


def measure_ours(histories: list[History], repeats: int, seconds: float) -> Measured:
    """To be asked in a process of its own."""
    before = peak_memory()
    figures = [_one_of_ours(history, repeats, seconds) for history in histories]
    after = peak_memory()
    allocated = [_allocated(history, seconds) for history in histories]
    return Measured(
        [
            msgspec.structs.replace(each, allocated=peak)
            for each, peak in zip(figures, allocated, strict=True)
        ],
        before,
        after,
    )


def _one_of_ours(history: History, repeats: int, seconds: float) -> Figures:
    assert history.model is not None
    model, limits = model_of(history), Limits(seconds=seconds)
    times: list[float] = []
    verdict = UNKNOWN
    while len(times) < repeats and sum(times) < seconds:
        begin = time.process_time()
        found = {each.verdict for each in check(history, model, limits)}
        times.append(time.process_time() - begin)
        verdict = next((each for each in (VIOLATED, UNKNOWN) if each in found), HOLDS)
    return Figures(verdict, min(times), statistics.fmean(times), 0)


def _allocated(history: History, seconds: float) -> int:
    """Bytes at the peak of one check. Tracing slows it down several times, hence the limit."""
    assert history.model is not None
    tracemalloc.start()
    check(history, model_of(history), Limits(seconds=seconds))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


# -- Porcupine's


def measure_porcupine(
    program: Path, cases: Sequence[Case], repeats: int, seconds: float, folder: Path
) -> Measured:
    names = []
    for number, case in enumerate(cases):
        names.append(str(folder / f"{number}.jsonl"))
        lines = [json.dumps(each) for each in rows(case.history)]
        Path(names[-1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    ran = subprocess.run(
        [str(program), str(cases[0].history.model), str(repeats), f"{seconds}s", *names],
        env=os.environ | {"GOMAXPROCS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, last = ran.stdout.splitlines()
    peaks = json.loads(last)
    figures = [
        Figures(
            verdict=VERDICTS[found["verdict"]],
            best=found["best"] / 1e9,
            mean=found["mean"] / 1e9,
            allocated=found["allocated"],
        )
        for found in map(json.loads, lines)
    ]
    return Measured(figures, peaks["peak_before"], peaks["peak_after"])


def rows(history: History) -> Iterator[dict[str, Any]]:
    """The operations that say anything, as the driver reads them.

    Calls come before returns of the same time; what is of unknown outcome returns after all else.
    """
    assert history.model is not None
    model = model_of(history)
    judged = [each for each in history.operations if model.judges(each)]
    end = max([*(e.completed or 0 for e in judged), *(e.invoked for e in judged)], default=0)
    for each in judged:
        argument = each.argument if each.f == "cas" else (each.argument, None)
        unknown = each.outcome == INDETERMINATE
        returned = 2 * end + 2 if unknown or each.completed is None else 2 * each.completed + 1
        yield {
            "client": each.process,
            "key": each.key or "",
            "f": each.f,
            "a": _text(argument[0]),
            "b": _text(argument[1]),
            "said": _text(each.result),
            "outcome": _outcome(each),
            "call": 2 * each.invoked,
            "return": returned,
        }


def _outcome(operation: Operation) -> str:
    if operation.outcome == INDETERMINATE:
        return "unknown"
    return "ok" if operation.outcome == OK else "fail"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


# -- Side by side


def compare(cases: list[Case], program: Path | None, options: argparse.Namespace) -> bool:
    """Prints a set's figures; whether every verdict of ours was right."""
    histories = [case.history for case in cases]
    ours = apart(measure_ours, histories, options.repeats, options.seconds)
    theirs = None
    if program is not None:
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
            theirs = measure_porcupine(
                program, cases, options.repeats, options.seconds, Path(folder)
            )
    print(f"\n  {cases[0].set}: {len(cases)} histories")
    good = _summary("ours", cases, ours)
    if theirs is not None:
        _summary("Porcupine", cases, theirs)
        _each(cases, ours, theirs)
    return good


def _summary(who: str, cases: list[Case], measured: Measured) -> bool:
    found = [each.verdict for each in measured.figures]
    right = sum(case.expected == each for case, each in zip(cases, found, strict=True))
    wrong = sum(
        each not in (case.expected, UNKNOWN) for case, each in zip(cases, found, strict=True)
    )
    best = sum(each.best for each in measured.figures)
    mean = sum(each.mean for each in measured.figures)
    most = max(each.allocated for each in measured.figures)
    print(
        f"    {who:<10} {right} right, {wrong} wrong, {found.count(UNKNOWN)} unknown; "
        f"best {best * 1e3:,.1f} ms, mean {mean * 1e3:,.1f} ms in all; "
        f"a check allocates up to {most / 2**20:,.2f} MiB; the process takes "
        f"{measured.before / 1024:,.0f} MiB before and {measured.after / 1024:,.0f} MiB at its peak"
    )
    return wrong == 0


def _each(cases: list[Case], ours: Measured, theirs: Measured) -> None:
    """Every case where Porcupine is faster; of small sets, every one."""
    rows = list(zip(cases, ours.figures, theirs.figures, strict=True))
    slower = [row for row in rows if row[1].best > row[2].best]
    by = f"{_sum_of(slower):,.2f} ms in all"
    print(f"    Porcupine is faster on {len(slower)} of {len(rows)}, by {by}")
    shown = rows if len(rows) <= LISTED else sorted(slower, key=lambda row: row[0].name)
    for case, our, their in shown:
        mark = "<" if our.best > their.best else " "
        print(
            f"    {mark} {case.name:<44} ours {our.best * 1e3:>10,.3f} ms {our.verdict:<9}"
            f" Porcupine {their.best * 1e3:>10,.3f} ms {their.verdict}"
        )


def _sum_of(rows: list[tuple[Case, Figures, Figures]]) -> float:
    return sum(our.best - their.best for _, our, their in rows) * 1e3


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks history_search")
    parser.add_argument("--histories", type=Path, help="folder with a verdicts.json")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit for a history")
    options = parser.parse_args(arguments)
    module = module_folder()
    cases = list(generated())
    if options.histories is not None:
        cases = [*published(options.histories), *cases]
    elif module is not None:
        cases = [*in_module(module), *cases]
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        program = build("search", Path(folder)) if module is not None else None
        good = True
        for name in dict.fromkeys(case.set for case in cases):
            good = compare([case for case in cases if case.set == name], program, options) and good
    if not good:
        raise SystemExit(1)
