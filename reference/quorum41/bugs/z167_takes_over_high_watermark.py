"""Z167: a leader takes over the high watermark that a fetch tells it.

Since KIP-1166 a fetch says which high watermark its sender knows, so that the leader need not wait
to tell a newer one. Here the leader believes it. A follower that knows less, or a fetch that comes
late, takes the leader back, and what was committed is no longer so.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum41.messages import FetchRequest
from kraftcheck.reference.quorum41.rules import Quorum41Rules
from kraftcheck.reference.quorum41.types import Row


class Z167TakesOverHighWatermark(Quorum41Rules):
    def high_watermark_after_fetch(self, row: Row, m: FetchRequest) -> int:
        return row.high_watermark if m.high_watermark == UNDEFINED else m.high_watermark


BUG = declared(
    __name__,
    Z167TakesOverHighWatermark,
    "MonotonicHighWatermark",
    "AnnouncedLeaderIsCaughtUp",
    source="this kit, as a fault that KIP-1166 invites",
    year=2026,
    field="highWatermark",
    detectors=NO_CLIENT,
)
