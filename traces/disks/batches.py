"""The record batches of a segment: version 2 of Kafka's format, read in blocks of bounded size.

    at  0 base offset, 8 length of what follows, 12 leader epoch, 16 magic, 17 CRC-32C of the rest,
    21 attributes, 23 last offset delta, 27 base and 35 max timestamp, 43 producer, 51 its epoch,
    53 base sequence, 57 number of records; then the records, compressed as a whole

(org.apache.kafka.common.record.DefaultRecordBatch.) Records are not read, but for those of control
batches: what kind of marker they are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import google_crc32c

from system.files import open_file

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
LENGTH_BEGINS: Final = 12
"""The length counts what comes after it."""
CRC_BEGINS: Final = 21
MAGIC: Final = 2
BLOCK: Final = 1 << 22
BATCH_MAX: Final = 1 << 30
"""Bytes of a batch. Kafka's own limit is a setting, 1 MiB by default."""
TRANSACTIONAL, CONTROL = 0x10, 0x20

Marker: TypeAlias = Literal["", "ABORT", "COMMIT", "other"]
MARKERS: Final[dict[int, Marker]] = {0: "ABORT", 1: "COMMIT"}


class Batch(NamedTuple):
    """position: of its first byte in the file. last: offset of its last record. sequence: of its
    first record; -1 without a producer that numbers. marker: "" of data; "other": of the quorum."""

    position: int
    size: int
    base: int
    last: int
    epoch: int
    crc: int
    attributes: int
    max_timestamp: int
    producer: int
    producer_epoch: int
    sequence: int
    marker: Marker

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)


class Bad(NamedTuple):
    """Bytes that are no batch: what follows them cannot be told. size: of the file."""

    position: int
    size: int
    why: str


def batches(path: Path) -> Iterator[Batch | Bad]:
    """The batches in the order of the file; a Bad one is the last. Raises OSError."""
    with open_file(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        data, start, position = file.read(BLOCK), 0, 0
        while position < size:
            if len(data) - start < HEADER.size:
                data, start = data[start:] + file.read(BLOCK), 0
            if len(data) - start < HEADER.size:
                yield Bad(position, size, f"{len(data) - start} bytes at the end are no batch")
                return
            whole = LENGTH_BEGINS + struct.unpack_from(">i", data, start + 8)[0]
            if not HEADER.size <= whole <= BATCH_MAX:
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


def _batch(position: int, data: memoryview, size: int) -> Batch | Bad:
    base, _, epoch, magic, crc, attributes, delta, _, latest, producer, of, sequence, count = (
        HEADER.unpack_from(data)
    )
    if magic != MAGIC:
        return Bad(position, size, f"a batch of version {magic}, which is not read here")
    if google_crc32c.value(bytes(data[CRC_BEGINS:])) != crc:
        return Bad(position, size, f"the checksum of the batch of offset {base} does not fit")
    if delta < 0 or count < 0:
        return Bad(position, size, f"the batch of offset {base} ends before it begins")
    marker: Marker = ""
    if attributes & CONTROL:
        marker = _marker(data) if attributes & TRANSACTIONAL else "other"
    return Batch(
        position, len(data), base, base + delta, epoch, crc, attributes, latest, producer, of,
        sequence, marker,
    )  # fmt: skip


def _marker(data: memoryview) -> Marker:
    """The key of a control record: a version and a kind, two bytes each."""
    try:
        at = _skip(data, HEADER.size) + 1  # The record's length, and its attributes.
        for _ in ("timestamp", "offset", "length of the key"):
            at = _skip(data, at)
        return MARKERS.get(struct.unpack_from(">hh", data, at)[1], "other")
    except (IndexError, struct.error):
        return "other"


def _skip(data: memoryview, at: int) -> int:
    """Behind a number of variable length."""
    while data[at] & 0x80:
        at += 1
    return at + 1
