"""A leader serves records that are not on its own disk yet, and goes on to count itself only when
they are.
"""

from __future__ import annotations

from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class ServeBeforeFlush(QuorumRules):
    def servable_end_offset(self, row: Row) -> int:
        return len(row.log)
