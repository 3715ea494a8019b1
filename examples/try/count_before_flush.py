"""A leader serves records that are not on its own disk yet, and counts itself among those that have
them.
"""

from __future__ import annotations

from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class CountBeforeFlush(QuorumRules):
    def servable_end_offset(self, row: Row) -> int:
        return len(row.log)

    def own_end_offset(self, row: Row) -> int:
        return len(row.log)
