"""Z195: the cleaner keeps the first record of a key.

Of the records of one key the map keeps the offset that it saw first, so that later ones go. What a
coordinator loads is what was so once. A mutant: what Cleaner.buildOffsetMap does, the other way
round.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.compaction.rules import CompactionRules
from kraftcheck.reference.compaction.types import CompactedReplica


class Z195FirstOfKeyKept(CompactionRules):
    def is_superseded(self, row: CompactedReplica, at: int, key: int) -> bool:
        return any(key in batch.kept for batch in row.log[row.cleaned : min(at - 1, row.clean_to)])


BUG = declared(
    __name__,
    Z195FirstOfKeyKept,
    "KeptIsReplayed",
    "LoadedIsReplayed",
    source="a mutant; Apache Kafka 4.3.1, Cleaner.buildOffsetMap",
    nodes=1,
    field="log",
    detectors=NO_CLIENT,
)
