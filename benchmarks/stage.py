"""The stage of a campaign in which TLC judges its distinct steps: as values and as text, in turn.

Both sides judge the same groups of the same distinct steps, canaries included, by the code of
`conform` (`traces/steps/judge.py`); they differ in the form in which TLC gets the steps. Its
CPU-seconds are those of this process and its JVMs, from classes in memory to verdicts. Each group
is judged in both forms before the next one, so that a machine whose speed drifts is the same for
both.

    python -m benchmarks.stage [SCENARIO [STEPS]]     default partition 100000: five minutes
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import DEFAULT_CHECK
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.steps.classes import SLIM, PartFiles, examine_part, merge
from kraftcheck.traces.steps.judge import CHUNK, groups_of, report_of
from kraftcheck.traces.store import Campaign, read_manifest

STEPS = 100_000
REQUIRED = 3
SEED = 7


class Cost(NamedTuple):
    """CPU-seconds of this process and of its JVMs."""

    python: float
    tlc: float

    @property
    def whole(self) -> float:
        return self.python + self.tlc

    def __add__(self, other: object) -> Cost:
        assert isinstance(other, Cost)
        return Cost(self.python + other.python, self.tlc + other.tlc)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.python - other.python, self.tlc - other.tlc)

    def __str__(self) -> str:
        return f"{self.whole:7.2f} CPU-s (Python {self.python:.2f}, TLC {self.tlc:.2f})"


def spent() -> Cost:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime)


def recorded(folder: Path, scenario: str, least: int) -> tuple[list[PartFiles], pa.Table]:
    """The parts of a campaign with at least so many distinct steps, and these merged."""
    runs = max(20, least // 60)
    while True:
        place = folder / f"runs-{runs}"
        campaign = Campaign(scenario=scenario, seed=SEED, runs=runs, options={})
        simulate(place, campaign, backend=Pool())
        entries = read_manifest(place).parts
        examine = partial(examine_part, place, place / "conform", entries, SPECS)
        merged = merge(Pool().run(examine, len(entries), SLIM)).combine_chunks()
        if len(merged) >= least:
            return [PartFiles.from_entry(place / "conform", entry) for entry in entries], merged
        runs = int(runs * 1.1 * least / len(merged)) + 1


def main(arguments: list[str] | None = None) -> None:
    given = list(arguments or [])
    scenario = given[0] if given else "partition"
    least = int(given[1]) if len(given) > 1 else STEPS
    values, text, steps = Cost(0, 0), Cost(0, 0), 0
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        files, merged = recorded(Path(folder), scenario, least)
        for kind, classes in groups_of(files, merged.slice(0, least), CHUNK):
            begin = spent()
            as_values = report_of(kind, classes, DEFAULT_CHECK)
            middle = spent()
            as_text = report_of(kind, classes, replace(DEFAULT_CHECK, as_text="compared"))
            values, text = values + (middle - begin), text + (spent() - middle)
            steps += len(classes)
            if as_values.verdicts != as_text.verdicts or as_values.as_text:
                raise SystemExit(f"the two forms have not one answer: {as_values.as_text}")
    ratio = text.whole / values.whole
    met = "met" if ratio >= REQUIRED else "NOT MET"
    print(f"{steps:,} distinct steps of {scenario}; load {os.getloadavg()[0]:.1f}")
    print(f"  as text    {text}, {steps / text.whole:>8,.0f} steps per CPU-s")
    print(f"  as values  {values}, {steps / values.whole:>8,.0f} steps per CPU-s")
    print(f"  ratio      {ratio:.2f} (aim: {REQUIRED}, {met})")


if __name__ == "__main__":
    main(sys.argv[1:])
