"""Each property of a protocol without a simulation of its own is seen to hold and to fail."""

from __future__ import annotations

import random
from inspect import signature
from types import ModuleType
from typing import Any

import pytest

from reference.classic import properties as classic
from reference.groups import properties as groups
from reference.kit.dispatch import snake
from reference.kit.properties import of_state
from reference.transactions import properties as transactions
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


@pytest.mark.parametrize(
    ("of", "module"), [(TRANSACTIONS, transactions), (GROUPS, groups), (CLASSIC, classic)]
)
def test_a_property_is_asked_again_when_what_it_looks_at_has_changed(
    of: Planted, module: ModuleType
) -> None:
    """What one says after any other state is what its function says of the state alone."""
    assert of.protocol.world is not None
    rows: dict[int, list[Any]] = {n: [row] for n, row in of.settled.items()}
    for plant in of.plants:
        for n, row in plant.after.items():
            rows.setdefault(n, []).extend([row] if row not in rows.get(n, []) else [])
    functions = {
        each.name: getattr(module, snake(each.name)) for each in of.protocol.world.properties
    }
    draw = random.Random(7)
    for _ in range(600):
        before = {n: draw.choice(each) for n, each in rows.items()}
        n = draw.choice([*rows])
        after = {**before, n: draw.choice(rows[n])}
        old, new = (module.state_of(of.constants, each) for each in (before, after))
        for each in of.protocol.world.properties:
            function = functions[each.name]
            states = (old, new) if len(signature(function).parameters) == 2 else (new,)
            each.check(of.constants, before, before)
            assert each.check(of.constants, before, after) == function(*states), each.name


def test_a_property_that_looks_elsewhere_is_seen() -> None:
    """The test above would not hold of it: it stays what it was when it held."""
    named = of_state(groups.state_of)
    [plant] = [each for each in GROUPS.plants if each.violates == "SingleOwner"]
    for field, wrong in (("loader", None), ("members", groups.single_owner)):
        each = named("SingleOwner", groups.single_owner, field)
        assert each.check(GROUPS.constants, GROUPS.settled, GROUPS.settled) is None
        expected = wrong and wrong(groups.state_of(GROUPS.constants, plant.after))
        assert each.check(GROUPS.constants, GROUPS.settled, plant.after) == expected
