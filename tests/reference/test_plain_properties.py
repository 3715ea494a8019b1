"""Each property of a protocol without a simulation of its own is seen to hold and to fail."""

from __future__ import annotations

import random
from collections.abc import Sequence
from inspect import signature
from types import ModuleType
from typing import Any

import pytest

from kraftcheck.reference.groups import properties as groups
from kraftcheck.reference.groups.classic import properties as classic
from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.properties import Due, Property, of_state
from kraftcheck.reference.transactions import properties as transactions
from tests.reference.controllers.plants import PLANTED as CONTROLLERS
from tests.reference.groups.classic.plants import PLANTED as CLASSIC
from tests.reference.groups.commits.plants import PLANTED as COMMITS
from tests.reference.groups.plants import PLANTED as GROUPS
from tests.reference.partition.compaction.plants import PLANTED as COMPACTION
from tests.reference.partition.hosting.plants import PLANTED as HOSTING
from tests.reference.partition.reassignment.plants import PLANTED as REASSIGNMENT
from tests.reference.plain import Plant, Planted
from tests.reference.quorum.snapshots.plants import PLANTED as SNAPSHOTS
from tests.reference.quorum.voters.plants import PLANTED as VOTERS
from tests.reference.shares.plants import PLANTED as SHARES
from tests.reference.shares.sessions.plants import PLANTED as SESSIONS
from tests.reference.shares.sharegroup.plants import PLANTED as SHAREGROUP
from tests.reference.transactions.plants import PLANTED as TRANSACTIONS

EACH = (
    *(TRANSACTIONS, GROUPS, COMMITS, CLASSIC, VOTERS, SNAPSHOTS, REASSIGNMENT, HOSTING),
    *(COMPACTION, SHARES, SESSIONS, SHAREGROUP, CONTROLLERS),
)
of_each = pytest.mark.parametrize("of", EACH, ids=lambda of: of.protocol.name)


@pytest.mark.parametrize(
    ("of", "plant"),
    [(of, plant) for of in EACH for plant in of.plants],
    ids=lambda each: each.violates if isinstance(each, Plant) else each.protocol.name,
)
def test_what_is_planted_is_found(of: Planted, plant: Plant) -> None:
    assert plant.violates in of.violated(plant.before, plant.after)


@pytest.mark.parametrize(
    ("of", "twin"),
    [(of, twin) for of in EACH for twin in of.twins],
    ids=lambda each: each.violates if isinstance(each, Plant) else each.protocol.name,
)
def test_what_is_close_to_a_violation_is_none(of: Planted, twin: Plant) -> None:
    assert twin.violates not in of.violated(twin.before, twin.after)


@of_each
def test_every_property_has_a_plant(of: Planted) -> None:
    assert of.protocol.world is not None
    assert {e.violates for e in of.plants} == {e.name for e in of.protocol.world.properties}


@of_each
def test_states_in_order_violate_nothing(of: Planted) -> None:
    for rows in (of.first, of.settled):
        assert of.violated(rows, rows) == set()


OF_STATES = ((TRANSACTIONS, transactions), (GROUPS, groups), (CLASSIC, classic))


def overlooked(of: Planted, module: ModuleType, properties: Sequence[Property]) -> set[str]:
    """Of which something else is true after a step of one node, and which were not due then: by
    chance, from and to whatever the plants have.
    """
    rows: dict[int, list[Any]] = {n: [row] for n, row in of.settled.items()}
    for plant in of.plants:
        for n, row in plant.after.items():
            rows.setdefault(n, []).extend([row] if row not in rows.get(n, []) else [])
    functions = {each.name: getattr(module, snake(each.name)) for each in properties}
    of_steps = {each for each, what in functions.items() if len(signature(what).parameters) == 2}
    draw, missed, due = random.Random(7), set(), Due(properties)
    due.after(of.constants, of.settled, of.settled)
    for _ in range(600):
        before = {n: draw.choice(each) for n, each in rows.items()}
        n = draw.choice([*rows])
        after = {**before, n: draw.choice(rows[n])}
        old, new = (module.state_of(of.constants, each) for each in (before, after))
        asked = {each.name for each in due.after(of.constants, before, after)}
        for name in functions.keys() - asked:
            what = functions[name]
            if name not in of_steps:
                is_missed = what(old) != what(new)
            else:
                is_missed = what(old, new) is not None and what(old, old) is None
            if is_missed:
                missed.add(name)
    return missed


@pytest.mark.parametrize(
    ("of", "module"), OF_STATES, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_property_is_asked_when_a_step_may_break_it(of: Planted, module: ModuleType) -> None:
    assert of.protocol.world is not None
    assert overlooked(of, module, of.protocol.world.properties) == set()


def test_a_property_that_looks_elsewhere_is_told() -> None:
    named = of_state(groups.state_of)
    wrong = named("SingleOwner", groups.single_owner, "loader")
    right = named("OwnedIsHeld", groups.owned_is_held, "coordinator", "members")
    assert overlooked(GROUPS, groups, [wrong, right]) == {"SingleOwner"}


def test_what_is_wrong_from_the_beginning_is_told() -> None:
    assert GROUPS.protocol.world is not None
    properties = GROUPS.protocol.world.properties
    first = Due(properties).after(GROUPS.constants, GROUPS.first, GROUPS.first)
    assert [*first] == [*properties]
