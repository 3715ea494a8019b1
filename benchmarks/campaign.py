"""A campaign from nothing to its report: runs/s, peak memory of all processes, and a stage budget.

No peer does the whole: Kafka's simulation runs 700 clusters, etcd validates 10 to 25 trace events a
second, CCF about a dozen executions (docs/campaigns.md). So this prints where our time goes: for
each stage the seconds on the clock; for work on ranges the processor's seconds of each question;
TLC's distinct steps, JVMs and CPU-seconds; bytes on disk. The store of verdicts begins empty. At
the end a table says how processor time and memory grow with the runs: all of it, from nothing to
the page, in whatever process (with Spark, what its JVM starts is left out).

    python -m benchmarks.campaign [SCENARIO|FILE.toml] [RUNS ...] [--spark]
                                     default partition 300 1000: minutes

Memory is the sum of resident memory of this process and all that it started, sampled, so pages that
processes share count in each: an upper bound.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kraftcheck.conformance import backend_of
from kraftcheck.osutil.children import processor_seconds
from kraftcheck.traces.jobs.backends import Backend
from kraftcheck.traces.jobs.campaigns import TIMINGS, Options, run_campaign
from kraftcheck.traces.jobs.plan import Configuration, begin, plan_of, read_file
from kraftcheck.traces.report.campaign import write_campaign_report

SIZES = (300, 1000)
SEED = 1
SAMPLE_S = 0.5


class Memory(threading.Thread):
    """The peak of the resident memory of this process and its descendants, in MiB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.peak = max(self.peak, resident_mb())

    def end(self) -> float:
        self._over.set()
        self.join()
        return self.peak


def resident_mb() -> float:
    """Of this process and its descendants; 0 where there is no /proc."""
    parents: dict[int, int] = {}
    pages: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name in brackets may hold anything; the fields behind it are state and parent.
            behind = (folder / "stat").read_text().rpartition(")")[2].split()
            pages[int(folder.name)] = int((folder / "statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue
        parents[int(folder.name)] = int(behind[1])
    own = {int(Path("/proc/self").resolve().name)} if parents else set()
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in own} - own
        own |= more
        grown = bool(more)
    return sum(pages.get(pid, 0) for pid in own) * 4096 / 2**20


class Size(NamedTuple):
    """A campaign of so many runs: CPU-seconds, MiB at the peak, what differs."""

    runs: int
    cpu: float
    memory: float
    steps: int
    distinct: int

    def row(self) -> str:
        each = 1000 * self.cpu / self.runs
        return (
            f"| {self.runs:,} | {self.steps:,} | {self.distinct:,} | {self.cpu:,.1f} | "
            f"{each:.1f} ms | {self.memory:,.0f} MiB |"
        )


HEAD = (
    "| runs | steps | distinct | CPU-seconds | each run | memory |\n|---:|---:|---:|---:|---:|---:|"
)


def measure(folder: Path, name: str, runs: int, *, spark: bool) -> Size:
    memory = Memory()
    memory.start()
    started, before = time.monotonic(), processor_seconds()
    plan = begin(folder, plan_of(configurations_named(name), runs, SEED))
    with backend(spark, runs) as chosen:
        found = run_campaign(folder, plan, Options(backend=chosen, store=folder / ".verdicts"))
    assert found is not None
    page = write_campaign_report(folder)
    seconds = time.monotonic() - started
    timings = msgspec.json.decode((folder / TIMINGS).read_bytes())
    on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(
        f"{name}, {runs:,} runs on {timings['backend']}: {found['verdict']}, {seconds:,.1f} s, "
        f"{runs / seconds:,.1f} runs/s, peak {memory.end():,.0f} MiB in all processes, "
        f"{on_disk / runs / 1024:,.1f} KiB/run on disk, report {page.stat().st_size >> 10:,} KiB"
    )
    only = found["configurations"][0]
    tell(only, timings, runs)
    distinct = only["conformance"]["distinct"]["canonical"]
    return Size(runs, processor_seconds() - before, memory.peak, only["steps"], distinct)


def configurations_named(name: str) -> tuple[Configuration, ...]:
    """What a file of one configuration asks for, or a scenario with whatever its runs draw."""
    if name.endswith(".toml"):
        return read_file(Path(name)).configurations
    return (Configuration(name=name, scenario=name),)


def backend(spark: bool, runs: int) -> AbstractContextManager[Backend]:
    return backend_of("spark" if spark else "pool", None, runs)


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


def main(arguments: list[str] | None = None) -> None:
    words = [word for word in arguments or () if word != "--spark"]
    name = words.pop(0) if words and not words[0].isdigit() else "partition"
    sizes = []
    for runs in [int(word) for word in words] or SIZES:
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
            place = Path(folder) / "campaign"
            sizes.append(measure(place, name, runs, spark="--spark" in (arguments or ())))
    print("\n".join([HEAD, *[size.row() for size in sizes]]))


if __name__ == "__main__":
    main(sys.argv[1:])
