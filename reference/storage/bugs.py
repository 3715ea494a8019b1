"""Known bugs of the storage engine, by the numbers of bugs.toml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kraftcheck.reference.storage.batches import Batch
from kraftcheck.reference.storage.rules import StorageRules


class Z140CompletedLso(StorageRules):
    def completed_lso(
        self, open_txns: Sequence[tuple[int, int]], first: int, producer: int, marker: int
    ) -> int:
        return next((at for at, of in open_txns if of != producer), marker + 1)


class Z141SnapshotBatches(StorageRules):
    def snapshot_suffices(self) -> bool:
        return True


class Z142MarkerGoesLast(StorageRules):
    def marker_goes_first(self) -> bool:
        return False


class Z143RecoveryCountsAsFlush(StorageRules):
    def recovery_point(self, checkpoint: int, end: int, clean: bool) -> int:
        return end


class Z144EndAfterIndex(StorageRules):
    def end_before_index(self) -> bool:
        return False


class Z145EpochFileNotSynced(StorageRules):
    def epoch_file_synced(self) -> bool:
        return False


class Z146EpochZeroForgotten(StorageRules):
    def assigns_epoch(self, epoch: int, latest: int | None) -> bool:
        return epoch > (latest or 0)


class Z147EndCleanedAway(StorageRules):
    def keeps_last_of_round(self) -> bool:
        return False


class Z148CleansAboveHighWatermark(StorageRules):
    def uncleanable(self, stable: int, high_watermark: int, active: int, end: int) -> int:
        return active


class Z149IndexOfHalfASegment(StorageRules):
    def aborted_above(self, mapped: int, upper: int) -> int:
        return mapped


class Z150TransactionsForgotten(StorageRules):
    def transactions_across_groups(self) -> bool:
        return False


class Z151LastSequenceCleaned(StorageRules):
    def keeps_last_of_producer(self) -> bool:
        return False


class Z152RetentionAboveHighWatermark(StorageRules):
    def retention_bound(self, high_watermark: int, end: int) -> int:
        return end


class Z153StartInsideBatch(StorageRules):
    def starts_anew(self, log_end: int, log_start: int, first: int, last: int) -> bool:
        return False


class Z154LimitReadTwice(StorageRules):
    def one_limit(self) -> bool:
        return False


class Z161TrimsAfterSync(StorageRules):
    def trims_before_sync(self) -> bool:
        return False


class Z162FullIndexFails(StorageRules):
    def skips_when_full(self) -> bool:
        return False


class Z171ClosingNotSynced(StorageRules):
    def closing_synced(self, recovery_point: int, base: int) -> bool:
        return False


class Z178StartToldEarly(StorageRules):
    def log_start_durable(self) -> bool:
        return False


class Z306KeylessInCompacted(StorageRules):
    def keyless_refused(self) -> bool:
        return False


class Z307ClientEndsTransaction(StorageRules):
    def client_batch_refused(self, batch: Batch) -> str:
        return ""


STATES: Final = 20


SEEDS: Final = {
    "Z140": 283,
    "Z141": 0,
    "Z142": 56,
    "Z143": 5,
    "Z145": 0,
    "Z146": 4,
    "Z148": 2,
    "Z151": 0,
    "Z152": 14,
    "Z153": 10,
    "Z154": 4,
    "Z161": 6,
    "Z162": 3,
    "Z171": 1,
    "Z178": 6,
}


"""Of histories by chance that show the bug in the first STATES of the states that crashes leave."""
