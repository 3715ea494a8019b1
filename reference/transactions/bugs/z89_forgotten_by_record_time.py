"""Z89: what is known of a producer expires by the time of its records.

Of records that are older than a day each sweep forgets the producer, unless its transaction is
open. A batch that comes again is appended again: in version 1 in the next transaction, and always
where there are no transactions.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Producer


class Z89ForgottenByRecordTime(TransactionRules):
    def is_producer_expired(self, producer: Producer) -> bool:
        return not producer.open


BUG = declared(
    __name__,
    Z89ForgottenByRecordTime,
    "ExactlyOnceAppend",
    "ProducerStateIsOfLog",
    "EpochMonotonic",
    source="X16; Apache Kafka 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="producer of a partition",
)
