"""Questions as frames on Spark: what each says is what it says of the parts without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kraftcheck.traces.jobs import frames
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.coverage import FEATURES
from kraftcheck.traces.jobs.measures import MEASURES
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.classes import SLIM, merge, merge_with_spark
from kraftcheck.traces.store import Campaign, read_manifest, read_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUNS, PART_RUNS = 12, 6
QUESTIONS: list[tuple[Callable[[Any], Any], Any, pa.Schema]] = [
    (frames.distinct_steps, frames._slim, SLIM),
    (frames.findings, frames._findings, frames.FINDINGS),
    (frames.invariant_violations, frames._broken, frames.BROKEN_INVARIANTS),
    (frames.measures, frames._measures, MEASURES),
    (frames.features, frames._features, FEATURES),
]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Quorums with Z03, which break invariants, in two parts."""
    folder = tmp_path_factory.mktemp("frames") / "Z03"
    campaign = Campaign(scenario="quorum", seed=5, runs=RUNS, bug="Z03")
    simulate(folder, campaign, backend=Pool(1), part_runs=PART_RUNS)
    return folder


def ordered(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def answered(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    return ordered(frame.toArrow().select(schema.names).cast(schema))


@pytest.mark.parametrize(("on_spark", "of_part", "schema"), QUESTIONS)
def test_every_part_is_asked(
    spark: SparkSession, trace: Path, on_spark: Any, of_part: Any, schema: pa.Schema
) -> None:
    manifest = read_manifest(trace)
    assert len(manifest.parts) == RUNS // PART_RUNS
    own = [of_part(read_part(trace, entry)) for entry in manifest.parts]
    assert answered(on_spark(frames.parts_of(spark, trace)), schema) == ordered(
        pa.concat_tables(own).cast(schema)
    )


def test_a_broken_invariant_is_told(spark: SparkSession, trace: Path) -> None:
    found = frames.invariant_violations(frames.parts_of(spark, trace)).toArrow().to_pylist()
    assert "DurableMajority" in {row["invariant"] for row in found}


def test_distinct_steps_of_parts_are_merged(spark: SparkSession, trace: Path) -> None:
    slim = frames.distinct_steps(frames.parts_of(spark, trace))
    merged = answered(merge_with_spark(slim), SLIM)
    assert merged == ordered(merge(slim.toArrow().cast(SLIM))) and merged.num_rows > 100


def test_no_trace_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        frames.parts_of(spark, tmp_path)
