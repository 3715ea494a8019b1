"""How the cost of simulating and judging grows with runs: 1k against 10k against 100k of them.

Each size is a campaign of its own, simulated and judged from nothing by the pool of processes. What
TLC must judge grows with the distinct steps; the last column says how many recorded steps there are
for each of those. CPU-seconds are those of all processes, JVMs included.

    python -m benchmarks.growth [SCENARIO] [RUNS ...]     default quorum 1000 3000, minutes on two
                                                          cores
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from traces.jobs.backends import Pool
from traces.jobs.conform import ConformOptions, conform
from traces.jobs.simulate import simulate
from traces.schema import Campaign

SIZES = (1000, 3000)
HEADER = (
    f"{'runs':>8} {'steps':>11} {'distinct':>10} {'simulate':>18} {'conform':>18} {'of it TLC':>10}"
    f" {'on disk':>9} {'steps per distinct one':>23}"
)


class Spent(NamedTuple):
    """Seconds on the clock, and of the processors."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Spent:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(time.monotonic(), sum(each.ru_utime + each.ru_stime for each in used))

    def since(self, before: Spent) -> str:
        return f"{self.wall - before.wall:,.0f} s, {self.cpu - before.cpu:,.0f} CPU-s"


def measure(folder: Path, scenario: str, runs: int) -> str:
    """One campaign: its line of the table."""
    begin = Spent.now()
    simulate(folder, Campaign(scenario=scenario, seed=1, runs=runs), backend=Pool())
    simulated = Spent.now()
    on_disk = sum(path.stat().st_size for path in folder.iterdir())
    result = conform(folder, ConformOptions(backend=Pool()))
    judged = Spent.now()
    summary: dict[str, Any] = result.summary
    distinct = summary["distinct_steps"]
    line = (
        f"{runs:>8,} {summary['steps']:>11,} {distinct['canonical']:>10,} "
        f"{simulated.since(begin):>18} {judged.since(simulated):>18} "
        f"{summary['tlc']['cpu_seconds']:>10,.0f} {on_disk / 2**20:>6,.0f} MB "
        f"{distinct['deduplication']:>23.2f}"
    )
    return line if result.verdict == "holds" else f"{line}  {result.verdict}: {result.reasons[0]}"


def main(arguments: list[str] | None = None) -> None:
    words = list(arguments or ())
    scenario = words.pop(0) if words and not words[0].isdigit() else "quorum"
    sizes = [int(size) for size in words or SIZES]
    print(f"scenario {scenario}\n{HEADER}", flush=True)
    for runs in sizes:
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
            print(measure(Path(folder) / "trace", scenario, runs), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
