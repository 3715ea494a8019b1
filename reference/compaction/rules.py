"""Every decision of a broker about a replica of a compacted partition that has a name: the twin of
CompactionRules.tla (LogCleaner, Cleaner, CoordinatorLoaderImpl).

Ends and places count batches, from 1 on.

Law of this file: rules are pure functions of what they are asked, and no property calls one.
"""

from __future__ import annotations

from kraftcheck.reference.compaction.types import Batch, CompactedReplica, Constants


class CompactionRules:
    """The correct rules. A known bug is a subclass that overrides some of them."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    def cleanable_end(self, row: CompactedReplica, high_watermark: int) -> int:
        """The cleaner leaves the active segment alone, and what is not committed
        (LogCleanerManager.cleanableOffsets).
        """
        return min(row.segments[-1], high_watermark)

    def is_superseded(self, row: CompactedReplica, at: int, key: int) -> bool:
        """A record goes when a later one in what is cleaned now has its key
        (Cleaner.shouldRetainRecord, of the offsets that buildOffsetMap took of the dirty section).
        """
        return any(key in batch.kept for batch in row.log[max(row.cleaned, at) : row.clean_to])

    def may_drop_tombstone(self, row: CompactedReplica, at: int, expired: int) -> bool:
        """A tombstone stays for delete.retention.ms from the first cleaning on that came by it
        (KIP-534). expired: up to where the time is over.
        """
        return at in row.aged and at <= expired

    def next_to_read(self, row: CompactedReplica) -> int:
        """A load goes on at the first batch, behind what it has read, of which anything is left;
        0: all is read.
        """
        unread = range(row.position + 1, len(row.log) + 1)
        return next((at for at in unread if row.log[at - 1].kept), 0)

    def copied_batches(self, batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
        """A follower has what it is sent under the offsets of its leader, and so its log the holes
        that those leave (UnifiedLog.appendAsFollower).
        """
        return batches
