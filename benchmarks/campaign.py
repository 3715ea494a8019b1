"""A campaign from nothing to its report: CPU, peak memory of all processes, and a stage budget.

No peer does the whole: Kafka's simulation runs 700 clusters, etcd validates 10 to 25 trace events a
second, CCF about a dozen executions (docs/measured/figures.md). So this prints where our time goes:
for each stage the seconds on the clock; for work on ranges the processor's seconds of each
question; TLC's distinct steps, JVMs and CPU-seconds; bytes on disk. The store of verdicts begins
empty. At the end a table says how processor time and memory (_processes.py) grow with the runs, and
what they are on Spark as a part of the pool's.

    python -m benchmarks campaign [SCENARIO|FILE.toml] [RUNS ...] [--places pool local cluster]
                                     default partition 300 1000, on the pool: minutes
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks._processes import KRAFTCHECK, PLACES, Cost, cost
from kraftcheck.traces.jobs.campaigns import FINDINGS, TIMINGS

SIZES: Final = [300, 1000]
SEED: Final = 1


class Size(NamedTuple):
    """A campaign of so many runs, where it was worked on, what it cost, and what it found."""

    runs: int
    place: str
    spent: Cost
    steps: int
    distinct: int

    def row(self, pool: float | None) -> str:
        """pool: CPU-seconds of the same campaign there, where they are known."""
        cpu = self.spent.cpu
        return (
            f"| {self.runs:,} | {self.place} | {self.steps:,} | {self.distinct:,} | {cpu:,.1f} | "
            f"{1000 * cpu / self.runs:.1f} ms | {f'{cpu / pool:.2f}' if pool else ''} | "
            f"{self.spent.seconds:,.0f} s | {self.spent.memory:,.0f} MiB |"
        )


HEAD: Final = (
    "| runs | place | steps | distinct | CPU-seconds | each run | of the pool's | time | memory |\n"
    "|---:|---|---:|---:|---:|---:|---:|---:|---:|"
)


def measure(name: str, runs: int, place: str = "pool") -> Size:
    """name: of a scenario whose options are drawn, or a file of one configuration.

    Raises ValueError: the campaign did not hold.
    """
    what = [str(Path(name).absolute())] if name.endswith(".toml") else ["--scenario", name]
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as temporary:
        folder = Path(temporary) / "campaign"
        asked = [*what, "--runs", str(runs), "--seed", str(SEED), "--out", str(folder), "--quiet"]
        spent = cost([KRAFTCHECK, "campaign", "run", *asked], folder.parent, place=place)
        timings = msgspec.json.decode((folder / TIMINGS).read_bytes())
        found = msgspec.json.decode((folder / FINDINGS).read_bytes())
        on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(
        f"{name}, {runs:,} runs on {timings['backend']}: {found['verdict']}, "
        f"{spent.seconds:,.1f} s, {runs / spent.seconds:,.1f} runs/s, "
        f"peak {spent.memory:,.0f} MiB in all processes, "
        f"{on_disk / runs / 1024:,.1f} KiB/run on disk"
    )
    only = found["configurations"][0]
    tell(only, timings, runs)
    return Size(runs, place, spent, only["steps"], only["conformance"]["distinct"]["canonical"])


def tell(found: dict[str, Any], timings: dict[str, Any], runs: int) -> None:
    print("  " + ", ".join(f"{name} {spent:,.1f} s" for name, spent in timings["seconds"].items()))
    cpu = timings["cpu_seconds_of_ranges"]
    each = [f"{name} {1000 * spent / runs:,.2f} ms" for name, spent in cpu.items()]
    print(f"  CPU of workers for each run: {', '.join(each)}")
    (tlc,) = timings["tlc"]
    distinct = found["conformance"]["distinct"]
    print(
        f"  {found['steps']:,} steps, {distinct['canonical']:,} distinct "
        f"({distinct['deduplication']} for each); TLC: {tlc['jvms']} JVMs, "
        f"{tlc['cpu_seconds']:,.1f} CPU-s, at most {tlc['peak_rss_mb']:,} MB; "
        f"{found['operations']:,} operations of clients",
        flush=True,
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks campaign")
    parser.add_argument("words", nargs="*", metavar="SCENARIO|FILE.toml RUNS")
    parser.add_argument("--places", nargs="+", choices=PLACES, default=["pool"])
    options = parser.parse_args(arguments)
    words = options.words
    name = words.pop(0) if words and not words[0].isdigit() else "partition"
    rows = [HEAD]
    for runs in [int(word) for word in words] or SIZES:
        sizes = [measure(name, runs, place) for place in options.places]
        pool = next((each.spent.cpu for each in sizes if each.place == "pool"), None)
        rows += [each.row(pool) for each in sizes]
    print("\n".join(rows))
