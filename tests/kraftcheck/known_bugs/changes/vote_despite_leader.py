"""A vote is granted although the voter knows who leads the epoch."""

from __future__ import annotations

from kraftcheck.reference.quorum.messages import VoteRequest
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, Row


class VoteDespiteLeader(QuorumRules):
    def vote_granted(self, row: Row, m: VoteRequest) -> bool:
        if row.role not in ("Unattached", "Prospective"):
            return False
        if row.voted != NOBODY:
            return row.voted == m.source
        return self.log_ok(row, m)
