"""Campaigns in parts: the same bytes whoever simulates them, nothing half done taken for done."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from kraftcheck.traces.jobs import simulate as module
from kraftcheck.traces.jobs.backends import Pool, Spark
from kraftcheck.traces.jobs.simulate import (
    PART_RUNS,
    Range,
    default_part_runs,
    missing_ranges,
    simulate,
    simulate_range,
)
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.store import (
    Campaign,
    Manifest,
    PartEntry,
    begin_trace,
    read_manifest,
    read_parts,
)
from tla_utils.errors import ToolError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAMPAIGN = Campaign(scenario="quorum", seed=5, runs=14)


def bytes_of(directory: Path) -> dict[str, str]:
    """The digest of everything that a reader of the trace could see."""
    visible = (path for path in directory.iterdir() if not path.name.startswith("."))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in visible}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("alone") / "trace"
    simulate(directory, CAMPAIGN, part_runs=5, backend=Pool(1))
    return directory


def test_a_campaign_is_all_of_its_runs_in_parts(trace: Path) -> None:
    manifest = read_manifest(trace)
    assert [(p.first_run, p.runs) for p in manifest.parts] == [(0, 5), (5, 5), (10, 4)]
    assert sum(part.tables["runs"].num_rows for part in read_parts(trace)) == CAMPAIGN.runs


def test_processes_leave_the_same_bytes(trace: Path, tmp_path: Path) -> None:
    simulate(tmp_path / "t", CAMPAIGN, part_runs=5, backend=Pool(2, here_s=0))
    assert bytes_of(tmp_path / "t") == bytes_of(trace)


def test_spark_leaves_the_same_bytes(trace: Path, tmp_path: Path, spark: SparkSession) -> None:
    told: list[int] = []
    simulate(
        tmp_path / "t",
        CAMPAIGN,
        part_runs=5,
        backend=Spark(spark),
        progress=lambda stage, done, total: told.append(done),
    )
    assert bytes_of(tmp_path / "t") == bytes_of(trace)
    assert told[-1] == CAMPAIGN.runs
    assert told == sorted(told)


def test_the_memo_changes_no_byte(trace: Path, tmp_path: Path) -> None:
    simulate(tmp_path / "t", CAMPAIGN, part_runs=5, backend=Pool(1), memo=False)
    assert bytes_of(tmp_path / "t") == bytes_of(trace)


def test_a_campaign_that_was_killed_is_taken_up_where_it_was(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in its second part, with files of that part already there."""
    directory = tmp_path / "t"
    simulated: list[Range] = []

    def dying(d: Path, c: Campaign, ranges: list[Range], memo: bool, number: int) -> pa.Table:
        simulated.append(ranges[number])
        if len(simulated) == 2:
            (directory / "part-000000005-000005.steps.parquet").write_bytes(b"half a file")
            raise KeyboardInterrupt
        return simulate_range(d, c, ranges, memo, number)

    monkeypatch.setattr(module, "simulate_range", dying)
    with pytest.raises(KeyboardInterrupt):
        simulate(directory, CAMPAIGN, part_runs=5, backend=Pool(1))
    assert [part.first_run for part in read_parts(directory)] == [0]

    simulate(directory, CAMPAIGN, part_runs=5, backend=Pool(1))
    assert simulated == [(0, 5), (5, 5), (5, 5), (10, 4)]
    assert bytes_of(directory) == bytes_of(trace)


def test_a_finished_campaign_is_left_alone(trace: Path) -> None:
    before = bytes_of(trace)
    told: list[tuple[str, int, int]] = []
    simulate(trace, CAMPAIGN, part_runs=5, progress=lambda *what: told.append(what))
    assert bytes_of(trace) == before
    assert told == [("simulate", CAMPAIGN.runs, CAMPAIGN.runs)]


def test_another_campaign_does_not_get_the_folder(trace: Path) -> None:
    with pytest.raises(TraceError, match="another campaign"):
        simulate(trace, Campaign(scenario="quorum", seed=6, runs=14))


@pytest.mark.parametrize(
    "campaign",
    [
        Campaign(scenario="quorum", seed=1, runs=0),
        Campaign(scenario="no such", seed=1, runs=1),
        Campaign(scenario="quorum", seed=1, runs=1, bug="Z99"),
        Campaign(scenario="quorum", seed=1, runs=1, options={"no such": 1}),
    ],
    ids=["no runs", "scenario", "bug", "option"],
)
def test_bad_input_is_one_line(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        simulate(tmp_path / "t", campaign, backend=Pool(1))
    assert "\n" not in str(caught.value)


# --- Which parts there are


def manifest_of(runs: int, parts: list[Range]) -> Manifest:
    return Manifest(
        schema_version=1,
        kraftcheck_version="",
        campaign=Campaign(scenario="quorum", seed=0, runs=runs),
        parts=tuple(PartEntry("", part.first_run, part.runs, {}) for part in parts),
    )


@given(
    runs=st.integers(1, 60),
    cuts=st.lists(st.tuples(st.integers(1, 9), st.booleans())),
    part_runs=st.integers(1, 20),
)
def test_what_is_missing_completes_what_is_there(
    runs: int, cuts: list[tuple[int, bool]], part_runs: int
) -> None:
    """Parts of any lengths may be there already, with gaps of any lengths between them."""
    there, at = [], 0
    for length, kept in cuts:
        length = min(length, runs - at)
        if kept and length:
            there.append(Range(at, length))
        at += length
    missing = missing_ranges(manifest_of(runs, there), part_runs)
    covered = sorted(run for r in [*there, *missing] for run in range(r[0], r[0] + r[1]))
    assert covered == list(range(runs))
    assert all(1 <= r.runs <= part_runs for r in missing)


def test_a_whole_campaign_is_cut_at_multiples() -> None:
    assert missing_ranges(manifest_of(14, []), 5) == [(0, 5), (5, 5), (10, 4)]


@pytest.mark.parametrize(("runs", "expected"), [(1, 1), (16, 1), (300, 19), (100_000, PART_RUNS)])
def test_small_campaigns_have_small_parts(runs: int, expected: int) -> None:
    assert default_part_runs(runs) == expected


def test_a_trace_that_was_begun_and_not_simulated_has_no_parts(tmp_path: Path) -> None:
    begin_trace(tmp_path / "t", CAMPAIGN)
    assert missing_ranges(read_manifest(tmp_path / "t"), 20) == [(0, 14)]
