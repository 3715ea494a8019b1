"""What an administrator asks of a cluster of ours: voters, replicas and topics that change.

By Kafka's own commands, where the client library has no call. Each raises ClusterError: it was
refused, or nobody answered.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kraftcheck.live.cluster import Cluster, ClusterError
from kraftcheck.live.confluent import SILENT

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ANSWERS_S = 20.0
JOINS_S = 90.0
"""How long a controller may take until it has caught up, and may vote."""
RESTS_S = 1.0
"""So long nobody asks after a refusal."""

Replicas = Mapping[int, Sequence[int]]
"""By partition, the numbers of the nodes, in assignment order."""


def remove_voter(cluster: Cluster, name: str) -> None:
    node = cluster.node(name)
    which = ["--controller-id", str(node.number), "--controller-directory-id", node.directory_id]
    _asked(cluster, QUORUM, [], _controllers(cluster), "remove-controller", *which)


def add_voter(cluster: Cluster, name: str) -> None:
    """It is asked for again until the controller has caught up."""
    config = ["--command-config", str(cluster.directory / f"{name}.properties")]
    deadline = time.monotonic() + JOINS_S
    while True:
        try:
            _asked(cluster, QUORUM, config, _controllers(cluster), "add-controller")
            return
        except ClusterError as error:
            if "DuplicateVoter" in str(error):  # an earlier request, whose answer was late
                return
            if time.monotonic() > deadline:
                raise
            time.sleep(RESTS_S)


def replicas_of(cluster: Cluster, topic: str) -> dict[int, list[int]]:
    with _told(topic):
        known = _admin(cluster).list_topics(topic, timeout=ANSWERS_S).topics[topic].partitions
    return {number: list(each.replicas) for number, each in known.items()}


def reassign(cluster: Cluster, topic: str, wanted: Replicas) -> None:
    _reassigned(cluster, topic, wanted, "--execute", "--additional")


def cancel(cluster: Cluster, topic: str, partitions: Replicas) -> None:
    """Gives up what is under way of these, if anything is."""
    _reassigned(cluster, topic, partitions, "--cancel")


def without(brokers: Sequence[int], replicas: Sequence[int], victim: int) -> list[int]:
    """Give the list with the victim replaced by another broker, or put in the place of its first.

    Where nobody is left for it, the list is one shorter.
    """
    free = [b for b in brokers if b not in replicas]
    if victim not in replicas:
        return [victim, *replicas[1:]]
    at = replicas.index(victim)
    return [*replicas[:at], *free[:1], *replicas[at + 1 :]]


def delete_topic(cluster: Cluster, topic: str) -> None:
    """Deletes a topic, which is made first where there is none."""
    admin = _admin(cluster)
    with _told(topic):
        if topic not in admin.list_topics(timeout=ANSWERS_S).topics:
            create_topic(cluster, topic)
        admin.delete_topics([topic], operation_timeout=ANSWERS_S)[topic].result(2 * ANSWERS_S)


def create_topic(cluster: Cluster, topic: str) -> None:
    brokers = sum("broker" in node.roles for node in cluster.state.nodes)
    new = NewTopic(topic, num_partitions=1, replication_factor=min(3, brokers))
    admin = _admin(cluster)  # what it was asked ends with it
    with _told(topic):
        admin.create_topics([new], operation_timeout=ANSWERS_S)[topic].result(2 * ANSWERS_S)


@contextmanager
def _told(topic: str) -> Iterator[None]:
    """What the library says against it is a ClusterError."""
    try:
        yield
    except KafkaException as error:
        raise ClusterError(f"topic {topic}: {error.args[0].str()}") from None
    except TimeoutError:
        raise ClusterError(f"topic {topic}: nobody answered in time") from None


def _admin(cluster: Cluster) -> AdminClient:
    return AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap})


def _reassigned(cluster: Cluster, topic: str, wanted: Replicas, *how: str) -> None:
    partitions = [
        {"topic": topic, "partition": number, "replicas": list(replicas)}
        for number, replicas in wanted.items()
    ]
    file = cluster.directory / "reassignment.json"
    file.write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")
    known = ["--bootstrap-server", cluster.bootstrap]
    _asked(cluster, REASSIGN, [], known, *how, "--reassignment-json-file", str(file))


def _controllers(cluster: Cluster) -> list[str]:
    """Whom to ask about voters: any of them knows who leads."""
    nodes = [node for node in cluster.state.nodes if "controller" in node.roles]
    return ["--bootstrap-controller", ",".join(node.quorum_listener for node in nodes)]


def _asked(cluster: Cluster, command: str, given: list[str], known: list[str], *words: str) -> None:
    host = next(n.name for n in cluster.state.nodes if "broker" in n.roles)
    cluster.run_tool(host, command, *given, *known, *words)
