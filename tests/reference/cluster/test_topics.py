"""Topics: every refusal of Kafka's controller, and where replicas go."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.cluster.topics import NewTopic, TopicError, Topics


def topic(**asked: Any) -> NewTopic:
    return NewTopic(**{"name": "new", "partitions": 1, "replication_factor": 1, **asked})


def manual(*assignments: tuple[int, ...]) -> NewTopic:
    return NewTopic(name="new", assignments=assignments)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (topic(name="old"), "TOPIC_ALREADY_EXISTS: Topic 'old' already exists."),
        (topic(partitions=0), "INVALID_PARTITIONS: "),
        (topic(replication_factor=0), "INVALID_REPLICATION_FACTOR: Replication factor must be"),
        (topic(replication_factor=4), "INVALID_REPLICATION_FACTOR: The target replication factor"),
        (topic(min_insync_replicas=2), "INVALID_CONFIG: min.insync.replicas 2 is above"),
        (topic(assignments=((0,),)), "INVALID_REQUEST: .* replication factor was not set to -1"),
        (
            topic(assignments=((0,),), replication_factor=-1),
            "INVALID_REQUEST: .* numPartitions was not set to -1",
        ),
        (manual((0, 1), ()), "INVALID_REPLICA_ASSIGNMENT: .* an empty replica list"),
        (manual((1, 0, 1)), "INVALID_REPLICA_ASSIGNMENT: .* the broker 1 more than once"),
        (manual((0, 3)), "INVALID_REPLICA_ASSIGNMENT: .* broker 3, but no such broker"),
        (manual((0, 1), (2,)), "INVALID_REPLICA_ASSIGNMENT: .* partitions, which have 2 replica"),
    ],
)
def test_what_kafka_refuses_is_refused_in_its_words(wanted: NewTopic, complaint: str) -> None:
    topics = Topics(range(3))
    topics.create(topic(name="old"))
    with pytest.raises(TopicError, match=f"^{complaint}"):
        topics.create(wanted)
    assert [each.name for each in topics.all] == ["old"]


def test_replicas_are_spread_from_one_topic_to_the_next() -> None:
    topics = Topics(range(3))
    first = topics.create(topic(name="a", partitions=2, replication_factor=2))
    second = topics.create(topic(name="b", partitions=1, replication_factor=3))
    assert first.assignments == ((0, 1), (1, 2))
    assert second.assignments == ((2, 0, 1),)


def test_a_manual_assignment_is_kept_in_its_order() -> None:
    topics = Topics(range(3))
    assert topics.create(manual((2, 0), (1, 2))).assignments == ((2, 0), (1, 2))
    assert topics.assignment("new", 1) == (1, 2)


@pytest.mark.parametrize(("name", "partition"), [("old", 0), ("new", 1), ("new", -1)])
def test_what_nobody_made_is_unknown(name: str, partition: int) -> None:
    topics = Topics(range(3))
    topics.create(topic())
    with pytest.raises(TopicError) as refused:
        topics.assignment(name, partition)
    assert refused.value.code == "UNKNOWN_TOPIC_OR_PARTITION"
