"""Z304: a late response is taken for the answer to the request in flight.

A response says that the logs diverge. The follower cuts its log, fetches on, and confirms what it
has fetched. Then the response comes once more. It answers a fetch, and a fetch is in flight: the
follower cuts its log again, and with it records that count as committed for its confirmation.
Kafka tells responses apart by their correlation ids.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.messages import Request, Response
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import AWAITING, Row


class Z304UsesLateResponse(QuorumRules):
    def answers_in_flight(self, row: Row, m: Response, in_flight: Request | None) -> bool:
        connection = row.connections[self.constants.nodes.index(m.source)]
        return connection == AWAITING and type(m.request) is type(in_flight)


BUG = declared(
    __name__,
    Z304UsesLateResponse,
    "DurableMajority",
    "MajorityReachedHighWatermark",
    "CommittedSurvives",
    "NoIllegalState",
    source="Q22; RequestManager.isResponseExpected",
    field="connections, log",
)
