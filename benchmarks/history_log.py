"""The columnar checker of partition logs against Porcupine on the same made-up histories.

Histories come from benchmarks/_log_synthetic.py: half appends, half reads of one record; valid,
with a stale read, with the offsets of two appends swapped, or with 1 % appends of unknown outcome.
Porcupine gets the smallest model of a log that there is (benchmarks/porcupine/log), on one
processor; where it is over its limit of time or memory, what it had taken by then bounds the ratio
from below. Times are processor times of one check, of data that is in memory, the best of several;
at a thousand operations, of several histories, which ours judges alone and in one batch.

Then ours by itself: batches of many runs, growth with length and concurrency, and one partition of
a million operations in a process of its own.

    python -m benchmarks history_log [--seconds N] [--gigabytes N] [--lengths N ...] [--alone]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks._log_cases import CONCURRENCIES, LENGTHS, Case, case_of
from benchmarks._log_runs import (
    Ours,
    Theirs,
    better,
    by_turns,
    million,
    ours,
    porcupine,
    rate,
)
from benchmarks._measure import apart
from benchmarks._porcupine import build, module_folder
from kraftcheck.traces.checkers.verdict import UNKNOWN

RATIOS: Final = {1_000: 40, 10_000: 200, 100_000: 1_000}
"""By operations: how many times Porcupine's time ours is to be taken."""
RATE: Final = 10e6
"""Operations a second and core, in batches of many runs."""
MILLION_SECONDS: Final = 1.0
MILLION_MEGABYTES: Final = 500
GROWTH: Final = 2.0
"""How much more an operation may cost in a partition a hundred times as long."""
FLAT: Final = 1.5
"""How much more an operation may cost at another concurrency."""
TURNS_SECONDS: Final = 20.0
BATCHES: Final = (
    (20_000, 50, 5, 0.02),
    (10_000, 100, 5, 0.01),
    (2_000, 1_000, 10, 0.0),
    (2_000, 1_000, 10, 0.01),
    (200, 10_000, 10, 0.01),
)
"""Runs, operations of each, concurrency, share of appends of unknown outcome."""


class Row:
    """A case with both sides' figures."""

    def __init__(self, case: Case, our: Ours, their: Theirs | None) -> None:
        self.case, self.our, self.their = case, our, their

    @property
    def ratio(self) -> float | None:
        """Porcupine's time by ours; what it had taken at its limit is a lower bound."""
        return None if self.their is None else self.their.seconds / self.our.batched

    def line(self) -> str:
        case, our, their = self.case, self.our, self.their
        shown = (
            f"  {case.operations:>9,} {case.clients:>3}  {case.kind:<8} {our.verdict:<9}"
            f"{our.alone * 1e3:>10,.3f} {our.batched * 1e3:>10,.3f}"
        )
        if their is None:
            return shown
        over = their.verdict == UNKNOWN
        assert self.ratio is not None
        return shown + (
            f"   {their.why if over else their.verdict:<12}"
            f"{'>' if over else ' '}{their.seconds * 1e3:>11,.1f}{their.megabytes:>8,.0f}"
            f"{'>' if over else ' '}{self.ratio:>11,.0f}x"
        )


