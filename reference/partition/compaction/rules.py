"""Named decisions of a broker about a replica of a compacted partition.

The twin of CompactionRules.tla (LogCleaner, Cleaner, CoordinatorLoaderImpl).

Ends and places count batches, from 1 on.

Law of this file: rules are pure functions of what they are asked, and no property calls one.
"""

from __future__ import annotations

from kraftcheck.reference.partition.compaction.types import Batch, CompactedReplica, Constants


class CompactionRules:
    """The correct rules. A known bug is a subclass that overrides some of them."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    def cleanable_end(self, row: CompactedReplica, high_watermark: int) -> int:
        """The cleaner skips the active segment and uncommitted records.

        Source: LogCleanerManager.cleanableOffsets.
        """
        return min(row.segments[-1], high_watermark)

    def is_superseded(self, row: CompactedReplica, at: int, key: int) -> bool:
        """Remove a record when a later one that is cleaned now has its key.

        Source: Cleaner.shouldRetainRecord, with the offsets that buildOffsetMap took of the dirty
        section.
        """
        return any(key in batch.kept for batch in row.log[max(row.cleaned, at) : row.clean_to])

    def may_drop_tombstone(self, row: CompactedReplica, at: int, expired: int) -> bool:
        """Keep a tombstone for delete.retention.ms from its first cleaning (KIP-534).

        expired: the offset up to which the time is over.
        """
        return at in row.aged and at <= expired

    def next_to_read(self, row: CompactedReplica) -> int:
        """Return the next batch after the read ones that has records left; 0: all is read."""
        unread = range(row.position + 1, len(row.log) + 1)
        return next((at for at in unread if row.log[at - 1].kept), 0)

    def copied_batches(self, batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
        """A follower keeps its leader's offsets, and so its holes (UnifiedLog.appendAsFollower)."""
        return batches
