"""The metadata log of a cluster of ours, as the controllers wrote it: one value for each record.

Kafka's own DumpLogSegments decodes it, so that nothing here depends on the binary format. On disk a
record is a line of JSON, in the order of offsets; that file needs no Kafka to be read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck.kafka.live.cluster import Cluster, ClusterError

METADATA = "metadata.jsonl"
LEADER_CHANGE = "LEADER_CHANGE"
"""The kind of a control record that begins the term of a controller."""

DIRECTORY = "__cluster_metadata-0"

_BATCH = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) .*partitionLeaderEpoch: (\d+) ")
CONTROL: Mapping[str, str] = {
    "LeaderChange:": LEADER_CHANGE,
    "KRaftVersion": "KRAFT_VERSION",
    "KRaftVoters": "KRAFT_VOTERS",
}
"""The kinds of control records, by how the tool prints them."""
_SAID = "|".join(("payload:", *CONTROL))
_RECORD = re.compile(rf"\| offset: (\d+) CreateTime: (\d+) .*? ({_SAID}) (.*)")
_UNTOLD = re.compile(rf"\| offset: (\d+) CreateTime: (\d+) .*? controlType: {LEADER_CHANGE}\(")
"""Of Kafka 3.9, whose tool does not print who leads."""
_IDLE = "NO_OP_RECORD"


class Record(msgspec.Struct, frozen=True):
    """One record of the metadata log.

    kind, version, data: as Kafka's schema names them (RegisterBrokerRecord.json and its like); a
    field that has its default is missing in data.
    """

    offset: int
    """Its place."""
    epoch: int
    """The controller's term."""
    time: int
    """The controller's wall clock, ms."""
    kind: str
    version: int
    data: dict[str, Any]
    end: int
    """The offset after its batch."""


FILE = re.compile(r"Dumping (.+)")
"""What the tool prints before what is in a file."""


def dump_tool(cluster: Cluster) -> str:
    """Kafka's DumpLogSegments, in the package that has it in the cluster's version."""
    release = tuple(map(int, cluster.state.version.split(".")))
    package = "org.apache.kafka.tools" if release >= (4, 3) else "kafka.tools"
    return f"{package}.DumpLogSegments"


def dumped(cluster: Cluster, host: str, files: Iterable[Path], decoder: str) -> list[str]:
    """The lines that Kafka's tool prints of segments. Raises ClusterError: it fails."""
    words = (decoder, "--files", ",".join(map(str, files)))
    return cluster.run_tool(host, dump_tool(cluster), *words).splitlines()


def dump(cluster: Cluster) -> list[Record]:
    """The log as it is on the running controller that has most of it.

    Its last records need not be committed: ask when the cluster is whole and quiet. Raises
    ClusterError: no controller runs, Kafka's tool fails, or the log's beginning is a snapshot.
    """
    nodes = [n for n in cluster.state.nodes if "controller" in n.roles]
    alive = [n.name for n in nodes if cluster.is_running(n.name)]
    found = [(file.stat().st_size, file) for name in alive for file in _segments(cluster, name)]
    if not found:
        raise ClusterError("no controller runs whose metadata log could be read")
    _, largest = max(found)
    files = sorted(largest.parent.glob("*.log"))
    if int(files[0].stem):
        raise ClusterError(f"{files[0]}: the log's beginning is in a snapshot, which is not read")
    name = largest.parent.parent.name
    return list(parse(dumped(cluster, name, files, "--cluster-metadata-decoder")))


def parse(lines: Iterable[str]) -> Iterator[Record]:
    """What DumpLogSegments printed; without records that only pass the time."""
    epoch = end = 0
    for line in lines:
        if batch := _BATCH.match(line):
            end, epoch = int(batch[2]) + 1, int(batch[3])
        elif record := _RECORD.match(line):
            content = json.loads(record[4])
            if record[3] in CONTROL:
                kind = CONTROL[record[3]]
                content = {"type": kind, "version": content["version"], "data": content}
            kind, version, data = content["type"], content["version"], content["data"]
            if kind != _IDLE:
                yield Record(int(record[1]), epoch, int(record[2]), kind, version, data, end)
        elif record := _UNTOLD.match(line):
            yield Record(int(record[1]), epoch, int(record[2]), LEADER_CHANGE, 0, {}, end)


def write(records: Iterable[object], path: Path) -> None:
    """One a line, of whichever log."""
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def read(path: Path) -> list[Record]:
    """Raises OSError; msgspec.DecodeError for what is no such file."""
    decode = msgspec.json.Decoder(Record).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def _segments(cluster: Cluster, name: str) -> list[Path]:
    return list((cluster.directory / name / DIRECTORY).glob("*.log"))
