"""The judgement of a whole trace: its verdicts, its figures, and that backends look alike.

What the checks on runs find is tested in tests/conformance/test_planted_faults.py.
"""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.backends import Pool, Spark
from kraftcheck.traces.jobs.conform import (
    FOLDER,
    JOINED_RUNS,
    JUDGED_STEPS,
    SUMMARY,
    Conformance,
    ConformOptions,
    conform,
    read_judged,
)
from kraftcheck.traces.jobs.summary import verdict_of
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.sealed import unsealed
from kraftcheck.traces.steps import judge
from kraftcheck.traces.steps.classes import SLIM, merge
from kraftcheck.traces.steps.judge import SPECS_OF_WORKERS
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import frame_digest
from kraftcheck.traces.store import Campaign, begin_trace, part_path, read_manifest, read_parts
from tests.conformance.recording import RecordedRun, part_of, steps_of_walk, write_trace
from tla_utils import CheckOptions, StepFrame
from tla_utils.errors import ToolError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THREE = Constants(voters=(1, 2, 3), fetch_max_records=2)
ONE = Constants(voters=(4,), fetch_max_records=2)
WALKS = [steps_of_walk(THREE, seed, 80) for seed in range(7)]
SOLO = steps_of_walk(ONE, 3, 30)
ALONE = ConformOptions(backend=Pool(1))


def bad_step(steps: list[Step]) -> list[Step]:
    """The same run, with one thing wrong in its last row."""
    *rest, last = steps
    return [*rest, last._replace(after=replace(last.after, announced=77))]


def runs_of(walks: list[list[Step]]) -> list[RecordedRun]:
    return [RecordedRun(THREE, steps) for steps in walks]


