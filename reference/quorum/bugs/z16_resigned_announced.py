"""Z16 (KAFKA-17333): whoever is named leader of the epoch is announced as such.

A node that starts as Resigned, or leads without having committed in its epoch, activates its state
machine before that has caught up, and writes from old state.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z16ResignedAnnounced(QuorumRules):
    def may_announce_leader(self, row: Row) -> bool:
        return row.role in ("Leader", "Resigned")


BUG = declared(
    __name__,
    Z16ResignedAnnounced,
    "AnnouncedLeaderIsCaughtUp",
    source="KAFKA-17333, PR 16900",
    year=2024,
    nodes=1,
    detectors=NO_CLIENT,
    field="announced",
)
