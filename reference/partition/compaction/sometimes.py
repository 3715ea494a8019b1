"""Sometimes conditions of a compacted partition's replicas (reference/kit/sometimes.py)."""

from __future__ import annotations

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.partition.compaction.messages import (
    CleanSegment,
    CopyBatches,
    CutReplica,
    ReadBatch,
    ReplicaCrash,
)
from kraftcheck.reference.partition.compaction.types import CompactedReplica

sometimes = Conditions()


@sometimes(CleanSegment)
def segment_is_cleaned_amid_a_load(before: CompactedReplica, after: CompactedReplica) -> bool:
    """A segment changes while somebody reads the log."""
    return before.state == "Loading" and before.position > 0 and before.log != after.log


@sometimes(CleanSegment)
def tombstone_goes(before: CompactedReplica, after: CompactedReplica) -> bool:
    """A tombstone goes that nothing superseded."""
    gone = [{*was.kept} - {*now.kept} for was, now in zip(before.log, after.log, strict=True)]
    return any(
        key in batch.removed and not any(key in later.kept for later in before.log[at:])
        for at, batch in enumerate(before.log, 1)
        for key in gone[at - 1]
    )


@sometimes(CopyBatches)
def follower_fetches_over_a_hole(before: CompactedReplica, after: CompactedReplica) -> bool:
    """A follower has a hole in its log that its own cleaner did not make."""
    return not all(batch.kept for batch in after.log[len(before.log) :])


@sometimes(CutReplica)
def cleaned_log_is_cut(before: CompactedReplica) -> bool:
    """A log with holes is cut."""
    return not all(batch.kept for batch in before.log)


@sometimes(ReadBatch)
def hole_is_read_over(before: CompactedReplica, after: CompactedReplica) -> bool:
    """A load goes on behind a hole."""
    return after.state == "Loading" and after.position > before.position + 1


@sometimes(ReplicaCrash)
def crash_amid_a_cleaning(before: CompactedReplica) -> bool:
    """A broker crashes when some segments are cleaned."""
    return before.clean_next > 0
