"""Z92 (KAFKA-20634): the high watermark of the next tenure completes operations of the last one.

A broker that led the log, and follows now, takes the high watermark of what it fetches for that of
its own records. Members are told of what the log has lost.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import GroupHeartbeatResponse
from kraftcheck.reference.groups.rules import GroupRules


class Z92LastTenuresAnswers(GroupRules):
    def waiting_after_move(
        self, waiting: tuple[GroupHeartbeatResponse, ...]
    ) -> tuple[GroupHeartbeatResponse, ...]:
        return waiting


BUG = declared(
    __name__,
    Z92LastTenuresAnswers,
    "AnswerAfterCommit",
    "EpochIsCommitted",
    source="G5, G7",
    year=2026,
    nodes=2,
    detectors=NO_CLIENT,
    field="waiting",
)
