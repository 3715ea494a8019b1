"""Judge what all clients of transactions see together, as one object.

A transaction is decided once and as a whole, and a record is what it is for ever.

Law of this file: nothing is known here of logs, markers, epochs or coordinators. All that clients
are told can be true at once, or a client was told what is not so: the order does not matter.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kraftcheck.traces.checkers.sequential import REFUSED, Model
from kraftcheck.traces.history import OK, Operation

NOTHING: Final = 0
"""A record that a reader gets past and is not shown."""


class Known(NamedTuple):
    """What clients know together.

    committed, aborted: transactions.
    """

    written: frozenset[tuple[int, int, int]] = frozenset()
    """(partition, number, transaction) of records that were shown."""
    passed: frozenset[tuple[int, int]] = frozenset()
    """(partition, number) of those that a reader of committed records got past and was not shown.
    """
    committed: frozenset[int] = frozenset()
    aborted: frozenset[int] = frozenset()


class TransactionOutcomes(Model):
    """`commit`, `abort`: argument, the transaction.

    `read_committed`, `read_uncommitted`: argument, how many records the reader had got past;
    result: the partition, then of each record that it got past now the transaction, or NOTHING.
    """

    name = "transaction-outcomes"
    verbs = ("commit", "abort", "read_committed", "read_uncommitted")

    def initial(self) -> Known:
        return Known()

    def judges(self, operation: Operation) -> bool:
        """What was not answered says nothing."""
        return operation.outcome == OK

    def step(self, state: Known, operation: Operation) -> Any:
        if operation.f == "commit":
            return _checked(state._replace(committed=state.committed | {operation.argument}))
        if operation.f == "abort":
            return _checked(state._replace(aborted=state.aborted | {operation.argument}))
        p, *records = operation.result
        numbered = [*enumerate(records, operation.argument + 1)]
        shown = {(p, at, txn) for at, txn in numbered if txn != NOTHING}
        state = state._replace(written=state.written | shown)
        if operation.f == "read_committed":
            state = state._replace(
                passed=state.passed | {(p, at) for at, txn in numbered if txn == NOTHING},
                committed=state.committed | {txn for _, _, txn in shown},
            )
        return _checked(state)


def _checked(known: Known) -> Any:
    """What is known, if it can be."""
    aborted = known.aborted | {t for p, at, t in known.written if (p, at) in known.passed}
    places = {(p, at) for p, at, _ in known.written}
    if aborted & known.committed or len(places) < len(known.written):
        return REFUSED
    return known._replace(aborted=aborted)
