"""Known bugs of a replica that is cleaned, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.partition.compaction.rules import CompactionRules
from kraftcheck.reference.partition.compaction.types import Batch, CompactedReplica


class Z195FirstOfKeyKept(CompactionRules):
    def is_superseded(self, row: CompactedReplica, at: int, key: int) -> bool:
        return any(key in batch.kept for batch in row.log[row.cleaned : min(at - 1, row.clean_to)])


class Z196TombstoneGoesEarly(CompactionRules):
    def may_drop_tombstone(self, row: CompactedReplica, at: int, expired: int) -> bool:
        return True


class Z197CleansWhatIsNotCommitted(CompactionRules):
    def cleanable_end(self, row: CompactedReplica, high_watermark: int) -> int:
        return row.segments[-1]


class Z198LoadEndsAtHole(CompactionRules):
    def next_to_read(self, row: CompactedReplica) -> int:
        at = row.position + 1
        return at if at <= len(row.log) and row.log[at - 1].kept else 0


class Z199HolesClosed(CompactionRules):
    def copied_batches(self, batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
        return tuple([batch for batch in batches if batch.kept])
