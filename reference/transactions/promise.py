"""What readers of transactions are promised, as one object of all clients: a transaction is decided
once and as a whole, and a record is what it is for ever.

Law of this file: nothing is known here of logs, markers, epochs or coordinators. Told are runs of
version 2 that have readers: version 1 promises less where requests are late.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from reference.kit.protocol import Answered, Asked, Outcome
from reference.transactions.messages import Abort, Commit, Ended, EndTxn, Fetched, Poll
from reference.transactions.reader import isolation
from reference.transactions.types import Client, Constants, Reader
from traces.checkers.models import REFUSED, Model
from traces.history import OK, Operation

NOTHING: Final = 0
"""A record that a reader gets past and is not shown."""


class Known(NamedTuple):
    """What clients know together. written: (partition, number, transaction) of records that were
    shown. passed: (partition, number) of those that a reader of committed records got past and was
    not shown. committed, aborted: transactions.
    """

    written: frozenset[tuple[int, int, int]] = frozenset()
    passed: frozenset[tuple[int, int]] = frozenset()
    committed: frozenset[int] = frozenset()
    aborted: frozenset[int] = frozenset()


class TransactionOutcomes(Model):
    """`commit`, `abort`: argument, the transaction. `read_committed`, `read_uncommitted`: argument,
    how many records the reader had got past; result: the partition, then of each record that it got
    past now the transaction, or NOTHING.
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


def told(
    constants: Constants, node: int, row: Any, input: Any, outcome: Outcome
) -> Iterable[Asked | Answered]:
    if constants.version != 2 or not (constants.read_committed or constants.read_uncommitted):
        return
    if isinstance(row, Client):
        yield from _told_by_producer(node, row, input, outcome)
    elif isinstance(row, Reader):
        yield from _told_by_reader(constants, node, row, input, outcome)


def _told_by_producer(
    c: int, row: Client, input: Any, outcome: Outcome
) -> Iterable[Asked | Answered]:
    if isinstance(input, Commit | Abort):
        for m in outcome.sent:
            if isinstance(m, EndTxn):
                yield Asked((c, m.txn), m.decision.lower(), m.txn)
    elif isinstance(input, Ended):
        yield Answered((c, row.txn))


def _told_by_reader(
    constants: Constants, r: int, row: Reader, input: Any, outcome: Outcome
) -> Iterable[Asked | Answered]:
    if isinstance(input, Poll):
        at = row.read[constants.partitions.index(input.partition)].position
        yield Asked((r, input.partition, at), isolation(constants, r), at)
    elif isinstance(input, Fetched):
        p = input.source
        shown = outcome.row.read[constants.partitions.index(p)].shown
        numbered = enumerate(input.records, input.offset + 1)
        records = [entry.txn if at in shown else NOTHING for at, entry in numbered]
        yield Answered((r, p, input.offset), (p, *records))
