"""Recorded runs as tables: what SQL is told is what the parts say, with Spark or without."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.reference.protocols import KINDS
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.jobs.backends import Pool, own_error
from kraftcheck.traces.jobs.conform import ConformOptions, conform
from kraftcheck.traces.jobs.tables import (
    SCHEMAS,
    TABLES,
    as_json,
    asked,
    of_classes,
    of_part,
    parts_of,
    spark_type,
    tables,
)
from kraftcheck.traces.schema import PartTables, TraceError
from kraftcheck.traces.steps.classes import SLIM, Classes, merge
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.translation import shape_of_inputs, shape_of_row
from kraftcheck.traces.store import Campaign, begin_trace, read_manifest, read_parts, write_part
from tests.traces.jobs.test_shapes import NODES, _Form, drawn
from tla_utils.errors import ToolError
from tla_utils.values import Function, Record, Value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_PARTS = [name for name in TABLES if name not in ("classes", "rejected")]
SCENARIO, SEED, RUNS = "partition", 5, 4


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts of two runs each."""
    folder = tmp_path_factory.mktemp("tables") / "runs"
    begin_trace(folder, Campaign(scenario=SCENARIO, seed=SEED, runs=RUNS))
    for first in (0, 2):
        write_part(folder, simulate_part(SCENARIO, SEED, first, 2))
    return folder


def parts(trace: Path) -> list[PartTables]:
    return list(read_parts(trace))


def whole(trace: Path, name: str) -> pa.Table:
    return pa.concat_tables([of_part(name, part, SCENARIO) for part in parts(trace)])


