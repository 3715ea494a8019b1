"""Z197: the cleaner does not stop at the high watermark.

What is not committed supersedes what is; then another leader has it cut, and of the key nothing is
left. A mutant of LogCleanerManager.cleanableOffsets.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.compaction.rules import CompactionRules
from kraftcheck.reference.compaction.types import CompactedReplica


class Z197CleansWhatIsNotCommitted(CompactionRules):
    def cleanable_end(self, row: CompactedReplica, high_watermark: int) -> int:
        return row.segments[-1]


BUG = declared(
    __name__,
    Z197CleansWhatIsNotCommitted,
    "CleansCommitted",
    "KeptIsReplayed",
    "LoadedIsReplayed",
    source="a mutant; Apache Kafka 4.3.1, LogCleanerManager.cleanableOffsets",
    nodes=1,
    field="clean_to",
    detectors=NO_CLIENT,
)
