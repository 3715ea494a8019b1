"""Each property of a protocol without a simulation of its own is seen to hold and to fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference.groups.messages import LOADER
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


def overlooked(of: Planted) -> set[str]:
    """Properties of which a plant is not found by who asks them only after steps of the nodes at
    which they look, and shows them no other node's row but its first.
    """
    assert of.protocol.world is not None
    known = {each.name: each for each in of.protocol.world.properties}
    missed = set()
    for plant in of.plants:
        each = known[plant.violates]
        if each.looks_at is None:
            continue
        nodes = each.looks_at(of.constants)
        before, after = (
            {**of.first, **{n: rows[n] for n in nodes}} for rows in (plant.before, plant.after)
        )
        if before == after or each.check(of.constants, before, after) is None:
            missed.add(each.name)
    return missed


@of_each
def test_properties_look_where_they_say(of: Planted) -> None:
    assert overlooked(of) == set()


def test_a_property_that_looks_elsewhere_is_told() -> None:
    world = GROUPS.protocol.world
    assert world is not None
    wrong = tuple([each._replace(looks_at=lambda of: (LOADER,)) for each in world.properties])
    altered = replace(GROUPS.protocol, world=replace(world, properties=wrong))
    found = overlooked(GROUPS._replace(protocol=altered))
    assert {"SingleOwner", "HandoverNoRegress", "NoOrphan"} <= found
    assert "ReplayEqual" not in found
