"""The columnar checker of partition logs, where the small histories of others do not reach."""

from __future__ import annotations

from tests.traces.checkers.calls import call, history
from traces.checkers.certificates import check_history
from traces.checkers.verdict import UNKNOWN


def test_appends_that_may_be_left_over_may_fill_holes() -> None:
    """Of two appends of one value, one was read; the other, whichever it is, may stand at 0."""
    (found,) = check_history(
        history(
            call("append", 0, None, 100),
            call("append", 39, 52, 101, 1),
            call("append", 73, 117, 100),
            call("fetch", 118, 120, 1, ((1, 101), (2, 100))),
        )
    )
    assert found.verdict == UNKNOWN
