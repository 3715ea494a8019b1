"""Transactions against what was promised: what contradicts it, and what nobody can say.

judged(transactions, promise)   an `Across`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraftcheck.reference.clients.promises import Level, Promise
from kraftcheck.traces.checkers.circles import circles
from kraftcheck.traces.checkers.consumed import inputs, torn_offsets
from kraftcheck.traces.checkers.fates import Fates, fates_of, torn, zombies
from kraftcheck.traces.checkers.findings import Across, Broken, anomaly_of, gravest_first
from kraftcheck.traces.checkers.transactions import Transactions
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED

ACROSS: Final[dict[str, str]] = {
    "unstable-fate": "one fetch shows a record of a transaction, and another skips it",
    "torn-transaction": "one record of a transaction was visible, and another was skipped",
    "lost-commit": "a transaction was committed, and a fetch skipped one of its records",
    "zombie-write": "a read returned a record that a fenced producer had sent",
    "zombie-commit": "a fenced producer received a successful commit",
    "G1c": "committed transactions read from each other in a circle",
    "torn-offsets": "consumed offsets are committed and their transaction is not, or the reverse",
    "input-twice": "two committed transactions of a group consumed the same records",
    "input-skipped": "committed transactions of a group left records between them",
    "refused-transaction": "a request of an open transaction was refused as if there was none",
    "stuck-producer": "a producer could not end its transaction for longer than that may take",
}
"""What spans partitions, the gravest first; G1c is Adya's name, and Jepsen's."""


def broken(fates: Fates, more: Iterable[Broken] = ()) -> list[Broken]:
    """What happened, the gravest first."""
    records = (*torn(fates), *zombies(fates), circles(fates))
    return gravest_first((*more, *records, torn_offsets(fates), *inputs(fates)), ACROSS)


def judged(
    t: Transactions,
    promise: Promise,
    *,
    level: Level | None = None,
    complete: bool = False,
    replaced: bool = False,
    refused: Iterable[Broken] = (),
) -> Across:
    """Check what spans partitions against a guarantee.

    Args:
        t: the transactions.
        promise: the guarantee.
        level: if given, anomalies are reported and none is forbidden, because a level does not
            concern several partitions.
        complete: as for `fates_of`.
        replaced: as for `fates_of`.
        refused: the anomalies of `refusals`.
    """
    fates = fates_of(t, complete=complete, replaced=replaced)
    anomalies = tuple(anomaly_of(each, ACROSS, promise, level) for each in broken(fates, refused))
    verdict, reason = HOLDS, None
    if not all(each.allowed for each in anomalies):
        verdict = VIOLATED
    elif fates.unattributed and level is None and not promise.nothing:
        verdict = UNKNOWN
        reason = "a value was sent more than once in transactions: whose record was read is open"
    return Across(verdict, anomalies, reason)
