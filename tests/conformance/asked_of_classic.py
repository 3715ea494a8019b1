"""What groups of the classic protocol are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.groups.classic.messages import (
    COORDINATOR,
    Claim,
    ClassicHeartbeatResponse,
    JoinGroup,
)
from kraftcheck.reference.groups.classic.types import INITIAL_MEMBER, NO_MEMBER, ClassicState
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.groups.classic.plants import GROUP, IMAGE, PLANTED, TWO, record
from tests.reference.plain import Rows
from tla_utils import function

SETS = ((), (1,), (2,), (1, 2))
STATES: tuple[ClassicState, ...] = ("Empty", "Preparing", "Completing", "Stable")


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(TWO).row
    return {
        "coordinator": form(rows[COORDINATOR]),
        "clients": function((n, form(rows[n])) for n in TWO.members),
        "network": frozenset(),
    }


def claims() -> Iterator[tuple[Claim, ...]]:
    """Of both members, disjoint or not."""
    for first, second, older, newer in itertools.product(SETS, SETS, (-1, 2, 3), (2, 3)):
        yield Claim(1, first, older), Claim(2, second, newer)


def owners() -> Iterator[dict[int, int]]:
    """Also one who claims nothing."""
    for one, other in itertools.product((1, 2, 3), repeat=2):
        yield {1: one, 2: other}


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    yield from (("NextGeneration", (generation,)) for generation in (0, 3))
    asked = [JoinGroup(1, 0, 1, True, owned, g) for owned in SETS for g in (-1, 2, 3)]
    for m in asked:
        yield from (("ChangesMetadata", (record(p), m)) for p in (1, 2))
        for state, leader in itertools.product(STATES, (1, 2)):
            yield "BeginsRebalance", (replace(GROUP, state=state, leader=leader), m)
    waits = itertools.product(STATES, (True, False), (True, False))
    for state, joined, syncing in waits:
        for member in (record(1), NO_MEMBER):
            late = replace(member, joined=joined, syncing=syncing)
            yield "IsRebalanceLate", (state, late)
    for written, state in itertools.product(((), (IMAGE,)), STATES):
        yield "IsTold", (replace(GROUP, state=state, log=replace(GROUP.log, leader=written)),)
    gone = replace(IMAGE, members=(NO_MEMBER, NO_MEMBER))
    alone = replace(IMAGE, members=(IMAGE.members[0], NO_MEMBER))
    yield from (("LoadedState", (image,)) for image in (IMAGE, alone, gone))
    for some in claims():
        yield "Targets", (some,)
        for p in (1, 2):
            yield "OwnersByClaim", (some, p)
            yield from (("IsWithheld", (some, n, p)) for n in (1, 2))
        for owner in owners():
            yield "Moved", (some, owner)
            yield "IsBalanced", (some, owner)
    for owned in SETS:
        yield "OwnedWhileJoining", (owned,)
        yield "OwnedAfterReset", (owned,)
        yield from (("JoinsAgain", (owned, assigned)) for assigned in SETS)
    for generation in (-1, 3):
        yield "ClaimedGeneration", (replace(INITIAL_MEMBER, generation=generation),)
    for awaiting, correlation in itertools.product((True, False), (1, 2)):
        row = replace(INITIAL_MEMBER, awaiting=awaiting, correlation=2)
        yield "IsAwaited", (row, ClassicHeartbeatResponse(0, 1, correlation, "NONE"))


PLAIN: Final = Plain(
    PLANTED,
    "ClassicProperties",
    ("GenerationsMonotonic",),
    variables,
    questions,
    (TWO, replace(TWO, cooperative=False)),
    ("Z99", {"OwnersByClaim", "Moved", "Targets", "IsWithheld"}),
)
