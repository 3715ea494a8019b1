"""Questions of administrators, and what Apache Kafka 4.3.1 answered (brokers with 3 replicas).

    python -m tests.kraftcheck.serve.kafka_answers HOST:PORT

asks a Kafka again, of at least three brokers, and prints where it says something else. The topic
that the questions name is made by it, with nine records in batches of three, and deleted after it.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kraftcheck.serve.codec import Message
from tests.kraftcheck.serve.wire import answer, batch, frame

TOPIC: Final = "asked"
LEADER: Final = "leader"
OTHER: Final = "other"
"""Who is asked: the topic's leader, which is its preferred one, or somebody else."""


class Question(NamedTuple):
    """answer: without what differs from cluster to cluster (`comparable`)."""

    whom: str
    api: str
    version: int
    body: Message
    answer: Message


def _delete(offset: int, topic: str = TOPIC, partition: int = 0) -> Message:
    of = {"partition_index": partition, "offset": offset}
    return {"topics": [{"name": topic, "partitions": [of]}], "timeout_ms": 10_000}


def _deleted(error: int, low: int, topic: str = TOPIC, partition: int = 0) -> Message:
    of = {"partition_index": partition, "low_watermark": low, "error_code": error}
    return {"topics": [{"name": topic, "partitions": [of]}]}


def _elect(kind: int, topic: str = TOPIC, partition: int = 0) -> Message:
    of = [{"topic": topic, "partitions": [partition]}]
    return {"election_type": kind, "topic_partitions": of, "timeout_ms": 10_000}


def _elected(error: int, why: str, topic: str = TOPIC, partition: int = 0) -> Message:
    of = {"partition_id": partition, "error_code": error, "error_message": why}
    told = [{"topic": topic, "partition_result": [of]}]
    return {"error_code": 0, "replica_election_results": told}


