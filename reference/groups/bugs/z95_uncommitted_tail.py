"""Z95 (KAFKA-16973): a new coordinator answers from what it has loaded and is not committed.

An operation without records waits only for operations of this coordinator. The next one may lack
what the member was told.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupCoordinator


class Z95UncommittedTail(GroupRules):
    def waits_for_written(self, row: GroupCoordinator) -> bool:
        return row.waiting != ()


BUG = declared(
    __name__,
    Z95UncommittedTail,
    "AnswerAfterCommit",
    "EpochIsCommitted",
    source="G3",
    year=2024,
    nodes=2,
    detectors=NO_CLIENT,
    field="waiting",
)
