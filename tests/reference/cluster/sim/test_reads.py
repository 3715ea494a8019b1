"""Runs of a cluster in which somebody asks a controller, whichever it is, what is under way."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.cluster.sim.past import READS_COMMITTED, Past
from kraftcheck.reference.partition.messages import CLIENTS, CONTROLLER, DEPOSED
from kraftcheck.reference.partition.moving.messages import (
    ListReassignmentsResponse,
    PartitionRecord,
)
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.moving.types import Constants, initial_moving_controller
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_part, simulate_run
from kraftcheck.traces.schema import PROGRESSED
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part

READS = {"reads": 40, "reassignments": 8, "quorum_partitions": 6, "topic_partitions": 1}
READ = "HandleListReassignments"


@cache
def runs() -> tuple[Run, ...]:
    return tuple([simulate_run("cluster", 7, run, None, READS) for run in range(8)])


def test_any_controller_is_asked_and_some_of_them_answer_what_is_old() -> None:
    old, present, past = 0, 0, 0
    for run in runs():
        assert run.result.verdict == PROGRESSED
        known: Any = None
        for step in run.steps:
            if step.node == CONTROLLER:
                known = step.after.partition
            if step.action != READ:
                continue
            [answer] = step.sent
            assert isinstance(answer, ListReassignmentsResponse)
            assert answer.source == CONTROLLER and answer.destination == CLIENTS
            assert step.after == step.before
            present, past = present + (step.node == CONTROLLER), past + (step.node == DEPOSED)
            lists = answer.replicas, answer.adding, answer.removing
            if known is not None:
                old += lists != (known.replicas, known.adding, known.removing)
    assert min(old, present, past) > 5


def test_its_parts_are_joined() -> None:
    part = Part(simulate_part("cluster", 7, 0, 4, options=READS))
    assert check_runs(part) == []
    assert READ in {*part.action}


def test_a_controller_that_reads_what_is_not_committed_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the run itself, and by who joins its parts: no controller was ever in such a row."""
    monkeypatch.setattr(MovingRules, "read_from", lambda self, stable, ahead: ahead)
    part = Part(simulate_part("cluster", 7, 0, 16, options=READS, memo=False))
    violations = [
        each for of_run in part.tables["runs"]["violations"].to_pylist() for each in of_run
    ]
    assert READS_COMMITTED in {each["invariant"] for each in violations}
    assert "nothing committed does" in "".join([each["explanation"] for each in violations])
    assert "Chained" in {finding.check for finding in check_runs(part)}


def test_a_log_that_says_otherwise_is_found() -> None:
    constants = Constants(replicas=(0, 1, 2), min_insync_replicas=1, first_replicas=(0, 1))
    row = initial_moving_controller(constants)
    moved = replace(row, partition=replace(row.partition, adding=(2,)))
    answer = ListReassignmentsResponse(CONTROLLER, CLIENTS, (0, 1), (), ())
    step = SimpleNamespace(sent=((CLIENTS, SimpleNamespace(value=answer)),))
    rules, now = MovingRules(constants), SimpleNamespace(row=row)
    partition: Any = SimpleNamespace(
        number=0,
        machine=SimpleNamespace(
            brokers=SimpleNamespace(rules=rules),
            interner=SimpleNamespace(input=lambda value: value),
        ),
        take=lambda *_: step,
        state=lambda _: now,
    )
    past = Past([partition])
    assert past.read(partition, 0, row, None) == ""
    assert "has another log" in past.read(partition, 0, moved, None)
    told = replace(answer, adding=(2,))
    step.sent = ((CLIENTS, SimpleNamespace(value=told)),)
    assert "nothing committed does" in past.read(partition, 0, row, None)
    past.enter({0: [PartitionRecord(moved.partition)]})
    assert past.read(partition, 0, row, None) == "", "it was committed once"


def test_a_run_is_told_with_what_is_read() -> None:
    told = "\n".join(narrate(runs()[0]))
    assert "reads=40" in told
    assert "ListReassignments" in told
