"""R9: what the placer may choose where brokers are in two racks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.chaos import chaos
from kraftcheck.reference.partition.reassignment.handlers import (
    ReassignmentHandlers,
    initial_topic_row,
)
from kraftcheck.reference.partition.reassignment.messages import PlacePartition, PlaceTopic
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules
from kraftcheck.reference.partition.reassignment.types import (
    BrokerRegistration,
    Constants,
    State,
    TopicRow,
)
from kraftcheck.reference.protocols import ProtocolError
from kraftcheck.reference.runner.run import simulate_run

FOUR = Constants((1, 2, 3, 4), (1, 2), second_rack=(3, 4))
RACKS = {"brokers": [1, 2, 3, 4], "second_rack": [3, 4]}

test_chaos = chaos("reassignment", options={**RACKS, "moves": 40})


def row(**states: State) -> TopicRow:
    """All are active, but for some."""
    first: TopicRow = initial_topic_row(FOUR)
    known = [BrokerRegistration(states.get(f"b{b}", "Active"), (1,)) for b in FOUR.brokers]
    return replace(first, registrations=tuple(known))


@pytest.mark.parametrize(
    ("states", "replicas", "may"),
    [
        ({}, (1, 3), True),
        ({}, (3, 1, 4), True),
        ({}, (1, 2), False),
        ({}, (1, 3, 3), False),
        ({}, (), False),
        ({"b3": "Unregistered", "b4": "Stopping"}, (2, 1), True),
        ({"b3": "Fenced"}, (1, 4), True),
        ({"b3": "Fenced"}, (1, 3), False),
        ({"b3": "Fenced", "b4": "Fenced"}, (1, 3), True),
        ({"b3": "Fenced"}, (3, 1), False),
    ],
)
def test_racks_take_turns(states: dict[str, State], replicas: tuple[int, ...], may: bool) -> None:
    assert ReassignmentRules(FOUR).placer_chooses(row(**states), replicas) is may


def test_what_the_placer_does_not_choose_does_not_come() -> None:
    handlers = ReassignmentHandlers(FOUR, ReassignmentRules(FOUR))
    assert handlers.step(row(), PlacePartition((1, 2))) is None
    placed = handlers.step(row(), PlacePartition((1, 3)))
    assert placed is not None and placed.row.partitions[1].replicas == (1, 3)


def test_runs_place_topics_and_partitions() -> None:
    taken = set()
    for number in range(8):
        options = {**RACKS, "delete_topic": 20, "place_partition": 50}
        run = simulate_run("reassignment", 7, number, None, options)
        assert not run.result.violations
        taken |= {type(step.input) for step in run.steps}
    assert {PlaceTopic, PlacePartition} <= taken


def test_a_rack_of_somebody_else_is_refused() -> None:
    with pytest.raises(ProtocolError, match="who is in a rack is a broker"):
        simulate_run("reassignment", 1, 0, None, {**RACKS, "second_rack": [5]})
