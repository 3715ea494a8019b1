"""Z13 (KAFKA-17642): a change of role within one epoch drops the vote.

A voter that goes from Prospective back to Unattached or Follower forgets for whom it voted in this
epoch, and votes again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, Row


class Z13VoteForgotten(QuorumRules):
    def voted_within_epoch(self, row: Row) -> int:
        return NOBODY


BUG = declared(
    __name__,
    Z13VoteForgotten,
    "VoteOnce",
    "ElectionSafety",
    "NoIllegalState",
    source="KAFKA-17642, PR 18240",
    year=2025,
    detectors=NO_CLIENT,
    field="voted",
)
