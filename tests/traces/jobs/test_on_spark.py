"""The jobs of campaigns as frames on Spark: the same answers as without it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.traces.jobs import campaigns
from kraftcheck.traces.jobs.backends import Pool, Spark
from kraftcheck.traces.jobs.campaigns import Options, run_campaign
from kraftcheck.traces.jobs.plan import Configuration, begin, plan_of
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


@pytest.mark.parametrize("scenario", ["planted", "cluster", "quorum"])
def test_sql_and_columns_find_the_same(spark: SparkSession, tmp_path: Path, scenario: str) -> None:
    runs = planted() if scenario == "planted" else part(scenario).tables["runs"]
    pq.write_table(runs, tmp_path / "runs.parquet")
    frame = spark.read.parquet(str(tmp_path / "runs.parquet"))
    assert sorted_rows(broken_in_sql(frame), BROKEN) == sorted_table(broken(runs))


def test_a_campaign_on_spark_leaves_the_same_bytes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "judge", StandIn())
    left = []
    for backend in (Pool(1), Spark(spark)):
        where = tmp_path / backend.name.split()[0]
        where.mkdir()
        monkeypatch.chdir(where)
        plan = plan_of((Configuration(name="quorum", scenario="quorum"),), 3, 5)
        plan = begin(Path("c"), plan)
        assert run_campaign(Path("c"), plan, Options(backend=backend)) is not None
        left.append(contents(Path("c")))
    assert left[0] == left[1]