def timeless(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary without what time and memory it took, and by whom."""
    kept = {**summary, "seconds": None, "tlc": {"judged": summary["tlc"]["judged"]}}
    return {**kept, "versions": None}


# --- A trace with good and bad runs, under two sets of constants, in three parts

BAD_RUNS = (2, 6)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("conform") / "trace"
    parts = [
        part_of(runs_of([WALKS[0], WALKS[1], bad_step(WALKS[2])])),
        part_of([*runs_of([WALKS[0], WALKS[3]]), RecordedRun(ONE, SOLO)], first_run=3),
        part_of(runs_of([bad_step(WALKS[2]), WALKS[4]]), first_run=6),
    ]
    write_trace(directory, parts)
    return directory


@pytest.fixture(scope="module")
def judged(trace: Path) -> Conformance:
    return conform(trace, ALONE)


@pytest.mark.slow
@pytest.mark.tlc
def test_a_rejected_step_is_joined_back_to_every_run_that_took_it(
    judged: Conformance, trace: Path
) -> None:
    joined = pq.read_table(trace / FOLDER / JOINED_RUNS)
    assert joined["run"].to_pylist() == list(BAD_RUNS)
    assert joined["step"].to_pylist() == [79, 79]
    (rejection,) = judged.summary["rejections"]
    assert (rejection["run"], rejection["step"], rejection["runs"]) == (2, 79, 2)
    assert rejection["node"] == WALKS[2][-1].node
    assert rejection["differences"] == ["after.announced: recorded 77, spec allows {-1}"]
    assert judged.verdict == "violated"
    assert judged.reasons == ["1 distinct steps are not allowed by the spec; 2 runs took one"]


@pytest.mark.slow
@pytest.mark.tlc
def test_the_summary_counts_what_there_is(judged: Conformance) -> None:
    summary = judged.summary
    assert summary["runs"] == 8
    assert summary["steps"] == 7 * 80 + 30
    nodes = [len({step.node for step in WALKS[i]}) for i in (0, 1, 2, 0, 3, 2, 4)]
    assert summary["first_rows"] == sum(nodes) + 1
    assert sum(summary["actions"].values()) == summary["steps"]
    assert tuple(summary["actions"]) == VOTER.actions
    distinct = summary["distinct_steps"]
    recorded = {step for i in (0, 1, 3, 4) for step in WALKS[i]} | set(bad_step(WALKS[2]))
    assert distinct["recorded"] == len(recorded) + len(set(SOLO))
    assert distinct["canonical"] + distinct["first_rows"] == summary["tlc"]["judged"]
    assert distinct["deduplication"] == round(summary["steps"] / distinct["canonical"], 3)


@pytest.mark.tlc
def test_the_curve_ends_at_all_runs_and_all_classes(judged: Conformance) -> None:
    curve = judged.summary["distinct_steps"]["curve"]
    assert curve[-1] == [8, judged.summary["distinct_steps"]["canonical"]]
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in itertools.pairwise(curve))
    # Run 3 is run 0 again.
    by_runs = dict(map(tuple, curve))
    assert by_runs[3] == by_runs[4]


@pytest.mark.tlc
def test_every_class_is_in_the_table_with_its_verdict(judged: Conformance, trace: Path) -> None:
    table = pq.read_table(trace / FOLDER / JUDGED_STEPS)
    assert len(set(table["key"].to_pylist())) == len(table) == judged.summary["tlc"]["judged"]
    assert sorted(set(table["verdict"].to_pylist())) == ["accepted", "rejected"]
    handled = sum(table["count"].to_pylist())
    assert handled == judged.summary["steps"] + judged.summary["first_rows"]


@pytest.mark.tlc
def test_tables_are_read_as_the_summary_says(
    judged: Conformance, trace: Path, tmp_path: Path
) -> None:
    steps = read_judged(trace, JUDGED_STEPS)
    assert steps is not None and len(steps) == judged.summary["tlc"]["judged"]
    assert read_judged(tmp_path, JUDGED_STEPS) is None
    own = Path(shutil.copytree(trace, tmp_path / "own"))
    with (own / FOLDER / JUDGED_STEPS).open("ab") as table:
        table.write(b"x")
    with pytest.raises(TraceError, match=r"steps\.parquet: damaged"):
        read_judged(own, JUDGED_STEPS)


@pytest.mark.slow
@pytest.mark.tlc
def test_nothing_is_taken_from_steps_that_other_operators_judge(
    judged: Conformance, trace: Path, tmp_path: Path
) -> None:
    """What other operators look at is not known."""
    options = dataclasses.replace(ALONE, out=tmp_path / "out", under=lambda frame: frame)
    own = Path(shutil.copytree(trace, tmp_path / "own"))
    others = conform(own, options)
    of = [each.summary["distinct_steps"]["canonical"] for each in (others, judged)]
    assert of[0] > of[1] and others.verdict == judged.verdict


@pytest.mark.slow
@pytest.mark.tlc
def test_processes_give_the_same_result(judged: Conformance, trace: Path, tmp_path: Path) -> None:
    small_blocks, pool = CheckOptions(chunk=100), Pool(2, here_s=0)
    again = conform(trace, ConformOptions(pool, check=small_blocks, out=tmp_path / "out"))
    # Tables are written block by block, so files of other blocks have other bytes.
    files = {"tables": None}
    assert timeless(again.summary) | files == timeless(judged.summary) | files


@pytest.mark.slow
@pytest.mark.tlc
def test_spark_gives_the_same_result(
    judged: Conformance, trace: Path, tmp_path: Path, spark: SparkSession
) -> None:
    told: list[tuple[str, int, int]] = []
    options = ConformOptions(backend=Spark(spark), out=tmp_path / "out")
    again = conform(trace, options, lambda *what: told.append(what))
    assert timeless(again.summary) == timeless(judged.summary)
    for name in (JUDGED_STEPS, JOINED_RUNS):
        there = pq.read_table(tmp_path / "out" / name)
        assert there.equals(pq.read_table(trace / FOLDER / name))
    assert [stage for stage, done, total in told if done == total] == ["read", "judge", "join"]


@pytest.mark.slow
@pytest.mark.tlc
def test_workers_judge_what_is_too_much_for_the_driver(
    judged: Conformance,
    trace: Path,
    tmp_path: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a cluster: with the specs in the folder that it shares with the driver."""
    monkeypatch.setattr(judge, "ON_DRIVER_OF_MANY", 100)
    monkeypatch.setattr(judge, "AHEAD", 1)
    monkeypatch.setattr(judge, "FEW", 100)
    monkeypatch.setattr(Spark, "is_remote", True)
    out = tmp_path / "out"
    given: list[Path] = []
    path_of = judge._file

    def noted(folder: Path, number: int) -> Path:
        given.append(path_of(folder, number))
        return given[-1]

    monkeypatch.setattr(judge, "_file", noted)
    options = ConformOptions(Spark(spark), check=CheckOptions(chunk=100), out=out)
    again = conform(trace, options)
    assert timeless(again.summary) == timeless(judged.summary)
    # More than one wave of groups, and nothing is left of them.
    assert len(given) > len(set(given)) > 1
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == [SPECS_OF_WORKERS]


@pytest.mark.slow
@pytest.mark.tlc
def test_processes_make_the_tables_of_what_is_too_much_for_one(
    judged: Conformance, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same verdicts, and those of a process are its errors."""
    started: list[int] = []
    begin = Pool.started

    def noted(self: Pool, most: int) -> AbstractContextManager[Executor]:
        started.append(most)
        return begin(self, most)

    monkeypatch.setattr(Pool, "started", noted)
    monkeypatch.setattr(judge, "HERE", 100)
    monkeypatch.setattr(judge, "FEW", 100)
    options = ConformOptions(Pool(2), check=CheckOptions(parallel=2), out=tmp_path / "out")
    again = conform(trace, options)
    assert 2 in started
    files = {"tables": None}
    assert timeless(again.summary) | files == timeless(judged.summary) | files
    with pytest.raises(ToolError, match=r"^no jar of TLC is here$"):
        conform(trace, dataclasses.replace(options, under=no_jar))


def no_jar(_: StepFrame) -> StepFrame:
    raise ToolError("no jar of TLC is here")


@pytest.mark.slow
def test_a_worker_that_cannot_judge_says_so(
    trace: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "ON_DRIVER", 0)
    out = tmp_path / "out"
    with pytest.raises(ToolError, match=r"^no jar of TLC is here$"):
        conform(trace, ConformOptions(Spark(spark), out=out, under=no_jar))
    assert not [path for path in out.iterdir() if path.is_dir()]


@pytest.mark.tlc
def test_judging_again_replaces_an_old_summary(trace: Path, judged: Conformance) -> None:
    (trace / SUMMARY).write_text("old", encoding="utf-8")
    (trace / FOLDER / JUDGED_STEPS).write_text("old", encoding="utf-8")
    again = conform(trace, ALONE).summary
    assert timeless(again) == timeless(judged.summary)
    assert msgspec.json.decode(unsealed((trace / SUMMARY).read_bytes())) == again


def test_merging_with_spark_is_merging(spark: SparkSession) -> None:
    """Five rows, two of a class: the smallest run wins, and then the smallest step."""
    rows = [(b"b", 2, 4, 0), (b"a", 1, 9, 9), (b"b", 3, 4, 7), (b"b", 1, 5, 0), (b"a", 1, 11, 1)]
    slim = pa.table([list(column) for column in zip(*rows, strict=True)], schema=SLIM)
    expected = pa.table([[b"a", b"b"], [2, 6], [9, 4], [9, 0]], schema=SLIM)
    assert merge(slim).equals(expected)
    merged = merge(spark.createDataFrame(slim)).toArrow()
    assert merged.select(SLIM.names).cast(SLIM).sort_by("key").equals(expected)


def test_merging_does_not_depend_on_the_order_of_parts() -> None:
    chance = np.random.default_rng(1)
    keys = [chance.bytes(16) for _ in range(3000)] * 2
    columns = [keys, *(chance.integers(0, 30, len(keys)) for _ in range(3))]
    slim = pa.table(columns, schema=SLIM)
    shuffled = slim.take(pa.array(chance.permutation(len(keys))))
    merged = merge(slim)
    assert merged.equals(merge(shuffled))
    assert merged["key"].to_pylist() == sorted(set(keys))
    assert sum(merged["count"].to_pylist()) == sum(slim["count"].to_pylist())
    smallest: dict[bytes, tuple[int, int]] = {}
    for key, run, step in zip(keys, slim["run"].to_pylist(), slim["step"].to_pylist(), strict=True):
        smallest[key] = min(smallest.get(key, (99, 99)), (run, step))
    witnesses = zip(merged["run"].to_pylist(), merged["step"].to_pylist(), strict=True)
    assert list(witnesses) == [smallest[key] for key in merged["key"].to_pylist()]


def test_nothing_merged_is_nothing() -> None:
    assert merge(SLIM.empty_table()).equals(SLIM.empty_table())


# --- Verdicts


@pytest.mark.tlc
def test_good_runs_hold(tmp_path: Path) -> None:
    write_trace(tmp_path / "t", [part_of(runs_of(WALKS[:2]))])
    result = conform(tmp_path / "t", ALONE)
    assert (result.verdict, result.reasons) == ("holds", [])
    assert result.summary["rejections"] == []


@pytest.mark.tlc
def test_missing_runs_make_the_verdict_unknown(tmp_path: Path) -> None:
    write_trace(tmp_path / "t", [part_of(runs_of(WALKS[:2]))], runs=5)
    result = conform(tmp_path / "t", ALONE)
    assert result.verdict == "unknown"
    assert result.reasons == ["the trace is incomplete: 2 of 5 runs are recorded"]


@pytest.mark.tlc
def test_what_tlc_cannot_judge_in_time_is_unknown_and_never_holds(tmp_path: Path) -> None:
    write_trace(tmp_path / "t", [part_of(runs_of(WALKS[:2]))])
    hurried = ConformOptions(backend=Pool(1), check=CheckOptions(timeout_s=0.05))
    result = conform(tmp_path / "t", hurried)
    assert result.verdict == "unknown"
    assert result.summary["unknown_steps"] == result.summary["tlc"]["judged"]
    assert result.summary["runs_with_unknown_steps"] == 2
    assert "could not be judged" in result.reasons[0]


@pytest.mark.tlc
def test_an_invariant_violated_in_a_run_violates_the_trace(tmp_path: Path) -> None:
    broken = {"invariant": "ElectionSafety", "step": 4, "explanation": "two leaders"}
    runs = [RecordedRun(THREE, WALKS[0], violations=[broken], verdict="stopped at a violation")]
    write_trace(tmp_path / "t", [part_of(runs)])
    result = conform(tmp_path / "t", ALONE)
    assert result.verdict == "violated"
    assert result.summary["invariant_violations"]["by_name"] == {"ElectionSafety": 1}
    assert result.summary["invariant_violations"]["listed"][0]["replay"].endswith("--run 0")


@pytest.mark.tlc
def test_a_healed_run_without_progress_violates_the_trace(tmp_path: Path) -> None:
    runs = [RecordedRun(THREE, WALKS[0], verdict="no leader was elected")]
    write_trace(tmp_path / "t", [part_of(runs)])
    result = conform(tmp_path / "t", ALONE)
    assert result.reasons == ["1 healed runs made no progress"]
    assert result.summary["progress"]["listed"][0]["missing"] == "no leader was elected"


def empty_summary(**changes: Any) -> dict[str, Any]:
    return {
        "rejected_steps": 0,
        "runs_with_rejected_steps": 0,
        "unknown_steps": 0,
        "runs_with_unknown_steps": 0,
        "findings": {"by_check": {"Chained": 0}},
        "invariant_violations": {"by_name": {}},
        "progress": {"unprogressed": 0},
        "runs": 1,
        "trace": {"runs_asked": 1},
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        ({"rejected_steps": 1}, "violated"),
        ({"unknown_steps": 1}, "unknown"),
        ({"rejected_steps": 1, "unknown_steps": 1}, "violated"),
        ({"findings": {"by_check": {"Chained": 1}}}, "violated"),
        ({"progress": {"unprogressed": 1}}, "violated"),
        ({"invariant_violations": {"by_name": {"ElectionSafety": 1}}}, "violated"),
        ({"invariant_violations": {"by_name": {"A": 1}}, "unknown_steps": 1}, "violated"),
        ({"rejected_steps": 1, "trace": {"runs_asked": 2}}, "violated"),
        ({"trace": {"runs_asked": 2}}, "unknown"),
    ],
)
def test_violated_comes_before_unknown_before_holds(changes: Any, verdict: str) -> None:
    assert verdict_of(empty_summary(**changes))[0] == verdict


# --- Bad input


def test_a_trace_without_runs_is_an_error(tmp_path: Path) -> None:
    begin_trace(tmp_path / "t", Campaign(scenario="quorum", seed=1, runs=3))
    with pytest.raises(ToolError, match="no runs are recorded"):
        conform(tmp_path / "t", ALONE)


def test_a_trace_without_steps_is_an_error(tmp_path: Path) -> None:
    write_trace(tmp_path / "t", [part_of([RecordedRun(THREE, [])])])
    with pytest.raises(ToolError, match="no steps"):
        conform(tmp_path / "t", ALONE)


def test_a_folder_without_a_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="not a trace"):
        conform(tmp_path, ALONE)


def test_a_truncated_table_is_an_error_and_leaves_no_summary(tmp_path: Path) -> None:
    write_trace(tmp_path / "t", [part_of(runs_of(WALKS[:1]))])
    (tmp_path / "t" / SUMMARY).write_text("old", encoding="utf-8")
    path = part_path(tmp_path / "t", read_manifest(tmp_path / "t").parts[0], "steps")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TraceError, match=r"steps.parquet: damaged: sha256 is"):
        conform(tmp_path / "t", ALONE)
    assert not (tmp_path / "t" / SUMMARY).exists()


def test_an_out_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    write_trace(tmp_path / "t", [part_of(runs_of(WALKS[:1]))])
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(TraceError, match="file"):
        conform(tmp_path / "t", ConformOptions(backend=Pool(1), out=tmp_path / "file" / "out"))


@pytest.mark.parametrize(
    ("table", "column", "value", "complaint"),
    [
        ("rows", "body", b"\xc1", "rows 0 cannot be read"),
        ("inputs", "body", b"\xc1", "inputs 0 cannot be read"),
        ("runs", "constants", "{}", "constants '{}'"),
        (
            "runs",
            "constants",
            '{"protocol":"quorum","voters":[],"fetch_max_records":1}',
            "a quorum has voters",
        ),
    ],
)
def test_what_cannot_be_decoded_is_one_line(
    tmp_path: Path, table: str, column: str, value: object, complaint: str
) -> None:
    part = part_of(runs_of(WALKS[:1]))
    of = part.tables[table]
    values = [value, *of[column].to_pylist()[1:]]
    at = of.schema.get_field_index(column)
    changed = of.set_column(at, of.schema.field(at), pa.array(values, of.schema.field(at).type))
    write_trace(tmp_path / "t", [part._replace(tables={**part.tables, table: changed})])
    with pytest.raises(TraceError, match=complaint) as caught:
        conform(tmp_path / "t", ALONE)
    assert "\n" not in str(caught.value)


# --- What steps were judged against


def test_the_digest_of_the_specs_changes_with_any_module_of_the_frame(tmp_path: Path) -> None:
    here = frame_digest([VOTER])
    assert here == frame_digest([VOTER], SPECS)
    for folder in ("quorum", "common"):
        shutil.copytree(SPECS / folder, tmp_path / folder)
    needed = {"QuorumHandlers", "QuorumRules", "ReplicaLog", "VoterSet"}
    assert frame_digest([VOTER], tmp_path) == here
    assert frame_digest([VOTER._replace(first_row="{}")], tmp_path) != here
    for path in sorted(tmp_path.rglob("*.tla")):
        text = path.read_text(encoding="utf-8")
        path.write_text(text + " ", encoding="utf-8")
        assert (frame_digest([VOTER], tmp_path) != here) == (path.stem in needed)
        path.write_text(text, encoding="utf-8")


def test_modules_that_are_named_later_count_too(tmp_path: Path) -> None:
    own = tmp_path / "quorum"
    own.mkdir()
    (own / "QuorumHandlers.tla").write_text(
        "---- MODULE QuorumHandlers ----\nEXTENDS Integers,\n  Wide\nLOCAL INSTANCE Deep\n====\n"
    )
    digests = set()
    for name in ("Wide", "Deep"):
        digests.add(frame_digest([VOTER], tmp_path))
        (own / f"{name}.tla").write_text(f"---- MODULE {name} ----\n====\n")
    assert len({*digests, frame_digest([VOTER], tmp_path)}) == 3


def test_recordings_by_hand_keep_the_contract(trace: Path) -> None:
    """The tests here would prove little with tables that no simulator could write."""
    assert [part.first_run for part in read_parts(trace)] == [0, 3, 6]
