"""Z04 (Raft, figure 8): entries of older epochs commit before one of the leader's own.

The leader counts who has the entries of earlier epochs and calls them committed. A node with a
later, uncommitted epoch can still win, and overwrites them.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z04CommitsOlderEpochs(QuorumRules):
    def covers_own_epoch(self, row: Row, offset: int) -> bool:
        return True


BUG = declared(
    __name__,
    Z04CommitsOlderEpochs,
    "LeaderCompleteness",
    "MonotonicHighWatermark",
    "CommittedSurvives",
    source="Raft (2014), figure 8; KIP-595",
    year=2014,
    field="epochStart, highWatermark",
)
