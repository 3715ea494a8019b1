"""What administrators ask is answered as Kafka answers it, and changes what it says."""

from __future__ import annotations

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from tests.kraftcheck.serve.kafka_answers import QUESTIONS, SECOND, TOPIC, comparable, prepared
from tests.kraftcheck.serve.wire import Wire, with_topic


def test_answers_are_kafkas() -> None:
    """One after the other: some change what later ones ask."""
    wire = Wire()
    for topic in (TOPIC, SECOND):
        wire.create(topic)

    def ask(broker: int, api: str, version: int, body: Message) -> Message:
        return wire.ask(max(broker, 0), api, version, **body)

    who = prepared(ask, lambda: wire.wait(1))
    for each in QUESTIONS:
        assert comparable(ask(who(each.whom), each.api, each.version, each.body)) == each.answer, (
            each
        )


def elect(wire: Wire, kind: int = 0, topics: list[Message] | None = None) -> list[Message]:
    body = {"election_type": kind, "topic_partitions": topics, "timeout_ms": 5000}
    found: list[Message] = wire.ask(0, "ElectLeaders", 2, **body)["replica_election_results"]
    return found


def test_the_preferred_leader_leads_again_when_it_is_asked_for() -> None:
    wire = with_topic()
    first = wire.leader()
    assert elect(wire) == []
    wire.do("move", topic="t", partition=0)
    wire.wait(8)
    assert wire.leader() != first
    (told,) = elect(wire)
    assert told["topic"] == "t" and told["partition_result"][0]["error_code"] == 0
    assert wire.leader() == first
    wire.do("kill", broker=first)
    wire.wait(12)
    asked = [{"topic": "t", "partitions": [0]}]
    wire.connect((first + 1) % 3)
    body = {"election_type": 0, "topic_partitions": asked, "timeout_ms": 5000}
    (told,) = wire.ask((first + 1) % 3, "ElectLeaders", 2, **body)["replica_election_results"]
    (result,) = told["partition_result"]
    assert result["error_code"] == ERRORS["PREFERRED_LEADER_NOT_AVAILABLE"]


def test_partitions_are_described_in_pieces() -> None:
    wire = Wire()
    wire.create("a", partitions=3)
    wire.create("b", partitions=2)
    seen, cursor = [], None
    for _ in range(9):
        body = {"topics": [{"name": "a"}, {"name": "b"}], "cursor": cursor}
        told = wire.ask(0, "DescribeTopicPartitions", 0, response_partition_limit=2, **body)
        pieces = [
            (t["name"], p["partition_index"]) for t in told["topics"] for p in t["partitions"]
        ]
        assert 0 < len(pieces) <= 2
        seen += pieces
        cursor = told["next_cursor"]
        if cursor is None:
            break
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


def test_the_older_way_to_alter_settings_replaces_them_all() -> None:
    wire = Wire()
    wire.create("t", retention_ms="1000", segment_ms="2000")

    def configs() -> dict[str, str]:
        resources = [{"resource_type": 2, "resource_name": "t", "configuration_keys": None}]
        (told,) = wire.ask(0, "DescribeConfigs", 4, resources=resources)["results"]
        return {each["name"]: each["value"] for each in told["configs"]}

    said = [{"name": "retention.ms", "value": "3000"}]
    resources = [{"resource_type": 2, "resource_name": "t", "configs": said}]
    wire.ask(0, "AlterConfigs", 2, resources=resources, validate_only=True)
    assert configs()["retention.ms"] == "1000"
    wire.ask(0, "AlterConfigs", 2, resources=resources, validate_only=False)
    assert (configs()["retention.ms"], configs()["segment.ms"]) == ("3000", "604800000")


def test_the_quorum_is_one_controller_and_brokers_that_read_it() -> None:
    """One that is cut off is not heard of, and one that hears late is behind."""
    wire = Wire()

    def told(topic: str = "__cluster_metadata") -> Message:
        topics = [{"topic_name": topic, "partitions": [{"partition_index": 0}]}]
        found = wire.ask(0, "DescribeQuorum", 2, topics=topics)
        assert [each["node_id"] for each in found["nodes"]] == [3]
        of: Message
        (of,) = found["topics"][0]["partitions"]
        return of

    assert told("t")["error_code"] == ERRORS["UNKNOWN_TOPIC_OR_PARTITION"]
    found = told()
    end = found["high_watermark"]
    assert (found["leader_id"], [each["replica_id"] for each in found["current_voters"]]) == (
        3,
        [3],
    )
    assert [each["log_end_offset"] for each in found["observers"]] == [end] * 3
    wire.do("cut", broker=1)
    wire.do("stale", broker=2)
    wire.wait(10)
    found = told()
    ends = {each["replica_id"]: each["log_end_offset"] for each in found["observers"]}
    assert (ends[0], ends[2]) == (found["high_watermark"], end)
    assert found["high_watermark"] > end and 1 not in ends


def test_a_partition_may_be_given_the_replicas_that_it_has() -> None:
    """KIP-455: nothing is in progress, and the replicas of a served partition are a constant."""
    wire = with_topic()
    found = wire.core.world.partition("t", 0)
    assert found is not None
    replicas = list(found.constants.replicas)

    def altered(name: str, index: int, wanted: list[int] | None) -> int:
        topic = {"name": name, "partitions": [{"partition_index": index, "replicas": wanted}]}
        body = {"timeout_ms": 1000, "topics": [topic]}
        answer = wire.ask(0, "AlterPartitionReassignments", 1, **body)
        error: int = answer["responses"][0]["partitions"][0]["error_code"]
        return error

    assert altered("t", 0, replicas) == ERRORS["NONE"]
    assert altered("t", 0, replicas[::-1]) == ERRORS["INVALID_REPLICA_ASSIGNMENT"]
    assert altered("t", 0, replicas[:2]) == ERRORS["INVALID_REPLICA_ASSIGNMENT"]
    assert altered("t", 0, None) == ERRORS["NO_REASSIGNMENT_IN_PROGRESS"]
    assert altered("t", 1, replicas) == ERRORS["UNKNOWN_TOPIC_OR_PARTITION"]
    assert altered("v", 0, replicas) == ERRORS["UNKNOWN_TOPIC_OR_PARTITION"]
    told = wire.ask(0, "ListPartitionReassignments", 0, timeout_ms=1000, topics=None)
    assert (told["error_code"], told["topics"]) == (ERRORS["NONE"], [])