def _begins(offset: int) -> Message:
    return {
        "topics": [
            {
                "name": TOPIC,
                "partitions": [
                    {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": offset}
                ],
            }
        ]
    }


_NOT_NEEDED: Final = "Leader election not needed for topic partition."
_EARLIEST: Final[Message] = {
    "replica_id": -1,
    "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "timestamp": -2}]}],
}
_ACL: Final[Message] = {
    **{"resource_type": 2, "resource_name": TOPIC, "resource_pattern_type": 3},
    **{"principal": "User:a", "host": "*", "operation": 3, "permission_type": 3},
}
_FILTER: Final[Message] = {
    **{"resource_type_filter": 2, "resource_name_filter": TOPIC, "pattern_type_filter": 3},
    **{"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1},
}
_OF_TOPIC: Final[Message] = {"resource_type": 2, "resource_name": TOPIC}


def _altered(error: int, why: str | None, name: str = TOPIC) -> Message:
    of = {"error_code": error, "error_message": why, **_OF_TOPIC, "resource_name": name}
    return {"responses": [of]}


def _alter(value: str | None, key: str = "retention.ms", name: str = TOPIC) -> Message:
    resource = {**_OF_TOPIC, "resource_name": name, "configs": [{"name": key, "value": value}]}
    return {"resources": [resource], "validate_only": False}


QUESTIONS: Final = (
    Question(LEADER, "DeleteRecords", 2, _delete(10), _deleted(1, -1)),
    Question(LEADER, "DeleteRecords", 2, _delete(-2), _deleted(1, -1)),
    Question(OTHER, "DeleteRecords", 2, _delete(1), _deleted(6, -1)),
    Question(LEADER, "DeleteRecords", 2, _delete(1, "no-topic"), _deleted(3, -1, "no-topic")),
    Question(LEADER, "DeleteRecords", 2, _delete(1, partition=7), _deleted(3, -1, partition=7)),
    Question(LEADER, "DeleteRecords", 0, _delete(4), _deleted(0, 4)),
    Question(LEADER, "ListOffsets", 3, _EARLIEST, _begins(4)),
    Question(LEADER, "DeleteRecords", 1, _delete(2), _deleted(0, 4)),
    Question(LEADER, "DeleteRecords", 2, _delete(-1), _deleted(0, 9)),
    Question(LEADER, "ListOffsets", 3, _EARLIEST, _begins(9)),
    Question(OTHER, "ElectLeaders", 2, _elect(0), _elected(84, _NOT_NEEDED)),
    Question(OTHER, "ElectLeaders", 2, _elect(1), _elected(84, _NOT_NEEDED)),
    Question(
        *(OTHER, "ElectLeaders", 2, _elect(0, "no-topic")),
        _elected(3, "No such topic as no-topic", "no-topic"),
    ),
    Question(
        *(OTHER, "ElectLeaders", 2, _elect(0, partition=7)),
        _elected(3, f"No such partition as {TOPIC}-7", partition=7),
    ),
    Question(
        *(OTHER, "ListPartitionReassignments", 0, {"timeout_ms": 1000, "topics": None}),
        {"error_code": 0, "error_message": None, "topics": []},
    ),
    Question(
        *(OTHER, "DescribeAcls", 3, _FILTER),
        {
            "error_code": 54,
            "error_message": "No Authorizer is configured on the broker",
            "resources": [],
        },
    ),
    Question(
        *(OTHER, "CreateAcls", 3, {"creations": [_ACL]}),
        {"results": [{"error_code": 54, "error_message": "No Authorizer is configured."}]},
    ),
    Question(
        *(OTHER, "DeleteAcls", 3, {"filters": [_FILTER]}),
        {
            "filter_results": [
                {
                    "error_code": 54,
                    "error_message": "No Authorizer is configured.",
                    "matching_acls": [],
                }
            ]
        },
    ),
    Question(OTHER, "AlterConfigs", 2, _alter("100000"), _altered(0, None)),
    Question(
        *(OTHER, "AlterConfigs", 2, _alter("1", "no.such.key")),
        _altered(40, None),
    ),
    Question(OTHER, "AlterConfigs", 2, _alter("1", name="no-topic"), _altered(3, None, "no-topic")),
    Question(
        *(OTHER, "DescribeTopicPartitions", 0),
        {"topics": [{"name": "no-topic"}, {"name": TOPIC}], "cursor": None},
        {
            "topics": [
                {
                    "error_code": 0,
                    "name": TOPIC,
                    "is_internal": False,
                    "partitions": [
                        {
                            **{"error_code": 0, "partition_index": 0},
                            **{"eligible_leader_replicas": [], "last_known_elr": []},
                            "offline_replicas": [],
                        }
                    ],
                },
                {"error_code": 3, "name": "no-topic", "is_internal": False, "partitions": []},
            ],
            "next_cursor": None,
        },
    ),
    Question(
        *(OTHER, "ListConfigResources", 1, {"resource_types": [8]}),
        {"error_code": 0, "config_resources": [8, 8, 8]},
    ),
    Question(
        *(OTHER, "ListConfigResources", 0, {}),
        {"error_code": 0, "config_resources": []},
    ),
    Question(
        *(LEADER, "DescribeLogDirs", 4),
        {"topics": [{"topic": TOPIC, "partitions": [0]}]},
        {
            "error_code": 0,
            "results": [
                {
                    "error_code": 0,
                    "topics": [
                        {
                            "name": TOPIC,
                            "partitions": [
                                {"partition_index": 0, "offset_lag": 0, "is_future_key": False}
                            ],
                        }
                    ],
                }
            ],
        },
    ),
)

_OF_CLUSTERS: Final = frozenset(
    {
        *("throttle_time_ms", "topic_id", "leader_id", "leader_epoch", "replica_nodes"),
        *("isr_nodes", "log_dir", "partition_size", "total_bytes", "usable_bytes"),
        *("topic_authorized_operations", "is_cordoned"),
    }
)


def comparable(told: Any) -> Any:
    """An answer without numbers of nodes, identities and sizes; words for a setting are Kafka's."""
    if isinstance(told, list):
        return [comparable(each) for each in told]
    if not isinstance(told, dict):
        return told
    found = {key: comparable(each) for key, each in told.items() if key not in _OF_CLUSTERS}
    if "config_resources" in found:
        found["config_resources"] = [each["resource_type"] for each in told["config_resources"]]
    if "resource_name" in found and found.get("error_code"):
        found["error_message"] = None
    if "partitions" in found and "is_internal" in found:
        for each in found["partitions"]:
            # Of a cluster without ELR there is none, which is told as null.
            for key in ("eligible_leader_replicas", "last_known_elr"):
                each[key] = each[key] or []
    return found


# -- Of a Kafka


class _Connection:
    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)

    def ask(self, api: str, version: int, body: Message) -> Message:
        data = frame(api, version, body)
        self._socket.sendall(struct.pack(">i", len(data)) + data)
        size = self._read(4)
        return answer(api, version, size + self._read(struct.unpack(">i", size)[0]))

    def _read(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self._socket.recv(size - len(found))
            if not more:
                raise ConnectionError("closed")
            found += more
        return found


def differences(host: str, port: int) -> Iterator[str]:
    """Where a Kafka says something else than is written above."""
    first = _Connection(host, port)
    topic = {"name": TOPIC, "num_partitions": 1, "replication_factor": 3}
    topic |= {"assignments": [], "configs": []}
    first.ask("CreateTopics", 5, {"topics": [topic], "timeout_ms": 10_000, "validate_only": False})
    known = first.ask("Metadata", 7, {"topics": [{"name": TOPIC}]})
    leads = known["topics"][0]["partitions"][0]["leader_id"]
    by = {b["node_id"]: _Connection(b["host"], b["port"]) for b in known["brokers"]}
    other = next(connection for id, connection in by.items() if id != leads)
    for _ in range(3):
        records = [{"index": 0, "records": batch(b"a", b"b", b"c")}]
        of = [{"name": TOPIC, "partition_data": records}]
        by[leads].ask("Produce", 9, {"acks": -1, "timeout_ms": 10_000, "topic_data": of})
    for each in QUESTIONS:
        connection = by[leads] if each.whom == LEADER else other
        told = comparable(connection.ask(each.api, each.version, each.body))
        if told != each.answer:
            yield f"{each.api} {each.version} {each.body}\n  {told}\n  and not {each.answer}"
    first.ask("DeleteTopics", 5, {"topic_names": [TOPIC], "timeout_ms": 10_000})


if __name__ == "__main__":
    where, _, at = sys.argv[1].rpartition(":")
    said = "\n".join(differences(where, int(at)))
    sys.stdout.write(f"{said or f'{len(QUESTIONS)} answers as they are written'}\n")
