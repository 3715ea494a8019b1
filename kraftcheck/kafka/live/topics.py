"""The topic of a recording: one that is made, or one that is there and keeps its own rules.

What promises depend on (replicas, min ISR, unclean elections) is asked of the cluster for a topic
that is there: whoever records need not know it, and may be wrong. And it may hold records already,
of others or of an earlier recording: where each partition ended is noted, so that clients begin
there (behind.py), and values are none that an earlier recording wrote.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewTopic

from kraftcheck.kafka.live.confluent import MUTE, SILENT

CONNECT_S = 3.0
"""Until an address that does not answer is given up."""
ANSWER_S = 20.0
ASK_S = 1.0
"""Until it is looked whether the library has a reason why nobody answers."""
HOPELESS = ("_AUTHENTICATION", "_SSL")
"""Reasons that stay: a password does not become right while one waits."""
REFUSED = "SSL alert"
"""As librdkafka tells that the other side refused, such as who has no certificate: it is a broken
transport to it."""
RULES_S = 5.0
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


class TopicError(Exception):
    """There is no such topic, or it cannot be had like this. The text is one line."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that was there before.

    replication_factor, min_insync_replicas, unclean_election: as the cluster says, None where it
    does not.
    """

    ends: tuple[int, ...]
    """By partition, where it ended then."""
    replication_factor: int | None = None
    min_insync_replicas: int | None = None
    unclean_election: bool | None = None

    @property
    def records(self) -> int:
        """At most so many records were there."""
        return sum(self.ends)


def admin_of(
    bootstrap: str, properties: Mapping[str, str], heard: Callable[[KafkaError], None] | None = None
) -> AdminClient:
    """heard: of errors that the library meets by itself.

    Raises TopicError: the properties are not those of a client.
    """
    settings: Any = {**SILENT, "bootstrap.servers": bootstrap, **properties}
    try:
        return AdminClient(settings | ({"error_cb": heard} if heard else {}))
    except KafkaException as error:
        raise TopicError(f"--config: {error.args[0].str()}") from None


def find(bootstrap: str, properties: Mapping[str, str], patience: float = ANSWER_S) -> AdminClient:
    """Whoever answers there.

    Raises TopicError: nobody does within so many seconds, or ever will with these properties.
    """
    met: list[KafkaError] = []
    admin = admin_of(bootstrap, properties, met.append)
    for each in bootstrap.split(","):
        if not each.rpartition(":")[2].strip().isdigit():
            raise TopicError(f"{each}: it has no port: HOST:PORT is wanted")
    if not any(_is_open(each) for each in bootstrap.split(",")):
        # The library would ask again and again for as long as it has patience.
        raise TopicError(f"{bootstrap}: nobody listens there")
    end = time.monotonic() + patience
    while True:
        try:
            admin.list_topics(timeout=min(ASK_S, patience))
            return admin
        except KafkaException as error:
            # That no metadata came is what the asker is told; why, only who listens to errors.
            admin.poll(0)
            hopeless = next((e for e in met if e.name() in HOPELESS or REFUSED in e.str()), None)
            if hopeless is not None:
                raise TopicError(f"{hopeless.str()}; see --config") from None
            if time.monotonic() > end:
                said = f"{error.args[0].str()}; {_spoken(properties)}"
                raise TopicError(f"{bootstrap}: {said}") from None


def _spoken(properties: Mapping[str, str]) -> str:
    """What may be wrong where somebody listens and nobody answers."""
    protocol = properties.get("security.protocol")
    if protocol is None:
        return "a cluster that wants TLS or SASL is given --config security.protocol=..."
    return f"is security.protocol {protocol} what it speaks?"


def make(
    admin: AdminClient, name: str, partitions: int, replicas: int, config: Mapping[str, str]
) -> None:
    """Makes a topic. Raises TopicError: it is there already, or cannot be made."""
    topic = NewTopic(name, partitions, replicas, config=dict(config))
    try:
        admin.create_topics([topic], operation_timeout=20)[name].result(30)
    except KafkaException as error:
        said = error.args[0].str()
        if error.args[0].name() == "TOPIC_ALREADY_EXISTS":
            said = f"topic {name} is there already: name another one, or say --existing-topic"
        raise TopicError(said) from None
    except TimeoutError:
        raise TopicError(f"topic {name} was not made in time") from None


def standing(
    bootstrap: str, properties: Mapping[str, str], admin: AdminClient, name: str, partitions: int
) -> Standing:
    """What there is of a topic.

    Raises TopicError: it is not there, cannot be had, or has fewer partitions.
    """
    try:
        # All of them: a cluster may make a topic that is asked for by its name.
        topics = admin.list_topics(timeout=ANSWER_S).topics
    except KafkaException as error:
        raise TopicError(f"topic {name}: {error.args[0].str()}") from None
    topic = topics.get(name)
    if topic is None:
        near = get_close_matches(name, topics, 1)
        hint = f"did you mean {near[0]}?" if near else "without --existing-topic it is made"
        raise TopicError(f"there is no topic {name}: {hint}")
    if topic.partitions and len(topic.partitions) < partitions:
        raise TopicError(f"topic {name} has {len(topic.partitions)} partitions: see --partitions")
    replicas = {len(each.replicas) for each in topic.partitions.values()}
    rules = _rules(admin, name)
    unclean = rules.get(UNCLEAN)
    return Standing(
        ends=_ends(bootstrap, properties, name, partitions),
        replication_factor=min(replicas) if replicas else None,
        min_insync_replicas=int(rules[MIN_ISR]) if MIN_ISR in rules else None,
        unclean_election=None if unclean is None else unclean == "true",
    )


def _rules(admin: AdminClient, name: str) -> dict[str, str]:
    """The topic's configuration; empty where it may not be asked for."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    try:
        asked: Any = admin.describe_configs([resource], request_timeout=RULES_S)[resource]
        found = asked.result(RULES_S)
    except (KafkaException, TimeoutError):
        return {}
    return {each.name: each.value for each in found.values() if each.value is not None}


def _ends(
    bootstrap: str, properties: Mapping[str, str], name: str, partitions: int
) -> tuple[int, ...]:
    settings = {**SILENT, "bootstrap.servers": bootstrap, "group.id": f"{name}-ends", **properties}
    consumer = Consumer(settings, logger=MUTE)
    try:
        found = [_end(consumer, TopicPartition(name, at)) for at in range(partitions)]
    except KafkaException as error:
        raise TopicError(f"topic {name}: {error.args[0].str()}") from None
    finally:
        consumer.close()
    return tuple(found)


def _end(consumer: Consumer, place: TopicPartition) -> int:
    known = consumer.get_watermark_offsets(place, timeout=ANSWER_S, cached=False)
    return 0 if known is None else int(known[1])


def first_value(standing: Standing | None) -> int:
    """From where values are counted: above those of every earlier recording, where one may be."""
    return 1 if standing is None or not standing.records else int(time.time()) * 1_000_000


def _is_open(address: str) -> bool:
    """Whether somebody takes connections at HOST:PORT, with or without a protocol before it."""
    host, _, port = address.strip().rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, ValueError):
        return False
    return True
