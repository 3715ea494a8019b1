"""The logs of a topic as they lie on the brokers' disks: records and epoch caches.

Kafka's own DumpLogSegments decodes them. On disk here, a replica is a line of JSON; that file needs
no Kafka to be read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from live.cluster import Cluster, ClusterError
from live.metadata import TOOL

LOGS = "logs.jsonl"
CHECKPOINT = "leader-epoch-checkpoint"

_FILE = re.compile(r"Dumping (.+)")
_BATCH = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) .*partitionLeaderEpoch: (\d+) ")
_RECORD = re.compile(r"\| offset: (\d+) .*?payload: (.*)")


class Replica(msgspec.Struct, frozen=True):
    """One partition on one broker's disk.

    records: (offset, leader epoch, value) of each. epochs: the epoch cache, (epoch, first offset).
    """

    broker: int
    key: str
    records: list[tuple[int, int, int | str]]
    epochs: list[tuple[int, int]]


def dump(cluster: Cluster, topic: str) -> list[Replica]:
    """What every broker has of the topic; ask when the cluster is whole and quiet.

    Raises ClusterError: Kafka's tool fails, or nobody has anything of it.
    """
    places: dict[Path, tuple[int, str]] = {}
    for node in cluster.state.nodes:
        for directory in sorted((cluster.directory / node.name).glob(f"{topic}-*")):
            if directory.name.rpartition("-")[0] == topic:
                places[directory] = (node.number, directory.name)
    files = [str(file) for each in places for file in sorted(each.glob("*.log"))]
    if not files:
        raise ClusterError(f"no broker has anything of {topic}")
    host = next(node.name for node in cluster.state.nodes)
    said = cluster.run_tool(host, TOOL, "--print-data-log", "--files", ",".join(files))
    records = parse(said.splitlines())
    return [
        Replica(broker, key, records.get(directory, []), epochs_in(directory / CHECKPOINT))
        for directory, (broker, key) in places.items()
    ]


def parse(lines: Iterable[str]) -> dict[Path, list[tuple[int, int, int | str]]]:
    """What DumpLogSegments printed, by the directory of the file."""
    found: dict[Path, list[tuple[int, int, int | str]]] = {}
    records: list[tuple[int, int, int | str]] = []
    epoch = -1
    for line in lines:
        if file := _FILE.match(line):
            records = found.setdefault(Path(file[1]).parent, [])
        elif batch := _BATCH.match(line):
            epoch = int(batch[3])
        elif record := _RECORD.match(line):
            value = int(record[2]) if record[2].isdigit() else record[2]
            records.append((int(record[1]), epoch, value))
    return found


def epochs_in(checkpoint: Path) -> list[tuple[int, int]]:
    """A line with a version, one with a count, then an epoch and its first offset on each."""
    with suppress(OSError):
        lines = checkpoint.read_text(encoding="utf-8").splitlines()[2:]
        return [(int(epoch), int(offset)) for epoch, offset in map(str.split, lines)]
    return []


def write(replicas: Iterable[Replica], path: Path) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(replica) + b"\n" for replica in replicas))
