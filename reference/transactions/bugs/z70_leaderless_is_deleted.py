"""Z70 (KAFKA-20734): a partition without a leader is taken for one that was deleted.

It gets no marker, and the transaction is complete. Once it has a leader again, the transaction is
open there for ever, or until the next one of the producer takes it over: its abort takes the
committed batches with it.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z70LeaderlessIsDeleted(TransactionRules):
    def marker_destination(self, has_leader: bool) -> str:
        return "Leader" if has_leader else "Deleted"


BUG = declared(
    __name__,
    Z70LeaderlessIsDeleted,
    "NoHanging",
    "LogMatchesMarkers",
    "AckedCommit",
    "NoHangingTransaction",
    source="X22; Apache Kafka 4.3.1",
    year=2026,
    nodes=1,
    detectors=NO_CLIENT,
    field="to_mark of the coordinator",
)
