"""Z17: a disk is replaced under the same node id.

A voter returns empty under its old id, is taken for who it was, and helps to elect a node without
committed records; it may also vote twice in one epoch. Directory ids make it a new replica, which
does not vote (KIP-853). Without them (kraft.version 0) Apache Kafka 4.3.1 cannot know.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z17DiskReplaced(VoterRules):
    def may_return_empty(self, row: VoterRow) -> bool:
        return True


BUG = declared(
    __name__,
    Z17DiskReplaced,
    "LeaderCompleteness",
    "CommittedSurvives",
    "ElectionSafety",
    "NoIllegalState",
    source="V10; KIP-853, PR 10309",
    field="log",
    detectors=NO_CLIENT,
)
