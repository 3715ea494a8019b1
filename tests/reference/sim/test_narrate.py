"""A narrated run can be read: fixed columns, a legend for each, and nothing left out."""

from __future__ import annotations

from reference.core.log import Entry, EpochEnd
from reference.core.messages import FetchMaxWait, FetchRequest, FetchResponse, Flush, VoteRequest
from reference.sim.faults import Options
from reference.sim.narrate import LEGEND, narrate, render_input, render_options
from reference.sim.run import simulate_part, simulate_run


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


def test_every_column_is_in_the_legend() -> None:
    run = simulate_run("quorum", 1, 0)
    header = next(line for line in narrate(run) if line.startswith(" step"))
    for column in header.split():
        assert any(line.startswith(column) for line in LEGEND.splitlines()), column


def test_history_and_verdict_follow() -> None:
    run = simulate_run("quorum", 1, 0)
    lines = list(narrate(run))
    assert sum(line.startswith("client") for line in lines) == len(run.result.history)
    assert lines[-1].endswith(f"s: {run.result.verdict}")


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
