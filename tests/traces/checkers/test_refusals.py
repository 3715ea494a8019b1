"""How long a producer waited: until it gave up, which may be long after it asked last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.checkers.test_transactions import SECOND, Told, at, names


@pytest.mark.parametrize(("gave_up_s", "is_stuck"), [(195, True), (60, False), (None, False)])
def test_a_wait_lasts_until_it_is_given_up(
    gave_up_s: int | None, is_stuck: bool, tmp_path: Path
) -> None:
    """It asked once; where nobody says when it gave up, it has waited for no time."""
    told = at(0, Told().op(0, "init", '"id"').op(0, "begin", txn="1").send(0, 1, 0, 0, 1))
    head = ":process 0 :f :end :txn 1"
    told.lines.append(f"{{{head} :time 0 :type :invoke :value :abort}}")
    if gave_up_s is not None:
        told.lines.append(f"{{{head} :time {gave_up_s * SECOND} :type :info :value :abort}}")
    # Somebody else goes on for long.
    late = f":process 5 :f :send :time {400 * SECOND}"
    told.lines.append(f"{{{late} :type :invoke :value [[:send 0 99]]}}")
    told.lines.append(f"{{{late} :type :ok :value [[:send 0 [7 99]]]}}")
    found = names(told.report(tmp_path / "history.edn"))
    assert ("stuck-producer" in found) is is_stuck, found
