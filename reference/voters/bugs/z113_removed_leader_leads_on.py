"""Z113: a leader outside the voters leads on.

Only the request that waits for a removal makes the removed leader resign. When that request has
been given up before the removal is committed, nothing does. Apache Kafka 4.3.1 does so
(RemoveVoterHandler.highWatermarkUpdated).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z113RemovedLeaderLeadsOn(VoterRules):
    def leaves_after_removal(self, n: int, row: VoterRow) -> bool:
        return row.change != UNDEFINED and super().leaves_after_removal(n, row)


BUG = declared(
    __name__,
    Z113RemovedLeaderLeadsOn,
    "RemovedLeaderResigns",
    source="V20; Apache Kafka 4.3.1, RemoveVoterHandler",
    field="role",
    detectors=NO_CLIENT,
)
