"""The decisions that Kafka 4.1 has and the quorum before it has not: twin of Quorum41.tla.

Law of this file: as of reference/quorum/rules.py.
"""

from __future__ import annotations

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum41.messages import FetchRequest
from kraftcheck.reference.quorum41.types import Row


class Quorum41Rules(QuorumRules):
    """The decisions, for one set of constants."""

    __slots__ = ()

    def knows_less(self, row: Row, m: FetchRequest) -> bool:
        """Q23 (KIP-1166). Whether a fetch is answered though there are no records for it."""
        return m.high_watermark < row.high_watermark

    def high_watermark_after_fetch(self, row: Row, m: FetchRequest) -> int:
        """Q23. What a leader that has noted a fetch knows to be committed: what it has counted,
        whatever the sender knows.
        """
        return row.high_watermark

    def resigned_high_watermark(self, row: Row) -> int:
        """What a resigned leader still knows to be committed."""
        return UNDEFINED
