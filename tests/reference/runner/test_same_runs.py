"""The same runs everywhere: in every process, with or without a memo, in whatever parts.

The promise of every scenario. Who compares two runs may therefore compare their bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kraftcheck.reference.runner.run import simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import SCENARIOS
from kraftcheck.reference.sim.choices import (
    RecordingChooser,
    ReplayChooser,
    SeededChooser,
    run_seed,
)
from tests.reference.sim.contents import contents


class Extent(NamedTuple):
    """How many runs: of a part, compared part by part, with the memo off, replayed."""

    part: int
    parts: tuple[int, int]
    bare: int
    replayed: int


EXTENTS = {
    "quorum": Extent(12, (7, 13), 12, 5),
    "partition": Extent(8, (5, 7), 12, 3),
    "cluster": Extent(3, (2, 4), 4, 1),
    "transactions": Extent(4, (3, 5), 6, 1),
    "groups": Extent(4, (3, 5), 6, 1),
    "commits": Extent(4, (3, 5), 6, 1),
    "classic": Extent(4, (3, 5), 6, 1),
    "voters": Extent(4, (3, 5), 6, 1),
    "snapshots": Extent(4, (3, 5), 6, 1),
    "reassignment": Extent(4, (3, 5), 6, 1),
    "hosting": Extent(4, (3, 5), 6, 1),
    "compaction": Extent(4, (3, 5), 6, 1),
    "shares": Extent(4, (3, 5), 6, 1),
    "sessions": Extent(4, (3, 5), 6, 1),
    "sharegroup": Extent(4, (3, 5), 6, 1),
    "controllers": Extent(4, (3, 5), 6, 1),
    "quorum41": Extent(4, (3, 5), 6, 1),
    "transactions-on-cluster": Extent(2, (1, 2), 2, 1),
    "groups-on-cluster": Extent(2, (1, 2), 2, 1),
    "commits-on-cluster": Extent(2, (1, 2), 2, 1),
    "classic-on-cluster": Extent(2, (1, 2), 2, 1),
    "shares-on-cluster": Extent(2, (1, 2), 2, 1),
}

REPLAYED = [(name, run) for name, extent in EXTENTS.items() for run in range(extent.replayed)]

DIGESTS = """
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.store import parquet_bytes
import hashlib, json, sys
found = {}
for name, runs in json.loads(sys.argv[1]).items():
    part = simulate_part(name, 2, 5, runs)
    files = [hashlib.sha256(parquet_bytes(t)).hexdigest() for _, t in sorted(part.tables.items())]
    found[name] = part.digests(), files
print(json.dumps(found))
"""


def test_every_scenario_is_here() -> None:
    assert set(EXTENTS) == set(SCENARIOS)


@pytest.mark.slow
def test_the_same_bytes_in_every_process(repo_root: Path) -> None:
    """Whatever the seed of Python's own hashes."""
    runs = {name: extent.part for name, extent in EXTENTS.items()}
    one, other = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", DIGESTS, json.dumps(runs)],
                cwd=repo_root,
                env={"PYTHONHASHSEED": seed, "PATH": ""},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for seed in ("0", "4242")
    )
    assert one == other
    assert {name: digests for name, (digests, _) in one.items()} == {
        name: simulate_part(name, 2, 5, part).digests() for name, part in runs.items()
    }


@pytest.mark.parametrize("name", EXTENTS)
def test_the_same_bytes_with_the_memo_off(name: str) -> None:
    runs = EXTENTS[name].bare
    remembered = simulate_part(name, 5, 0, runs)
    assert remembered.digests() == simulate_part(name, 5, 0, runs, memo=False).digests()


@pytest.mark.parametrize("name", EXTENTS)
def test_how_a_campaign_is_cut_into_parts_does_not_matter(name: str) -> None:
    one, other = EXTENTS[name].parts
    whole = contents(simulate_part(name, 2, 0, one + other))
    first, second = simulate_part(name, 2, 0, one), simulate_part(name, 2, one, other)
    assert contents(first) | contents(second) == whole


@pytest.mark.parametrize(("name", "run"), REPLAYED)
def test_a_run_is_its_choices(name: str, run: int) -> None:
    recording = RecordingChooser(SeededChooser(run_seed(2, run)))
    recorded = simulate_run(name, 2, run, chooser=recording)
    replaying = ReplayChooser(recording.choices)
    replayed = simulate_run(name, 2, run, chooser=replaying)
    assert replayed.steps == recorded.steps == simulate_run(name, 2, run).steps
    assert replaying.missing == replaying.misfits == 0


@pytest.mark.parametrize("name", EXTENTS)
def test_seeds_make_different_runs(name: str) -> None:
    one, two = simulate_run(name, 1, 0), simulate_run(name, 2, 0)
    assert one.steps != two.steps
    assert one.steps != simulate_run(name, 1, 1).steps
    assert one.steps == simulate_run(name, 1, 0).steps
