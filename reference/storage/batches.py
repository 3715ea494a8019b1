"""Record batches of version 2: their bytes.

    at  0 base offset, 8 length of what follows, 12 leader epoch, 16 magic, 17 CRC-32C of the rest,
    21 attributes, 23 last offset delta, 27 base and 35 max timestamp, 43 producer, 51 its epoch,
    53 base sequence, 57 number of records; then the records, compressed as a whole

Base offset and leader epoch are not under the checksum: a leader says them as it appends. Where a
horizon of deletion is set, the base timestamp is that (KIP-534).
(org.apache.kafka.common.record.internal.DefaultRecordBatch, DefaultRecord.)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import cramjam
import google_crc32c

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
LENGTH_BEGINS: Final = 12
"""The length counts what comes after it."""
CRC_BEGINS: Final = 21
MAGIC: Final = 2
CODEC, APPEND_TIME, TRANSACTIONAL, CONTROL, HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
"""Of the attributes."""
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
SNAPPY_JAVA: Final = b"\x82SNAPPY\x00"
"""With this begins what snappy-java has compressed (SnappyCodec.MAGIC_HEADER)."""
NOBODY: Final = -1
"""Producer, epoch and sequence of a batch whose producer does not number."""
SEQUENCES: Final = 1 << 31
"""After the last sequence number comes 0 (DefaultRecordBatch.incrementSequence)."""
FEWEST: Final = 17
"""Bytes up to the magic: with no more than these at the end of a file nothing begins there."""
SHORTEST: Final = 14
"""What a length must say (LegacyRecord.RECORD_OVERHEAD_V0)."""

Marker: TypeAlias = Literal["", "ABORT", "COMMIT", "other"]
MARKERS: Final[dict[int, Marker]] = {0: "ABORT", 1: "COMMIT"}


class Undecodable(ValueError):
    """Records that cannot be read here."""


class Corrupt(ValueError):
    """Bytes that are no batch."""


class Record(NamedTuple):
    """key, value: None where there is none."""

    offset: int
    timestamp: int
    """In milliseconds."""
    key: bytes | None
    value: bytes | None
    headers: bytes = b"\0"
    """As they lie."""


class Batch(NamedTuple):
    """What the header of a batch says.

    base, last: the first and last offset.
    """

    base: int
    last: int
    epoch: int
    attributes: int
    first_time: int
    max_time: int
    producer: int
    producer_epoch: int
    sequence: int
    records: int
    """How many."""
    data: bytes
    """The whole of it."""

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def horizon(self) -> int | None:
        """When tombstones and a marker of it may go, in milliseconds."""
        return self.first_time if self.attributes & HORIZON else None

    @property
    def last_sequence(self) -> int:
        if self.sequence == NOBODY:
            return NOBODY
        return (self.sequence + self.last - self.base) % SEQUENCES

    @property
    def marker(self) -> Marker:
        """Of what kind, if it ends a transaction; "other": of the quorum."""
        if not self.is_control:
            return ""
        return marker_of(self.data) if self.is_transactional else "other"


def header_of(data: bytes) -> Batch:
    """The bytes of one batch, unchecked."""
    base, _, epoch, _, _, attributes, delta, first, latest, producer, of, sequence, count = (
        HEADER.unpack_from(data)
    )
    return Batch(
        base, base + delta, epoch, attributes, first, latest, producer, of, sequence, count, data
    )


def fault_of(data: bytes) -> str:
    """Why these bytes are no whole batch, empty if they are one."""
    if len(data) < HEADER.size:
        return f"a batch of {len(data)} bytes"
    _, _, _, magic, crc, *_ = HEADER.unpack_from(data)
    if magic != MAGIC:
        return f"a batch of version {magic}, which is not read here"
    if google_crc32c.value(data[CRC_BEGINS:]) != crc:
        return f"the checksum of the batch of offset {HEADER.unpack_from(data)[0]} does not fit"
    return ""


def pieces(data: bytes, at: int = 0) -> Iterator[tuple[int, bytes]]:
    """Position and bytes of each batch from there on, unchecked.

    Ends where not even the length of one is there, or less than it says
    (FileLogInputStream.nextBatch). Raises Corrupt: a length that none has.
    """
    while at < len(data) - FEWEST:
        length = int.from_bytes(data[at + 8 : at + LENGTH_BEGINS], "big", signed=True)
        if length < SHORTEST:
            raise Corrupt(f"a batch of {length} bytes at {at}")
        if at > len(data) - LENGTH_BEGINS - length:
            return
        yield at, data[at : at + LENGTH_BEGINS + length]
        at += LENGTH_BEGINS + length


def batches_of(data: bytes, at: int = 0) -> Iterator[tuple[int, Batch]]:
    """Position and header of each batch; what is too short for a header is none. Raises Corrupt."""
    for position, piece in pieces(data, at):
        if len(piece) < HEADER.size:
            raise Corrupt(f"a batch of {len(piece)} bytes at {position}")
        yield position, header_of(piece)


# -- Records


class Encoded(Protocol):
    """A batch whose records can be read: its bytes, and what its header says of them."""

    @property
    def data(self) -> bytes: ...
    @property
    def attributes(self) -> int: ...
    @property
    def base(self) -> int: ...
    @property
    def first_time(self) -> int: ...


def records_of(batch: Encoded) -> Iterator[Record]:
    """Raises Undecodable."""
    body = plain(batch.data[HEADER.size :], batch.attributes & CODEC)
    at = 0
    try:
        while at < len(body):
            size, start = varint(body, at)
            at = start + size
            time, place = varint(body, start + 1)
            offset, place = varint(body, place)
            key, place = _bytes(body, place)
            value, place = _bytes(body, place)
            yield Record(batch.base + offset, batch.first_time + time, key, value, body[place:at])
    except IndexError:
        raise Undecodable("records end before they are whole") from None


def _bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    size, start = varint(body, at)
    if size < 0:
        return None, start
    return body[start : start + size], start + size


def marker_of(data: bytes) -> Marker:
    """The key of a control record: a version and a kind, two bytes each."""
    try:
        at = skip(data, HEADER.size) + 1  # The record's length, and its attributes.
        for _ in ("timestamp", "offset", "length of the key"):
            at = skip(data, at)
        return MARKERS.get(struct.unpack_from(">hh", data, at)[1], "other")
    except (IndexError, struct.error):
        return "other"


def plain(data: bytes, codec: int) -> bytes:
    """Raises Undecodable."""
    try:
        match CODECS[codec]:
            case "none":
                return data
            case "gzip":
                return zlib.decompress(data, wbits=31)
            case "snappy":
                return _of_snappy(data)
            case "lz4":
                return bytes(cramjam.lz4.decompress(data))
            case _:
                return bytes(cramjam.zstd.decompress(data))
    except IndexError:
        raise Undecodable(f"compression {codec} is none of Kafka's") from None
    except (zlib.error, cramjam.DecompressionError) as error:
        raise Undecodable(str(error)) from None


def _of_snappy(data: bytes) -> bytes:
    """Raw, as librdkafka writes it, or in blocks of snappy-java, each behind its length."""
    if not data.startswith(SNAPPY_JAVA):
        return bytes(cramjam.snappy.decompress_raw(data))
    out, at = bytearray(), len(SNAPPY_JAVA) + 8  # Two versions follow.
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        out += cramjam.snappy.decompress_raw(data[at + 4 : end])
        at = end
    return bytes(out)


def zigzag(value: int) -> bytes:
    """A number of variable length."""
    out, left = bytearray(), (value << 1) ^ (value >> 63)
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends. Raises IndexError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, and where it ends. Raises IndexError."""
    value, at = unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def skip(data: bytes, at: int) -> int:
    """Behind a number of variable length. Raises IndexError."""
    while data[at] & 0x80:
        at += 1
    return at + 1


