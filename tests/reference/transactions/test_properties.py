"""What the history of transactions is made of; the properties: test_plain_properties.py."""

from __future__ import annotations

from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.transactions.messages import COORDINATOR
from kraftcheck.reference.transactions.properties import history_next
from tests.reference.transactions.plants import TWO, first_rows, settled


def test_the_history_follows_the_rows() -> None:
    """What was committed, asked and told between two states."""
    before, after = first_rows(), settled()
    log = before[COORDINATOR]
    pending = after[COORDINATOR].log.committed
    before[COORDINATOR] = type(log)(
        log.coordinators,
        1,
        type(log.log)(log.log.committed, (pending,), log.log.tails),
        (),
    )
    before[1] = type(before[1])("Ending", 0, 1, (11,), (), (11,), (1, 0, 0), "Commit")
    found = history_next(TWO, before, after)
    assert [d.state for d in found.decided] == ["CompleteCommit"]
    assert [tuple(t) for t in found.told] == [(1, "Commit", 1)]
    assert found.asked == frozenset() and found.late == frozenset()


def test_offsets_of_a_partition_that_there_is_not_are_nothing() -> None:
    """Who fixes the partitions draws where offsets are kept all the same."""
    options = {"partitions": (11,), "offsets": (12,)}
    run = simulate_run("transactions", 1, 0, None, options)
    assert not run.result.violations and len(run.steps) > 10
