"""Z302: a follower cuts what it knows to be committed.

A leader that lacks committed records tells its followers where the logs diverge, below what they
know to be committed. Kafka's follower compares that with its high watermark and stops; this one
cuts, and a whole quorum forgets what it had acknowledged. The leader is one that was voted for
without a look at its log; a voter whose disk was replaced by an older one would do as well.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.kit.log import EpochEnd
from kraftcheck.reference.quorum.messages import VoteRequest
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z302CutsCommitted(QuorumRules):
    def log_ok(self, row: Row, m: VoteRequest) -> bool:
        return True

    def truncation_refused(self, row: Row, diverging: EpochEnd) -> bool:
        return False


BUG = declared(
    __name__,
    Z302CutsCommitted,
    "NoTruncateBelowHighWatermark",
    "LeaderCompleteness",
    "CommittedSurvives",
    source="Q16; KafkaRaftClient.handleFetchResponse, KafkaRaftLog.truncateTo",
    field="highWatermark, log",
)
