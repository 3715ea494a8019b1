"""A client without sockets: requests to a `Core`, and what it answers; batches of records."""

from __future__ import annotations

import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import google_crc32c
import msgspec

from kraftcheck.kafka.serve.apis import request_flexible, response_flexible
from kraftcheck.kafka.serve.codec import Message, description, encoded, reader
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.tape import Taped
from kraftcheck.kafka.serve.world import Setup
from kraftcheck.reference.storage.batches import CRC_BEGINS, HEADER

PORTS = (9092, 9093, 9094)
SECOND = 1_000_000


def frame(api: str, version: int, body: Message, correlation: int = 7) -> bytes:
    """Without its length."""
    request = f"{api}Request"
    head = struct.pack(">hhih1s", description(request).key, version, correlation, 1, b"t")
    tags = b"\0" if request_flexible(api, version) else b""
    return head + tags + encoded(request, version, body)


def batch(
    *values: bytes,
    producer: tuple[int, int, int] = (-1, -1, -1),
    time: int = 0,
    transactional: bool = False,
) -> bytes:
    """Uncompressed. producer: id, epoch, first sequence number. Record i is of `time` + i."""
    records = bytearray()
    for at, value in enumerate(values):
        record = b"\0" + _zigzag(at) + _zigzag(at) + _zigzag(-1) + _zigzag(len(value)) + value
        record += _zigzag(0)
        records += _zigzag(len(record)) + record
    last = len(values) - 1
    size = HEADER.size - 12 + len(records)
    attributes = 0x10 if transactional else 0
    fields: list[Any] = [
        0,
        size,
        -1,
        2,
        0,
        attributes,
        last,
        time,
        time + last,
        *producer,
        len(values),
    ]
    data = bytearray(HEADER.pack(*fields) + records)
    struct.pack_into(">I", data, 17, google_crc32c.value(bytes(data[CRC_BEGINS:])))
    return bytes(data)


def _zigzag(value: int) -> bytes:
    out, left = bytearray(), value << 1 if value >= 0 else (-value << 1) - 1
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def answer(api: str, version: int, data: bytes | None) -> Message:
    """What an answer says."""
    assert data is not None, "an answer, and not the end"
    assert struct.unpack_from(">ii", data) == (len(data) - 4, 7)
    at = 8 + response_flexible(api, version)
    found, end = reader(f"{api}Response", version)(data, at)
    assert end == len(data)
    return found


class Wire:
    """One connection to each broker of a cluster that is taped; `now` is its own time."""

    def __init__(self, taped: Taped | None = None, **setup: Any) -> None:
        made = msgspec.structs.replace(Setup(seed=1, ports=PORTS), **setup)
        self.sink = BytesIO()
        self.taped = taped or Taped(made, self.sink)
        self.now = 0
        self.wait(0.2)
        for broker in made.brokers:
            self.connect(broker)

    @property
    def core(self) -> Core:
        return self.taped.core

    def connect(self, broker: int) -> None:
        self.taped.arrive("opened", self.now, broker, b"%d" % broker)

    def wait(self, seconds: float) -> None:
        """Of the cluster's own."""
        self.now += int(seconds * SECOND)
        self.core.advance(self.now)

    def do(self, command: str, **said: Any) -> str:
        return self.taped.command(self.now, {"do": command, **said})

    def send(self, broker: int, data: bytes) -> list[bytes | None]:
        """What leaves on that connection within a second; None is its end."""
        self.taped.arrive("frame", self.now, broker, data)
        self.wait(1)
        return [e.data for e in self.taped.left() if e.connection == broker]

    def ask(self, broker: int, api: str, version: int, /, **body: Any) -> Message:
        """The one answer."""
        (data,) = self.send(broker, frame(api, version, body))
        return answer(api, version, data)

    def tape(self, path: Path, ends: bool = True) -> Path:
        """The cluster ends, unless it is killed; its tape, in this file."""
        if ends:
            self.taped.finish(self.now)
        path.write_bytes(self.sink.getvalue())
        return path

    def create(self, name: str = "t", **said: Any) -> None:
        assert self.do("create", name=name, **said) == ""
        self.wait(1)

    def leader(self, topic: str = "t", partition: int = 0) -> int:
        found = self.core.world.partition(topic, partition)
        assert found is not None
        return found.controller.partition.leader

    def produce(self, data: bytes, broker: int | None = None, acks: int = -1) -> Message:
        """To t-0; what is said of the partition."""
        at = self.leader() if broker is None else broker
        said = self.ask(at, "Produce", 9, **producing(data, acks))
        found: Message = said["responses"][0]["partition_responses"][0]
        return found

    def fetch(self, offset: int, broker: int | None = None, **more: Any) -> Message:
        """From t-0, at once; what is said of the partition."""
        at = self.leader() if broker is None else broker
        asked = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        topics = [{"topic": "t", "partitions": [asked]}]
        body = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "topics": topics} | more
        found: Message = self.ask(at, "Fetch", 11, **body)["responses"][0]["partitions"][0]
        return found

    def offset(self, timestamp: int, broker: int | None = None) -> Message:
        """Of t-0."""
        at = self.leader() if broker is None else broker
        asked = [{"partition_index": 0, "timestamp": timestamp}]
        topics = [{"name": "t", "partitions": asked}]
        said = self.ask(at, "ListOffsets", 5, replica_id=-1, topics=topics)
        found: Message = said["topics"][0]["partitions"][0]
        return found


def with_topic(**said: Any) -> Wire:
    """Of a cluster that has the topic t."""
    wire = Wire()
    wire.create(**said)
    return wire


def plant(monkeypatch: Any, of: type, name: str, wrong: Callable[..., Any]) -> None:
    """A fault: in place of a method, `wrong`, which is given the right one first."""
    right = getattr(of, name)
    monkeypatch.setattr(of, name, lambda *given: wrong(right, *given))


def producing(
    records: bytes, acks: int = -1, timeout_ms: int = 5000, topic: str = "t", partition: int = 0
) -> Message:
    """What a request says that writes records to a partition."""
    data = [{"name": topic, "partition_data": [{"index": partition, "records": records}]}]
    return {"acks": acks, "timeout_ms": timeout_ms, "topic_data": data}


def bases(records: bytes) -> list[tuple[int, int]]:
    """Of each batch its base offset and its number of records."""
    found, at = [], 0
    while at < len(records):
        fields = HEADER.unpack_from(records, at)
        found.append((fields[0], fields[-1]))
        at += 12 + fields[1]
    return found
