"""A transaction that is listed as over its timeout, and aborted when its turn comes (X26)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.bugs.catalog import rules_for
from kraftcheck.reference.transactions.coordinator import CoordinatorHandlers, current
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    AbortListed,
    Acknowledged,
    AddPartitions,
    EndTxn,
    ListTimedOut,
    MarkerReply,
    MarkersDone,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Constants, initial_coordinators

ONE = Constants((11,), 2, (1,), 1)


def added(epoch: int) -> AddPartitions:
    return AddPartitions(11, COORDINATOR, 0, 11, epoch, 0)


ENDED = (
    *(EndTxn(1, COORDINATOR, 1, 0, "Commit", 1), Acknowledged()),
    MarkerReply(11, COORDINATOR, WriteTxnMarkers(COORDINATOR, 11, 11, 1, "Commit", 1)),
    *(MarkersDone(), Acknowledged()),
)
NEXT = (added(1), Acknowledged())


def state_after(bug: str | None, *between: object) -> str:
    """What is pending when the turn of what was listed has come; between: what happens first."""
    handlers = CoordinatorHandlers(rules_for(TransactionRules, bug, ONE))
    row = initial_coordinators(ONE)
    for input in (added(0), Acknowledged(), ListTimedOut(), *between, AbortListed()):
        outcome = handlers.step(row, input)
        assert outcome is not None, input
        row = outcome.row
    assert handlers.step(row, AbortListed()) is None
    return current(row).pending.state


@pytest.mark.parametrize(("bug", "state"), [(None, "None"), ("Z200", "PrepareEpochFence")])
def test_the_next_transaction_is_left_alone(bug: str | None, state: str) -> None:
    assert state_after(bug) == "PrepareEpochFence"
    assert state_after(bug, *ENDED) == "None"
    assert state_after(bug, *ENDED, *NEXT) == state
