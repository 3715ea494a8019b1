"""The simple invariants in columns, on histories that differ in one thing from one in order.

That the SQL finds the same is seen in test_on_spark.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces.jobs.recorded import part, with_histories
from tests.traces.jobs.simple_invariants import broken

Operation = dict[str, Any]


def operation(op: str, offset: int | None, *values: int, **more: Any) -> Operation:
    table = part("partition").tables["runs"]
    template: Operation = table["history"][0][0].as_py()
    own = {"op": op, "offset": offset, "values": list(values), "outcome": "ok", "partition": 0}
    return {**template, "end": None, **own, **more}


def found(*histories: list[Operation]) -> list[tuple[int, str]]:
    runs = part("partition").tables["runs"].slice(0, len(histories))
    told = broken(with_histories(runs, list(histories))).to_pylist()
    return [(each["run"], each["invariant"]) for each in told]


FIRST, SECOND = operation("append", 0, 11), operation("append", 1, 12)


@pytest.mark.parametrize(
    ("third", "invariant"),
    [
        (operation("append", 1, 13), "AckedOnce"),
        (operation("append", 1, 13, partition=1), None),
        (operation("append", 1, 13, outcome="indeterminate"), None),
        (operation("append", None, 13), None),
        (operation("append", 2, 13), None),
        (operation("fetch", 0, 11, 12), None),
        (operation("fetch", 0, 11, 99), "ReadWasWritten"),
        (operation("fetch", 0, 11, 99, outcome="indeterminate"), None),
        (operation("fetch", 0, 11, partition=1), "ReadWasWritten"),
        (operation("fetch", 0, 0, 11), None),
        (operation("fetch", 0, 11, 12, end=2), None),
        (operation("fetch", 0, 11, 12, end=1), "EndAfterRead"),
        (operation("fetch", 1, 12, end=1), "EndAfterRead"),
        (operation("fetch", 0, 11, 12, end=1, outcome="indeterminate"), None),
        (operation("append", 3, 13, end=2), None),
    ],
)
def test_one_operation_decides(third: Operation, invariant: str | None) -> None:
    history = [FIRST, SECOND, third]
    assert found([FIRST, SECOND], history) == ([(1, invariant)] if invariant else [])


def test_an_append_without_an_answer_is_written_and_not_acknowledged() -> None:
    lost = operation("append", None, 13, outcome="indeterminate")
    assert found([FIRST, SECOND, lost, operation("fetch", 2, 13)]) == []
    assert found([FIRST, SECOND, {**lost, "offset": 1}]) == []


def test_runs_do_not_answer_for_each_other() -> None:
    """Two logs of one number, in two runs: an offset each, and values that only one of them has."""
    assert found([FIRST], [FIRST]) == []
    assert found([FIRST], [operation("fetch", 0, 11)]) == [(1, "ReadWasWritten")]


def test_each_run_is_named_once_and_in_order() -> None:
    bad = [FIRST, FIRST, FIRST, operation("fetch", 0, 98, 99, end=0)]
    names = ("AckedOnce", "EndAfterRead", "ReadWasWritten")
    assert found(bad, [FIRST], bad) == [(run, name) for run in (0, 2) for name in names]
