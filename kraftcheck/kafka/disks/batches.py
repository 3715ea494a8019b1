"""The record batches of a segment: version 2 of Kafka's format, read in blocks of bounded size.

What their bytes are says reference/storage/batches.py. Records are not read, but for those of
control batches: what kind of marker they are.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import google_crc32c

from kraftcheck.osutil.files import named, open_file
from kraftcheck.reference.storage.batches import (
    CONTROL,
    CRC_BEGINS,
    FEWEST,
    HEADER,
    LENGTH_BEGINS,
    MAGIC,
    SHORTEST,
    TRANSACTIONAL,
    Marker,
    marker_of,
)

BLOCK: Final = 1 << 22
OFFSET_MAX: Final = (1 << 63) - 1
BATCH_MAX: Final = 1 << 30
"""Bytes of a batch. Kafka's own limit is a setting, 1 MiB by default."""
SUMMED_MAX: Final = 1 << 26
"""Bytes whose checksum is computed, at most, to find where whole batches go on."""
_MAGIC: Final = bytes([MAGIC])


class Batch(NamedTuple):
    position: int
    """Of its first byte in the file."""
    size: int
    base: int
    last: int
    """Offset of its last record."""
    epoch: int
    crc: int
    attributes: int
    max_timestamp: int
    producer: int
    producer_epoch: int
    sequence: int
    """Of its first record; -1 without a producer that numbers."""
    marker: Marker
    """"" of data; "other": of the quorum."""

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)


class Bad(NamedTuple):
    """Bytes that are no batch, after which reading stops."""

    position: int
    size: int
    """Of the file."""
    why: str
    foreign: bool = False
    """Whether they are of another version of the format, and not known to be wrong."""


def batches(path: Path, position: int = 0) -> Iterator[Batch | Bad]:
    """The batches in the order of the file, from a place where one begins; a Bad one is the last.

    Raises OSError.
    """
    with open_file(path) as file, named(path):
        size = file.seek(0, 2)
        file.seek(position)
        data, start = file.read(BLOCK), 0
        while position < size:
            if len(data) - start < HEADER.size:
                data, start = data[start:] + file.read(BLOCK), 0
            if len(data) - start < FEWEST:
                yield Bad(position, size, f"{len(data) - start} bytes at the end are no batch")
                return
            whole = LENGTH_BEGINS + struct.unpack_from(">i", data, start + 8)[0]
            if not LENGTH_BEGINS + SHORTEST <= whole <= BATCH_MAX:
                yield Bad(position, size, f"a batch of {whole} bytes")
                return
            if len(data) - start < whole:
                more = file.read(max(whole - (len(data) - start), BLOCK))
                data, start = data[start:] + more, 0
            if len(data) - start < whole:
                yield Bad(
                    position, size, f"a batch of {whole} bytes, {len(data)} of them are there"
                )
                return
            found = _batch(position, memoryview(data)[start : start + whole], size)
            yield found
            if isinstance(found, Bad):
                return
            start += whole
            position += whole


def next_whole(path: Path, bad: Bad) -> Batch | None:
    """The first whole batch after bytes that are none, among the next few million bytes.

    A crash that tears the end of a file leaves none there. Raises OSError.
    """
    with open_file(path) as file, named(path):
        file.seek(bad.position + 1)
        data = file.read(BLOCK)
    left, at = SUMMED_MAX, FEWEST - 2
    while left > 0 and (at := data.find(_MAGIC, at + 1)) >= 0:
        start = at - (FEWEST - 1)
        length = LENGTH_BEGINS + struct.unpack_from(">i", data, start + 8)[0]
        if HEADER.size <= length <= len(data) - start:
            place = bad.position + 1 + start
            found = _batch(place, memoryview(data)[start : start + length], bad.size)
            if isinstance(found, Batch):
                return found
            left -= length
    return None


def _batch(position: int, data: memoryview, size: int) -> Batch | Bad:
    version = data[FEWEST - 1]
    if version != MAGIC:
        # The checksum of versions 0 and 1 is at byte 12, of what follows (LegacyRecord).
        (crc,) = struct.unpack_from(">I", data, LENGTH_BEGINS)
        foreign = zlib.crc32(data[FEWEST - 1 :]) == crc if version < MAGIC else version < 1 << 7
        said = f"a batch of version {version}, which is not read here"
        return Bad(position, size, said, foreign)
    if len(data) < HEADER.size:
        return Bad(position, size, f"a batch of {len(data)} bytes")
    base, _, epoch, _, crc, attributes, delta, _, latest, producer, of, sequence, count = (
        HEADER.unpack_from(data)
    )
    if google_crc32c.value(bytes(data[CRC_BEGINS:])) != crc:
        return Bad(position, size, f"the checksum of the batch of offset {base} does not fit")
    if not (base <= base + delta <= OFFSET_MAX and count >= 0):
        return Bad(position, size, f"the batch of offset {base} ends before it begins")
    marker: Marker = ""
    if attributes & CONTROL:
        marker = marker_of(bytes(data)) if attributes & TRANSACTIONAL else "other"
    return Batch(
        position, len(data), base, base + delta, epoch, crc, attributes, latest, producer, of,
        sequence, marker,
    )  # fmt: skip
