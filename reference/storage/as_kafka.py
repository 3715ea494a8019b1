"""The storage rules of Apache Kafka 4.3.1 that differ from ours (docs/reference/storage.md).

Under these the engine is compared with Kafka's classes, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from kraftcheck.reference.storage.batches import Batch
from kraftcheck.reference.storage.rules import StorageRules

T = TypeVar("T")


class AsKafka(StorageRules):
    """Apache Kafka 4.3.1."""

    __slots__ = ()

    def completed_lso(
        self, open_txns: Sequence[tuple[int, int]], first: int, producer: int, marker: int
    ) -> int:
        return next((at for at, of in open_txns if of != producer), marker + 1)

    def folder_synced(self, begins_there: bool, names_changed: bool) -> bool:
        return begins_there

    def roll_synced(self, rises: bool) -> bool:
        return False

    def skips_when_full(self) -> bool:
        return False

    def flushed_upto(self, target: int, end: int) -> int:
        return target

    def closing_synced(self, recovery_point: int, base: int) -> bool:
        return False

    def parent_synced(self) -> bool:
        return False

    def log_start_durable(self) -> bool:
        return False

    def start_written(self, start: int, base: int) -> bool:
        return start > base

    def rereads_time(self, known: int) -> bool:
        return known >= 0

    def recovers_time_index(self) -> bool:
        return False

    def recovery_point_first(self) -> bool:
        return False

    def cut_in_order(self, segments: Sequence[T]) -> list[T]:
        return list(segments)

    def epochs_cut_at_once(self) -> bool:
        return False

    def cut_synced(self) -> bool:
        return False

    def flushes_before_cleaning(self) -> bool:
        return False

    def last_by_committed(self) -> bool:
        return False

    def cleaning_synced(self) -> bool:
        return False

    def log_renamed_first(self) -> bool:
        return False

    def swap_by_index(self) -> bool:
        return True

    def drops_below_start(self) -> bool:
        return False

    def recovers_from(self, recovery_point: int, start: int) -> int:
        return recovery_point

    def recovers_early(self, clean: bool, base: int, recovery_point: int) -> bool:
        return True

    def fits(self, batch: Batch, before: Batch) -> bool:
        return True

    def joins(self, base: int, end: int, filled: bool, rises: bool) -> bool:
        return True

    def snapshot_suffices(self) -> bool:
        return True

    def trims_before_sync(self) -> bool:
        return False

    def marker_removal_synced(self) -> bool:
        return False