# -- Making them


def encoded(like: Batch, records: Sequence[Record], horizon: int | None = None) -> bytes:
    """A batch of these records with base, last offset, epoch, producer and attributes of another.

    horizon: when its tombstones, or its marker, may go. Without records it is a header that keeps
    the offsets and the producer (DefaultRecordBatch.writeEmptyHeader).
    """
    attributes = like.attributes & ~(HORIZON | CODEC)
    latest = like.max_time
    first = NOBODY if not records else records[0].timestamp
    if records and horizon is not None:
        attributes, first = attributes | HORIZON, horizon
    if records and not attributes & APPEND_TIME:
        latest = max(each.timestamp for each in records)
    body = b"".join(_record(each, like.base, first) for each in records)
    rest = struct.pack(
        ">hiqqqhii", attributes, like.last - like.base, first, latest, like.producer,
        like.producer_epoch, like.sequence, len(records),
    )  # fmt: skip
    return stamped(rest + body, like.base, like.epoch)


def stamped(rest: bytes, base: int, epoch: int) -> bytes:
    """The batch of which this lies under the checksum."""
    crc: int = google_crc32c.value(rest)
    size = CRC_BEGINS - LENGTH_BEGINS + len(rest)
    return struct.pack(">qiibI", base, size, epoch, MAGIC, crc) + rest


def _record(record: Record, base: int, first: int) -> bytes:
    body = b"".join(
        (
            b"\0",
            zigzag(record.timestamp - first),
            zigzag(record.offset - base),
            *(
                zigzag(-1) if part is None else zigzag(len(part)) + part
                for part in (record.key, record.value)
            ),
            record.headers,
        )
    )
    return zigzag(len(body)) + body


def data_batch(
    records: Sequence[tuple[bytes | None, bytes | None]],
    time: int,
    producer: int = NOBODY,
    producer_epoch: int = NOBODY,
    sequence: int = NOBODY,
    transactional: bool = False,
) -> bytes:
    """As a producer makes it: offsets from 0. records: key and value of each. time: of all."""
    attributes = TRANSACTIONAL if transactional else 0
    like = Batch(
        0, len(records) - 1, NOBODY, attributes, time, time, producer, producer_epoch, sequence,
        len(records), b"",
    )  # fmt: skip
    return encoded(like, [Record(at, time, *each) for at, each in enumerate(records)])


def marker_batch(
    commit: bool, time: int, producer: int, producer_epoch: int, coordinator_epoch: int = 0
) -> bytes:
    """What a coordinator has written at the end of a transaction (EndTransactionMarker)."""
    key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, coordinator_epoch)
    like = Batch(
        0, 0, NOBODY, TRANSACTIONAL | CONTROL, time, time, producer, producer_epoch, NOBODY, 1, b""
    )
    return encoded(like, [Record(0, time, key, value)])


def coordinator_epoch_of(batch: Batch) -> int:
    """Of a marker. Raises Undecodable."""
    value = next(records_of(batch)).value
    if value is None or len(value) < 6:
        raise Undecodable("a marker without the epoch of its coordinator")
    return int(struct.unpack_from(">hi", value)[1])


def moved(data: bytes, base: int, epoch: int) -> bytes:
    """What a leader makes of a batch that it appends."""
    return b"".join(
        (base.to_bytes(8, "big"), data[8:LENGTH_BEGINS], struct.pack(">i", epoch), data[16:])
    )
