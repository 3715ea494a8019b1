"""Each property of a protocol without a simulation of its own is seen to hold and to fail."""

from __future__ import annotations

import pytest

from tests.reference.classic.plants import PLANTED as CLASSIC
from tests.reference.groups.plants import PLANTED as GROUPS
from tests.reference.hosting.plants import PLANTED as HOSTING
from tests.reference.plain import Plant, Planted
from tests.reference.reassignment.plants import PLANTED as REASSIGNMENT
from tests.reference.snapshots.plants import PLANTED as SNAPSHOTS
from tests.reference.transactions.plants import PLANTED as TRANSACTIONS
from tests.reference.voters.plants import PLANTED as VOTERS

EACH = (TRANSACTIONS, GROUPS, CLASSIC, VOTERS, SNAPSHOTS, REASSIGNMENT, HOSTING)
of_each = pytest.mark.parametrize("of", EACH, ids=lambda of: of.protocol.name)


@pytest.mark.parametrize(
    ("of", "plant"),
    [(of, plant) for of in EACH for plant in of.plants],
    ids=lambda each: each.violates if isinstance(each, Plant) else each.protocol.name,
)
def test_what_is_planted_is_found(of: Planted, plant: Plant) -> None:
    assert plant.violates in of.violated(plant.before, plant.after)


@of_each
def test_every_property_has_a_plant(of: Planted) -> None:
    assert of.protocol.world is not None
    assert {e.violates for e in of.plants} == {e.name for e in of.protocol.world.properties}


@of_each
def test_states_in_order_violate_nothing(of: Planted) -> None:
    for rows in (of.first, of.settled):
        assert of.violated(rows, rows) == set()
