"""Z198: a load ends where the next offset is not there.

Who reads takes a hole for the end of the log, and a coordinator begins without what lies behind it.
A mutant; loads that ended too early came about by their segments (Z103, KAFKA-5600).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.compaction.rules import CompactionRules
from kraftcheck.reference.compaction.types import CompactedReplica


class Z198LoadEndsAtHole(CompactionRules):
    def next_to_read(self, row: CompactedReplica) -> int:
        at = row.position + 1
        return at if at <= len(row.log) and row.log[at - 1].kept else 0


BUG = declared(
    __name__,
    Z198LoadEndsAtHole,
    "LoadedIsReplayed",
    source="a mutant; KAFKA-5600 for other reasons",
    nodes=1,
    field="loaded",
    detectors=NO_CLIENT,
)