def in_json(value: Value) -> Any:
    """A value of the spec as JSON has it; sets in any order."""
    if isinstance(value, Record):
        return {name: in_json(item) for name, item in value.items()}
    if isinstance(value, Function):
        return {str(key): in_json(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return [in_json(item) for item in value]
    if isinstance(value, tuple):
        return [in_json(item) for item in value]
    return value


def unordered(value: Any) -> Any:
    """Arrays in one order, since sets have none; functions of nodes 1..n are arrays."""
    if isinstance(value, dict):
        if value and [*value] == [str(n) for n in range(1, len(value) + 1)]:
            return unordered([*value.values()])
        return {name: unordered(item) for name, item in value.items()}
    if isinstance(value, list):
        return sorted((unordered(item) for item in value), key=partial(json.dumps, sort_keys=True))
    return value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_json_says_what_the_abstraction_says(kind: Any) -> None:
    for nodes in NODES:
        form = _Form(nodes)
        shapes = shape_of_row(kind.row, nodes), shape_of_inputs(tuple(kind.inputs), nodes)
        for item, is_row in drawn(kind, nodes, 8):
            text = as_json(shapes[not is_row], msgspec.msgpack.encode(item))
            value = form.row(item) if is_row else form.input(item)
            assert unordered(json.loads(text)) == unordered(in_json(value))


@pytest.mark.parametrize("name", OF_PARTS)
def test_a_table_of_a_part_has_the_announced_columns(trace: Path, name: str) -> None:
    for part in parts(trace):
        assert of_part(name, part, SCENARIO).schema == SCHEMAS[name]


def test_steps_and_messages_are_those_of_the_runs(trace: Path) -> None:
    steps, messages = whole(trace, "steps").to_pylist(), whole(trace, "messages").to_pylist()
    assert len({(row["run"], row["position"]) for row in steps}) == len(steps)
    taken = sum(len(run) for part in parts(trace) for run in part.tables["runs"]["steps"])
    assert len(steps) == taken
    sent = Counter((row["run"], row["position"]) for row in messages)
    assert sent == Counter({(r["run"], r["position"]): r["sent"] for r in steps if r["sent"]})
    last: dict[tuple[int, int], str] = {}
    for row in steps:  # A node enters a step in the state in which it left its last one.
        at = (row["run"], row["node"])
        assert last.setdefault(at, row["before"]) == row["before"]
        last[at] = row["after"]
    for row in messages:
        found = json.loads(row["message"])
        assert (found["type"], found["source"]) == (row["type"], row["source"])


def test_every_column_says_what_it_is() -> None:
    assert all(field.meaning for columns in TABLES.values() for field in columns)


# --- On Spark ---


def rows(table: pa.Table) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in table.to_pylist())


@pytest.mark.slow
def test_spark_has_the_rows_that_the_parts_have(spark: SparkSession, trace: Path) -> None:
    found = tables(spark, trace)
    for name in OF_PARTS:
        assert rows(getattr(found, name).toArrow()) == rows(whole(trace, name)), name
    assert found.classes.count() == 0 and found.rejected.count() == 0  # not judged yet


def test_distinct_steps_of_parts_are_merged(spark: SparkSession, trace: Path) -> None:
    slim = asked(parts_of(spark, trace), lambda part: Classes(Part(part)).slim(), SLIM)
    merged = merge(slim).toArrow().select(SLIM.names)
    whole = merge(pa.concat_tables([Classes(Part(part)).slim() for part in parts(trace)]))
    assert rows(merged) == rows(whole) and merged.num_rows > 100


def test_no_trace_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        parts_of(spark, tmp_path)


@pytest.mark.slow
def test_sql_asks_structs_and_json(spark: SparkSession, trace: Path) -> None:
    found = tables(spark, trace)
    assert set(found.register()) == set(TABLES)
    typed = found.steps_of("broker")
    assert typed.schema["before"].dataType.simpleString().startswith("struct<status:string")
    typed.createOrReplaceTempView("broker_steps")
    query = "select run, position, after.brokerEpoch e, size(after.log) n from broker_steps"
    asked = {(r.run, r.position): (r.e, r.n) for r in spark.sql(query).collect()}
    plain = {
        (row["run"], row["position"]): (after["brokerEpoch"], len(after["log"]))
        for row in whole(trace, "steps").to_pylist()
        if row["kind"] == "broker" and (after := json.loads(row["after"]))
    }
    assert asked == plain and len({n for _, n in plain.values()}) > 1
    with pytest.raises(ToolError, match="no kind of node 'brocker'"):
        found.steps_of("brocker")


@pytest.mark.slow
@pytest.mark.tlc
def test_verdicts_are_joined_to_distinct_steps(
    spark: SparkSession, trace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "judged"
    begin_trace(folder, Campaign(scenario="quorum", seed=3, runs=2, bug="Z01"))
    write_part(folder, simulate_part("quorum", 3, 0, 2, bug="Z01"))
    conform(folder, ConformOptions(backend=Pool(processes=1)))
    found = tables(spark, folder)
    judged = pq.read_table(folder / "conform" / "steps.parquet")
    assert rows(found.classes.toArrow()) == rows(of_classes(judged))
    found.register()
    query = "select count(*) n from rejected join classes using (class) where verdict = 'rejected'"
    assert spark.sql(query).collect()[0].n == found.rejected.count()


@pytest.mark.slow
def test_a_damaged_part_is_an_error_that_names_it(
    spark: SparkSession, trace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in trace.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    (stem, *_) = [entry.stem for entry in read_manifest(folder).parts]
    (folder / f"{stem}.rows.parquet").write_bytes(b"no")
    with pytest.raises(TraceError, match=rf"{stem}.rows.parquet: damaged"):
        try:
            tables(spark, folder).steps.count()
        except Exception as error:
            raise own_error(error) from None
    with pytest.raises(TraceError, match="not a trace"):
        tables(spark, tmp_path / "nothing")


def test_types_of_all_kinds_are_ones_of_spark(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    frame = spark.range(1).select(F.lit("{}").alias("state"))
    for kind in KINDS:
        typed = frame.select(F.from_json("state", spark_type(kind.row)).alias("typed"))
        assert typed.schema["typed"].dataType.typeName() == "struct"
