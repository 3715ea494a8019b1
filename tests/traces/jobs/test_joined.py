"""Verdicts joined back to runs: every run that took a class, where first, and how often."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kraftcheck.reference.quorum.types import Constants
from kraftcheck.specs import SPECS
from kraftcheck.traces.steps.classes import (
    SLIM,
    Facts,
    PartFiles,
    demand_all_classed,
    demand_all_joined,
    examine_part,
    merge,
)
from kraftcheck.traces.steps.explain import JOINED, join_part
from kraftcheck.traces.steps.record import constants_text
from kraftcheck.traces.steps.slicing import Relevance
from kraftcheck.traces.steps.symmetry import Canonicaliser, Step
from kraftcheck.traces.steps.translation import INIT
from kraftcheck.traces.store import read_manifest
from tests.conformance.recording import RecordedRun, part_of, steps_of_walk, write_trace
from tla_utils.errors import ToolError

THREE = Constants(voters=(1, 2, 3), fetch_max_records=2)
OTHER = Constants(voters=(1, 2, 3), fetch_max_records=3)


def walk(constants: Constants, seed: int) -> RecordedRun:
    return RecordedRun(constants, steps_of_walk(constants, seed, 60))


RUNS = [
    [walk(THREE, 1), walk(THREE, 2)],
    [walk(OTHER, 1), walk(THREE, 1)],
    [walk(THREE, 3), walk(THREE, 2), walk(THREE, 4)],
]
"""Three parts. The first step of each has the id 0; some runs are in several parts."""


def key_of(constants: Constants, step: Step) -> bytes:
    judged, under = Relevance(constants, SPECS).judged(step)
    assert isinstance(under, Constants)
    return Canonicaliser(under).of_pieces(judged).digest(constants_text(under).encode())


@cache
def expected() -> dict[bytes, dict[int, tuple[int, int]]]:
    """The slow twin: class -> run -> (first step, how often), from the runs as values."""
    found: dict[bytes, dict[int, tuple[int, int]]] = defaultdict(dict)

    def enter(constants: Constants, step: Step, run: int, place: int) -> None:
        key = key_of(constants, step)
        first, times = found[key].get(run, (place, 0))
        found[key][run] = (first, times + 1)

    for run, recorded in enumerate(run for part in RUNS for run in part):
        begun: set[int] = set()
        for place, step in enumerate(recorded.steps):
            enter(recorded.constants, step, run, place)
            if step.node not in begun:
                first = Step(INIT, step.node, step.before, None, step.before, (), "")
                enter(recorded.constants, first, run, place)
            begun.add(step.node)
    return found


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("joined") / "trace"
    firsts = (0, 2, 4)
    write_trace(directory, [part_of(runs, at) for runs, at in zip(RUNS, firsts, strict=True)])
    return directory


@pytest.fixture(scope="module")
def merged(trace: Path) -> pa.Table:
    entries = read_manifest(trace).parts
    out = trace / "conform"
    return merge(
        pa.concat_tables([examine_part(trace, out, entries, SPECS, n) for n in range(len(entries))])
    )


def joined(trace: Path, keys: list[bytes]) -> pa.Table:
    entries = read_manifest(trace).parts
    out = trace / "conform"
    parts = [join_part(trace, out, entries, keys, n) for n in range(len(entries))]
    return pa.concat_tables([JOINED.empty_table(), *parts])


def numbers_of(merged: pa.Table, keys: list[bytes]) -> list[int]:
    of = {key: number for number, key in enumerate(merged["key"].to_pylist())}
    return sorted(of[key] for key in keys)


def test_classes_and_counts_are_those_of_the_slow_twin(merged: pa.Table) -> None:
    slow = expected()
    assert merged["key"].to_pylist() == sorted(slow)
    for row in merged.to_pylist():
        runs = slow[row["key"]]
        assert row["count"] == sum(times for _, times in runs.values())
        assert (row["run"], row["step"]) == min((run, at) for run, (at, _) in runs.items())


@pytest.mark.parametrize("begin", range(5))
def test_every_run_that_took_a_class_is_found(trace: Path, merged: pa.Table, begin: int) -> None:
    """Every class is asked for once, those of the steps with the id 0 and of first rows too."""
    slow = expected()
    keys = sorted(slow)[begin::5]
    rows = joined(trace, keys).to_pylist()
    found = {(row["key"], row["run"]): (row["step"], row["times"]) for row in rows}
    assert len(found) == len(rows)
    assert found == {(key, run): told for key in keys for run, told in slow[key].items()}
    demand_all_joined(merged, numbers_of(merged, keys), joined(trace, keys))


def test_a_step_with_the_id_0_is_joined_alone(trace: Path, merged: pa.Table) -> None:
    """The first step of each part, and the first rows of its node."""
    for part, (number, first_run) in zip(RUNS, ((0, 0), (1, 2), (2, 4)), strict=True):
        recorded = part[0]
        key = key_of(recorded.constants, recorded.steps[0])
        entries = read_manifest(trace).parts
        rows = join_part(trace, trace / "conform", entries, [key], number).to_pylist()
        assert (first_run, 0) in {(row["run"], row["step"]) for row in rows}


def test_nothing_to_join_is_nothing(trace: Path, merged: pa.Table) -> None:
    assert joined(trace, [b"\0" * 16]).equals(JOINED.empty_table())
    demand_all_joined(merged, [], JOINED.empty_table())


# --- What must add up


def facts(trace: Path) -> list[Facts]:
    files = [PartFiles.from_entry(trace / "conform", entry) for entry in read_manifest(trace).parts]
    return [msgspec.json.decode(each.facts.read_bytes(), type=Facts) for each in files]


def changed(table: pa.Table, name: str, by: int) -> pa.Table:
    at = table.schema.get_field_index(name)
    first = table[name][0].as_py()
    values = [first + by, *table[name].to_pylist()[1:]]
    return table.set_column(at, table.schema.field(at), pa.array(values, pa.int64()))


def test_a_join_that_loses_or_misplaces_a_run_is_refused(trace: Path, merged: pa.Table) -> None:
    keys = [row["key"] for row in merged.to_pylist() if row["count"] > 3]
    numbers, whole = numbers_of(merged, keys), joined(trace, keys).sort_by("run")
    demand_all_joined(merged, numbers, whole)
    witness = whole.sort_by([("run", "ascending"), ("step", "ascending")])
    for wrong in (
        whole.slice(1),
        pa.concat_tables([whole, whole.slice(0, 1)]),
        changed(whole, "times", 1),
        changed(whole, "times", -1),
        changed(witness, "step", 1),
        changed(witness, "run", 90),
        JOINED.empty_table(),
    ):
        with pytest.raises(ToolError, match="not joined to the runs that took the steps"):
            demand_all_joined(merged, numbers, wrong)
    with pytest.raises(ToolError, match="not joined"):
        demand_all_joined(merged, numbers[1:], whole)


def test_steps_that_are_in_no_class_are_refused(trace: Path, merged: pa.Table) -> None:
    told = facts(trace)
    steps = sum(len(run.steps) for part in RUNS for run in part)
    assert sum(each.judged for each in told) == steps + sum(each.first_rows for each in told)
    demand_all_classed(told, merged)
    for wrong in (merged.slice(1), changed(merged, "count", 1), SLIM.empty_table()):
        with pytest.raises(ToolError, match="cannot be trusted"):
            demand_all_classed(told, wrong)
    with pytest.raises(ToolError, match=f"distinct ones count {pc.sum(merged['count'])}"):
        demand_all_classed(told[1:], merged)
