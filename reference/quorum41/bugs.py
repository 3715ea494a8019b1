"""Known bugs of the quorum by the rules since 4.1, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum41.messages import FetchRequest
from kraftcheck.reference.quorum41.rules import Quorum41Rules
from kraftcheck.reference.quorum41.types import Row


class Z167TakesOverHighWatermark(Quorum41Rules):
    def high_watermark_after_fetch(self, row: Row, m: FetchRequest) -> int:
        return row.high_watermark if m.high_watermark == UNDEFINED else m.high_watermark
