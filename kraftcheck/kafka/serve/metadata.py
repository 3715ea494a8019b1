"""What a broker says of the cluster: brokers, topics, their settings, and who is asked for what.

A broker answers from the metadata that it has applied itself: a broker that was cut off from the
controllers says what was so then. Kafka's KafkaApis, MetadataCache and ReplicationControlManager.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from kraftcheck.kafka.serve.apis import ERRORS, OFFERED_FROM, SERVED, versions
from kraftcheck.kafka.serve.codec import NO_UUID, Message, description
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.partition import ServedPartition, ServedTopic
from kraftcheck.kafka.serve.requests import Request, Serve, Waiting
from kraftcheck.kafka.serve.topics import asked_for, is_name, made
from kraftcheck.kafka.serve.world import INTERNAL, MADE_MS, OFFSETS, TRANSACTIONS
from kraftcheck.reference.cluster.topics import TopicError
from kraftcheck.reference.partition.messages import NOBODY

FEATURES = {"group.version": 1, "transaction.version": 2}
"""What clients are told that the cluster has agreed on: the consumer protocol (KIP-848), and an
epoch for each transaction (KIP-890).
"""

_Named: TypeAlias = tuple[str | None, ServedTopic | None]
"""What was asked for by name, or by id, and what there is."""


class Settling(Waiting):
    """Waits until everybody knows the leaders of partitions, or for so long."""

    def __init__(
        self, request: Request, partitions: Iterable[ServedPartition], answer: Serve
    ) -> None:
        super().__init__(request)
        self.partitions = frozenset(partitions)
        self._answer = answer

    def is_ready(self) -> bool:
        return self.is_over or all(each.is_agreed() for each in self.partitions)

    def answer(self) -> Message | None:
        answer = self._answer(self.request)
        assert isinstance(answer, dict), "what was waited for is there"
        return answer


def _of(topics: Iterable[ServedTopic]) -> Iterable[ServedPartition]:
    return (each for topic in topics for each in topic.partitions)


class Metadata:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._world = core.world
        self._setup = core.setup
        self._cluster = urlsafe_b64encode(core.setup.uuid("cluster")).decode()[:22]
        self.served: dict[str, Serve] = {
            "ApiVersions": self._api_versions,
            "Metadata": self._metadata,
            "DescribeCluster": self._describe_cluster,
            "CreateTopics": self._create_topics,
            "DeleteTopics": self._delete_topics,
            "CreatePartitions": self._create_partitions,
            "FindCoordinator": self._find_coordinator,
        }

    def _api_versions(self, request: Request) -> Message:
        return {
            "api_keys": [
                {
                    "api_key": description(f"{name}Request").key,
                    "min_version": OFFERED_FROM.get(name, versions(name).first),
                    "max_version": versions(name).last,
                }
                for name in SERVED
            ],
            "supported_features": [
                {"name": name, "min_version": 0, "max_version": level}
                for name, level in FEATURES.items()
            ],
            "finalized_features_epoch": 0,
            "finalized_features": [
                {"name": name, "min_version_level": level, "max_version_level": level}
                for name, level in FEATURES.items()
            ],
        }

    # --- Brokers and topics

    def _alive(self, broker: int) -> list[int]:
        """The brokers that are not fenced, as this one knows it."""
        of_all = self._world.offsets
        known = of_all.row(broker).image.brokers
        alive = [b for b, of in zip(of_all.brokers, known, strict=True) if not of.fenced]
        return sorted({*alive, broker})

    def _endpoint(self, broker: int) -> Message:
        return {"host": self._setup.host, "port": self._setup.ports[broker]}

    def _metadata(self, request: Request) -> Message | Waiting:
        world, body = self._world, request.body
        asked = body["topics"]
        if asked is None or (not asked and request.version == 0):
            wanted: list[_Named] = [
                each for each in world.topics.items() if each[0] not in INTERNAL
            ]
        else:
            wanted = [self._named(each) for each in asked]
        if self._setup.auto_create and body.get("allow_auto_topic_creation", True):
            made = [self._auto_made(name) for name, topic in wanted if topic is None and name]
            there = [topic for topic in made if topic is not None]
            if there:
                return self._core.wait(Settling(request, _of(there), self._metadata_now), MADE_MS)
        return self._described(request, wanted)

    def _metadata_now(self, request: Request) -> Message:
        return self._described(request, [self._named(each) for each in request.body["topics"]])

    def _described(self, request: Request, wanted: list[_Named]) -> Message:
        alive = self._alive(request.broker)
        return {
            "brokers": [{"node_id": b, **self._endpoint(b)} for b in alive],
            "cluster_id": self._cluster,
            "controller_id": alive[0],
            "topics": [
                self._unknown(name, request, each)
                if topic is None
                else self._topic(topic, request.broker, alive)
                for (name, topic), each in zip(
                    wanted, request.body["topics"] or [{}] * len(wanted), strict=True
                )
            ],
        }

    def _named(self, asked: Message) -> _Named:
        name = asked["name"]
        if name is None:
            topic = self._world.with_id(asked.get("topic_id", NO_UUID))
            return (None if topic is None else topic.name), topic
        return name, self._world.topics.get(name)

    def _auto_made(self, name: str) -> ServedTopic | None:
        try:
            return made(self._world, {"name": name})
        except TopicError:
            return None

    def _unknown(self, name: str | None, request: Request, asked: Message) -> Message:
        if name is None:
            id = asked.get("topic_id", NO_UUID)
            no_name = None if request.version >= 12 else ""
            return {"error_code": ERRORS["UNKNOWN_TOPIC_ID"], "name": no_name, "topic_id": id}
        error = "UNKNOWN_TOPIC_OR_PARTITION" if is_name(name) else "INVALID_TOPIC_EXCEPTION"
        return {"error_code": ERRORS[error], "name": name}

    def _topic(self, topic: ServedTopic, broker: int, alive: list[int]) -> Message:
        return {
            "name": topic.name,
            "topic_id": topic.id,
            "is_internal": topic.name in INTERNAL,
            "partitions": [self._partition(each, broker, alive) for each in topic.partitions],
        }

    def described(self, topic: ServedTopic, broker: int) -> Message:
        """A topic and its partitions, as a broker knows them."""
        return self._topic(topic, broker, self._alive(broker))

    def _partition(self, of: ServedPartition, broker: int, alive: list[int]) -> Message:
        known = of.known_to(broker)
        # Whoever is not among the brokers cannot be asked: some clients take that ill.
        missing = known.leader not in alive
        return {
            "error_code": ERRORS["LEADER_NOT_AVAILABLE" if missing else "NONE"],
            "partition_index": of.index,
            "leader_id": NOBODY if missing else known.leader,
            "leader_epoch": known.leader_epoch,
            "replica_nodes": list(of.constants.replicas),
            "isr_nodes": list(known.isr),
            "offline_replicas": [b for b in of.constants.replicas if b not in alive],
        }

    def _describe_cluster(self, request: Request) -> Message:
        alive = self._alive(request.broker)
        return {
            "endpoint_type": request.body.get("endpoint_type", 1),
            "cluster_id": self._cluster,
            "controller_id": alive[0],
            "brokers": [{"broker_id": b, **self._endpoint(b)} for b in alive],
        }

    # --- Topics are made and deleted

    def _create_topics(self, request: Request) -> Message | Waiting:
        results, there = [], []
        for asked in request.body["topics"]:
            told: Message = {"name": asked["name"], "error_message": None, "configs": []}
            try:
                wanted, settings = asked_for(self._world, _as_said(asked))
                if request.body["validate_only"]:
                    if asked["name"] in self._world.topics:
                        raise TopicError("TOPIC_ALREADY_EXISTS", asked["name"])
                else:
                    topic = self._world.make(wanted, settings)
                    there.append(topic)
                    told |= {
                        "topic_id": topic.id,
                        "num_partitions": len(topic.partitions),
                        "replication_factor": len(topic.partitions[0].constants.replicas),
                    }
            except TopicError as error:
                told |= {"error_code": ERRORS[error.code], "error_message": str(error)}
            results.append(told)
        answer: Message = {"topics": results}
        if not there:
            return answer
        waiting = Settling(request, _of(there), lambda _: answer)
        return self._core.wait(waiting, min(MADE_MS, request.body["timeout_ms"]))

    def _delete_topics(self, request: Request) -> Message:
        body = request.body
        asked = (
            body["topics"] if request.version >= 6 else [{"name": n} for n in body["topic_names"]]
        )
        results = []
        for each in asked:
            name, topic = self._named({"topic_id": NO_UUID, **each})
            told: Message = {"name": name, "topic_id": each.get("topic_id", NO_UUID)}
            if topic is None or topic.name in INTERNAL:
                error = "UNKNOWN_TOPIC_ID" if name is None else "UNKNOWN_TOPIC_OR_PARTITION"
                told["error_code"] = ERRORS[error]
            else:
                told["topic_id"] = topic.id
                self._world.delete(topic.name)
            results.append(told)
        return {"responses": results}

    def _create_partitions(self, request: Request) -> Message | Waiting:
        body, results, there = request.body, [], []
        for asked in body["topics"]:
            told: Message = {"name": asked["name"], "error_message": None}
            results.append(told)
            manual = asked["assignments"]
            replicas = None if manual is None else [each["broker_ids"] for each in manual]
            try:
                topic = self._world.topics.get(asked["name"])
                if topic is None or topic.name in INTERNAL:
                    raise TopicError("UNKNOWN_TOPIC_OR_PARTITION", "no such topic")
                self._world.extend(topic, asked["count"], replicas, body["validate_only"])
                there.append(topic)
            except TopicError as error:
                told |= {"error_code": ERRORS[error.code], "error_message": str(error)}
        answer: Message = {"results": results}
        if not there:
            return answer
        waiting = Settling(request, _of(there), lambda _: answer)
        return self._core.wait(waiting, min(MADE_MS, body["timeout_ms"]))

    # --- Coordinators

    def _find_coordinator(self, request: Request) -> Message | Waiting:
        """Whoever leads the log of groups, or of transactions."""
        name = TRANSACTIONS if request.body.get("key_type", 0) == 1 else OFFSETS
        if name not in self._world.topics:
            there = [self._world.make_internal(name)]
            return self._core.wait(Settling(request, _of(there), self._found_coordinator), MADE_MS)
        return self._found_coordinator(request)

    def _found_coordinator(self, request: Request) -> Message:
        body, error = request.body, "NONE"
        kind = body.get("key_type", 0)
        log = self._world.topics[TRANSACTIONS if kind == 1 else OFFSETS].partitions[0]
        leader = log.known_to(request.broker).leader
        if kind not in (0, 1):
            error = "INVALID_REQUEST"
        elif leader not in self._alive(request.broker):
            error = "COORDINATOR_NOT_AVAILABLE"
        told: Message = {"error_code": ERRORS[error], "error_message": None}
        if error == "NONE":
            told |= {"node_id": leader, **self._endpoint(leader)}
        else:
            told |= {"node_id": NOBODY, "port": -1}
        if request.version < 4:
            return told
        return {"coordinators": [told | {"key": key} for key in body["coordinator_keys"]]}


def _as_said(asked: Message) -> Mapping[str, Any]:
    return {
        "name": asked["name"],
        "partitions": asked["num_partitions"],
        "replicas": asked["replication_factor"],
        "assignments": [
            each["broker_ids"]
            for each in sorted(asked["assignments"], key=lambda each: int(each["partition_index"]))
        ],
        "configs": {each["name"]: each["value"] for each in asked["configs"]},
    }
