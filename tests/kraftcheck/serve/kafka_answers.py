"""Questions of administrators, and what Apache Kafka 4.3.1 answered (brokers with 3 replicas).

    python -m tests.kraftcheck.serve.kafka_answers HOST:PORT

asks a Kafka again, of at least three brokers, and prints where it says something else. What the
questions name is made first (`prepared`); the topics are deleted after them.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.kafka.serve.codec import Message
from tests.kraftcheck.serve.wire import answer, batch, frame

TOPIC: Final = "asked"
SECOND: Final = "asked-too"
LEADER: Final = "leader"
OTHER: Final = "other"
"""Who is asked: the topic's leader, which is its preferred one, or somebody else; or the
coordinator of a group, or of a transaction."""
GROUP: Final = "group:{}"
TRANSACTION: Final = "transaction:{}"
Ask: TypeAlias = Callable[[int, str, int, Message], Message]
"""Of a broker the answer to a request; -1: of any."""


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


def _forget(group: str, **partitions: list[int]) -> Message:
    topics = [
        {"name": name.replace("_", "-"), "partitions": [{"partition_index": at} for at in ats]}
        for name, ats in partitions.items()
    ]
    return {"group_id": group, "topics": topics}


def _forgotten(error: int, **partitions: list[tuple[int, int]]) -> Message:
    """Of each partition its number and the error."""
    topics = [
        {
            "name": name.replace("_", "-"),
            "partitions": [{"partition_index": at, "error_code": of} for at, of in told],
        }
        for name, told in partitions.items()
    ]
    return {"error_code": error, "topics": topics}


def _offsets(group: str, *partitions: int) -> Message:
    return {
        "group_id": group,
        "topics": [{"name": TOPIC, "partition_indexes": [*partitions]}],
        "require_stable": False,
    }


def _committed(*told: tuple[int, int]) -> Message:
    """Of each partition its number and the offset."""
    partitions = [
        {
            **{"partition_index": at, "committed_offset": offset, "committed_leader_epoch": -1},
            **{"metadata": "", "error_code": 0},
        }
        for at, offset in told
    ]
    return {"error_code": 0, "topics": [{"name": TOPIC, "partitions": partitions}]}


def _transaction(id: str, state: str, began: bool, *partitions: int, error: int = 0) -> Message:
    topics = [{"topic": SECOND, "partitions": [*partitions]}] if partitions else []
    return {
        "transaction_states": [
            {
                **{"error_code": error, "transactional_id": id, "transaction_state": state},
                "transaction_timeout_ms": 0 if error else 40_000,
                **{"transaction_start_time_ms": began, "topics": topics},
                "producer_epoch": 0,
            }
        ]
    }


def _listed(*told: tuple[str, str], unknown: tuple[str, ...] = (), error: int = 0) -> Message:
    states = [{"transactional_id": id, "transaction_state": state} for id, state in told]
    return {
        "error_code": error,
        "unknown_state_filters": [*unknown],
        "transaction_states": states,
    }


def _list(**filters: Any) -> Message:
    return {"state_filters": [], "producer_id_filters": [], **filters}


def _producers(
    error: int,
    *told: tuple[int, int, int],
    at: int = 0,
    topic: str = SECOND,
    why: str | None = None,
) -> Message:
    """Of each producer its last sequence number, whether a coordinator ended a transaction of it,
    and where the open one begins.
    """
    active = [
        {
            **{"producer_epoch": 0, "last_sequence": last, "coordinator_epoch": ended},
            "current_txn_start_offset": start,
        }
        for last, ended, start in told
    ]
    of = {"partition_index": at, "error_code": error, "error_message": why}
    return {"topics": [{"name": topic, "partitions": [of | {"active_producers": active}]}]}


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
    Question(
        *(GROUP.format("asked-nobody"), "OffsetDelete", 0, _forget("asked-nobody", asked=[0])),
        _forgotten(69),
    ),
    Question(GROUP.format("asked-a"), "OffsetDelete", 0, _forget("", asked=[0]), _forgotten(24)),
    Question(
        *(GROUP.format("asked-a"), "OffsetFetch", 7, _offsets("asked-a", 0)),
        _committed((0, 3)),
    ),
    Question(
        *(GROUP.format("asked-a"), "OffsetDelete", 0),
        _forget("asked-a", asked=[0, 7], no_topic=[1]),
        _forgotten(0, asked=[(7, 3), (0, 0)], no_topic=[(1, 3)]),
    ),
    Question(
        *(GROUP.format("asked-a"), "OffsetFetch", 7, _offsets("asked-a", 0)),
        _committed((0, -1)),
    ),
    Question(
        *(GROUP.format("asked-b"), "OffsetDelete", 0),
        _forget("asked-b", asked=[0], asked_too=[0]),
        _forgotten(0, asked=[(0, 86)], asked_too=[(0, 0)]),
    ),
    Question(
        *(GROUP.format("asked-c"), "OffsetDelete", 0, _forget("asked-c", asked=[0])),
        _forgotten(68),
    ),
    Question(
        *(GROUP.format("asked-d"), "OffsetDelete", 0),
        _forget("asked-d", asked=[0], asked_too=[0]),
        _forgotten(0, asked=[(0, 86)], asked_too=[(0, 0)]),
    ),
    *[
        Question(
            *(TRANSACTION.format(id), "DescribeTransactions", 0, {"transactional_ids": [id]}),
            _transaction(id, state, began, *partitions),
        )
        for id, state, began, *partitions in (
            ("asked-empty", "Empty", False),
            ("asked-open", "Ongoing", True, 0),
            ("asked-done", "CompleteCommit", True),
        )
    ],
    Question(
        *(TRANSACTION.format("asked-no"), "DescribeTransactions", 0),
        {"transactional_ids": ["asked-no"]},
        _transaction("asked-no", "", True, error=105),
    ),
    Question(
        *(TRANSACTION.format("asked-no"), "DescribeTransactions", 0, {"transactional_ids": [""]}),
        _transaction("", "", True, error=42),
    ),
    Question(
        *(TRANSACTION.format("asked-open"), "ListTransactions", 2),
        _list(transactional_id_pattern="asked-o.*"),
        _listed(("asked-open", "Ongoing")),
    ),
    Question(
        *(TRANSACTION.format("asked-open"), "ListTransactions", 2),
        _list(transactional_id_pattern="sked-o"),
        _listed(),
    ),
    Question(
        *(TRANSACTION.format("asked-open"), "ListTransactions", 2),
        _list(transactional_id_pattern="("),
        _listed(error=128),
    ),
    Question(
        *(TRANSACTION.format("asked-done"), "ListTransactions", 1),
        _list(state_filters=["CompleteCommit", "Dead", "Finished"], duration_filter=0),
        _listed(("asked-done", "CompleteCommit"), unknown=("Finished",)),
    ),
    Question(
        *(TRANSACTION.format("asked-open"), "ListTransactions", 1),
        _list(duration_filter=10_000_000),
        _listed(),
    ),
    Question(
        *(TRANSACTION.format("asked-empty"), "ListTransactions", 0),
        _list(state_filters=["Empty"]),
        _listed(("asked-empty", "Empty")),
    ),
    *[
        # Followers answer as well.
        Question(
            *(f"{whom}:{SECOND}", "DescribeProducers", 0),
            {"topics": [{"name": SECOND, "partition_indexes": [0]}]},
            _producers(0, (1, 0, -1), (2, -1, 3), (4, -1, -1)),
        )
        for whom in (LEADER, OTHER)
    ],
    Question(
        *(LEADER, "DescribeProducers", 0),
        {"topics": [{"name": "no-topic", "partition_indexes": [0]}]},
        _producers(3, topic="no-topic", why="This server does not host this topic-partition."),
    ),
    Question(
        *(LEADER, "DescribeProducers", 0),
        {"topics": [{"name": TOPIC, "partition_indexes": [7]}]},
        _producers(3, at=7, topic=TOPIC),
    ),
)

_OF_CLUSTERS: Final = frozenset(
    {
        *("throttle_time_ms", "topic_id", "leader_id", "leader_epoch", "replica_nodes"),
        *("isr_nodes", "log_dir", "partition_size", "total_bytes", "usable_bytes"),
        *("topic_authorized_operations", "is_cordoned", "producer_id", "last_timestamp"),
    }
)


def comparable(told: Any) -> Any:
    """An answer without numbers of nodes, identities and sizes; words for a setting are Kafka's."""
    if isinstance(told, list):
        return [comparable(each) for each in told]
    if not isinstance(told, dict):
        return told
    found = {key: comparable(each) for key, each in told.items() if key not in _OF_CLUSTERS}
    if "transaction_start_time_ms" in found:
        found["transaction_start_time_ms"] = found["transaction_start_time_ms"] >= 0
    if "coordinator_epoch" in found:
        found["coordinator_epoch"] = min(found["coordinator_epoch"], 0)
    if "active_producers" in found:
        found["active_producers"].sort(key=lambda each: each["last_sequence"])
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


