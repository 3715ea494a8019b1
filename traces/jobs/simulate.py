"""Simulate a campaign: ranges of runs, each one part of the trace.

A part is simulated and written by one call, whoever makes it; so the pool and Spark leave the same
bytes, and so does a campaign that was killed and taken up again. What the manifest names is done
and is not redone; what it does not name has not happened (traces/schema.py).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.jobs.backends import Backend, Pool, Progress
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.store import (
    Campaign,
    Manifest,
    begin_trace,
    damage_of,
    read_manifest,
    write_part,
)
from tla_utils.errors import ToolError

PART_RUNS = 250
"""At most so many runs in a part unless told otherwise: a part takes seconds, so a killed campaign
loses little."""
FEWEST_PARTS = 16
"""A small campaign is cut finer, so that several processors have work. It is cut alike on every
machine: the parts' bytes depend on where they end."""

_DONE = pa.schema([("first_run", pa.int64()), ("runs", pa.int64()), ("seconds", pa.float64())])


class Range(NamedTuple):
    first_run: int
    runs: int


def simulate(
    directory: Path,
    campaign: Campaign,
    *,
    part_runs: int | None = None,
    backend: Backend | None = None,
    memo: bool = True,
    progress: Progress | None = None,
) -> Manifest:
    """Simulates what is missing of the campaign; returns the manifest of the whole.

    progress is called with ("simulate", runs done, runs of the campaign).
    Raises TraceError: the folder holds another campaign or damaged runs, or cannot be written.
    ToolError: no runs were asked for; the scenario, the bug or an option is unknown; a worker died.
    """
    part_runs = default_part_runs(campaign.runs) if part_runs is None else part_runs
    if campaign.runs < 1 or part_runs < 1:
        raise ToolError(f"a campaign of {campaign.runs} runs in parts of {part_runs} is none")
    there = begin_trace(directory, campaign)
    for damage in filter(None, (damage_of(directory, entry) for entry in there.parts)):
        raise damage
    missing = missing_ranges(there, part_runs)
    done_before = campaign.runs - sum(r.runs for r in missing)

    def report(parts: int) -> None:
        # Parts end in any order, and all but a few are equally long.
        if progress:
            done = sum(r.runs for r in missing[:parts])
            progress("simulate", done_before + done, campaign.runs)

    report(0)
    # Absolute, since a worker may have another working directory.
    task = partial(simulate_range, directory.absolute(), campaign, missing, memo)
    (backend or Pool()).run(task, len(missing), _DONE, report)
    return read_manifest(directory)


def default_part_runs(runs: int) -> int:
    return max(1, min(PART_RUNS, -(-runs // FEWEST_PARTS)))


def missing_ranges(manifest: Manifest, part_runs: int) -> list[Range]:
    """The runs that no part has yet, cut where parts of this length end."""
    ranges, at = [], 0
    taken = [*((p.first_run, p.runs) for p in manifest.parts), (manifest.campaign.runs, 0)]
    for first, runs in taken:
        while at < first:
            end = min(first, (at // part_runs + 1) * part_runs)
            ranges.append(Range(at, end - at))
            at = end
        at = max(at, first + runs)
    return ranges


def simulated(campaign: Campaign, first_run: int, runs: int, memo: bool = True) -> PartTables:
    """So many runs of a campaign, from this one on."""
    own = campaign.bug, dict(campaign.options) or None
    return simulate_part(campaign.scenario, campaign.seed, first_run, runs, *own, memo=memo)


def simulate_range(
    directory: Path, campaign: Campaign, ranges: Sequence[Range], memo: bool, number: int
) -> pa.Table:
    """Simulates and writes one part; a row that says which. Runs in a worker."""
    begin = time.monotonic()
    first_run, runs = ranges[number]
    try:
        part = simulated(campaign, first_run, runs, memo)
    except ValueError as error:
        raise ToolError(str(error)) from None
    write_part(directory, part)
    row = {"first_run": first_run, "runs": runs, "seconds": time.monotonic() - begin}
    return pa.Table.from_pylist([row], schema=_DONE)
