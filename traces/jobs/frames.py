"""The questions of a campaign as functions from a frame to a frame, for whoever works with Spark.

A frame of parts (`parts_of`) has a row for each part of a recorded trace; ids of rows, inputs and
steps are a part's own, so a part is the unit that questions are put to. Each function asks one
question of every part, declares the schema of the answer, and computes nothing before Spark does.
What clients saw is asked of table `runs` alone (histories.py), and distinct steps of several parts
are merged by `merge_with_spark` (classes.py).

    parts = parts_of(session, Path("runs/campaign/partition"))
    merge_with_spark(distinct_steps(parts)).count()
    measures(parts).groupBy("partition").max("leaderless_longest").show()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from kraftcheck.traces.jobs import coverage, measures as how_runs_went
from kraftcheck.traces.jobs.coverage import FEATURES
from kraftcheck.traces.jobs.measures import MEASURES
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.classes import SLIM, Classes
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.store import read_manifest, read_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS: Final = pa.schema([("trace", pa.string()), ("part", pa.int64())])
"""A part of a trace: the trace's folder, and the part's place in the manifest."""

FINDINGS: Final = pa.schema(
    [
        ("run", pa.int64()),
        ("step", pa.int64()),
        ("check", pa.string()),
        ("explanation", pa.string()),
    ]
)
"""What a check on runs has against one: at which step, and why."""

BROKEN_INVARIANTS: Final = pa.schema(
    [
        ("run", pa.int64()),
        ("step", pa.int64()),
        ("invariant", pa.string()),
        ("explanation", pa.string()),
    ]
)
"""A named invariant that did not hold after a step of a run."""

Question: TypeAlias = Callable[[PartTables], pa.Table]


def parts_of(session: SparkSession, trace: Path) -> DataFrame:
    """PARTS of a recorded trace, one in each of Spark's partitions. Raises TraceError: no trace."""
    from pyspark.sql import functions as F

    count = len(read_manifest(trace).parts)
    numbers = session.range(0, count, 1, numPartitions=max(count, 1))
    # Absolute, since workers have working directories of their own.
    return numbers.select(F.lit(str(trace.absolute())).alias("trace"), F.col("id").alias("part"))


def distinct_steps(parts: DataFrame) -> DataFrame:
    """SLIM: the classes of steps of each part, how often they were taken and by whom first."""
    return _asked(parts, _slim, SLIM)


def findings(parts: DataFrame) -> DataFrame:
    """FINDINGS: whether steps make runs (chaining, provenance of messages, and so on: C0 ...)."""
    return _asked(parts, _findings, FINDINGS)


def invariant_violations(parts: DataFrame) -> DataFrame:
    """BROKEN_INVARIANTS that the simulator found after each step."""
    return _asked(parts, _broken, BROKEN_INVARIANTS)


def measures(parts: DataFrame) -> DataFrame:
    """MEASURES: failover and unavailability, ISR churn, lag, in virtual time."""
    return _asked(parts, _measures, MEASURES)


def features(parts: DataFrame) -> DataFrame:
    """FEATURES: actions, roles, reasons, errors and messages that each part met."""
    return _asked(parts, _features, FEATURES)


def _asked(parts: DataFrame, question: Question, schema: pa.Schema) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    return parts.mapInArrow(partial(_answers, question), from_arrow_schema(schema))


def _answers(question: Question, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            trace = Path(row["trace"])
            entry = read_manifest(trace).parts[row["part"]]
            yield from question(read_part(trace, entry)).to_batches()


# --- Questions to one part ---


def _slim(tables: PartTables) -> pa.Table:
    return Classes(Part(tables)).slim()


def _findings(tables: PartTables) -> pa.Table:
    rows = [
        {"run": each.run, "step": each.step, "check": each.check, "explanation": each.explanation}
        for each in check_runs(Part(tables))
    ]
    return pa.Table.from_pylist(rows, schema=FINDINGS)


def _broken(tables: PartTables) -> pa.Table:
    runs = tables.tables["runs"]
    rows: list[dict[str, Any]] = [
        {"run": run, **{name: violation[name] for name in BROKEN_INVARIANTS.names[1:]}}
        for run, violations in zip(
            runs["run"].to_pylist(), runs["violations"].to_pylist(), strict=True
        )
        for violation in violations
    ]
    return pa.Table.from_pylist(rows, schema=BROKEN_INVARIANTS)


def _measures(tables: PartTables) -> pa.Table:
    return how_runs_went.measure(tables.tables)


def _features(tables: PartTables) -> pa.Table:
    return coverage.features(tables.tables)
