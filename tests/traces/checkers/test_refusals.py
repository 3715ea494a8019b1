"""How long a producer waited: until it gave up, which may be long after it asked last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.checkers.test_transactions import SECOND, Txns, at, names

BEGAN = 100
"""Seconds: nobody asks at the beginning of time."""


@pytest.mark.parametrize(
    ("asked", "is_stuck"),
    [
        ([(0, 195)], True),
        ([(0, 60)], False),
        ([(0, None)], False),
        ([(0, 1), (60, 195)], True),
        ([(0, 1), (195, 195)], True),
        ([(0, 1), (195, None)], True),
        ([(0, 1), (60, None)], False),
    ],
)
def test_a_wait_lasts_until_it_is_given_up(
    asked: list[tuple[int, int | None]], is_stuck: bool, tmp_path: Path
) -> None:
    """asked: when, and when it was given up (None: nobody says that)."""
    told = Txns().op(0, "init", '"id"').op(0, "begin", txn="1").send(0, 1, 0, 0, 1)
    told = at(BEGAN * SECOND, told)
    for process, (invoked, gave_up) in enumerate(asked):
        for kind, time in (("invoke", invoked), ("info", gave_up)):
            if time is not None:
                head = f":process {process} :f :end :txn 1 :time {(BEGAN + time) * SECOND}"
                told.lines.append(f"{{{head} :type :{kind} :value :abort}}")
    # Somebody else goes on for long.
    late = f":process 5 :f :send :time {400 * SECOND}"
    told.lines.append(f"{{{late} :type :invoke :value [[:send 0 99]]}}")
    told.lines.append(f"{{{late} :type :ok :value [[:send 0 [7 99]]]}}")
    found = names(told.report(tmp_path / "history.edn"))
    assert ("stuck-producer" in found) is is_stuck, found


@pytest.mark.parametrize(("gave_up", "is_stuck"), [(195, True), (60, False)])
def test_a_producer_that_never_gets_its_id_waits_too(
    gave_up: int, is_stuck: bool, tmp_path: Path
) -> None:
    told = at(
        BEGAN * SECOND, Txns().op(1, "init", '"other"').op(1, "begin", txn="1").send(1, 1, 0, 0, 1)
    )
    for kind, time in (("invoke", 0), ("info", gave_up)):
        head = f":process 0 :f :init :time {(BEGAN + time) * SECOND}"
        told.lines.append(f'{{{head} :type :{kind} :value "id"}}')
    late = f":process 5 :f :send :time {400 * SECOND}"
    told.lines.append(f"{{{late} :type :invoke :value [[:send 0 99]]}}")
    told.lines.append(f"{{{late} :type :ok :value [[:send 0 [7 99]]]}}")
    found = names(told.report(tmp_path / "history.edn"))
    assert ("stuck-producer" in found) is is_stuck, found
