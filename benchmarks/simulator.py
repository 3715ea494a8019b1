"""The simulator: steps a second, with known steps looked up against every step executed.

One process, recording on. Only steps that change a row or send something are counted, and time is
processor time. Three figures: a part simulated by a process that knows nothing yet, later parts of
the same campaign (other runs, the memo has grown), and a part with the memo off. Then what the runs
are like, since fast runs in which nothing happens would be worth nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kraftcheck.reference.runner.run import forget, simulate_part, steps_worked_out
from kraftcheck.reference.runner.scenarios import SCENARIOS
from kraftcheck.traces.schema import PartTables

RUNS = 1000
LATER_PARTS = 5
WITHOUT_MEMO = 300
EVENTS = 150
"""The length of a run in which rates are told, since runs of scenarios are not equally long."""


class Measured(NamedTuple):
    part: PartTables
    seconds: float
    worked_out: int
    """Steps that were not known."""

    @property
    def taken(self) -> int:
        return len(self.part.tables["runs"]["steps"].combine_chunks().flatten())

    @property
    def rate(self) -> float:
        statistics = self.part.tables["runs"]["statistics"].to_pylist()
        counted: int = sum(run["changing_or_sending"] for run in statistics)
        return counted / self.seconds

    def line(self, what: str) -> str:
        looked_up = 1 - self.worked_out / self.taken
        return (
            f"{what:<28}{self.rate:>9,.0f} steps/s{self.rate / EVENTS:>8,.0f} runs/s of {EVENTS} "
            f"steps{100 * looked_up:>7.0f} % looked up"
        )


def measure(scenario: str, first_run: int, runs: int, memo: bool = True) -> Measured:
    known = steps_worked_out(scenario)
    start = time.process_time()
    part = simulate_part(scenario, 1, first_run, runs, memo=memo)
    seconds = time.process_time() - start
    worked_out = steps_worked_out(scenario) - known if memo else 0
    found = Measured(part, seconds, worked_out)
    return found if memo else found._replace(worked_out=found.taken)


def qualities(part: PartTables) -> list[str]:
    """What happened in the runs, as shares of them."""
    runs = part.tables["runs"].to_pylist()
    statistics = [run["statistics"] for run in runs]
    lengths = sorted(run["handler_calls"] for run in runs)

    def share(name: str) -> str:
        return f"{100 * sum(s[name] > 0 for s in statistics) / len(runs):.0f} %"

    ignored = sum(s["ignored"] for s in statistics) / sum(lengths)
    tenth = len(lengths) // 10
    found = [
        f"steps a run: median {lengths[len(lengths) // 2]}, "
        f"a tenth below {lengths[tenth]}, a tenth above {lengths[-tenth]}",
        f"runs in which the leader changes: {share('leader_changes')}",
        f"runs in which a follower cuts its log: {share('truncations')}",
        f"runs with a crash: {share('crashes')}, with one that loses records: "
        f"{share('lossy_crashes')}",
        f"steps that ignore their input: {100 * ignored:.0f} %",
        f"distinct steps: {part.tables['steps'].num_rows:,} of {sum(lengths):,}",
        f"verdicts: {dict(Counter(run['verdict'] for run in runs))}",
    ]
    if any(s["shrinks"] for s in statistics):
        both = sum(s["shrinks"] > 0 < s["expansions"] for s in statistics)
        acked = sorted(s["acked"] for s in statistics)
        found += [
            f"runs in which the ISR shrinks and grows again: {100 * both / len(runs):.0f} %",
            f"acknowledged records a run: median {acked[len(acked) // 2]}",
            f"runs to which nothing is promised: {share('unpromised')}",
        ]
    return found


def of_scenario(scenario: str) -> None:
    print(f"scenario {scenario}")
    first = measure(scenario, 0, RUNS)
    print(first.line(f"first part of {RUNS} runs"))
    for part in range(1, LATER_PARTS + 1):
        print(measure(scenario, part * RUNS, RUNS).line(f"part {part + 1}"))
    again = measure(scenario, 0, RUNS)
    print(again.line("the first part again"))
    print(measure(scenario, 0, WITHOUT_MEMO, memo=False).line("memo off"))
    print()
    print("\n".join(qualities(first.part)))
    print()


def main(_arguments: Sequence[str]) -> None:
    for scenario in SCENARIOS:
        forget()
        of_scenario(scenario)
