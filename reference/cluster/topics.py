"""Topics as an administrator makes them: what Kafka's controller refuses, and where replicas go.

The checks and their words are those of `ReplicationControlManager.createTopic`,
`validateManualPartitionAssignment` and `StripedReplicaPlacer` (Kafka 4.0), in their order. One is
ours: Kafka makes a topic that needs more in-sync replicas than it has, and then asks for no more
than these (`Partition.effectiveMinIsr`); nobody means that, so it is refused.

Law of this file: values only. A topic that exists is immutable: there is no reassignment here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

DEFAULT: Final = -1
"""Of partitions or replicas: as many as the assignments say."""

Assignment: TypeAlias = tuple[int, ...]
"""The brokers that hold a partition, the preferred leader first."""


class TopicError(ValueError):
    """Kafka's error code, and what it says about it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class NewTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that is asked for.

    So many partitions and replicas, or a manual assignment for each partition (both numbers are
    then DEFAULT).
    """

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: tuple[Assignment, ...] = ()
    min_insync_replicas: int = 1


class Topic(msgspec.Struct, frozen=True):
    name: str
    assignments: tuple[Assignment, ...]
    """By partition."""


class Topics:
    """The topics of a cluster with these brokers, all of them registered and none fenced."""

    def __init__(self, brokers: Iterable[int]) -> None:
        self._brokers = tuple(sorted(brokers))
        self._topics: dict[str, Topic] = {}

    @property
    def all(self) -> tuple[Topic, ...]:
        """In the order in which they were made."""
        return tuple(self._topics.values())

    def create(self, wanted: NewTopic) -> Topic:
        """Raises TopicError for a topic that Kafka would not make."""
        if wanted.name in self._topics:
            raise TopicError("TOPIC_ALREADY_EXISTS", f"Topic '{wanted.name}' already exists.")
        assignments = self._manual(wanted) if wanted.assignments else self._placed(wanted)
        replicas = len(assignments[0])
        if wanted.min_insync_replicas > replicas:
            raise TopicError(
                "INVALID_CONFIG",
                f"min.insync.replicas {wanted.min_insync_replicas} is above the replication factor "
                f"{replicas}",
            )
        topic = self._topics[wanted.name] = Topic(wanted.name, assignments)
        return topic

    def delete(self, name: str) -> None:
        """Raises TopicError for a topic that there is not."""
        if self._topics.pop(name, None) is None:
            raise TopicError(
                "UNKNOWN_TOPIC_OR_PARTITION",
                "This server does not host this topic-partition.",
            )

    def assignment(self, topic: str, partition: int) -> Assignment:
        """Who holds a partition. Raises TopicError for one that there is not."""
        known = self._topics.get(topic)
        if known is None or not 0 <= partition < len(known.assignments):
            raise TopicError(
                "UNKNOWN_TOPIC_OR_PARTITION",
                f"This server does not host this topic-partition: {topic}-{partition}.",
            )
        return known.assignments[partition]

    def _manual(self, wanted: NewTopic) -> tuple[Assignment, ...]:
        for number, what in (
            (wanted.replication_factor, "replication factor"),
            (wanted.partitions, "numPartitions"),
        ):
            if number != DEFAULT:
                raise TopicError(
                    "INVALID_REQUEST",
                    f"A manual partition assignment was specified, but {what} was not set to -1.",
                )
        for assignment in wanted.assignments:
            problem = self._problem(assignment, len(wanted.assignments[0]))
            if problem:
                raise TopicError(
                    "INVALID_REPLICA_ASSIGNMENT", f"The manual partition assignment {problem}"
                )
        return wanted.assignments

    def _problem(self, assignment: Sequence[int], replicas: int) -> str:
        if not assignment:
            return "includes an empty replica list."
        previous = None
        for broker in sorted(assignment):
            if broker not in self._brokers:
                return f"includes broker {broker}, but no such broker is registered."
            if broker == previous:
                return f"includes the broker {broker} more than once."
            previous = broker
        if len(assignment) != replicas:
            return (
                f"includes a partition with {len(assignment)} replica(s), but this is not "
                f"consistent with previous partitions, which have {replicas} replica(s)."
            )
        return ""

    def _placed(self, wanted: NewTopic) -> tuple[Assignment, ...]:
        """Place replicas as StripedReplicaPlacer does over one rack, from the first broker on.

        Kafka begins at any broker.
        """
        replicas, brokers = wanted.replication_factor, self._brokers
        if replicas < 1:
            raise TopicError(
                "INVALID_REPLICATION_FACTOR",
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if wanted.partitions < 1:
            raise TopicError(
                "INVALID_PARTITIONS",
                "Number of partitions was set to an invalid non-positive value.",
            )
        if replicas > len(brokers):
            raise TopicError(
                "INVALID_REPLICATION_FACTOR",
                f"The target replication factor of {replicas} cannot be reached because only "
                f"{len(brokers)} broker(s) are registered.",
            )
        first = sum(len(topic.assignments) for topic in self._topics.values())
        return tuple(
            tuple(brokers[(first + p + at) % len(brokers)] for at in range(replicas))
            for p in range(wanted.partitions)
        )
