"""A producer of version 1 asks for another epoch, and again when it hears no answer (KIP-360)."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.runner.run import forget, simulate_run
from kraftcheck.reference.transactions import protocol
from kraftcheck.reference.transactions.coordinator import CoordinatorHandlers, current
from kraftcheck.reference.transactions.messages import (
    Acknowledged,
    AddPartitions,
    Bumped,
    BumpEpoch,
    Elect,
    Expire,
    Fence,
    InitProducerId,
    Loaded,
    Refused,
    Tail,
    TransactionTimeout,
)
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Constants, initial_coordinators

WRITTEN = Acknowledged()
FIRST, OTHER = BumpEpoch(1, 0, 1, 0), InitProducerId(2, 0, 2)
ADD = AddPartitions(1, 0, 1, 11, 1, 0)
MOVE = (Elect(Tail(())), Loaded())


def heard(*inputs: Any, max_epoch: int = 32766) -> tuple[list[Any], Any]:
    """The last step's messages, and the row after it."""
    constants = Constants((11,), 1, (1, 2), 2, max_epoch, recovers=True, ids_expire=True)
    handlers = CoordinatorHandlers(TransactionRules(constants))
    row, sent = initial_coordinators(constants), []
    for input in inputs:
        done = handlers.step(row, input)
        assert done is not None, input
        row, sent = done.row, [*done.sent]
    return sent, current(row)


def test_a_repeat_is_given_the_same_epoch() -> None:
    told = [Bumped(0, 1, 0, 1)]
    for times in (1, 2, 3):
        sent, row = heard(*(FIRST, WRITTEN) * times)
        assert (sent, row.txn.epoch, row.last_epoch) == (told, 1, 0)


@pytest.mark.parametrize(
    "between",
    [(OTHER, WRITTEN), MOVE, (Expire(), WRITTEN, OTHER, WRITTEN)],
    ids=["another instance", "another coordinator", "the id was forgotten"],
)
def test_who_is_not_known_any_more_is_fenced(between: tuple[Any, ...]) -> None:
    sent, _ = heard(FIRST, WRITTEN, *between, FIRST)
    assert sent == [Refused(0, 1, FIRST, "PRODUCER_FENCED")]


def test_a_late_repeat_aborts_the_next_transaction() -> None:
    """As in Kafka, which looks at no epoch while one is open."""
    _, row = heard(FIRST, WRITTEN, ADD, WRITTEN, FIRST)
    assert row.pending.state == "PrepareEpochFence"
    _, row = heard(FIRST, WRITTEN, ADD, WRITTEN, TransactionTimeout(), Fence())
    assert (row.txn.epoch, row.last_epoch) == (2, -1)


def test_the_end_of_a_producer_id() -> None:
    """The next id is given again once; who was given the last epoch of one is told nothing of
    use.
    """
    second = BumpEpoch(1, 0, 1, 1)
    both = (FIRST, WRITTEN, second, WRITTEN)
    for repeated in ((), (second, WRITTEN)):
        sent, row = heard(*both, *repeated, max_epoch=1)
        assert (sent, row.txn.epoch) == ([Bumped(0, 1, 1, 3)], 3)
    sent, _ = heard(*both, second, WRITTEN, second, max_epoch=1)
    assert sent == [Refused(0, 1, second, "PRODUCER_FENCED")]
    sent, _ = heard(FIRST, WRITTEN, FIRST, max_epoch=1)
    assert sent == [Refused(0, 1, FIRST, "UNKNOWN_SERVER_ERROR")]


def test_who_asks_a_third_time_at_the_end_of_an_id_is_promised_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Found by a campaign: the producer is fenced, and nobody has fenced it (as in Kafka, X7)."""
    run = simulate_run("transactions", 12, 86456)
    assert not run.result.violations
    assert any(getattr(each.after, "status", "") == "Fenced" for each in run.steps)
    monkeypatch.setattr(protocol, "ENDLESS", 0)
    forget()
    [violation] = simulate_run("transactions", 12, 86456).result.violations
    assert violation.invariant == "FencedByOthers"
