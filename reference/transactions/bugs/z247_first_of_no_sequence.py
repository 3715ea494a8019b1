"""Z247: the first batch of an epoch that only a marker has told of has any sequence number.

With an epoch for each transaction the marker of the transaction before tells a partition of the
next epoch. The first batch of a transaction is late, and the second is verified and appended; the
first is then taken for a copy: acknowledged, and not in the log. The guard is the comparison with
the last sequence, none, in `ProducerAppendInfo.checkSequence`. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import Produce
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import UNKNOWN, Producer


class Z247FirstOfNoSequence(TransactionRules):
    __slots__ = ()

    def is_in_sequence(self, producer: Producer, m: Produce) -> bool:
        return producer.sequence in (UNKNOWN, m.sequence)


BUG = declared(
    __name__,
    Z247FirstOfNoSequence,
    "NoGaps",
    "CommitIsWhole",
    source="X13; a mutant of ProducerAppendInfo.checkSequence",
    nodes=1,
    detectors=NO_CLIENT,
    field="producer (sequence)",
)
