"""The columnar checker of partition logs, where the small histories of others do not reach."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks._log_synthetic import part
from kraftcheck.traces import schema
from kraftcheck.traces.checkers.arrow import from_arrow
from kraftcheck.traces.checkers.columns import NEVER, OFFSET_MAX, by_process, from_history
from kraftcheck.traces.checkers.levels import levels_of
from kraftcheck.traces.checkers.log import BROKEN, HELD, judge
from kraftcheck.traces.checkers.records import records_of
from kraftcheck.traces.checkers.unplaced import culprit
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.history import Operation
from tests.traces.checkers.calls import (
    call,
    check_log,
    check_what_was_read as check,
    history,
    together,
)


def test_rows_are_in_order_however_large_the_numbers_are() -> None:
    """Segment, process and operation as one number would not fit into 63 bits."""
    segment, process, operation = np.array([1 << 34, 0]), np.zeros(2, np.int64), [(1 << 29) - 1, 5]
    assert by_process(segment, process, np.array(operation)).tolist() == [1, 0]


@pytest.mark.parametrize("other", [(73, 117), (130, None)])
def test_appends_that_may_be_left_over_may_fill_holes(other: tuple[int, int | None]) -> None:
    """Of two appends of one value, one was read; the other, whichever it is, may stand at 0."""
    (found,) = check_log(
        history(
            call("append", 0, None, 100),
            call("append", 39, 52, 101, 1),
            call("append", *other, 100),
            call("fetch", 118, 120, 1, ((1, 101), (2, 100))),
        )
    )
    assert found.verdict == UNKNOWN


@pytest.mark.parametrize("far", [10_000_000, 1 << 40, (1 << 62) - 1, 1 << 62, OFFSET_MAX])
def test_an_offset_costs_nothing_however_far_it_lies(far: int) -> None:
    """Gaps explained or not, told or read, with an append that may stand anywhere between."""
    calls = (
        call("append", 0, 5, "a", 3),
        call("append", 10, 15, "b", far),
        call("append", 0, 100, "c"),
        call("fetch", 200, 205, 4, ((far, "b"),)),
        call("fetch", 200, 205, far, ((far, "b"),), end=far + 1),
        call("latest", 200, 205, None, far + 1),
        call("earliest", 200, 205, None, 3),
    )
    made = history(*calls, model="partition-log")
    tracemalloc.start()
    for gaps, verdict in ((True, HOLDS), (False, VIOLATED)):
        assert check(made, gaps=gaps).verdict == verdict
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4_000_000


@pytest.mark.parametrize(
    "wrong",
    [
        call("append", 0, 5, "a", OFFSET_MAX + 1),
        call("append", 0, 5, "a", -1),
        call("fetch", 0, 5, -2, ()),
        call("fetch", 0, 5, None, ((OFFSET_MAX + 1, "a"),)),
        call("fetch", 0, 5, None, ((-3, "a"),)),
        call("fetch", 0, 5, 0, (), end=OFFSET_MAX + 2),
        call("latest", 0, 5, None, -4),
        call("earliest", 0, 5, None, 1 << 70),
    ],
)
def test_an_offset_that_no_log_has_is_refused(wrong: Operation) -> None:
    with pytest.raises(ValueError, match=r"operation 0 .* has offset .*: those of a log are 0 to"):
        check(history(wrong, model="partition-log"))


def test_an_offset_of_a_trace_that_no_log_has_is_refused() -> None:
    kind = schema.SCHEMAS["runs"].field("history").type
    fetch: dict[str, Any] = dict.fromkeys((field.name for field in schema.OPERATION), 0)
    fetch |= {"op": "fetch", "values": [1, 2], "outcome": "ok", "completed": 9, "end": None}
    for offset, refused in (
        (OFFSET_MAX - 1, False),
        (OFFSET_MAX, True),
        (OFFSET_MAX + 1, True),
    ):
        runs = pa.array([[fetch | {"offset": offset}]], kind)
        if refused:
            with pytest.raises(ValueError, match="an offset above"):
                from_arrow(runs)
        else:
            assert from_arrow(runs).reads.offsets.tolist() == [offset, offset + 1]


@pytest.mark.parametrize("field", ["op", "outcome"])
def test_a_trace_with_a_name_that_none_has_is_refused(field: str) -> None:
    kind = schema.SCHEMAS["runs"].field("history").type
    fetch: dict[str, Any] = dict.fromkeys((field.name for field in schema.OPERATION), 0)
    fetch |= {"op": "fetch", "values": [], "outcome": "ok", "end": None}
    assert len(from_arrow(pa.array([[fetch]], kind)).reads.segment) == 1
    # A fetch that failed has read nothing.
    failed = pa.array([[fetch | {"outcome": "fail"}]], kind)
    assert len(from_arrow(failed).reads.segment) == 0
    with pytest.raises(ValueError, match="'frob' is none of"):
        from_arrow(pa.array([[fetch | {field: "frob"}]], kind))


def test_an_append_that_failed_may_never_have_been_answered() -> None:
    """As of recorded runs, where it had not arrived at the end."""
    lost = call("append", 0, None, "a", outcome="fail")
    made = history(lost, call("append", 0, 5, "b", 0), model="partition-log")
    assert from_history(made).appends.completed.tolist() == [NEVER, 5]
    assert check(made).verdict == HOLDS


def test_what_a_read_that_failed_was_told_binds_nobody() -> None:
    """Nobody who reads later has to see it."""
    sent = call("append", 0, None, "a", 0)
    told = call("latest", 10, 15, None, 1, outcome="fail")
    reads = call("fetch", 20, 25, 0, ()), call("fetch", 30, 35, 0, ((0, "a"),))
    assert check(history(sent, told, *reads, model="partition-log")).verdict == HOLDS


def test_of_a_partition_that_nobody_used_no_level_is_exact() -> None:
    kind = schema.SCHEMAS["runs"].field("history").type
    levels = levels_of(judge(from_arrow(pa.array([[]], kind))))
    assert levels.exact.tolist() == [False]


def test_a_part_of_a_batch_is_judged_as_in_it() -> None:
    sent, missed = call("append", 0, 5, "a", 0), call("fetch", 10, 15, 0, ())
    batch = together(*(from_history(history(*c)) for c in ((sent,), (sent, missed), (sent,))))
    one = part(batch, 1, 3)
    assert (one.segments, one.labels) == (2, (None, None))
    assert judge(one).verdicts.tolist() == judge(batch).verdicts.tolist()[1:] == [BROKEN, HELD]


def test_a_read_that_could_not_tell_missed_nothing() -> None:
    """Asked from nowhere and told no end, it may have stopped anywhere."""
    sent = call("append", 0, 5, "a"), call("append", 0, 5, "b", 0)
    for start, row in ((None, None), (1, 0)):
        records = ((0, "b"),) if start is None else ()
        made = history(*sent, call("fetch", 10, 15, start, records), model="partition-log")
        assert culprit(records_of(from_history(made)), 0, 0, own=False) == row


CONTROL = call("latest", 10, 15, None, 5)
"""Five offsets are taken, by what nobody can read."""


@pytest.mark.parametrize(
    ("later", "verdict"),
    [
        (call("fetch", 20, 25, 0, ()), HOLDS),
        (call("fetch", 20, 25, 0, (), end=5), HOLDS),
        (call("fetch", 20, 25, 0, ((6, "a"),)), HOLDS),
        (call("fetch", 20, 25, 0, (), end=4), VIOLATED),
        (call("latest", 20, 25, None, 3), VIOLATED),
        (call("latest", 12, 25, None, 3), HOLDS),
        (call("append", 20, 25, "a", 2), VIOLATED),
    ],
)
def test_an_end_that_was_told_does_not_go_back_though_no_record_is_known_there(
    later: Operation, verdict: str
) -> None:
    sent = () if later.f == "append" else (call("append", 0, None, "a"),)
    for first in (CONTROL, call("fetch", 10, 15, 0, (), end=5)):
        made = history(*sent, first, later, model="partition-log")
        assert check(made, gaps=True).verdict == verdict


@pytest.mark.parametrize("value", [6, 7])
def test_a_lost_append_tells_nothing_of_its_offset(value: int) -> None:
    """Either may be what is at 0: an offset that came without an acknowledgement binds nothing."""
    (found,) = check_log(
        history(
            call("append", 2, None, 7),
            call("append", 2, None, 6, 0),
            call("fetch", 4, 6, 0, ((0, value),), end=1),
        )
    )
    assert found.verdict == "holds"
