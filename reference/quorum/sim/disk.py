"""The disks: how long a flush takes, and how much of an unflushed tail a crash loses.

What is flushed survives (a row's `flushed` says how far); of the rest a crash may keep any prefix.
The quorum-state file and the epoch cache are written and synced within the step (Q2).
"""

from __future__ import annotations

from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.sim.choices import Stream, chance


class Disk:
    """The disks of one run."""

    def __init__(self, options: Options, stream: Stream) -> None:
        self._stream = stream
        self._flush_us = options.flush_ms * 1000
        self._lossy = options.lossy

    def flush_time(self) -> int:
        """Virtual microseconds until what is appended now is on disk."""
        if self._flush_us == 1000:
            return 1000
        return 1000 + (self._flush_us - 1000) * self._stream.below(4) // 3

    def kept(self, row: Row) -> int:
        """Where the log of a node that crashes now will end."""
        end = len(row.log)
        unflushed = end - row.flushed
        if unflushed == 0 or not chance(self._stream, self._lossy):
            return end
        return end - 1 - self._stream.below(unflushed)

    def heal(self) -> None:
        self._flush_us = 1000
        self._lossy = 0
