"""The log of consumer groups as it lies on a broker's disk, for one topic's partitions.

Kafka's own DumpLogSegments decodes it; traces/grouplog.py says what becomes of its records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.metadata import FILE, Record, dumped

GROUPS: Final = "groups.jsonl"
TOPIC: Final = "__consumer_offsets"

_RECORD = re.compile(r"\| offset: (\d+) .*?(?:key: (\{.*\}) payload: (.*)|endTxnMarker: .*)")

Entry = dict[str, Any]


def dump(cluster: Cluster, topic: str, records: Iterable[Record]) -> list[Entry]:
    """The records of each partition of the log, from the running broker that has most of it.

    records: of the metadata log, which has the ids of topics; other topics than `topic` are left
    out. Ask when the cluster is whole and quiet. Raises ClusterError: Kafka's tool fails.
    """
    topics = (each.data for each in records if each.kind == "TOPIC_RECORD")
    ids = {each["topicId"]: each["name"] for each in topics}
    largest: dict[str, tuple[int, Path]] = {}
    for node in cluster.state.nodes:
        if not cluster.is_running(node.name):
            continue
        # Not those that are being deleted, -ID-delete, of a replica that was moved away.
        for directory in (cluster.directory / node.name).glob(f"{TOPIC}-*[0-9]"):
            size = sum(file.stat().st_size for file in directory.glob("*.log"))
            if size > largest.get(directory.name, (0, directory))[0]:
                largest[directory.name] = (size, directory)
    files = [file for _, each in largest.values() for file in sorted(each.glob("*.log"))]
    if not files:
        return []
    said = dumped(cluster, cluster.state.nodes[0].name, files, "--offsets-decoder")
    found = list(parse(said, topic, ids))
    return sorted(found, key=lambda each: (each["partition"], each["offset"]))


def parse(lines: Iterable[str], topic: str, ids: Mapping[str, str]) -> Iterator[Entry]:
    """What DumpLogSegments printed. Raises ClusterError: in a form that is not known."""
    partition = -1
    for line in lines:
        if file := FILE.match(line):
            partition = int(Path(file[1]).parent.name.rpartition("-")[2])
        elif record := _RECORD.match(line):
            entry: Entry = {"partition": partition, "offset": int(record[1]), "what": "other"}
            if record[2] is not None:
                try:
                    key, value = json.loads(record[2]), _value(record[3])
                    entry |= _said(key["type"], key["data"], value, topic, ids)
                except (KeyError, ValueError) as error:
                    raise ClusterError(f"{TOPIC}-{partition}: {line[:200]}: {error}") from None
            yield entry


def _value(text: str) -> Any:
    return None if text.startswith("<DELETE>") else json.loads(text)["data"]


def _said(
    kind: str, key: Mapping[str, Any], value: Any, topic: str, ids: Mapping[str, str]
) -> Entry:
    """By the numbers of CoordinatorRecordType in org.apache.kafka.coordinator.group.generated."""
    if kind in ("0", "1"):
        if key["topic"] != topic:
            return {}
        entry = {"what": "committed", "group": key["group"], "key": f"{topic}-{key['partition']}"}
        if value is not None:
            # confluent-kafka sends the end of the string along.
            entry |= {"committed": value["offset"], "mark": value["metadata"].rstrip("\0")}
        return entry
    if kind == "2":
        members = () if value is None else value["members"]
        all = {each["memberId"]: _assigned(each["assignment"], topic) for each in members}
        return {"what": "generation", "group": key["group"], "all": all}
    if kind == "3":
        said = {} if value is None else {"epoch": value["epoch"]}
        hashed = (value or {}).get("metadataHash", 0)
        return {"what": "epoch", "group": key["groupId"], **said, "topics": hashed}
    if kind in ("4", "5", "16"):
        return {"what": "wish", "group": key["groupId"]}
    if kind == "8":
        whose = {"group": key["groupId"], "member": key["memberId"]}
        if value is None:
            return {"what": "removed", **whose}
        named = [*value["assignedPartitions"], *value["partitionsPendingRevocation"]]
        has = [
            f"{topic}-{partition}"
            for each in named
            if ids.get(each["topicId"]) == topic
            for partition in each["partitions"]
        ]
        return {"what": "member", **whose, "has": has}
    return {}


def _assigned(assignment: Mapping[str, Any] | None, topic: str) -> list[str]:
    """Of a member of the classic protocol, which may have none yet."""
    named = (assignment or {}).get("assignedPartitions", ())
    mine = [at for each in named if each["topic"] == topic for at in each["partitions"]]
    return [f"{topic}-{at}" for at in mine]
