"""The named decisions of the storage engine. docs/reference/storage.md has the rules D1 to D22.

`StorageRules` is what holds its promises on a disk that loses what was not synced. Where Apache
Kafka 4.3.1 decides otherwise: as_kafka.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from kraftcheck.reference.storage.batches import Batch

T = TypeVar("T")
OFFSETS_MAX: Final = (1 << 31) - 1
"""How far an offset may be from its segment's first."""
BATCHES_KEPT: Final = 5
"""Of a producer so many are remembered, for retries (T1)."""


class Config(msgspec.Struct, frozen=True, tag="storage"):
    """Settings of a topic, by Kafka's names. Sizes in bytes, times in milliseconds; -1: never."""

    segment_bytes: int = 1 << 20
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_bytes: int = 10 << 20
    """Of either index."""
    index_interval: int = 4096
    """Between entries."""
    flush_messages: int = (1 << 63) - 1
    """So many may lie unflushed."""
    retention_bytes: int = -1
    retention_ms: int = -1
    compact: bool = False
    delete_retention: int = 24 * 3600 * 1000
    """For how long tombstones are kept."""
    map_keys: int = 1 << 20
    """So many a round of cleaning can tell apart."""


class StorageRules:
    """Made of a configuration. Bugs override methods."""

    __slots__ = ("config",)

    def __init__(self, config: Config) -> None:
        self.config = config

    # -- Appending (D1, D2)

    def client_batch_refused(self, batch: Batch) -> str:
        """D1 (LogValidator.validateBatch): why a client may not append a batch, or nothing.

        Only coordinators and the quorum write control records; a producer with an id numbers its
        batches; a batch has as many records as offsets.
        """
        offsets = batch.last - batch.base + 1
        if offsets <= 0 or batch.records != offsets:
            return f"{batch.records} records have {offsets} offsets"
        if batch.is_control:
            return "a control record of a client"
        if batch.producer >= 0 and batch.sequence < 0:
            return f"sequence {batch.sequence} of producer {batch.producer}"
        return ""

    def keyless_refused(self) -> bool:
        """D1 (LogValidator.validateKey): whether a client's record needs a key.

        Compaction keeps the last record of each key, and so none without one.
        """
        return self.config.compact

    def end_before_index(self) -> bool:
        """D1: whether the log's end moves as soon as the records are written.

        It moves before what may fail in indexes of transactions.
        """
        return True

    def completed_lso(
        self, open_txns: Sequence[tuple[int, int]], first: int, producer: int, marker: int
    ) -> int:
        """D2: the last stable offset that is stored with an aborted transaction.

        open_txns: (first offset, producer), ascending, the one that ends among them. first,
        producer: of that one. marker: its offset.
        """
        return next((at for at, _ in open_txns if first != at < marker), marker + 1)

    def starts_anew(self, log_end: int, log_start: int, first: int, last: int) -> bool:
        """D2: whether a follower, whose leader's log starts within a batch, takes the whole batch.

        first, last: of the first batch that came, below the follower's end.
        """
        return log_end == log_start and first < log_end <= last

    # -- Rolling, indexes (D3, D4)

    def rolls(
        self, size: int, incoming: int, waited: int, indexes_full: bool, distance: int
    ) -> bool:
        """D3: whether an append begins a segment.

        waited: milliseconds by timestamps. distance: of its last offset to the segment's first.
        """
        return (
            size > self.config.segment_bytes - incoming
            or (size > 0 and waited > self.config.segment_ms)
            or indexes_full
            or not 0 <= distance <= OFFSETS_MAX
        )

    def roll_synced(self, rises: bool) -> bool:
        """D3: whether a segment is durable before anything is in the next.

        Where offsets may have gaps, nothing would tell that its end is missing. rises: whether an
        epoch begins there: what was cut within a batch goes on so.
        """
        return self.config.compact or rises

    def index_due(self, since: int) -> bool:
        """D4. since: bytes since the last entry."""
        return since > self.config.index_interval

    def skips_when_full(self) -> bool:
        """D4: whether an index that is full is left as it is: it only says where to begin to look.

        An append of several batches, and recovery, may come there.
        """
        return True

    # -- Flushing, checkpoints (D5, D6)

    def folder_synced(self, begins_there: bool, names_changed: bool) -> bool:
        """D5: whether a flush syncs the names, too.

        begins_there: a flushed segment begins above the recovery point. names_changed: a file has
        come or gone since they were synced.
        """
        return begins_there or names_changed

    def flushed_upto(self, target: int, end: int) -> int:
        """D5: where the recovery point is after a flush.

        target: up to where it was asked for, perhaps before a truncation to this end.
        """
        return min(target, end)

    def closing_synced(self, recovery_point: int, base: int) -> bool:
        """D5: whether the last entries of a segment are synced as it closes.

        A flush behind a roll to this base leaves out what lies below the recovery point.
        """
        return recovery_point >= base

    def parent_synced(self) -> bool:
        """D5: whether the name of a new partition is made durable."""
        return True

    def epoch_file_synced(self) -> bool:
        """D6: whether the epoch file is synced before it takes its name."""
        return True

    def log_start_durable(self) -> bool:
        """D9: whether a risen log start is durable before it is told."""
        return True

    def start_written(self, start: int, base: int) -> bool:
        """D6: whether the checkpoint has a log start.

        base: of the first segment: that those below are gone may not be durable yet.
        """
        return start > 0

    # -- Truncation, log start, retention (D7 to D10)

    def recovery_point_cut(self, recovery_point: int, end: int) -> int:
        """D7: after a truncation to this end."""
        return min(recovery_point, end)

    def recovery_point_first(self) -> bool:
        """D7: whether the lower recovery point is durable before anything is cut.

        What a crash leaves in the midst of it is read through then.
        """
        return True

    def cut_in_order(self, segments: Sequence[T]) -> list[T]:
        """D7, D8: in which order segments go that are cut, or given up.

        The highest goes first, so that a crash leaves the log up to an offset. segments: ascending.
        """
        return list(reversed(segments))

    def rereads_time(self, known: int) -> bool:
        """D7: whether the largest timestamp is looked for anew in what is left of a segment.

        known: by its index, which was cut.
        """
        return True

    def epochs_cut_at_once(self) -> bool:
        """D7, D18: whether the epoch file follows a truncation, and a start, before either returns.

        A record of an older epoch may take the place of one of an epoch that was never written.
        """
        return True

    def cut_synced(self) -> bool:
        """D7: whether a segment that was cut is durable before anything is appended to it."""
        return True

    def retention_bound(self, high_watermark: int, end: int) -> int:
        """D10: segments that end above are kept."""
        return high_watermark

    # -- Compaction (D11 to D14)

    def uncleanable(self, stable: int, high_watermark: int, active: int, end: int) -> int:
        """D11: from there on nothing is cleaned.

        stable: the last stable offset. active: the first offset of the active segment.
        """
        return min(stable, high_watermark, active)

    def flushes_before_cleaning(self) -> bool:
        """D11: whether all is durable that takes older records away."""
        return True

    def aborted_above(self, mapped: int, upper: int) -> int:
        """D13: up to where aborted transactions are looked for, while a segment is cleaned.

        mapped: the end of what the map knows; upper: that of the segment.
        """
        return upper

    def transactions_across_groups(self) -> bool:
        """D13: whether what is known of transactions is kept from one group to the next."""
        return True

    def keeps_last_of_producer(self) -> bool:
        """D13: whether the batch with a producer's last sequence stays, emptied if need be."""
        return True

    def last_by_committed(self) -> bool:
        """D13: whether that is also asked of what lies below the end of the round.

        What lies above may be cut.
        """
        return True

    def keeps_last_of_round(self) -> bool:
        """D13: whether the last batch of what is cleaned stays, emptied if need be."""
        return True

    def tombstone_kept(self, horizon: int | None, now: int) -> bool:
        """D12."""
        return horizon is None or now < horizon

    def cleaning_synced(self) -> bool:
        """D14: whether the names are synced between the steps of a swap."""
        return True

    def log_renamed_first(self) -> bool:
        """D7, D10, D14: whether a log's new name is durable before its indexes take theirs.

        Where names of a folder come apart (free mode), a log may be left without its aborted
        transactions.
        """
        return True

    # -- Reading (D22)

    def one_limit(self) -> bool:
        """D22: whether a read to the end of a file takes the end that it was asked with.

        Otherwise it takes the one that there is by then.
        """
        return True

    # -- Loading, recovery (D15 to D18)

    def swap_by_index(self) -> bool:
        """D15: whether the end of a segment that is to be swapped in is looked up by its index.

        The index is made, full of zeros, if it was renamed already.
        """
        return False

    def drops_below_start(self) -> bool:
        """D16: whether segments below the log start go at once. They need not be whole."""
        return True

    def recovers_from(self, recovery_point: int, start: int) -> int:
        """D17: the recovery point, by the checkpoints."""
        return max(recovery_point, start)

    def recovers_time_index(self) -> bool:
        """D16: whether a segment without its time index is as one without any."""
        return True

    def recovers_early(self, clean: bool, base: int, recovery_point: int) -> bool:
        """D16: whether a segment without its index is recovered before all others.

        (The one that the recovery point lies in may be torn, and is to be recovered first.)
        """
        return clean or base < recovery_point

    def assigns_epoch(self, epoch: int, latest: int | None) -> bool:
        """D17: whether recovery notes the epoch of a batch. latest: that it knows."""
        return epoch >= 0 and (latest is None or epoch > latest)

    def fits(self, batch: Batch, before: Batch) -> bool:
        """D17: whether a batch may follow another in a log that recovers."""
        return batch.base > before.last and batch.epoch >= before.epoch

    def joins(self, base: int, end: int, filled: bool, rises: bool) -> bool:
        """D17: whether a segment with this base may follow one that ends there.

        filled: whether anything is in it, or was before it was compacted. rises: whether an epoch
        begins there.
        """
        return base == end or (base > end and filled and self.roll_synced(rises))

    def recovery_point(self, checkpoint: int, end: int, clean: bool) -> int:
        """D18: after a start."""
        return end if clean else min(checkpoint, end)

    def snapshot_suffices(self) -> bool:
        """D18: whether one batch of a producer in a snapshot is enough.

        It is the one that stands there. Also whether a transaction is over whose marker lies above
        the high watermark: no snapshot has it.
        """
        return False

    # -- Stopping and starting (D19, D20)

    def trims_before_sync(self) -> bool:
        """D19: whether a clean stop closes indexes before it syncs them."""
        return True

    def marker_goes_first(self) -> bool:
        """D20: whether the marker of a clean stop is gone before logs are loaded."""
        return True

    def marker_removal_synced(self) -> bool:
        """D20: whether a start has it durable that there is no marker, also if it finds none."""
        return True
