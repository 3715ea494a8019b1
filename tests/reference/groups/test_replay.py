"""A log that is cleaned while it is loaded, with a static member that is away (G50, G19)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.bugs.catalog import rules_for
from kraftcheck.reference.groups.messages import (
    LOADER,
    ChangeGroupLeader,
    CleanGroupLog,
    GroupWrite,
    LeaderChange,
    LeaderEvent,
    ReadGroupLog,
    RestateMember,
)
from kraftcheck.reference.groups.protocol import GROUPS
from kraftcheck.reference.groups.replay import LoaderHandlers, epoch_in
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import Constants, GroupLoader, initial_loader

TWO = Constants((1, 2), (1,), 2, 1000, static=((1, 2),))
WRITTEN = (
    *(GroupWrite(1, (1,), False), GroupWrite(1, (), False), GroupWrite(2, (1,), False)),
    *(RestateMember(2), GroupWrite(1, (), True)),
)
"""Member 1 has the partition, and then 2, who leaves for a while; of 1 there is a later entry."""


def loaded(bug: str | None, *, cleaned: bool = True) -> GroupLoader:
    """By a broker that has read the first batch when the log is cleaned."""
    handlers = LoaderHandlers(rules_for(GroupRules, bug, TWO))
    row = initial_loader(TWO)
    amid = (CleanGroupLog(),) if cleaned else ()
    elected = (ChangeGroupLeader(), LeaderEvent(LeaderChange(True, 1)), ReadGroupLog(), *amid)
    for input in (*WRITTEN, *elected):
        outcome = handlers.step(row, input)
        assert outcome is not None, input
        row = outcome.row
    while (outcome := handlers.step(row, ReadGroupLog())) is not None:
        row = outcome.row
    return row


@pytest.mark.parametrize(("bug", "state"), [(None, "Active"), ("Z187", "Failed")])
def test_who_is_away_takes_what_seems_to_be_anothers(bug: str | None, state: str) -> None:
    assert loaded(bug).state == state
    assert loaded(bug, cleaned=False).state == "Active"


def test_a_member_that_is_back_has_an_epoch_again() -> None:
    handlers, row = LoaderHandlers(GroupRules(TWO)), initial_loader(TWO)
    assert handlers.step(row, RestateMember(1)) is None
    said = []
    for input in (GroupWrite(1, (1,), False), RestateMember(1), RestateMember(1)):
        outcome = handlers.step(row, input)
        assert outcome is not None
        row = outcome.row
        said.append(epoch_in(row.entries[-1]))
    assert said == [1, -2, 3]


def test_only_static_members_leave_for_a_while_in_runs() -> None:
    world, row = GROUPS.world, loaded(None)
    assert world is not None
    cases: list[tuple[tuple[tuple[int, ...], ...], set[int]]] = [(((1, 2),), {2}), ((), set())]
    for static, there in cases:
        constants = Constants((1, 2), (1,), 2, 1000, static=static)
        found = world.local(constants, LOADER, row)
        assert {each.member for each in found if isinstance(each, RestateMember)} == there
