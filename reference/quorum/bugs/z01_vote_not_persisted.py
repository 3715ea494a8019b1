"""Z01: the vote lives in memory only.

A voter votes for A in epoch 1, restarts with the vote forgotten, and votes for C in epoch 1. A and
C both hold a majority.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, QuorumStateFile, Row


class Z01VoteNotPersisted(QuorumRules):
    def persisted_quorum_state(self, row: Row) -> QuorumStateFile:
        return QuorumStateFile(row.epoch, row.leader, NOBODY)


BUG = declared(
    __name__,
    Z01VoteNotPersisted,
    "VoteOnce",
    "ElectionSafety",
    "NoIllegalState",
    source="KIP-595; confluentinc/kafka PR 302",
    year=2020,
    detectors=NO_CLIENT,
    field="quorumState apart from voted",
)
