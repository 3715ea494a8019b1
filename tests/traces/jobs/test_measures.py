"""Measures of runs, held against a slow second way of finding them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kraftcheck.reference.partition.types import BrokerRow, ControllerRow
from kraftcheck.reference.quorum.types import Row
from kraftcheck.traces.jobs.measures import MEASURES, QUORUM_ITSELF, measure
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.record import Part
from tests.traces.jobs.recorded import part


def slowly(tables: dict[str, pa.Table], found: Part, at: int, component: int) -> dict[str, Any]:
    """One component of one run, step by step."""
    rows: dict[int, Any] = {}
    runs = tables["runs"].slice(at, 1).to_pylist()[0]
    whose = runs["components"] or [0] * len(runs["steps"])
    told: dict[str, Any] = dict.fromkeys(MEASURES.names[3:11], 0)
    moments = [
        (time, step)
        for time, step, own in zip(runs["times"], runs["steps"], whose, strict=True)
        if own == component
    ]
    led, span = False, 0
    for place, (time, step) in enumerate(moments):
        node, after = int(found.node[step]), found.rows[found.after[step]]
        before = rows.get(node, found.rows[found.before[step]])
        rows[node] = after
        if isinstance(after, ControllerRow):
            sizes = len(before.partition.isr), len(after.partition.isr)
            told["isr_shrinks"] += sizes[1] < sizes[0]
            told["isr_expansions"] += sizes[1] > sizes[0]
        ends = moments[place + 1][0] if place + 1 < len(moments) else runs["statistics"]["duration"]
        lasts, state = max(ends - time, 0), list(rows.values())
        leaders = [
            row
            for row in state
            if (isinstance(row, Row) and row.role == "Leader")
            or (isinstance(row, ControllerRow) and row.partition.leader >= 0)
        ]
        if led and not leaders:
            told["leaderless_spans"] += span == 0 and not told.get("open", False)
            told["open"] = True
            span += lasts
            told["leaderless_total"] += lasts
        else:
            span, told["open"] = 0, False
        told["leaderless_longest"] = max(told["leaderless_longest"], span)
        led = led or bool(leaders)
        missing = [
            row
            for row in state
            if isinstance(row, ControllerRow) and len(row.partition.isr) < len(row.registrations)
        ]
        told["under_replicated"] += lasts if missing else 0
        lag = sum(
            len(row.log) - max(row.high_watermark, 0)
            for row in state
            if (isinstance(row, Row) and row.role == "Leader")
            or (isinstance(row, BrokerRow) and row.role == "Leader" and row.status != "Down")
        )
        told["lag_most"] = max(told["lag_most"], lag)
        told["lag_total"] += lag * lasts
    told.pop("open", None)
    return told


@pytest.mark.parametrize("scenario", ["quorum", "partition", "cluster"])
def test_both_ways_agree(scenario: str) -> None:
    tables = part(scenario).tables
    found = Part(part(scenario))
    measured = measure(tables)
    assert measured.schema == MEASURES
    for row in measured.to_pylist():
        component = row["partition"] + (1 if scenario == "cluster" else 0)
        slow = slowly(tables, found, row["run"], component)
        assert {name: row[name] for name in slow} == slow, row["run"]
    if scenario == "cluster":
        assert QUORUM_ITSELF in measured["partition"].to_pylist()


@pytest.mark.parametrize("scenario", ["partition", "cluster"])
def test_changes_of_the_isr_are_those_that_the_simulator_counted(scenario: str) -> None:
    tables = part(scenario).tables
    measured = measure(tables)
    counted = tables["runs"]["statistics"].to_pylist()
    for mine, own in (("isr_shrinks", "shrinks"), ("isr_expansions", "expansions")):
        assert sum(measured[mine].to_pylist()) == sum(each[own] for each in counted)
    assert scenario == "cluster" or sum(each["shrinks"] for each in counted) > 0


def history(*operations: tuple[str, int, int | None, str]) -> list[dict[str, Any]]:
    """Appends as (what, invoked, completed, outcome)."""
    return [
        {
            "process": at,
            "partition": 0,
            "op": op,
            "node": 0,
            "offset": at,
            "values": [at + 1],
            "end": None,
            "invoked": invoked,
            "completed": completed,
            "outcome": outcome,
        }
        for at, (op, invoked, completed, outcome) in enumerate(operations)
    ]


@pytest.mark.parametrize(
    ("operations", "stall", "opened"),
    [
        ([], None, False),
        ([("append", 10, 10, "ok")], 0, False),
        ([("append", 10, 25, "ok")], 15, False),
        # Somebody else's acknowledgement shows that the log takes appends.
        ([("append", 10, None, "indeterminate"), ("append", 30, 50, "ok")], 40, False),
        ([("append", 10, 20, "fail"), ("append", 900, 950, "ok")], 50, False),
        ([("append", 10, 20, "ok"), ("append", 30, None, "indeterminate")], None, True),
        ([("fetch", 10, 500, "ok")], None, False),
    ],
)
def test_how_long_an_append_waited(
    operations: list[tuple[str, int, int | None, str]], stall: int | None, opened: bool
) -> None:
    tables = dict(part("partition").tables)
    runs = tables["runs"].slice(0, 1)
    at = runs.schema.get_field_index("history")
    field = runs.schema.field(at)
    tables["runs"] = runs.set_column(at, field, pa.array([history(*operations)], field.type))
    (row,) = measure(tables).to_pylist()
    if opened:
        stall = row["duration"] - operations[-1][1]
    assert (row["append_stall"], row["append_stall_open"]) == (stall, opened)


@pytest.mark.parametrize("scenario", ["transactions", "groups"])
def test_where_no_row_tells_of_leaders_nothing_is_measured(scenario: str) -> None:
    assert measure(part(scenario).tables) == MEASURES.empty_table()


def test_a_row_that_is_none_is_refused() -> None:
    tables = dict(part("quorum").tables)
    rows = tables["rows"]
    at = rows.schema.get_field_index("body")
    bodies = [b"\xc1", *rows["body"].to_pylist()[1:]]
    tables["rows"] = rows.set_column(at, rows.schema.field(at), pa.array(bodies, pa.binary()))
    with pytest.raises(TraceError, match="a row cannot be read"):
        measure(tables)
