"""Say what clients are promised of transactions.

One object stands for all of them, by the name of its model (traces/checkers/outcomes.py).

Told are runs of version 2 that have readers: version 1 promises less where requests are late.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kraftcheck.reference.kit.protocol import Answered, Asked, Outcome
from kraftcheck.reference.transactions.messages import Abort, Commit, Ended, EndTxn, Fetched, Poll
from kraftcheck.reference.transactions.reader import isolation
from kraftcheck.reference.transactions.types import Client, Constants, Reader

OUTCOMES: Final = "transaction-outcomes"
NOTHING: Final = 0
"""A record that a reader gets past and is not shown."""


def client_events(
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
