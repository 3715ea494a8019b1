"""Record batches as a broker sees them: the header is read, records only to look up a time.

A batch is one entry of the reference's log (`world.py`); its bytes are kept once, by the entry's
value. Base offset and leader epoch are not under the checksum and are set where a leader appends
(W7, D1; org.apache.kafka.common.record.DefaultRecordBatch).
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

import google_crc32c
import msgspec

from kraftcheck.reference.storage.batches import (
    CODECS,
    CONTROL,
    CRC_BEGINS,
    HEADER,
    LENGTH_BEGINS,
    MAGIC,
    NOBODY,
    SEQUENCES,
    TRANSACTIONAL,
    Undecodable,
    data_batch,
    marker_batch,
    records_of,
)

__all__ = ["Batch", "Ended", "Refused", "Undecodable", "marker", "parsed", "records_of", "single"]

UNSET: Final = NOBODY
WRAP: Final = SEQUENCES
_HEAD: Final = struct.Struct(">qii")
"""Base offset, length and leader epoch: none is under the checksum."""


class Refused(ValueError):
    """A batch that a broker does not append, with Kafka's error."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


class Ended(NamedTuple):
    """What a marker says: a transaction was ended."""

    decision: str
    coordinator_epoch: int


class Batch(msgspec.Struct, gc=False):
    """A batch."""

    data: bytes
    """As it came."""
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
    """Its first offset, which `head` says once it was appended."""
    value: Any = None
    """Of a broker's own record, what it says."""
    head: bytes = b""
    """What a leader has written in place of the beginning of `data`."""

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
        self.head = _HEAD.pack(base, len(self.data) - LENGTH_BEGINS, epoch)

    def pieces(self) -> tuple[bytes, memoryview]:
        """The batch as its leader has it."""
        return self.head, memoryview(self.data)[_HEAD.size :]


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
    """Make a batch of one record of a broker's own, with this value.

    It belongs to a transaction if it has a producer.
    """
    own = producer != UNSET
    data = data_batch([(None, value)], 0, producer, epoch, transactional=own)
    return _own(data, TRANSACTIONAL if own else 0, producer, epoch)


def marker(producer: int, epoch: int, said: Ended) -> Batch:
    """That ends a producer's transaction (EndTransactionMarker, of version 0)."""
    data = marker_batch(said.decision == "Commit", 0, producer, epoch, said.coordinator_epoch)
    batch = _own(data, TRANSACTIONAL | CONTROL, producer, epoch)
    batch.value = said
    return batch


def _own(data: bytes, attributes: int, producer: int, epoch: int) -> Batch:
    crc = int.from_bytes(data[CRC_BEGINS - 4 : CRC_BEGINS], "big")
    return Batch(data, 1, attributes, 0, 0, producer, epoch, UNSET, crc)
