"""A group with members of both protocols: what no promise of safety sees."""

from __future__ import annotations

from kraftcheck.reference.groups.messages import (
    CompleteJoin,
    ConsumerHeartbeat,
    Input,
    KillConsumer,
    MoveMigrated,
    RejoinClassic,
    StartConsumer,
)
from kraftcheck.reference.groups.migration import MigrationHandlers
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import NO_CONSUMER, GroupMigration, initial_migration
from tests.reference.groups.plants import THREE

STARTED = StartConsumer(1, "Classic", cooperative=False)
JOINED = (STARTED, RejoinClassic(1))


def after(*inputs: Input) -> GroupMigration:
    handlers, row = MigrationHandlers(GroupRules(THREE)), initial_migration(THREE)
    for each in inputs:
        outcome = handlers.step(row, each)
        assert outcome is not None, each
        row = outcome.row
    return row


def test_who_is_killed_when_it_has_joined_hears_nothing() -> None:
    """It is in the generation of those who had joined, and no consumer any more."""
    row = after(*JOINED, KillConsumer(1), CompleteJoin())
    assert row.members[0].protocol == "Classic"
    assert row.clients[0] == NO_CONSUMER


def test_who_is_started_again_joins_for_itself() -> None:
    row = after(*JOINED, KillConsumer(1), STARTED, CompleteJoin())
    assert row.clients[0].state == "Joining"
    again = after(*JOINED, KillConsumer(1), *JOINED, CompleteJoin())
    assert again.clients[0].state == "Syncing"


def test_who_has_joined_joins_again_when_that_is_forgotten() -> None:
    moved = after(*JOINED, MoveMigrated("Upgrade"))
    comes = StartConsumer(2, "Consumer", cooperative=False)
    upgraded = after(*JOINED, comes, ConsumerHeartbeat(2))
    assert moved.clients[0].state == upgraded.clients[0].state == "Joining"
    assert not moved.joined and not upgraded.joined
