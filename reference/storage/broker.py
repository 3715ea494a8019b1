"""A log directory of one partition: its checkpoints, and the marker of a clean stop (D6, D19, D20).

(org.apache.kafka.storage.internals: log.LogManager, checkpoint.OffsetCheckpointFile,
checkpoint.CleanShutdownFileHandler.)
"""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.storage.cleaning import clean
from kraftcheck.reference.storage.cutting import truncate, truncate_fully
from kraftcheck.reference.storage.epochs import lines, read_lines
from kraftcheck.reference.storage.files import Files, remove, write_text
from kraftcheck.reference.storage.loading import load
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.rules import StorageRules

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
CLEAN: Final = ".kafka_cleanshutdown"


class Broker:
    """log: of the partition TOPIC-NUMBER. dirty: where it was not cleaned yet."""

    def __init__(
        self, files: Files, rules: StorageRules, now: int, topic: str = "t", number: int = 0
    ) -> None:
        """A start. Raises Unloadable, MalformedEpochs, OSError."""
        self.files, self.rules, self.key = files, rules, f"{topic} {number}"
        was_clean = files.size(CLEAN) is not None
        if rules.marker_goes_first():
            self._remove_marker()
        start = self._offset(LOG_STARTS)
        recovery_point = self._offset(RECOVERY_POINTS)
        folder = f"{topic}-{number}"
        self.log: Log = load(files, folder, rules, now, start, recovery_point, was_clean)
        if not rules.marker_goes_first():
            self._remove_marker()
        self.log.update_high_watermark(self._offset(HIGH_WATERMARKS))
        self.dirty = self._offset(CLEANED)

    def _remove_marker(self) -> None:
        """Synced also where there is none: a start that was killed may have removed it."""
        remove(self.files, CLEAN)
        if self.rules.marker_removal_synced():
            self.files.sync_folder("")

    def _offset(self, name: str) -> int:
        if self.files.size(name) is None:
            return 0
        topic, number = self.key.split()
        return offset_in(self.files.read(name), topic, int(number)) or 0

    def _write(self, name: str, offset: int) -> None:
        write_text(self.files, name, lines([f"{self.key} {offset}"]))

    # -- Checkpoints

    def checkpoint(self) -> None:
        """What is written each minute."""
        self._checkpoint(self.log.recovery_point)

    def _checkpoint(self, recovery_point: int) -> None:
        """With the log start first: the recovery point rises with it, over what is not flushed."""
        if self.rules.log_start_durable():
            self._checkpoint_start()
            self._write(RECOVERY_POINTS, recovery_point)
        else:
            self._write(RECOVERY_POINTS, recovery_point)
            self._checkpoint_start()

    def _checkpoint_start(self, told: int = 0) -> None:
        """told: it is to rise to there."""
        start = max(self.log.start, told)
        if self.rules.start_written(start, self.log.segments[0].base):
            self._write(LOG_STARTS, start)
        elif self.files.size(LOG_STARTS) is not None:
            write_text(self.files, LOG_STARTS, lines([]))

    def checkpoint_high_watermark(self) -> None:
        self._write(HIGH_WATERMARKS, self.log.high_watermark)

    # -- What is more than the log

    def delete_records(self, offset: int) -> bool:
        """DeleteRecords. Raises Refused."""
        risen = self.log.increment_start(offset)
        if risen and self.rules.log_start_durable():
            self._checkpoint_start()
        return risen

    def truncate(self, offset: int) -> None:
        self._lower(offset)
        if truncate(self.log, offset):
            self.checkpoint()

    def _lower(self, offset: int) -> None:
        if self.rules.recovery_point_first():
            self._checkpoint(min(self.log.recovery_point, offset))

    def start_anew(self, offset: int) -> None:
        self._lower(self.log.segments[0].base)
        if self.rules.recovery_point_first():
            self._write(HIGH_WATERMARKS, min(self.log.high_watermark, offset))
        if self.rules.log_start_durable() and offset >= self.log.end:
            self._checkpoint_start(offset)  # From here on a start gives all up as well (D18).
        truncate_fully(self.log, offset)
        self.checkpoint()

    def clean(self, first: int, upto: int, keys: int) -> None:
        self.dirty = clean(self.log, first, upto, keys)
        self._write(CLEANED, self.dirty)

    def stop(self) -> None:
        """Cleanly (D19)."""
        log = self.log
        log.flush(log.end, including=True)
        log.close()
        if self.rules.trims_before_sync():
            for each in log.segments:
                each.sync()
            self.files.sync_folder(log.folder)
        self.checkpoint()
        self.checkpoint_high_watermark()
        self.files.create(CLEAN)
        self.files.write(CLEAN, 0, b'{"version":0,"brokerEpoch":0}')
        self.files.sync(CLEAN)


def offset_in(checkpoint: bytes | None, topic: str, number: int) -> int | None:
    """What it says of a partition; a checkpoint that is none says nothing (D6)."""
    rows = read_lines(checkpoint or b"", 2) or []
    return next((int(row[2]) for row in rows if len(row) == 3 and row[:2] == [topic, number]), None)
