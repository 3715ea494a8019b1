"""A request, and what may become of it: an answer now, later, or none; and of its topics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.partition import ServedPartition

ACKS: Final = (-1, 0, 1)
"""What a producer may ask for: all in-sync replicas, no answer, the leader."""


class Request(msgspec.Struct, eq=False):
    """A request that was read."""

    connection: int
    broker: int
    api: str
    version: int
    correlation: int
    client: str
    body: Message = {}
    cut: str = ""
    """Where the connection ends: `before` it is handled, `after`, `within` its answer, or when
    that was given: `then`.
    """
    finish: Callable[[Message], Message] | None = None
    """What is done to the answer before it leaves."""
    delay_ms: int = 0
    until: str = ""
    """The command before which it is not handled."""
    invented: str = ""
    """An error that is told in place of the answer."""


class Waiting(ABC):
    """A request that is not answered yet (Kafka's purgatory)."""

    partitions: frozenset[ServedPartition] = frozenset()
    """Whose news may end the waiting; none: any may."""
    hurries = True
    """Whether it is only the cluster that is waited for, whose time may leap then."""
    is_over = False
    """Whether its time is."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @abstractmethod
    def is_ready(self) -> bool: ...

    def expire(self) -> None:
        """Its time is over: it is to be ready."""
        self.is_over = True

    @abstractmethod
    def answer(self) -> Message | None: ...


Serve: TypeAlias = Callable[[Request], Message | Waiting | None]
"""The answer; what has to happen first; or None where there is none."""


def named(topic: Message) -> Message:
    """How a request names a topic, as its answer does."""
    names = ("name", "topic", "topic_name", "topic_id")
    return {key: topic[key] for key in names if key in topic}


def by_topic(
    topics: Iterable[Message],
    answer: Callable[[Message, Any], Message],
    asked: str = "partitions",
    told: str = "partitions",
) -> list[Message]:
    """Topics as a request has them, with an answer for each of their partitions.

    answer: given the topic, and what is asked of the partition. asked, told: where those stand.
    """
    return [
        named(topic) | {told: [answer(topic, each) for each in topic[asked]]} for topic in topics
    ]
