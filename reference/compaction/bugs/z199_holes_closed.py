"""Z199: a follower closes the holes of what it fetches.

It gives what it is sent the next offsets that it has, instead of those of its leader. From there on
the same offset is another record on each replica. A mutant of UnifiedLog.appendAsFollower.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.compaction.rules import CompactionRules
from kraftcheck.reference.compaction.types import Batch


class Z199HolesClosed(CompactionRules):
    def copied_batches(self, batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
        return tuple([batch for batch in batches if batch.kept])


BUG = declared(
    __name__,
    Z199HolesClosed,
    "OffsetsStay",
    source="a mutant; Apache Kafka 4.3.1, UnifiedLog.appendAsFollower",
    nodes=1,
    field="log",
    detectors=NO_CLIENT,
)
