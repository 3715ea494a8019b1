"""Z110: what is appended after a truncation is not read for sets of voters.

A truncation takes sets out of the history, but not back where the log was read to. Voters records
that are appended below the old end are never seen: the node goes on with the set that it had,
elects and commits by it, until it restarts or a later record comes. Apache Kafka 4.3.1 does so
(KRaftControlRecordStateMachine.truncateNewEntries), and has since KAFKA-16207.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import Read, VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z110NotReadAgain(VoterRules):
    def history_after_truncation(self, row: VoterRow, offset: int) -> Read:
        return replace(super().history_after_truncation(row, offset), history_end=row.history_end)


BUG = declared(
    __name__,
    Z110NotReadAgain,
    "HistorySound",
    "ElectionSafety",
    "LeaderCompleteness",
    "CommittedSetsOneLine",
    "NoDisjointMajorities",
    source="V11; Apache Kafka 4.3.1, KRaftControlRecordStateMachine; KAFKA-16207",
    nodes=4,
    field="history",
    detectors=NO_CLIENT,
)
