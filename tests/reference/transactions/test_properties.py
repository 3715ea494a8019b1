"""Each property of transactions is seen to hold and to be violated."""

from __future__ import annotations

import pytest

from reference.kit.protocol import HISTORY
from reference.transactions.messages import COORDINATOR
from reference.transactions.properties import PROPERTIES, history_next
from tests.reference.transactions.plants import TWO, Plant, first_rows, plants, settled

PLANTS = plants()


def violated(before: dict[int, object], after: dict[int, object]) -> set[str]:
    return {each.name for each in PROPERTIES if each.check(TWO, before, after) is not None}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda each: each.violates)
def test_what_is_planted_is_found(plant: Plant) -> None:
    if plant.violates == "ZombieFenced":
        plant.before[HISTORY] = plant.after[HISTORY]
    assert plant.violates in violated(plant.before, plant.after)


def test_every_property_has_a_plant() -> None:
    assert {each.violates for each in PLANTS} == {each.name for each in PROPERTIES}


def test_states_in_order_violate_nothing() -> None:
    assert violated(first_rows(), first_rows()) == set()
    assert violated(settled(), settled()) == set()


def test_the_history_follows_the_rows() -> None:
    """What was committed, asked and told between two states."""
    before, after = first_rows(), settled()
    log = before[COORDINATOR]
    pending = after[COORDINATOR].log.committed
    before[COORDINATOR] = type(log)(
        log.coordinators,
        1,
        type(log.log)(log.log.committed, (pending,), log.log.tails),
        (),
    )
    before[1] = type(before[1])("Ending", 0, 1, (11,), (), (11,), (1, 0), "Commit")
    found = history_next(TWO, before, after)
    assert [d.state for d in found.decided] == ["CompleteCommit"]
    assert [tuple(t) for t in found.told] == [(1, "Commit", 1)]
    assert found.asked == frozenset() and found.late == frozenset()
