"""Histories: what clients are told is true of the run, and no process does two things at once."""

from __future__ import annotations

from collections import defaultdict

import pytest

from kraftcheck.reference.quorum.sim.workload import HOP_US
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.traces.schema import OPERATION, OPERATIONS, OUTCOMES


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [simulate_run("quorum", 4, run) for run in range(80)]


def history(runs: list[Run]) -> list[tuple[Run, Operation]]:
    return [(run, operation) for run in runs for operation in run.result.history]


def row_at(run: Run, node: int, time: int) -> Row | None:
    """The row of a node just before the steps of a moment; None before its first step."""
    latest = None
    for step in run.steps:
        if step.time >= time:
            break
        if step.node == node:
            latest = step.after
    return latest


def test_operations_have_the_fields_of_the_contract(runs: list[Run]) -> None:
    for _, operation in history(runs):
        fields = dict(zip([f.name for f in OPERATION], operation.fields(), strict=True))
        assert fields["op"] in OPERATIONS and fields["outcome"] in OUTCOMES
        assert fields["op"] == "fetch" or len(operation.values) in (0, 1)


def test_no_process_does_two_things_at_once(runs: list[Run]) -> None:
    for run in runs:
        ended: dict[int, int] = {}
        for operation in run.result.history:
            assert operation.invoked >= ended.get(operation.process, 0)
            open_end = run.result.statistics["duration"] + HOP_US + 1
            ended[operation.process] = operation.completed or open_end


def test_every_outcome_occurs(runs: list[Run]) -> None:
    seen = {(operation.op, operation.outcome) for _, operation in history(runs)}
    assert seen >= {(op, outcome) for op in ("append", "fetch") for outcome in ("ok", "fail")}
    assert ("append", "indeterminate") in seen


def test_values_are_used_once(runs: list[Run]) -> None:
    for run in runs:
        values = [v for o in run.result.history if o.op == "append" for v in o.values]
        assert len(values) == len(set(values))


def test_what_was_acknowledged_is_committed_at_its_offset(runs: list[Run]) -> None:
    """By the end every node of the healed core holds it there."""
    for run in runs:
        last = {step.node: step.after for step in run.steps}
        longest = max(last.values(), key=lambda row: row.high_watermark)
        for operation in run.result.history:
            if operation.op == "append" and operation.outcome == "ok":
                assert operation.offset is not None
                assert longest.log[operation.offset].value == operation.values[0]


def test_what_failed_never_appears(runs: list[Run]) -> None:
    for run in runs:
        appeared = {entry.value for step in run.steps for entry in step.after.log}
        for operation in run.result.history:
            if operation.op == "append" and operation.outcome == "fail":
                assert not appeared & {*operation.values}


def test_a_fetch_reads_what_the_node_knows_to_be_committed(runs: list[Run]) -> None:
    checked = 0
    for run, operation in history(runs):
        row = row_at(run, operation.node, operation.invoked + HOP_US)
        if operation.op == "fetch" and operation.outcome == "ok":
            assert row is not None and operation.offset is not None
            end = max(row.high_watermark, operation.offset)
            expected = [entry.value for entry in row.log[operation.offset : end]]
            assert operation.values[: len(expected)] == expected
            checked += len(expected)
    assert checked > 500


def test_clients_that_read_on_miss_nothing_and_see_nothing_twice(runs: list[Run]) -> None:
    for run in runs:
        seen: dict[int, list[int]] = defaultdict(list)
        for operation in run.result.history:
            if operation.op == "fetch" and operation.outcome == "ok" and operation.process == 0:
                assert operation.offset == len(seen[0])
                seen[0] += operation.values
