"""The indexes of a segment (D4): offsets to positions, times to offsets, aborted transactions.

Those of an active segment are as long as they may become, filled with zeros; they are written
through memory, and cut where the segment closes. (org.apache.kafka.storage.internals.log:
AbstractIndex, OffsetIndex, TimeIndex, TransactionIndex.)
"""

from __future__ import annotations

import bisect
import struct
from typing import Final, NamedTuple

from kraftcheck.reference.storage.files import Files

NO_TIME: Final = -1


class OutOfOrder(ValueError):
    """An entry that is below the last one (InvalidOffsetException)."""


class Full(ValueError):
    """No entry more: an append of several batches may come here, with its records written."""


class Damaged(ValueError):
    """An index that is none."""


class _Index:
    """rows: the entries, those of a file that was not cut among them."""

    entry: struct.Struct

    def __init__(self, files: Files, path: str, base: int, limit: int) -> None:
        self.files, self.path, self.base = files, path, base
        self.limit = limit // self.entry.size * self.entry.size
        size = files.size(path)
        self.rows: list[tuple[int, int]] = []
        if size is None:
            files.create(path)
            files.resize(path, self.limit)
            self.length = self.limit
        else:
            self.length = size
            data = files.read(path)
            whole = size // self.entry.size * self.entry.size
            self.rows = list(self.entry.iter_unpack(data[:whole]))

    @property
    def most(self) -> int:
        return self.length // self.entry.size

    def resize(self, size: int) -> None:
        size = size // self.entry.size * self.entry.size
        if size != self.length:
            self.files.resize(self.path, size)
            self.length = size

    def trim(self) -> None:
        """To the entries that are there."""
        self.resize(len(self.rows) * self.entry.size)

    def reset(self) -> None:
        """Empty, and with room; what lies in the file is overwritten in time."""
        self.rows = []
        self.resize(self.limit)

    def sync(self) -> None:
        self.files.sync(self.path)

    def _add(self, one: int, other: int) -> None:
        at = len(self.rows) * self.entry.size
        self.files.write_mapped(self.path, at, self.entry.pack(one, other))
        self.rows.append((one, other))

    def _cut(self, keys: list[int], key: int) -> None:
        """Those at or above this one go."""
        slot = bisect.bisect_right(keys, key) - 1
        kept = 0 if slot < 0 else slot if keys[slot] == key else slot + 1
        self.rows = self.rows[:kept]


class OffsetIndex(_Index):
    """Rows of (last offset of a batch, less the base; position of its first byte)."""

    entry = struct.Struct(">ii")

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= self.most

    @property
    def last(self) -> int:
        return self.base + (self.rows[-1][0] if self.rows else 0)

    def append(self, offset: int, position: int) -> None:
        """Raises OutOfOrder, Full."""
        if self.is_full:
            raise Full(self.path)
        if self.rows and offset <= self.last:
            raise OutOfOrder(f"offset {offset} comes after {self.last}")
        self._add(offset - self.base, position)

    def position(self, offset: int) -> int:
        """From where on to look for it."""
        slot = bisect.bisect_right([key for key, _ in self.rows], offset - self.base) - 1
        return self.rows[slot][1] if slot >= 0 else 0

    def bound(self, position: int) -> int | None:
        """The offset of the first entry at or behind a position, of those that follow the first."""
        for offset, place in self.rows:
            if place >= position:
                return self.base + offset
        return None

    def cut(self, offset: int) -> None:
        self._cut([key for key, _ in self.rows], offset - self.base)


class TimeIndex(_Index):
    """Rows of (largest timestamp so far; last offset of its batch, less the base)."""

    entry = struct.Struct(">qi")

    def __init__(self, files: Files, path: str, base: int, limit: int) -> None:
        super().__init__(files, path, base, limit)
        self.last = self._last()

    def _last(self) -> tuple[int, int]:
        if not self.rows:
            return NO_TIME, self.base
        return self.rows[-1][0], self.base + self.rows[-1][1]

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= self.most - 1

    def maybe_append(self, time: int, offset: int, closing: bool = False) -> None:
        """closing: into the slot that is kept for that. Raises OutOfOrder, Full."""
        if self.is_full and not closing:
            raise Full(self.path)
        if self.rows and offset < self.last[1]:
            raise OutOfOrder(f"offset {offset} comes after {self.last[1]}")
        if self.rows and time < self.last[0]:
            raise Damaged(f"time {time} comes after {self.last[0]}")
        if time > self.last[0]:
            self._add(time, offset - self.base)
            self.last = time, offset

    def reset(self) -> None:
        super().reset()
        self.last = self._last()

    def resize(self, size: int) -> None:
        before = self.length
        super().resize(size)
        if self.length != before:
            self.last = self._last()

    def cut(self, offset: int) -> None:
        self._cut([key for _, key in self.rows], offset - self.base)
        self.last = self._last()


class Aborted(NamedTuple):
    """An entry of a transaction index."""

    producer: int
    first: int
    last: int
    """Offset of the marker."""
    stable: int
    """The last stable offset after it."""


ABORTED: Final = struct.Struct(">hqqqq")


class TransactionIndex:
    """The aborted transactions whose markers lie in the segment; the file comes with the first."""

    def __init__(self, files: Files, path: str) -> None:
        self.files, self.path = files, path
        self.rows: list[Aborted] = []
        self.exists = False
        self.length = 0
        if (size := files.size(path)) is not None:
            self.exists, self.length = True, size
            data = files.read(path)[: size // ABORTED.size * ABORTED.size]
            self.rows = [Aborted(*row) for _, *row in ABORTED.iter_unpack(data)]

    def check(self, base: int) -> None:
        """Raises Damaged (sanityCheck)."""
        for row in self.rows:
            if row.last < base:
                raise Damaged(f"a transaction that ends at {row.last}, below {base}")

    def append(self, row: Aborted) -> None:
        if not self.exists:
            self.files.create(self.path)
            self.exists = True
        self.files.write(self.path, self.length, ABORTED.pack(0, *row))
        self.length += ABORTED.size
        self.rows.append(row)

    def cut(self, offset: int) -> None:
        for at, row in enumerate(self.rows):
            if row.last >= offset:
                self.length = at * ABORTED.size
                self.files.resize(self.path, self.length)
                self.rows = self.rows[:at]
                return

    def reset(self) -> None:
        self.rows, self.length = [], 0
        if self.exists:
            self.files.resize(self.path, 0)

    def sync(self) -> None:
        if self.exists:
            self.files.sync(self.path)

    def between(self, start: int, upper: int) -> tuple[list[Aborted], bool]:
        """Those that touch the offsets from start up to upper; whether no later one can."""
        found: list[Aborted] = []
        for row in self.rows:
            if row.last >= start and row.first < upper:
                found.append(row)
            if row.stable >= upper:
                return found, True
        return found, False
