"""Counterexamples of TLC as pictures: who sent, who took, what was not taken, what is not known."""

from __future__ import annotations

from typing import Any

from kraftcheck.known_bugs import drawn
from kraftcheck.traces.report.run import render
from tla_utils.output import State
from tla_utils.values import parse

ASK = '[type |-> "AlterPartitionRequest", source |-> b1, destination |-> controller, epoch |-> 1]'
ANSWER = '[type |-> "AlterPartitionResponse", source |-> controller, destination |-> b1]'
LINES = ["1. the beginning", "TrueHighWatermark is broken: b1 lacks it"]


def state(number: int, isr: str, epoch: int, network: str = "{}") -> State:
    leader, follower = f'[role |-> "Leader", isr |-> {isr}]', '[role |-> "Follower", isr |-> {}]'
    values = {
        "rows": f"(b1 :> {leader} @@ b2 :> {follower})",
        "controller": f"[partition |-> [epoch |-> {epoch}]]",
        "network": network,
    }
    read = {name: parse(text) for name, text in values.items()}
    return State(number, "<Initial predicate>" if number == 1 else "Next", read)


def way(node: str, what: str, *messages: str) -> Any:
    return {"node": node, "what": what, "messages": [parse(each) for each in messages]}


STATES = [state(1, "{b1, b2}", 1), state(2, "{b1, b2}", 2), state(3, "{b1}", 2)]
WAYS = [
    way("", "begins"),
    way("b1", "proposes another ISR", ASK, ANSWER),
    way("b1", "uses the answer", ANSWER),
]


def test_each_message_is_sent_once_and_taken_once() -> None:
    picture = drawn.picture("Z00", STATES, WAYS, LINES)
    assert [each.name for each in picture.lanes] == ["b1", "b2", "controller"]
    told = [(each.time, each.lane, each.action, dict(each.changed)) for each in picture.steps]
    assert told == [
        ("state 2 of TLC", 0, "b1 proposes another ISR", {}),
        ("state 2 of TLC", 2, "AlterPartitionRequest", {"partition.epoch": "2"}),
        ("state 3 of TLC", 0, "AlterPartitionResponse", {"isr": "{b1}"}),
    ]
    ends = [(each.sender, each.receiver, each.left, each.taken) for each in picture.arrows]
    assert ends == [(0, 2, 0, 1), (2, 0, 1, 2)]
    assert [*picture.found] == [*picture.steps[-1].said] == LINES[-1:]
    assert "TrueHighWatermark is broken" in render(picture)


def test_what_is_sent_in_the_last_state_is_taken_there() -> None:
    """A model that fuses a request and its handling says so by the state itself."""
    last = drawn.picture("Z00", STATES[:2], [WAYS[0], way("b1", "proposes", ASK)], LINES)
    (arrow,) = last.arrows
    assert (arrow.left, arrow.taken) == (0, 1)


def test_where_the_model_does_not_say_who_took_what_no_arrow_is_drawn() -> None:
    states = [STATES[0], state(2, "{b1}", 1, f"{{{ASK}}}")]
    picture = drawn.picture("Z00", states, None, LINES)
    assert picture.arrows == [] and "the model does not say" in picture.drawn
    (step,) = picture.steps
    assert (step.lane, dict(step.changed)) == (0, {"isr": "{b1}"})
    assert step.sent == ("b1 > controller AlterPartitionRequest epoch=1",)


def test_a_model_without_rows_is_one_lane() -> None:
    """A protocol of somebody else may call its variables as it likes."""
    states = [
        State(number, "Next", {"server": parse(f"[token |-> {number}]"), "network": parse("{}")})
        for number in (1, 2)
    ]
    picture = drawn.picture("own", states, None, LINES)
    assert [(each.name, dict(each.row)) for each in picture.lanes] == [
        (drawn.MODEL, {"server.token": "1", "network": "{}"})
    ]
    assert [dict(each.changed) for each in picture.steps] == [{"server.token": "2"}]
