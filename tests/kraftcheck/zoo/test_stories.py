"""Counterexamples in words: whose turn it was, what changed, how it goes on for ever."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kraftcheck.zoo.stories import ending, narrated
from tla_utils import State, TlcResult, parse

ROWS = '[a |-> [role |-> "{}", log |-> <<>>, epoch |-> {}], b |-> [role |-> "F", log |-> <<>>]]'


def state(number: int, action: str, role: str, epoch: int, spent: str) -> State:
    values: Any = {"rows": parse(ROWS.format(role, epoch)), "spent": parse(spent)}
    return State(number, action, values)


def told(*later: tuple[str, str, int, str]) -> list[str]:
    """The lines on what follows a follower of epoch 0 that has spent nothing."""
    first = state(1, "Init", "F", 0, "[records |-> 0, deaf |-> {}]")
    states = [first, *(state(number, *each) for number, each in enumerate(later, 2))]
    return [line for line in narrated(states, None) if line[0] in "23456"]


def test_a_step_without_a_name_is_told_by_what_it_changed() -> None:
    nothing, record = "[records |-> 0, deaf |-> {}]", "[records |-> 1, deaf |-> {}]"
    deaf = "[records |-> 1, deaf |-> {n1}]"
    assert told(
        ("Quiet", "L", 1, nothing),
        ("LiveNext", "L", 2, nothing),
        ("Loud", "L", 3, record),
        ("Loud", "L", 3, deaf),
    ) == ["2. a is L", "3. a goes on", "4. a is sent a record", "5. n1 hears nothing any more"]
    assert told(("MCNext", "F", 0, nothing)) == ["2. then"]


def test_a_broker_that_does_not_run_is_told_by_its_status() -> None:
    row = '[b |-> [role |-> "{}", status |-> "{}", log |-> <<>>]]'
    rows = [row.format(*each) for each in (("Leader", "Running"), ("None", "Down"))]
    rows += [row.format("None", "Running"), row.format("Follower", "Running")]
    states = [State(number, "MCNext", {"rows": parse(each)}) for number, each in enumerate(rows, 1)]
    lines = [line for line in narrated(states, None) if line[0] in "234"]
    assert lines == ["2. b is Down", "3. b is without a role", "4. b is Follower"]


def test_a_step_with_a_name_keeps_it() -> None:
    assert told(("Flush", "L", 1, "[records |-> 0, deaf |-> {}]")) == ["2. Flush"]


def test_what_breaks_liveness_goes_on_for_ever() -> None:
    nothing = TlcResult("unknown", "killed")
    assert [*ending(nothing)] == []
    states = [state(1, "Init", "F", 0, "[records |-> 0]")] * 3
    back = replace(nothing, counterexample=states, loop_to=2)
    assert [*ending(back)] == ["and so on for ever, from 3 back to 2"]
    assert [*ending(replace(nothing, stuttering=True))] == ["and nothing changes any more"]
