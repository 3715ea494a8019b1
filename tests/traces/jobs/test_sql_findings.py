"""A campaign's findings, asked again in Spark's SQL of the recorded runs: the same answers.

What the pool adds up range by range, from what each range left, are here joins and aggregations
over all runs at once (`traces/jobs/tables.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.campaigns import STORE
from kraftcheck.traces.jobs.findings import METRICS, QUANTILES
from kraftcheck.traces.jobs.plan import Configuration
from kraftcheck.traces.jobs.tables import asked as asked_of_parts, parts_of, tables
from kraftcheck.traces.steps.classes import SLIM, Classes, merge
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.verdict_store import stamp
from tests.traces.jobs.small_campaigns import campaign

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNS = 24
VIEW = {"measures": "measures", "verdicts": "histories"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("sql") / "c"
    own = (Configuration(name="partition", scenario="partition"),)
    findings = campaign(folder, RUNS, own)
    assert findings is not None
    return folder, findings["configurations"][0]


def asked(session: SparkSession, query: str) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in session.sql(query).collect()}


def answers(session: SparkSession, folder: Path) -> dict[str, set[tuple[Any, ...]]]:
    """By the name of a question, the rows that SQL answers."""
    trace = folder / "partition"
    tables(session, trace).register()
    slim = asked_of_parts(parts_of(session, trace), lambda part: Classes(Part(part)).slim(), SLIM)
    merge(slim).createOrReplaceTempView("distinct")
    store = folder.parent / STORE / stamp(SPECS)
    session.read.parquet(str(store)).createOrReplaceTempView("stored")
    queries = {
        "runs": "select count(*), sum(steps) from runs",
        "logs": "select verdict, count(*) from histories group by verdict",
        "levels": """
            select promised, held, exact, verdict, count(*) from histories
            group by promised, held, exact, verdict
        """,
        "anomalies": """
            select name, count(*), count_if(forbidden), sum(count) from anomalies group by name
        """,
        "smallest": """
            select name, min_by(run, (operations, run)) from anomalies
            join histories using (run, partition)
            join (select name, max(forbidden) worst from anomalies group by name) using (name)
            where forbidden = worst group by name
        """,
        "actions": "select action, count(*), min(run) from steps group by action",
        "classes": "select count(*) from distinct",
        "batches": """
            select kind, count(distinct constants), count(*), count_if(verdict = 'accepted')
            from distinct join stored using (key) group by kind
        """,
    }
    for each in METRICS:
        name = each.name
        cuts = ", ".join(
            f"percentile_disc({cut / 100}) within group (order by {name})" for cut in QUANTILES
        )
        queries[name] = f"""
            select count({name}), count_if({name} = 0), sum({name}), {cuts}, max({name})
            from {VIEW[each.table]} having max({name}) > 0
        """
    return {name: asked(session, query) for name, query in queries.items()}


def as_found(findings: dict[str, Any]) -> dict[str, set[tuple[Any, ...]]]:
    """The same questions, answered by `findings.json`."""

    def rows(each: list[dict[str, Any]], *names: str) -> set[tuple[Any, ...]]:
        return {tuple([row[name] for name in names]) for row in each}

    distinct = findings["conformance"]["distinct"]
    cuts = [f"p{cut}" for cut in QUANTILES]
    said = {each.name: set[tuple[Any, ...]]() for each in METRICS}
    for each in findings["distributions"]:
        said[each["name"]] = rows([each], "count", "zero", "sum", *cuts, "most")
    return {
        "runs": {(findings["runs"], findings["steps"])},
        "logs": {each for each in findings["histories"]["counts"].items() if each[1]},
        "levels": rows(findings["levels"], "promised", "held", "exact", "verdict", "logs"),
        "anomalies": rows(findings["anomalies"], "name", "logs", "forbidden", "count"),
        "smallest": {(each["name"], each["smallest"]["run"]) for each in findings["anomalies"]},
        "actions": rows(findings["coverage"]["met"]["action"], "name", "count", "first_run"),
        "classes": {(distinct["canonical"] + distinct["first_rows"],)},
        "batches": rows(
            findings["conformance"]["batches"], "kind", "constants", "steps", "accepted"
        ),
        **said,
    }


@pytest.mark.slow
def test_sql_finds_what_the_pool_found(
    spark: SparkSession, found: tuple[Path, dict[str, Any]]
) -> None:
    folder, findings = found
    by_sql = answers(spark, folder)
    assert by_sql == as_found(findings)
    assert len(by_sql["anomalies"]) > 1 and len(by_sql["levels"]) > 1
    assert len(by_sql["batches"]) > 1 and len(by_sql["actions"]) > 10


@pytest.mark.slow
def test_a_row_that_is_lost_is_seen(
    spark: SparkSession, found: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: SQL is asked without the last part."""
    from kraftcheck.traces.jobs import tables as module

    whole = module.parts_of
    monkeypatch.setattr(module, "parts_of", lambda *of: whole(*of).filter("part > 0"))
    folder, findings = found
    differ = {
        name for name, rows in answers(spark, folder).items() if rows != as_found(findings)[name]
    }
    assert differ >= {"runs", "logs", "levels", "actions", "duration"}
