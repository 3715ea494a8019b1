"""A leader serves records before they are on its disk, and counts itself as having them."""

from __future__ import annotations

from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class CountBeforeFlush(QuorumRules):
    def servable_end_offset(self, row: Row) -> int:
        return len(row.log)

    def own_end_offset(self, row: Row) -> int:
        return len(row.log)
