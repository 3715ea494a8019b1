"""Steps judged by TLC per CPU-second: thousands in one JVM against one JVM for each trace.

Both sides judge steps of the same recorded runs with the same frame, the same flags and the same
driver (`tla_utils.check_steps`), and both are measured here and now. The left side is what the job
`conform` does: distinct steps in chunks of CHUNK. The right side takes a run, as trace validation
usually does, and judges its steps in a JVM of their own; it is measured on a sample of SAMPLE runs,
and its rate is taken to be that of all (no trace depends on another, so nothing but the mean
matters).

Two ratios are printed, since they answer different questions:

    step for step   distinct steps of a chunk per CPU-second / distinct steps of a trace per
                    CPU-second: what batching alone gains
    whole campaign  CPU-seconds of one JVM for each of the runs / CPU-seconds of the chunks, for the
                    runs that the chunks come from: what batching and deduplication gain together

CPU-seconds are those of the JVMs. What Python spends on turning steps into modules is on the next
line, for both sides.

    python -m benchmarks.conformance [SIZE ...]     default 10000 100000
"""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.steps.classes import SLIM, PartFiles, examine_part, merge
from kraftcheck.traces.steps.judge import CHUNK, encoded_steps, groups_of
from kraftcheck.traces.steps.record import Part, decode_step_constants
from kraftcheck.traces.steps.translation import Abstraction, as_columns, shared_frame
from kraftcheck.traces.store import Campaign, read_manifest, read_parts
from tla_utils import CheckOptions, StepReport, check_steps

SIZES = (10_000, 100_000)
SAMPLE = 8
REQUIRED = 60
# One set of constants, so that every chunk is full.
OPTIONS = {"voters": 3, "fetch_max_records": 2}


class Cost(NamedTuple):
    """What judging some steps took, in CPU-seconds of the JVMs and of this process."""

    steps: int
    jvms: int
    tlc: float
    python: float

    @property
    def rate(self) -> float:
        return self.steps / self.tlc

    def __str__(self) -> str:
        return (
            f"{self.steps:>9,} distinct steps, {self.jvms:>4} JVMs, {self.tlc:>8.1f} CPU-s of TLC, "
            f"{self.rate:>8,.0f} steps per CPU-s, Python {self.python:.1f} CPU-s"
        )


class Campaigned(NamedTuple):
    """Runs on disk, and their classes merged."""

    folder: Path
    runs: int
    merged: pa.Table


def record(folder: Path, least: int) -> Campaigned:
    """A campaign with at least so many distinct steps, in as few runs as that takes."""
    runs = max(100, least // 60)
    while True:
        place = folder / f"runs-{runs}"
        campaign = Campaign(scenario="quorum", seed=1, runs=runs, options=OPTIONS)
        simulate(place, campaign, backend=Pool())
        entries = read_manifest(place).parts
        examine = partial(examine_part, place, place / "conform", entries, SPECS)
        merged = merge(Pool().run(examine, len(entries), SLIM))
        if len(merged) >= least:
            return Campaigned(place, runs, merged)
        runs = int(runs * 1.1 * least / len(merged)) + 1


def runs_needed(campaign: Campaigned, size: int) -> int:
    """How many runs, from the first on, it takes to see `size` distinct steps."""
    return int(np.sort(campaign.merged["run"].to_numpy())[size - 1]) + 1


def judge(steps: Any, texts: list[str]) -> Cost:
    begin = time.process_time()
    frame = shared_frame(VOTER, [decode_step_constants(text) for text in texts])
    report: StepReport = check_steps(frame, steps, CheckOptions(chunk=CHUNK, parallel=1))
    python = time.process_time() - begin
    if report.numbers("rejected") or report.numbers("unknown"):
        raise SystemExit("a step of the correct reference was not accepted: nothing to compare")
    return Cost(report.distinct, report.runs, report.cpu_seconds, python)


def total(costs: list[Cost]) -> Cost:
    columns = list(zip(*costs, strict=True))
    return Cost(sum(columns[0]), sum(columns[1]), sum(columns[2]), sum(columns[3]))


def in_chunks(campaign: Campaigned, size: int) -> Cost:
    """The distinct steps that the first runs show, `size` of them, in chunks."""
    order = np.lexsort((campaign.merged["step"].to_numpy(), campaign.merged["run"].to_numpy()))
    wanted = campaign.merged.take(pa.array(np.sort(order[:size])))
    entries = read_manifest(campaign.folder).parts
    files = [PartFiles.from_entry(campaign.folder / "conform", entry) for entry in entries]
    costs = []
    for _, classes in groups_of(files, wanted, CHUNK):
        begin = time.process_time()
        texts = list(dict.fromkeys(classes["constants"].to_pylist()))
        table = encoded_steps(classes, texts, VOTER)
        converted = time.process_time() - begin
        cost = judge(table, texts)
        costs.append(cost._replace(python=cost.python + converted))
    return total(costs)


def trace_by_trace(campaign: Campaigned, runs: int) -> Cost:
    """A JVM for each of SAMPLE runs, spread evenly over the first `runs`."""
    wanted = {round(place) for place in np.linspace(0, runs - 1, SAMPLE)}
    costs = []
    for tables in read_parts(campaign.folder):
        if not wanted & set(range(tables.first_run, tables.first_run + tables.runs)):
            continue
        part = Part(tables)
        text = part.constants_texts[0]
        form = Abstraction(decode_step_constants(text))
        for at in range(tables.runs):
            if tables.first_run + at in wanted:
                begin = time.process_time()
                steps = [as_columns(form, part.step(i)) for i in part.steps_of_run[at].tolist()]
                converted = time.process_time() - begin
                cost = judge(steps, [text])
                costs.append(cost._replace(python=cost.python + converted))
    return total(costs)


def compare(campaign: Campaigned, size: int) -> None:
    runs = runs_needed(campaign, size)
    one_each = trace_by_trace(campaign, runs)
    chunks = in_chunks(campaign, size)
    per_run = one_each.tlc / one_each.jvms
    print(f"{size:,} distinct steps, first seen in {runs:,} runs")
    print(f"  chunks of {CHUNK:,}    {chunks}")
    print(f"  one JVM per trace   {one_each}  (sample of {one_each.jvms} runs)")
    print(f"  step for step       {against(chunks.rate / one_each.rate)}")
    print(
        f"  whole campaign      {against(runs * per_run / chunks.tlc)}; {runs:,} traces at "
        f"{per_run:.2f} CPU-s would take {runs * per_run:,.0f} (extrapolated)",
        flush=True,
    )


def against(ratio: float) -> str:
    """A ratio and the one that is aimed at."""
    met = "met" if ratio >= REQUIRED else "NOT MET"
    return f"{ratio:8.0f} times (aim: {REQUIRED}, {met})"


def main(arguments: list[str] | None = None) -> None:
    sizes = sorted(int(size) for size in arguments or SIZES)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        campaign = record(Path(folder), sizes[-1])
        # The first JVM of a machine reads its libraries from disk: not ours to measure.
        in_chunks(campaign, 10)
        for size in sizes:
            compare(campaign, size)


if __name__ == "__main__":
    main(sys.argv[1:])
