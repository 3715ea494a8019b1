"""Counterexamples as ITF, the Informal Trace Format of Apalache, and back.

ITF is JSON: a trace has `vars`, `states` (one object per state), and `loop`, the index from 0 of
the state to which a lasso returns. Integers are `{"#bigint": "3"}`, tuples `{"#tup": [...]}`, sets
`{"#set": [...]}`, functions `{"#map": [[key, value], ...]}`; records, strings and booleans are
plain JSON. This file writes these forms and also reads what other tools write: plain JSON numbers,
and lists for sequences.

Laws of this file: `from_itf(to_itf(t))` is `t`; equal traces give equal JSON. Model values have no
form in ITF and are written as `{"#unserializable": name}`. A behaviour that stutters for ever is a
loop of its last state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tla_utils.errors import ToolError
from tla_utils.output import State
from tla_utils.values import ModelValue, Record, Value, function, render

JsonValue = Any

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"


@dataclass(frozen=True, slots=True)
class Trace:
    """A behaviour: its states, and how it goes on for ever if it does (see output.Violation)."""

    states: Sequence[State]
    loop_to: int | None = None
    stuttering: bool = False


def to_itf(trace: Trace, source: str = "") -> dict[str, JsonValue]:
    """The trace as the JSON object of an ITF file. `source` names the model it comes from.

    Raises ToolError for a trace without states.
    """
    if not trace.states:
        raise ToolError("a trace without states cannot be written as ITF")
    itf: dict[str, JsonValue] = {
        "#meta": {"format": "ITF", "format-description": DESCRIPTION, "source": source},
        "vars": sorted(trace.states[0].values),
        "states": [_state_to_json(index, state) for index, state in enumerate(trace.states)],
    }
    if trace.stuttering:
        itf["loop"] = len(trace.states) - 1
    elif trace.loop_to is not None:
        itf["loop"] = next(i for i, s in enumerate(trace.states) if s.number == trace.loop_to)
    return itf


def from_itf(itf: dict[str, JsonValue]) -> Trace:
    """The trace in the JSON object of an ITF file; states are numbered from 1.

    Raises ToolError, naming the state and variable, for what is no ITF.
    """
    raw_states = itf.get("states") if isinstance(itf, dict) else None
    if not isinstance(raw_states, list) or not raw_states:
        raise ToolError("this is not an ITF trace: it has no list of states")
    states = [_state_from_json(index, raw) for index, raw in enumerate(raw_states)]
    loop = itf.get("loop")
    if loop is None:
        return Trace(states)
    if not isinstance(loop, int) or not 0 <= loop < len(states):
        raise ToolError(f"the ITF trace loops to state {loop!r}, which it does not have")
    if loop == len(states) - 1:
        return Trace(states, stuttering=True)
    return Trace(states, loop_to=states[loop].number)


def _state_to_json(index: int, state: State) -> dict[str, JsonValue]:
    variables = {name: value_to_json(state.values[name]) for name in sorted(state.values)}
    return {"#meta": {"index": index, "action": state.action}, **variables}


def _state_from_json(index: int, raw: JsonValue) -> State:
    if not isinstance(raw, dict):
        raise ToolError(f"state {index} of the ITF trace is no JSON object")
    meta = raw.get("#meta") or {}
    values: dict[str, Value] = {}
    for name, value in raw.items():
        if name.startswith("#"):
            continue
        try:
            values[name] = value_from_json(value)
        except (ValueError, TypeError) as error:
            raise ToolError(
                f"variable {name} in state {index} of the ITF trace: {error}"
            ) from error
    return State(index + 1, str(meta.get("action", "")), values)


def value_to_json(value: Value) -> JsonValue:
    """One TLA+ value in its ITF form."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"#bigint": str(value)}
    if isinstance(value, tuple):
        return {"#tup": [value_to_json(item) for item in value]}
    if isinstance(value, frozenset):
        return {"#set": [value_to_json(item) for item in sorted(value, key=render)]}
    if isinstance(value, ModelValue):
        return {"#unserializable": value.name}
    if isinstance(value, Record) and not any(name.startswith("#") for name in value):
        return {name: value_to_json(item) for name, item in value.items()}
    return {"#map": [[value_to_json(key), value_to_json(item)] for key, item in value.items()]}


def value_from_json(raw: JsonValue) -> Value:
    """The TLA+ value of an ITF form. Raises ValueError for what is none."""
    if isinstance(raw, bool | int | str):
        return raw
    if isinstance(raw, list):
        return tuple(value_from_json(item) for item in raw)
    if not isinstance(raw, dict):
        raise ValueError(f"{raw!r} is no value")
    match raw:
        case {"#bigint": str(digits)}:
            return int(digits)
        case {"#tup": list(items)}:
            return tuple(value_from_json(item) for item in items)
        case {"#set": list(items)}:
            return frozenset(value_from_json(item) for item in items)
        case {"#map": list(pairs)}:
            return function((value_from_json(key), value_from_json(item)) for key, item in pairs)
        case {"#unserializable": str(name)}:
            return ModelValue(name)
    unknown = [name for name in raw if name.startswith("#")]
    if unknown:
        raise ValueError(f"unknown form {unknown[0]}")
    if not raw:
        return ()
    return Record({name: value_from_json(item) for name, item in raw.items()})
