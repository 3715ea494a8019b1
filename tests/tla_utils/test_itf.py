"""Counterexamples survive the way to ITF and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tla_utils.test_values import same, values
from tla_utils.errors import ToolError
from tla_utils.itf import Trace, from_itf, to_itf, value_from_json, value_to_json
from tla_utils.output import State
from tla_utils.values import Record, Value, function


def trace(**more: Any) -> Trace:
    states = [State(n, f"Act{n}", {"x": n, "log": ("a",) * n}) for n in (1, 2, 3)]
    return Trace(states, **more)


@given(values)
def test_values_survive(value: Value) -> None:
    assert same(value_from_json(json.loads(json.dumps(value_to_json(value)))), value)


@given(st.sampled_from([trace(), trace(loop_to=1), trace(loop_to=2), trace(stuttering=True)]))
def test_traces_survive(original: Trace) -> None:
    assert from_itf(json.loads(json.dumps(to_itf(original)))) == original


def test_the_form_is_apalaches() -> None:
    itf = to_itf(trace(loop_to=2), source="Counter.tla")
    assert itf["#meta"]["format"] == "ITF" and itf["#meta"]["source"] == "Counter.tla"
    assert itf["vars"] == ["log", "x"] and itf["loop"] == 1
    assert itf["states"][1]["x"] == {"#bigint": "2"}
    assert itf["states"][0]["#meta"] == {"index": 0, "action": "Act1"}


def test_forms_of_other_tools_are_read() -> None:
    assert value_from_json([1, {"a": 2}]) == (1, Record(a=2))
    assert value_from_json({"#map": [[{"#bigint": "5"}, True]]}) == function({5: True})
    assert value_from_json({}) == ()
    assert from_itf({"states": [{"x": 1}]}).states[0].values == {"x": 1}


@pytest.mark.parametrize(
    ("itf", "complaint"),
    [
        ({}, "no list of states"),
        ({"states": []}, "no list of states"),
        ([], "no list of states"),
        ({"states": [3]}, "state 0 .* no JSON object"),
        ({"states": [{"x": None}]}, "variable x in state 0"),
        ({"states": [{"x": {"#odd": 1}}]}, "unknown form #odd"),
        ({"states": [{"x": {"#bigint": "one"}}]}, "variable x"),
        ({"states": [{"x": 1}], "loop": 1}, "loops to state 1"),
    ],
)
def test_what_is_no_itf_is_refused(itf: Any, complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        from_itf(itf)


def test_an_empty_trace_is_refused() -> None:
    with pytest.raises(ToolError, match="without states"):
        to_itf(Trace([]))
