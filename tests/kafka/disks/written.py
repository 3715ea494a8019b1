"""Directories as a broker writes them: a few batches, and all that lies beside them."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import google_crc32c

from kraftcheck.kafka.disks.directory import read
from kraftcheck.kafka.disks.files import Aborted, Remembered
from kraftcheck.kafka.disks.found import DiskReplica
from kraftcheck.kafka.disks.partition import judge
from kraftcheck.reference.storage.batches import CONTROL, HEADER, TRANSACTIONAL


class Laid(NamedTuple):
    """A batch to be written. marker: of a transaction, 0 abort, 1 commit; data if None."""

    base: int
    records: int = 1
    epoch: int = 0
    time: int = 1000
    producer: int = -1
    producer_epoch: int = -1
    sequence: int = -1
    transactional: bool = False
    marker: int | None = None
    pad: int = 40


def bytes_of(told: Laid) -> bytes:
    attributes = TRANSACTIONAL * told.transactional
    body = b"x" * told.pad
    if told.marker is not None:
        attributes |= TRANSACTIONAL | CONTROL
        key = struct.pack(">hh", 0, told.marker)
        # Length, attributes, timestamp, offset; key and value with their lengths; no headers.
        record = b"\0\0\0" + bytes([2 * len(key)]) + key + bytes([12]) + b"\0" * 6 + b"\0"
        body = bytes([2 * len(record)]) + record
    values = (attributes, told.records - 1, told.time, told.time, told.producer)
    rest = struct.pack(">hiqqqhii", *values, told.producer_epoch, told.sequence, told.records)
    rest += body
    length = HEADER.size - 12 + len(body)
    head = struct.pack(">qiibI", told.base, length, told.epoch, 2, google_crc32c.value(rest))
    return head + rest


def write_segment(
    folder: Path, base: int, batches: Sequence[Laid], aborted: Iterable[Aborted] = ()
) -> None:
    """The log and its indexes, with an entry for each batch but the first."""
    data, offsets, times, latest = b"", b"", b"", -1
    for at, told in enumerate(batches):
        last = told.base + told.records - 1
        if at:
            offsets += struct.pack(">ii", last - base, len(data))
        data += bytes_of(told)
        if told.time > latest:
            latest = told.time
            times += struct.pack(">qi", latest, last - base)
    path = folder / f"{base:020}.log"
    path.write_bytes(data)
    path.with_suffix(".index").write_bytes(offsets)
    path.with_suffix(".timeindex").write_bytes(times)
    if entries := [struct.pack(">hqqqq", 0, *each) for each in aborted]:
        path.with_suffix(".txnindex").write_bytes(b"".join(entries))


def write_snapshot(folder: Path, offset: int, producers: dict[int, Remembered]) -> None:
    rest = struct.pack(">i", len(producers))
    for producer, each in producers.items():
        values = (producer, each.epoch, each.sequence, each.offset, 0, 0, 0, each.transaction)
        rest += struct.pack(">qhiqiqiq", *values)
    data = struct.pack(">hI", 1, google_crc32c.value(rest)) + rest
    (folder / f"{offset:020}.snapshot").write_bytes(data)


def write_properties(folder: Path, node: int, directory: str = f"{'A' * 21}Q") -> None:
    """meta.properties of a node, as Kafka 4 writes it."""
    lines = ["#", f"node.id={node}", f"directory.id={directory}", "version=1", "cluster.id=c", ""]
    (folder / "meta.properties").write_text("\n".join(lines), encoding="utf-8")


def write_topic(partition: Path, topic_id: str) -> None:
    text = f"version: 0\ntopic_id: {topic_id}"
    (partition / "partition.metadata").write_text(text, encoding="utf-8")


def write_election(
    metadata: Path, epoch: int, leader: int = -1, voters: Sequence[int] | None = None
) -> None:
    """quorum-state, of version 1 where voters change: where none are given."""
    told: dict[str, object] = {"leaderId": leader, "leaderEpoch": epoch, "votedId": -1}
    if voters is None:
        told |= {"votedDirectoryId": "A" * 22, "data_version": 1}
    else:
        static = [{"voterId": each} for each in voters]
        told |= {"clusterId": "", "appliedOffset": 0, "currentVoters": static, "data_version": 0}
    (metadata / "quorum-state").write_text(json.dumps(told), encoding="utf-8")


def write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(["0", str(len(lines)), *lines, ""]), encoding="utf-8")


IN_TRANSACTION = Laid(0, transactional=True, producer=7, producer_epoch=0)
FIRST = [
    Laid(0, records=3, time=1000, producer=5, producer_epoch=0, sequence=0),
    IN_TRANSACTION._replace(base=3, time=1500, sequence=0),
    Laid(4, records=2, time=1400),
    Laid(6, time=1600, marker=0, producer=7, producer_epoch=0),
]
SECOND = [
    IN_TRANSACTION._replace(base=7, time=2000, epoch=2, sequence=1),
    Laid(8, time=2100, epoch=2),
    Laid(9, time=2200, epoch=2, marker=1, producer=7, producer_epoch=0),
    Laid(10, records=2, time=2300, epoch=3, producer=5, producer_epoch=0, sequence=3),
]
TOPIC_ID = "AdChjJXYQPOLCFGiNbLaEg"
ABORTED = Aborted(producer=7, first=3, last=6, stable=7)


def write_broker(folder: Path) -> Path:
    """A log directory of a broker that was stopped cleanly; returns its only partition, t-0."""
    partition = folder / "t-0"
    partition.mkdir(parents=True)
    write_segment(partition, 0, FIRST, [ABORTED])
    write_segment(partition, 7, SECOND)
    write_snapshot(partition, 7, {5: Remembered(0, 2, 2, -1), 7: Remembered(0, 0, 3, -1)})
    write_snapshot(partition, 12, {5: Remembered(0, 4, 11, -1), 7: Remembered(0, 1, 7, -1)})
    write_lines(partition / "leader-epoch-checkpoint", ["0 0", "2 7", "3 10"])
    write_lines(folder / "replication-offset-checkpoint", ["t 0 12"])
    write_lines(folder / "recovery-point-offset-checkpoint", ["t 0 12"])
    write_lines(folder / "log-start-offset-checkpoint", [])
    write_topic(partition, TOPIC_ID)
    (folder / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":9}')
    return partition


def judged(folder: Path) -> DiskReplica:
    """The only partition of a log directory."""
    (place,) = read(folder).places
    assert (place.topic, place.partition) == ("t", 0)
    return judge(place.path, place.common)