# -- What they are about


def prepared(ask: Ask, wait: Callable[[], None]) -> Callable[[str], int]:
    """Makes it, with waits until what was begun is there; the topics are. Returns who is meant."""

    def leader(topic: str) -> int:
        known = ask(-1, "Metadata", 7, {"topics": [{"name": topic}]})
        found: int = known["topics"][0]["partitions"][0]["leader_id"]
        return found

    def coordinator(kind: int, key: str) -> int:
        for _ in range(100):
            told = ask(-1, "FindCoordinator", 3, {"key": key, "key_type": kind})
            if not told["error_code"]:
                return int(told["node_id"])
            wait()
        raise AssertionError(f"no coordinator of {key}")

    def who(whom: str) -> int:
        kind, _, of = whom.partition(":")
        if kind in (LEADER, OTHER):
            leads = leader(of or TOPIC)
            every = [b["node_id"] for b in ask(-1, "Metadata", 7, {"topics": []})["brokers"]]
            return leads if kind == LEADER else min({*every} - {leads})
        return coordinator(int(kind == "transaction"), of)

    def until(whom: str, api: str, version: int, body: Message) -> Message:
        """Asked again while a coordinator loads, or is just ending a transaction."""
        for _ in range(100):
            told = ask(who(whom), api, version, body)
            error = told.get("error_code", 0)
            if api == "OffsetCommit":
                error = told["topics"][0]["partitions"][0]["error_code"]
            if error not in (14, 15, 16, 51):
                assert not error, (api, told)
                return told
            wait()
        raise AssertionError(api)

    def produce(topic: str, records: bytes, id: str | None = None) -> None:
        of = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
        body = {"transactional_id": id, "acks": -1, "timeout_ms": 10_000, "topic_data": of}
        told = ask(leader(topic), "Produce", 9, body)
        error = told["responses"][0]["partition_responses"][0]["error_code"]
        assert error == 0, f"{topic}: {error}"

    for _ in range(3):
        produce(TOPIC, batch(b"a", b"b", b"c"))
    _groups(until)
    for id, values in (("asked-done", b"ab"), ("asked-open", b"abc"), ("asked-empty", b"")):
        init = {"transactional_id": id, "transaction_timeout_ms": 40_000}
        init |= {"producer_id": -1, "producer_epoch": -1}
        whom = TRANSACTION.format(id)
        producer = until(whom, "InitProducerId", 4, init)["producer_id"]
        if not values:
            continue
        of: Message = {"v3_and_below_transactional_id": id, "v3_and_below_producer_id": producer}
        topics = [{"name": SECOND, "partitions": [0]}]
        of |= {"v3_and_below_producer_epoch": 0, "v3_and_below_topics": topics}
        until(whom, "AddPartitionsToTxn", 3, of)
        records = [bytes([each]) for each in values]
        produce(SECOND, batch(*records, producer=(producer, 0, 0), transactional=True), id)
        if id == "asked-done":
            end = {"transactional_id": id, "producer_id": producer, "producer_epoch": 0}
            until(whom, "EndTxn", 3, end | {"committed": True})
            for _ in range(5):
                wait()
    plain = {"transactional_id": None, "transaction_timeout_ms": 1000}
    plain |= {"producer_id": -1, "producer_epoch": -1}
    producer = ask(-1, "InitProducerId", 4, plain)["producer_id"]
    produce(SECOND, batch(*b"abcde".hex(" ").encode().split(), producer=(producer, 0, 0)))
    return who


