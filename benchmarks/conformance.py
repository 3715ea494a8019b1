"""Steps judged by TLC per CPU-second: as values, as text, and with one JVM for each trace.

All three judge steps of the same recorded runs, canaries included, by the code of `conform`
(`traces/steps/judge.py`). The first two judge the same groups of distinct steps, in turn, so that a
machine whose speed drifts is the same for both; they differ in the form in which TLC gets the
steps. The third takes a run, as trace validation usually does, and judges its distinct steps in
JVMs of their own. It is measured on a sample of SAMPLE runs, and its rate is taken to be that of
all (no trace depends on another, so nothing but the mean matters).

CPU-seconds are those of this process and of its JVMs, from classes in memory to verdicts.

    values          CPU-seconds as text / as values
    step for step   distinct steps of a group per CPU-second of TLC / those of a trace: what
                    batching alone gains
    whole campaign  CPU-seconds of TLC for each of the runs / for the groups, of the runs that the
                    groups come from: what batching and deduplication gain together

    python -m benchmarks conformance [SCENARIO] [SIZE ...]     default quorum 10000 100000
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks._measure import spent
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import DEFAULT_CHECK
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.steps.classes import SLIM, PartFiles, examine, examine_part, merge
from kraftcheck.traces.steps.judge import CHUNK, Group, groups_of, report_of
from kraftcheck.traces.store import Campaign, read_manifest
from tla_utils import CheckOptions

SIZES = (10_000, 100_000)
SAMPLE = 8
SEED = 1
# One set of constants, so that every group is full.
OPTIONS = {"quorum": {"voters": 3, "fetch_max_records": 2}}
AS_TEXT = replace(DEFAULT_CHECK, as_text="compared")


class Cost(NamedTuple):
    """CPU-seconds of this process and of its JVMs."""

    steps: int
    jvms: int
    python: float
    tlc: float

    @property
    def whole(self) -> float:
        return self.python + self.tlc

    @property
    def rate(self) -> float:
        return self.steps / self.tlc

    def plus(self, other: Cost) -> Cost:
        steps, jvms = self.steps + other.steps, self.jvms + other.jvms
        return Cost(steps, jvms, self.python + other.python, self.tlc + other.tlc)

    def __str__(self) -> str:
        return (
            f"{self.steps:>9,} distinct steps, {self.jvms:>4} JVMs, {self.whole:>8.2f} CPU-s "
            f"(Python {self.python:.2f}, TLC {self.tlc:.2f}), "
            f"{self.steps / self.whole:>8,.0f} steps per CPU-s"
        )


NOTHING = Cost(0, 0, 0.0, 0.0)


class Campaigned(NamedTuple):
    """Parts of a campaign, and their classes merged."""

    scenario: str
    files: list[PartFiles]
    merged: pa.Table

    def first(self, size: int) -> pa.Table:
        """So many distinct steps, those that the first runs show."""
        order = np.lexsort((self.merged["step"].to_numpy(), self.merged["run"].to_numpy()))
        return self.merged.take(pa.array(np.sort(order[:size])))


def record(folder: Path, least: int, scenario: str = "quorum") -> Campaigned:
    """A campaign with at least so many distinct steps, in as few runs as that takes."""
    runs = max(20, least // 60)
    while True:
        place = folder / f"runs-{runs}"
        options = OPTIONS.get(scenario, {})
        simulate(place, Campaign(scenario=scenario, seed=SEED, runs=runs, options=options))
        entries = read_manifest(place).parts
        task = partial(examine_part, place, place / "conform", entries, SPECS)
        merged = merge(Pool().run(task, len(entries), SLIM)).combine_chunks()
        if len(merged) >= least:
            files = [PartFiles.from_entry(place / "conform", entry) for entry in entries]
            return Campaigned(scenario, files, merged)
        runs = int(runs * 1.1 * least / len(merged)) + 1


def judged(groups: Iterable[Group], options: CheckOptions = DEFAULT_CHECK) -> Cost:
    """Raises SystemExit: a step of the reference is not accepted, or not in the form asked for."""
    found = NOTHING
    for kind, classes in groups:
        before = spent()
        report = report_of(kind, classes, options)
        python, tlc = spent().since(before)
        if {each.verdict for each in report.verdicts} != {"accepted"}:
            raise SystemExit("a step of the correct reference is not accepted")
        if report.as_text != options.as_text:
            raise SystemExit(f"TLC got the steps as text: {report.as_text}")
        found = found.plus(Cost(len(classes), report.runs, python, tlc))
    return found


def in_chunks(campaign: Campaigned, size: int) -> Cost:
    return judged(groups_of(campaign.files, campaign.first(size), CHUNK))


def both_forms(campaign: Campaigned, size: int) -> tuple[Cost, Cost]:
    """As values, and as text."""
    values = text = NOTHING
    for group in groups_of(campaign.files, campaign.first(size), CHUNK):
        values, text = values.plus(judged([group])), text.plus(judged([group], AS_TEXT))
    return values, text


def trace_by_trace(campaign: Campaigned, runs: Iterable[int], folder: Path) -> Cost:
    """Runs, each for itself."""
    found = NOTHING
    for run in runs:
        options = OPTIONS.get(campaign.scenario)
        tables = simulate_part(campaign.scenario, SEED, run, 1, options=options)
        files = PartFiles(folder, f"run-{run}", run, 1)
        found = found.plus(judged(groups_of([files], merge(examine(tables, files)), CHUNK)))
    return found


def compare(campaign: Campaigned, size: int, folder: Path) -> None:
    runs = int(campaign.first(size)["run"].to_numpy().max()) + 1
    sample = sorted({round(place) for place in np.linspace(0, runs - 1, SAMPLE)})
    one_each = trace_by_trace(campaign, sample, folder)
    values, text = both_forms(campaign, size)
    per_run = one_each.tlc / len(sample)
    print(f"{size:,} distinct steps of {campaign.scenario}, first seen in {runs:,} runs")
    print(f"  as values          {values}")
    print(f"  as text            {text}")
    print(f"  one JVM per trace  {one_each}  (sample of {len(sample)} runs)")
    print(f"  values             {text.whole / values.whole:8.2f} times")
    print(f"  step for step      {values.rate / one_each.rate:8.0f} times")
    print(
        f"  whole campaign     {runs * per_run / values.tlc:8.0f} times; {runs:,} traces at "
        f"{per_run:.2f} CPU-s would take {runs * per_run:,.0f} (extrapolated)",
        flush=True,
    )


def main(arguments: Sequence[str]) -> None:
    words = list(arguments)
    scenario = words.pop(0) if words and not words[0].isdigit() else "quorum"
    sizes = sorted(int(size) for size in words or SIZES)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        campaign = record(Path(name), sizes[-1], scenario)
        # The first JVM of a machine reads its libraries from disk: not ours to measure.
        in_chunks(campaign, 10)
        for size in sizes:
            compare(campaign, size, Path(name))
