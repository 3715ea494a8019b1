"""The jobs of campaigns as frames on Spark: the same answers as without it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.traces.jobs import campaigns
from kraftcheck.traces.jobs.backends import Backend, Pool, Spark
from kraftcheck.traces.jobs.campaigns import Options, run_campaign
from kraftcheck.traces.jobs.plan import Configuration, begin, plan_of
from kraftcheck.traces.relation import ROWS, grouped, joined, least
from kraftcheck.traces.steps.classes import SLIM
from tests.traces.jobs.recorded import part, with_histories
from tests.traces.jobs.simple_invariants import (
    BROKEN,
    CONDITIONS,
    INVARIANTS,
    broken,
    broken_in_sql,
)
from tests.traces.jobs.small_campaigns import StandIn, contents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


def sorted_rows(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    table = frame.toArrow().select(schema.names).cast(schema)
    return table.sort_by([(name, "ascending") for name in schema.names]).combine_chunks()


def sorted_table(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def planted() -> pa.Table:
    """Runs of partitions; the first three break an invariant each, in the order of INVARIANTS."""
    runs = part("partition").tables["runs"]
    histories: list[list[dict[str, Any]]] = runs["history"].to_pylist()
    acked = [o for o in histories[0] if o["op"] == "append" and o["outcome"] == "ok"]
    acked[1]["offset"] = acked[0]["offset"]
    fetches = [
        [o for o in history if o["op"] == "fetch" and o["outcome"] == "ok" and o["values"]]
        for history in histories
    ]
    fetches[1][0]["values"][0] = 777
    fetches[2][0]["end"] = fetches[2][0]["offset"]
    return with_histories(runs, histories)


def test_the_planted_faults_are_found() -> None:
    assert broken(part("partition").tables["runs"].slice(0, 3)).num_rows == 0
    found = broken(planted().slice(0, 3)).to_pylist()
    assert {"run": 1, "invariant": "ReadWasWritten"} in found
    assert {each["invariant"] for each in found} == set(INVARIANTS) == set(CONDITIONS)
    assert sorted({each["run"] for each in found}) == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["planted", "cluster", "quorum"])
def test_sql_and_columns_find_the_same(spark: SparkSession, tmp_path: Path, scenario: str) -> None:
    runs = planted() if scenario == "planted" else part(scenario).tables["runs"]
    pq.write_table(runs, tmp_path / "runs.parquet")
    frame = spark.read.parquet(str(tmp_path / "runs.parquet"))
    assert sorted_rows(broken_in_sql(frame), BROKEN) == sorted_table(broken(runs))


def test_groups_joins_and_sorts_are_those_of_tables(spark: SparkSession) -> None:
    """Drawn rows with few values, some of them null."""
    chance = np.random.default_rng(7)

    def drawn(values: int) -> list[int | None]:
        return [None if n == values else int(n) for n in chance.integers(0, values + 1, 300)]

    schema = pa.schema([(name, pa.int64()) for name in ("a", "b", "c", "d")])
    whole = [[n or 0 for n in drawn(40)] for _ in "cd"]
    table = pa.table([drawn(3), drawn(5), *whole], schema=schema)
    frame = spark.createDataFrame(table)
    by, wanted = ["a", "b"], pa.schema([*schema, (ROWS, pa.int64())])
    here = grouped(table, by, sums=["d"], first=["c"])
    there = grouped(frame, by, sums=["d"], first=["c"])
    assert sorted_rows(there, wanted) == sorted_table(here)
    assert sum(here[ROWS].to_pylist()) == table.drop_null().num_rows < table.num_rows
    few = table.select(by).slice(0, 9)
    matched = sorted_table(joined(table, few, by))
    assert sorted_rows(joined(frame, spark.createDataFrame(few), by), schema) == matched
    assert matched.num_rows > 9
    order = ["c", "d", "a", "b"]
    named = table.set_column(0, "a", pa.array(["left", "right", None] * 100))
    first = least(spark.createDataFrame(named), order, 4, ("a", "left")).toArrow()
    assert first.to_pylist() == least(named, order, 4, ("a", "left")).to_pylist()


@pytest.mark.slow
def test_a_campaign_on_spark_leaves_the_same_bytes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: with the last file of each answer unread, findings are others."""
    monkeypatch.setattr(campaigns, "judge", StandIn())

    def left(backend: Backend) -> dict[str, bytes]:
        where = tmp_path / backend.name.split()[0]
        where.mkdir(exist_ok=True)
        monkeypatch.chdir(where)
        plan = plan_of((Configuration(name="partition", scenario="partition"),), 8, 5)
        plan = begin(Path("c"), plan)
        assert run_campaign(Path("c"), plan, Options(backend=backend)) is not None
        return contents(Path("c"))

    here = left(Pool(1))
    assert left(Spark(spark)) == here
    found = msgspec.json.decode(here["findings.json"])["configurations"][0]
    assert len(found["anomalies"]) > 1 and len(found["distributions"]) > 5
    files = Spark.files

    def some(self: Spark, paths: Sequence[Path], schema: pa.Schema) -> DataFrame:
        return files(self, paths if schema == SLIM else paths[:-1], schema)

    monkeypatch.setattr(Spark, "files", some)
    assert {name for name, data in left(Spark(spark)).items() if here[name] != data} == {
        "findings.json"
    }
