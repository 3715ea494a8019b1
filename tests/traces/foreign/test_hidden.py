"""Which values are tried in place of what a trace hides: those that it tells elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kraftcheck.traces.foreign.hidden import inputs_of, logged_values
from kraftcheck.traces.foreign.provenance import Senders, agree
from kraftcheck.traces.foreign.reading import Fields, ForeignStep, ForeignTrace
from tests.traces.foreign.walks import CONSTANTS
from tla_utils import Record


def trace(*steps: ForeignStep) -> ForeignTrace:
    return ForeignTrace(Path("t.jsonl"), CONSTANTS, False, True, True, "", [*steps])


def step(input: Fields | None = None, after: Fields | None = None, *sent: Fields) -> ForeignStep:
    return ForeignStep(2, 0, 1, {}, input, after or {}, sent, None)


def test_values_are_those_of_records_anywhere_and_a_new_one() -> None:
    log = (Record(epoch=4, value=7), Record(epoch=5, value=3))
    request = Record(request=Record(records=(Record(epoch=6, value=9),)))
    found = logged_values(
        trace(
            step(after={"log": log, "highWatermark": 2}),
            step({"type": "M", "isr": frozenset({Record(brokerEpoch=8)})}, None, request),
        )
    )
    assert found["value"] == frozenset({3, 7, 9, 10})
    assert found["epoch"] == found["leaderEpoch"] == frozenset({4, 5, 6, 8})
    assert found["offset"] == frozenset({2})


def test_who_tells_no_input_may_have_received_any_that_came_to_it() -> None:
    told = trace(step())
    kind = told.kind(step())
    found = inputs_of(step(), kind, Senders(told))
    assert [each["action"] for each in found] == [f"Handle{t.__name__}" for t in kind.inputs]
    inputs: Any = [each["input"] for each in found]
    assert {each["destination"] for each in inputs if "destination" in each} == {1}


def test_a_trace_that_tells_no_value_leaves_a_new_one() -> None:
    assert logged_values(trace(step()))["value"] == frozenset({1})


def test_what_is_tried_as_it_was_logged_comes_from_inputs_and_messages_alone() -> None:
    records = (Record(epoch=1, value=1),)
    found = logged_values(trace(step(None, {"logStart": 3}, {"records": records, "logStart": 2})))
    assert found["logStart"] == frozenset({2}) and found["records"] == frozenset({records})
    assert "sequence" not in found


def test_messages_agree_in_what_both_say() -> None:
    whole: Fields = {"type": "VoteRequest", "epoch": 2, "source": 1}
    assert agree({"epoch": 2}, whole) and agree(whole, {"epoch": 2})
    assert agree({"epoch": 2}, {"source": 1})
    assert not agree({"epoch": 3, "source": 1}, whole) and not agree(whole, {"epoch": 3})
