"""A narrated run can be read: fixed columns, a legend for each, and nothing left out."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.kit.log import Entry, EpochEnd
from kraftcheck.reference.partition.log import Record
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.types import BrokerRow, ControllerRow
from kraftcheck.reference.quorum.messages import (
    FetchMaxWait,
    FetchRequest,
    FetchResponse,
    Flush,
    VoteRequest,
)
from kraftcheck.reference.quorum.sim.family import LEGEND
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.runner.narrate import (
    ending,
    field_words,
    narrate,
    render_input,
    render_options,
)
from kraftcheck.reference.runner.run import simulate_part, simulate_run


def test_each_step_has_its_line_under_its_column() -> None:
    run = simulate_run("quorum", 1, 0)
    lines = list(narrate(run))
    header = next(at for at, line in enumerate(lines) if line.startswith(" step"))
    steps = lines[header + 1 : header + 1 + len(run.steps)]
    assert [int(line[:5]) for line in steps] == list(range(len(run.steps)))
    role, input_ = lines[header].index("role"), lines[header].index("input")
    for line, step in zip(steps, run.steps, strict=True):
        assert line[role : role + 3].strip().split(">")[-1] == step.after.role[0]
        assert line[input_:].startswith(type(step.input).__name__)


def who(node: int) -> str:
    return "-" if node == -1 else str(node)


def end_of(row: Any, epoch: int | None) -> str:
    end = str(len(row.log)) + (f"~{row.flushed}" if row.flushed < len(row.log) else "")
    return end if epoch is None else f"{end}@{epoch}"


def of_broker(row: BrokerRow) -> dict[str, str]:
    role = {"Starting": "S", "ShuttingDown": "X", "Down": "D"}.get(row.status, row.role[0])
    proposed = "".join(str(member.broker) for member in row.pending.isr)
    refused = "!" if row.pending.refused else ""
    return {
        "role": role,
        "epoch": f"{who(row.leader_epoch)}.{who(row.partition_epoch)}",
        "ldr": who(row.leader),
        "log": end_of(row, row.epoch_cache[-1].epoch if row.epoch_cache else None),
        "hw": str(row.high_watermark),
        "isr": "".join(map(str, row.isr))
        + ("" if row.pending.kind == "None" else f">{proposed}{refused}"),
    }


def of_controller(row: ControllerRow) -> dict[str, str]:
    partition = row.partition
    eligible = "".join(map(str, partition.elr))
    return {
        "role": "C",
        "epoch": f"{partition.leader_epoch}.{partition.partition_epoch}",
        "ldr": who(partition.leader),
        "log": "".join("f" if r.fenced else "s" if r.stopping else "." for r in row.registrations),
        "hw": "",
        "isr": "".join(map(str, partition.isr)) + (f"+{eligible}" if eligible else ""),
    }


def of_voter(row: Row) -> dict[str, str]:
    return {
        "role": row.role[0],
        "epoch": str(row.epoch),
        "ldr": who(row.leader),
        "vote": who(row.voted),
        "log": end_of(row, row.log[-1].epoch if row.log else None),
        "hw": who(row.high_watermark),
    }


def columns_of(row: Any) -> dict[str, str]:
    """What the columns say of a row, worked out once more."""
    if isinstance(row, Row):
        return of_voter(row)
    return of_broker(row) if isinstance(row, BrokerRow) else of_controller(row)


@pytest.mark.parametrize(
    ("scenario", "number"), [("quorum", 0), ("partition", 0), ("partition", 1), ("partition", 7)]
)
def test_the_columns_are_those_of_the_row_after_the_step(scenario: str, number: int) -> None:
    """The row before stands in no column, but for the role that the step left."""
    run = simulate_run(scenario, 1, number)
    lines = list(narrate(run))
    head = next(at for at, line in enumerate(lines) if line.startswith(" step"))
    names = lines[head].split()[3:-1]
    starts = [lines[head].index(f" {name}") for name in names]
    moved: set[str] = set()
    for line, step in zip(lines[head + 1 :], run.steps, strict=False):
        after, before = columns_of(step.after), columns_of(step.before)
        told = line[: line.index(f"  {type(step.input).__name__}")].ljust(max(starts) + 9)
        if before["role"] != after["role"]:
            after["role"] = f"{before['role']}>{after['role']}"
        moved |= {name for name in names if before[name] != after[name]}
        fields = told[starts[0] :].split()
        assert fields == [after[name] for name in names if after[name]]
    assert moved == set(names), "each column has a step that tells before from after"


def test_steps_of_a_cluster_have_the_columns_of_their_component() -> None:
    run = simulate_run("cluster", 1, 0)
    lines = list(narrate(run))
    head = next(at for at, line in enumerate(lines) if line.startswith(" step"))
    for line, step in zip(lines[head + 1 :], run.steps, strict=False):
        assert step.component is not None
        of = str(step.component - 1) if step.component else "Q"
        before, after = columns_of(step.before), columns_of(step.after)
        if before["role"] != after["role"]:
            after["role"] = f"{before['role']}>{after['role']}"
        node = "C" if step.node == CONTROLLER else str(step.node)
        told = line[: line.index(f"  {type(step.input).__name__}")].split()
        assert told[2:] == [of, node, *filter(None, after.values())]


def test_every_column_is_in_the_legend() -> None:
    run = simulate_run("quorum", 1, 0)
    header = next(line for line in narrate(run) if line.startswith(" step"))
    for column in header.split():
        assert any(line.startswith(column) for line in LEGEND.splitlines()), column


def test_history_and_verdict_follow() -> None:
    run = simulate_run("quorum", 1, 0)
    lines = list(narrate(run))
    assert sum(line.startswith("client") for line in lines) == len(run.result.history)
    healed = "progressed: once its faults had ended it did in time what it must"
    assert lines[-1].endswith(f"s: {healed}")


def test_of_runs_that_never_heal_no_progress_is_claimed() -> None:
    told = list(narrate(simulate_run("groups", 1, 0)))[-1]
    assert told.endswith("no invariant broken; progress is not asked of it")
    told = list(narrate(simulate_run("transactions", 1, 6, bug="Z85")))[-1]
    assert told.endswith("s: the transaction stays in PrepareCommit")
    assert ending("no leader", heals=True) == "no leader"


def test_what_stands_in_a_field_is_told_by_its_names() -> None:
    """As a reader is told it; the words of stored moves stay as they are."""
    plain, written = Record(3, 7, -1, -1, -1, -1, -1), Record(3, 8, 2, 0, 4, 4, 4)
    assert field_words((plain, plain)) == "7@3,7@3"
    assert field_words(written) == (
        "Record(epoch=3 value=8 producer=2 producer_epoch=0 sequence=4 first=4 last=4)"
    )
    lines = "\n".join(narrate(simulate_run("partition", 1, 0)))
    assert "records=Partition(leader=0 leader_epoch=1 partition_epoch=1 isr=0,1" in lines
    assert "-1@-1" not in lines and "elr=()" not in lines


def test_a_violation_stands_after_its_step() -> None:
    part = simulate_part("quorum", 1, 0, 20, bug="Z03")
    found = [r["run"] for r in part.tables["runs"].to_pylist() if r["violations"]]
    run = simulate_run("quorum", 1, found[0], bug="Z03")
    lines = list(narrate(run))
    at = next(at for at, line in enumerate(lines) if "!!" in line)
    [violation] = run.result.violations
    assert int(lines[at - 1][:5]) == violation.step
    assert f"{violation.invariant}: {violation.explanation}" in lines[at]


def test_inputs_in_brief() -> None:
    request = FetchRequest(1, 0, 3, 5, 2)
    assert render_input(request) == "FetchRequest 1>0 epoch=3 fetch_offset=5 last_fetched_epoch=2"
    records = (Entry(3, 0), Entry(3, 9))
    response = FetchResponse(0, 1, "NONE", 3, 0, records, EpochEnd(-1, -1), 4, request)
    assert render_input(response) == (
        "FetchResponse 0>1 epoch=3 leader=0 records=0@3,9@3 high_watermark=4"
    )
    diverging = FetchResponse(0, 1, "NONE", 3, 0, (), EpochEnd(2, 4), -1, request)
    assert render_input(diverging) == "FetchResponse 0>1 epoch=3 leader=0 diverging=4@2"
    assert render_input(FetchMaxWait(request)).startswith("FetchMaxWait (FetchRequest 1>0")
    assert render_input(VoteRequest(0, 1, 1, 0, 0, True)).endswith("last_offset=0 pre_vote")
    assert render_input(Flush()) == "Flush"


def test_options_in_brief() -> None:
    assert render_options(Options()) == "voters=3"
    assert render_options(Options(loss=20, crash_on="vote")) == "voters=3 loss=20 crash_on=vote"
