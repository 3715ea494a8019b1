"""Z06: a vote without a look at the nominee's log.

A nominee with a shorter log wins, and its followers truncate what was committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.messages import VoteRequest
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z06VoteWithoutLogCheck(QuorumRules):
    def log_ok(self, row: Row, m: VoteRequest) -> bool:
        return True


BUG = declared(
    __name__,
    Z06VoteWithoutLogCheck,
    "LeaderCompleteness",
    "CommittedSurvives",
    source="Raft (2014), 5.4.1; KIP-595",
    year=2014,
    field="epochCache, log",
)
