"""Z72: a coordinator that has not heard of its successor answers what needs no append.

Version 1. It verifies a late batch of a transaction that has ended, by what it knew; the batch
opens a transaction that nobody ends.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z72AnswersWhenDeposed(TransactionRules):
    def answers_when_deposed(self) -> bool:
        return True


BUG = declared(
    __name__,
    Z72AnswersWhenDeposed,
    "NoHanging",
    "AbortedInvisible",
    source="X2, X5; Apache Kafka 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="coordinators",
)
