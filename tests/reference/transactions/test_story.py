"""A run told by its transactions: what became of each stands in one line."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.transactions.story import transactions_told
from kraftcheck.reference.transactions.types import (
    PartitionLeader,
    initial_client,
    initial_partition,
)
from tests.reference.transactions.plants import TWO, batch, marker, partition

OFF = initial_client(TWO, "Ready")
OPEN = replace(OFF, status="Open", txn=1)
ENDING = replace(OPEN, status="Ending", decision="Commit")
EMPTY = initial_partition(TWO)
WRITTEN = partition(batch(1, 0))
COMMITTED = partition(batch(1, 0), marker("Commit", 1))
BEGUN = (1, OFF, OPEN), (11, EMPTY, WRITTEN), (1, OPEN, ENDING)
HEAD = "transaction 1 of producer 1 in epoch 0, from step 0; is written to 11 (1)"
ASKED = f"{HEAD}; Commit is asked for (2)"


def told(*steps: tuple[int, Any, Any]) -> list[str]:
    return [*transactions_told((*BEGUN, *steps))][1:]


def test_what_became_of_a_transaction() -> None:
    marked = (11, WRITTEN, COMMITTED)
    assert told() == [f"{ASKED}; open in 11"]
    assert told(marked, (1, ENDING, OFF)) == [
        f"{ASKED}; its producer is told so (4); committed in 11 (3)"
    ]
    fenced = replace(ENDING, status="Fenced")
    assert told((1, ENDING, fenced)) == [
        f"{ASKED}; its producer is told that it is fenced (3); open in 11"
    ]


def test_a_producer_that_goes_on_after_an_error() -> None:
    abortable = replace(OPEN, status="Abortable")
    ending = replace(abortable, status="Recovering", decision="Abort")
    bumping = replace(OFF, status="Bumping")
    steps = (1, OPEN, abortable), (1, abortable, ending), (1, ending, bumping)
    lines = [*transactions_told((*BEGUN[:2], *steps))][1:]
    said = "is refused or given up (2); Abort is asked for (3); its producer is told so (4)"
    assert lines == [f"{HEAD}; {said}; open in 11"]


def test_what_is_lost_with_a_leader() -> None:
    """A marker that only it had is none; likewise a batch."""
    marked = (11, WRITTEN, COMMITTED)
    assert told(marked, (11, COMMITTED, WRITTEN)) == [f"{ASKED}; open in 11"]
    again = (11, COMMITTED, WRITTEN), marked
    assert told(marked, *again) == [f"{ASKED}; committed in 11 (5)"]
    assert told((11, WRITTEN, EMPTY)) == [f"{ASKED}; lost in 11 with its leader (3)"]


def test_a_marker_ends_all_that_is_open() -> None:
    """Also what is of another transaction (Z70)."""
    two: PartitionLeader = partition(batch(1, 0), batch(2, 1))
    other = (2, OFF, replace(OPEN, txn=2, epoch=1)), (11, WRITTEN, two)
    ended = (11, two, partition(batch(1, 0), batch(2, 1), marker("Abort", 2)))
    first, second = told(*other, ended)
    assert first.endswith("aborted in 11 (5)") and second.endswith("aborted in 11 (5)")


@pytest.mark.parametrize("scenario", ["transactions", "transactions-on-cluster"])
def test_a_run_ends_with_its_transactions(scenario: str) -> None:
    lines = [*narrate(simulate_run(scenario, 3, 1))]
    began = lines.index("what became of each transaction (in which step):")
    assert lines[began + 1].startswith("transaction ") and lines[began - 1] == ""
    assert not any("what became" in line for line in narrate(simulate_run("groups", 1, 0)))
