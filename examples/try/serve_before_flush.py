"""A leader serves records before they are on its disk.

It counts itself only when they are.
"""

from __future__ import annotations

from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class ServeBeforeFlush(QuorumRules):
    def servable_end_offset(self, row: Row) -> int:
        return len(row.log)