def compared(options: argparse.Namespace) -> list[Row]:
    """Prints a line for each case; all of them."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        module = None if options.alone else module_folder()
        program = build("log", Path(folder)) if module is not None else None
        limits = f"{options.seconds:g} s and {options.gigabytes:g} GB for each case"
        print("  milliseconds; ours: each history by itself, and in a batch of all of its case")
        if program is not None:
            print(f"  Porcupine: up to {limits}; resident MB at its peak")
        print(f"  {'length':>9} {'c':>3}  {'history':<8} {'verdict':<9}{'ours':>10} {'batch':>10}")
        for operations in options.lengths:
            for clients in CONCURRENCIES:
                for kind in ("valid", "stale", "swap", "unknown"):
                    case = case_of(operations, clients, kind)
                    our, their = ours(case), None
                    if program is not None:
                        their = porcupine(
                            program, case, Path(folder), options.seconds, options.gigabytes
                        )
                        # Other work on the machine comes and goes: ours is taken on both sides.
                        our = better(our, ours(case))
                    rows.append(Row(case, our, their))
                    print(rows[-1].line(), flush=True)
    return rows


# -- Against the targets


def print_target(what: str, reached: bool) -> bool:
    print(f"  {'reached' if reached else 'NOT REACHED':<12} {what}", flush=True)
    return reached


def verdicts_right(rows: Sequence[Row]) -> bool:
    """Whether both sides said of each case what was planted in it, where they said anything."""
    ours_wrong = sum(row.our.verdict != row.case.expected for row in rows)
    theirs = [row.their.verdict for row in rows if row.their is not None]
    theirs_wrong = sum(
        row.their.verdict not in (row.case.expected, UNKNOWN)
        for row in rows
        if row.their is not None
    )
    what = f"verdicts of {len(rows)} cases: ours {len(rows) - ours_wrong} right"
    if theirs:
        over = theirs.count(UNKNOWN)
        right = len(theirs) - theirs_wrong - over
        what += f"; Porcupine {right} right, {theirs_wrong} wrong, {over} over its limits"
    return print_target(what, ours_wrong + theirs_wrong == 0)


def ratios(rows: Sequence[Row]) -> None:
    for operations, wanted in RATIOS.items():
        found = [row for row in rows if row.case.operations == operations and row.ratio is not None]
        if not found:
            continue
        values = sorted(row.ratio or 0.0 for row in found)
        below = [row for row in found if (row.ratio or 0.0) < wanted]
        lowest = ", ".join(
            f"{row.case.clients} clients {row.case.kind} "
            f"{'> ' if row.their is not None and row.their.verdict == UNKNOWN else ''}"
            f"{row.ratio:,.0f}x"
            for row in below
        )
        print_target(
            f"{operations:,} operations: {wanted:,}x Porcupine in {len(found) - len(below)} of "
            f"{len(found)} cases; least {values[0]:,.0f}x, median {statistics.median(values):,.0f}x"
            + (f" (below: {lowest})" if below else ""),
            not below,
        )


def batches() -> None:
    print("  batches: runs x operations, concurrency, unknown appends; ours alone")
    slowest = float("inf")
    for runs, operations, clients, unknown in BATCHES:
        seconds = rate(runs, operations, clients, unknown)
        done = runs * operations / seconds
        slowest = min(slowest, done)
        print(
            f"  {runs:>9,} x {operations:<7,} {clients:>3} {unknown:>5.0%} {seconds * 1e3:>9,.1f} "
            f"ms {done / 1e6:>7.1f} M operations/s {runs / seconds:>10,.0f} runs/s",
            flush=True,
        )
    print_target(
        f"batches: at least {slowest / 1e6:.1f} M operations/s/core (10 M)", slowest >= RATE
    )


def growth(rows: Sequence[Row]) -> None:
    """Of an operation's cost: over lengths from 10,000 on, and over concurrencies.

    Measured anew, all cases by turns: what else the machine does would else be taken for growth.
    """
    chosen = [row.case for row in rows if row.case.operations >= 10_000]
    best = by_turns([case.batch for case in chosen], TURNS_SECONDS)
    cost = {
        (case.operations, case.clients, case.kind): seconds / case.batch.segments / case.operations
        for case, seconds in zip(chosen, best, strict=True)
    }
    lengths = sorted({operations for operations, _, _ in cost})
    if len(lengths) > 1:
        by = max(
            value / cost[lengths[0], clients, kind] for (_, clients, kind), value in cost.items()
        )
        print_target(
            f"growth: an operation of {lengths[-1]:,} costs up to {by:.2f} times one of "
            f"{lengths[0]:,} (linear: up to {GROWTH:g})",
            by <= GROWTH,
        )
    apart = {
        (operations, kind): max(some) / min(some)
        for operations, kind in {(operations, kind) for operations, _, kind in cost}
        for some in [[cost[operations, clients, kind] for clients in CONCURRENCIES]]
    }
    if apart:
        worst = max(apart, key=lambda which: apart[which])
        print_target(
            f"concurrency {min(CONCURRENCIES)} to {max(CONCURRENCIES)}: costs differ by up to "
            f"{apart[worst]:.2f} times ({worst[0]:,} {worst[1]}), median "
            f"{statistics.median(apart.values()):.2f} (flat: up to {FLAT:g})",
            apart[worst] <= FLAT,
        )


def one_million() -> None:
    for kind in ("valid", "unknown"):
        found = apart(million, case_of(1_000_000, 10, kind).batch)
        print_target(
            f"a partition of 1,000,000 operations, {kind}: {found.seconds:.3f} s, first call; the "
            f"process takes {found.before / 1024:,.0f} MB with the columns and "
            f"{found.after / 1024:,.0f} MB at its peak (1 s, 500 MB)",
            found.seconds < MILLION_SECONDS and found.after < MILLION_MEGABYTES * 1024,
        )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks history_log")
    parser.add_argument("--seconds", type=float, default=20.0, help="Porcupine's, for a case")
    parser.add_argument("--gigabytes", type=float, default=4.0, help="Porcupine's address space")
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--alone", action="store_true", help="without Porcupine")
    options = parser.parse_args(arguments)
    rows = compared(options)
    good = verdicts_right(rows)
    ratios(rows)
    batches()
    growth(rows)
    one_million()
    if not good:
        raise SystemExit(1)
