"""Record batches as a broker sees them: the header is read, records only to look up a time.

A batch is one entry of the reference's log (`world.py`); its bytes are kept once, by the entry's
value. Base offset and leader epoch are not under the checksum and are set where a leader appends
(W7, D1; org.apache.kafka.common.record.DefaultRecordBatch).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import google_crc32c
import msgspec

from traces.disks.batches import (
    CONTROL,
    CRC_BEGINS,
    HEADER,
    LENGTH_BEGINS,
    MAGIC,
    TRANSACTIONAL,
)

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
UNSET: Final = -1
WRAP: Final = 1 << 31
"""Sequence numbers begin again with 0 (DefaultRecordBatch.incrementSequence)."""
_STAMP: Final = struct.Struct(">q")
_EPOCH: Final = struct.Struct(">i")


class Refused(ValueError):
    """A batch that a broker does not append, with Kafka's error."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


class Undecodable(ValueError):
    """Records that cannot be read here."""


class Ended(NamedTuple):
    """What a marker says: a transaction was ended."""

    decision: str
    coordinator_epoch: int


class Batch(msgspec.Struct):
    """A batch as it came. base: its first offset, and what `data` says once it was appended."""

    data: bytes
    count: int
    """Offsets that it takes."""
    attributes: int
    first_time: int
    max_time: int
    producer: int
    producer_epoch: int
    sequence: int
    crc: int
    base: int = UNSET
    value: Any = None
    """Of a broker's own record, what it says."""

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def last_sequence(self) -> int:
        return (self.sequence + self.count - 1) % WRAP

    @property
    def end(self) -> int:
        return self.base + self.count

    def stamp(self, base: int, epoch: int) -> None:
        """What the leader says of a batch that it appends."""
        self.base = base
        self.data = b"".join(
            (_STAMP.pack(base), self.data[8:LENGTH_BEGINS], _EPOCH.pack(epoch), self.data[16:])
        )

    def records(self) -> Iterator[tuple[int, int]]:
        """Of each record its offset and timestamp. Raises Undecodable."""
        body = _plain(self.data[HEADER.size :], self.attributes & 7)
        at = 0
        try:
            while at < len(body):
                size, start = _varint(body, at)
                at = start + size
                time, place = _varint(body, start + 1)
                offset, _ = _varint(body, place)
                yield self.base + offset, self.first_time + time
        except IndexError:
            raise Undecodable("records end before they are whole") from None


def parsed(data: bytes | None, limit: int) -> Batch:
    """What a produce request has for a partition: one batch. Raises Refused.

    limit: max.message.bytes.
    """
    if not data or len(data) < HEADER.size:
        raise Refused("INVALID_RECORD", "no batch")
    base, length, _, magic, crc, attributes, delta, first, latest, producer, epoch, sequence, n = (
        HEADER.unpack_from(data)
    )
    if magic != MAGIC:
        raise Refused("INVALID_RECORD", f"a batch of version {magic}")
    if LENGTH_BEGINS + length != len(data):
        raise Refused("INVALID_RECORD", "one batch a partition is what a request may have")
    if len(data) > limit:
        raise Refused("MESSAGE_TOO_LARGE", f"{len(data)} bytes, more than {limit}")
    if google_crc32c.value(data[CRC_BEGINS:]) != crc:
        raise Refused("CORRUPT_MESSAGE", "the checksum does not fit")
    if base != 0 or n < 1 or delta != n - 1:
        raise Refused("INVALID_RECORD", "offsets do not begin at 0 and go up by one")
    if attributes & CONTROL or attributes & 7 >= len(CODECS):
        raise Refused("INVALID_RECORD", f"attributes {attributes:#x}")
    if producer == UNSET and attributes & TRANSACTIONAL:
        raise Refused("INVALID_RECORD", "a transaction without a producer id")
    if producer == UNSET:
        # aiokafka numbers its plain batches too: idempotence is told by the producer id alone.
        epoch = sequence = UNSET
    elif epoch < 0 or sequence < 0:
        raise Refused("INVALID_RECORD", "a producer id without epoch and sequence")
    return Batch(data, n, attributes, first, latest, producer, epoch, sequence, crc)


def single(value: bytes, producer: int = UNSET, epoch: int = UNSET) -> Batch:
    """A batch of one record of a broker's own, whose value this is; of a transaction, if it has a
    producer.
    """
    attributes = 0 if producer == UNSET else TRANSACTIONAL
    return _made(NO_KEY, value, attributes, producer, epoch)


def marker(producer: int, epoch: int, said: Ended) -> Batch:
    """That ends a producer's transaction (EndTransactionMarker, of version 0)."""
    key = _KEY.pack(0, said.decision == "Commit")
    value = _END.pack(0, said.coordinator_epoch)
    batch = _made(_zigzag(len(key)) + key, value, TRANSACTIONAL | CONTROL, producer, epoch)
    batch.value = said
    return batch


NO_KEY: Final = b"\1"
_KEY: Final = struct.Struct(">hh")
_END: Final = struct.Struct(">hi")


def _made(key: bytes, value: bytes, attributes: int, producer: int, epoch: int) -> Batch:
    """A batch of one record. key: with its length before it."""
    body = b"\0\0\0" + key + _zigzag(len(value)) + value + b"\0"
    body = _zigzag(len(body)) + body
    size = HEADER.size - LENGTH_BEGINS + len(body)
    fields = (UNSET, MAGIC, 0, attributes, 0, 0, 0, producer, epoch, UNSET, 1)
    data = HEADER.pack(0, size, *fields) + body
    crc: int = google_crc32c.value(data[CRC_BEGINS:])
    data = b"".join((data[: CRC_BEGINS - 4], crc.to_bytes(4, "big"), data[CRC_BEGINS:]))
    return Batch(data, 1, attributes, 0, 0, producer, epoch, UNSET, crc)


def _zigzag(value: int) -> bytes:
    """Of a number that is not negative."""
    out, left = bytearray(), value << 1
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _plain(data: bytes, codec: int) -> bytes:
    if codec == 0:
        return data
    if CODECS[codec] != "gzip":
        raise Undecodable(f"{CODECS[codec]} is not read here")
    try:
        return zlib.decompress(data, wbits=31)
    except zlib.error as error:
        raise Undecodable(str(error)) from None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, and where it ends. Raises IndexError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
