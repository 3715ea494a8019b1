"""Each property of groups is seen to hold and to be violated."""

from __future__ import annotations

import pytest

from reference.groups.properties import PROPERTIES
from tests.reference.groups.plants import TWO, Plant, first_rows, plants, settled

PLANTS = plants()


def violated(before: dict[int, object], after: dict[int, object]) -> set[str]:
    return {each.name for each in PROPERTIES if each.check(TWO, before, after) is not None}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda each: each.violates)
def test_what_is_planted_is_found(plant: Plant) -> None:
    assert plant.violates in violated(plant.before, plant.after)


def test_every_property_has_a_plant() -> None:
    assert {each.violates for each in PLANTS} == {each.name for each in PROPERTIES}


def test_states_in_order_violate_nothing() -> None:
    assert violated(first_rows(), first_rows()) == set()
    assert violated(settled(), settled()) == set()
