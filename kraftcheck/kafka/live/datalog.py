"""The logs of a topic as they lie on the brokers' disks: records and epoch caches.

Kafka's own DumpLogSegments decodes them. On disk here, a replica is a line of JSON; that file needs
no Kafka to be read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.metadata import FILE, dumped

LOGS = "logs.jsonl"
CHECKPOINT = "leader-epoch-checkpoint"

_BATCH = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) .*baseSequence: (-?\d+) .*producerId: (-?\d+) "
    r"producerEpoch: (-?\d+) partitionLeaderEpoch: (\d+) isTransactional: (\w+) "
)
_RECORD = re.compile(r"\| offset: (\d+) .*?(payload|endTxnMarker): (.*)")
_COORDINATOR = re.compile(r"coordinatorEpoch: (-?\d+)")
NOBODY = -1


Batch = tuple[int, int, int, int, int, int]


class Replica(msgspec.Struct, frozen=True):
    """One partition on one broker's disk."""

    broker: int
    key: str
    records: list[tuple[int, int, int | str]]
    """(offset, leader epoch, value) of each; of a transaction's marker the value is COMMIT or
    ABORT.
    """
    epochs: list[tuple[int, int]]
    """The epoch cache, (epoch, first offset)."""
    transactions: list[tuple[int, int, bool]] = []
    """Of each record that belongs to one (offset, producer id, whether it is the marker)."""
    batches: list[Batch] = []
    """Of each that a producer with an id wrote, and of each marker, (first offset, last offset,
    producer id, producer epoch, first sequence number, coordinator epoch); a marker has no sequence
    number (-1), data no coordinator.
    """


class Content(NamedTuple):
    """What the files of one directory hold; fields as of Replica."""

    records: list[tuple[int, int, int | str]]
    transactions: list[tuple[int, int, bool]]
    batches: list[Batch]


def dump(cluster: Cluster, topic: str) -> list[Replica]:
    """What every broker has of the topic; ask when the cluster is whole and quiet.

    Raises ClusterError: Kafka's tool fails, or nobody has anything of it.
    """
    places: dict[Path, tuple[int, str]] = {}
    for node in cluster.state.nodes:
        for directory in sorted((cluster.directory / node.name).glob(f"{topic}-*")):
            if directory.name.rpartition("-")[0] == topic:
                places[directory] = (node.number, directory.name)
    files = [file for each in places for file in sorted(each.glob("*.log"))]
    if not files:
        raise ClusterError(f"no broker has anything of {topic}")
    contents = parse(dumped(cluster, cluster.state.nodes[0].name, files, "--print-data-log"))
    replicas = []
    for directory, (broker, key) in places.items():
        content = contents.get(directory, Content([], [], []))
        epochs = epochs_in(directory / CHECKPOINT)
        of = (content.records, epochs, content.transactions, content.batches)
        replicas.append(Replica(broker, key, *of))
    return replicas


def parse(lines: Iterable[str]) -> dict[Path, Content]:
    """What DumpLogSegments printed, by the directory of the file."""
    found: dict[Path, Content] = {}
    content = Content([], [], [])
    producer = epoch = NOBODY
    transactional = False
    for line in lines:
        if file := FILE.match(line):
            content = found.setdefault(Path(file[1]).parent, Content([], [], []))
        elif batch := _BATCH.match(line):
            first, last, sequence, producer, term, epoch = map(int, batch.groups()[:6])
            transactional = batch[7] == "true"
            if producer != NOBODY:
                content.batches.append((first, last, producer, term, sequence, NOBODY))
        elif record := _RECORD.match(line):
            offset, marker = int(record[1]), record[2] == "endTxnMarker"
            text = record[3].split()[0] if marker else record[3]
            content.records.append((offset, epoch, int(text) if text.isdigit() else text))
            if transactional:
                content.transactions.append((offset, producer, marker))
            if marker and (by := _COORDINATOR.search(record[3])):
                content.batches[-1] = (*content.batches[-1][:5], int(by[1]))
    return found


def epochs_in(checkpoint: Path) -> list[tuple[int, int]]:
    """A line with a version, one with a count, then an epoch and its first offset on each."""
    with suppress(OSError):
        lines = checkpoint.read_text(encoding="utf-8").splitlines()[2:]
        return [(int(epoch), int(offset)) for epoch, offset in map(str.split, lines)]
    return []