def _groups(until: Callable[[str, str, int, Message], Message]) -> None:
    """One has committed only; two have a member of the classic protocol, of which one is of
    consumers, and one has a member of the consumer protocol.
    """
    of = {"partition_index": 0, "committed_offset": 3, "committed_leader_epoch": -1}
    topics = [{"name": TOPIC, "partitions": [of | {"committed_metadata": ""}]}]
    simple = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    body = {"group_id": "asked-a", **simple, "topics": topics}
    until(GROUP.format("asked-a"), "OffsetCommit", 8, body)
    said = struct.pack(">hih", 0, 1, len(TOPIC)) + TOPIC.encode() + struct.pack(">i", -1)
    for id, kind in (("asked-b", "consumer"), ("asked-c", "other")):
        protocols = [{"name": "p", "metadata": said}]
        body = {"group_id": id, "session_timeout_ms": 45_000, "rebalance_timeout_ms": 45_000}
        body |= {"member_id": "", "protocol_type": kind, "protocols": protocols}
        joined = until(GROUP.format(id), "JoinGroup", 3, body)
        member = joined["member_id"]
        body = {"group_id": id, "generation_id": joined["generation_id"], "member_id": member}
        body |= {"assignments": [{"member_id": member, "assignment": b""}]}
        until(GROUP.format(id), "SyncGroup", 2, body)
    beat: Message = {"group_id": "asked-d", "member_id": "m" * 22, "member_epoch": 0}
    beat |= {"instance_id": None, "rack_id": None, "rebalance_timeout_ms": 45_000}
    beat |= {"subscribed_topic_names": [TOPIC], "server_assignor": None, "topic_partitions": []}
    until(GROUP.format("asked-d"), "ConsumerGroupHeartbeat", 0, beat)


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
    by = {-1: _Connection(host, port)}
    for broker in by[-1].ask("Metadata", 7, {"topics": []})["brokers"]:
        by[broker["node_id"]] = _Connection(broker["host"], broker["port"])

    def ask(broker: int, api: str, version: int, body: Message) -> Message:
        return by[broker].ask(api, version, body)

    # Records are of 1970.
    kept = {"name": "retention.ms", "value": "-1"}
    of = {"num_partitions": 1, "replication_factor": 3, "assignments": [], "configs": [kept]}
    topics = [{"name": name, **of} for name in (TOPIC, SECOND)]
    ask(-1, "CreateTopics", 5, {"topics": topics, "timeout_ms": 10_000, "validate_only": False})
    time.sleep(2)
    who = prepared(ask, lambda: time.sleep(0.3))
    for each in QUESTIONS:
        told = comparable(ask(who(each.whom), each.api, each.version, each.body))
        if told != each.answer:
            yield f"{each.api} {each.version} {each.body}\n  {told}\n  and not {each.answer}"
    ask(-1, "DeleteTopics", 5, {"topic_names": [TOPIC, SECOND], "timeout_ms": 10_000})


if __name__ == "__main__":
    where, _, at = sys.argv[1].rpartition(":")
    said = "\n".join(differences(where, int(at)))
    sys.stdout.write(f"{said or f'{len(QUESTIONS)} answers as they are written'}\n")
