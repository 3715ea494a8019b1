"""Z46: a response is used in another epoch than it was asked for in.

A follower appends what an answer to its request of an earlier epoch carries, records of later
epochs included, although its leader has changed meanwhile.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import RecordLog
from kraftcheck.reference.partition.messages import ReplicaFetchResponse
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z46ResponseOutlivesEpoch(PartitionRules):
    def appendable(self, m: ReplicaFetchResponse) -> RecordLog:
        return m.records

    def response_matches(self, row: BrokerRow, m: ReplicaFetchResponse) -> bool:
        return (
            row.role == "Follower"
            and row.leader == m.source
            and m.request.fetch_offset == len(row.log)
        )


BUG = declared(
    __name__,
    Z46ResponseOutlivesEpoch,
    "PartitionLogMatching",
    "StrongIsr",
    source="KAFKA-18723, PR 18852",
    year=2025,
    detectors=("steps",),
    field="log, leaderEpoch",
    alone=(
        "in its model the states differ and nothing is broken: the next fetch is "
        "compared before it counts"
    ),
)
