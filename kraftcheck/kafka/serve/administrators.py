"""Answer administrators: elections, replicas, directories, producers, ACLs.

Topics and settings have modules of their own.

Kafka's ReplicationControlManager, DescribeTopicPartitionsRequestHandler, KafkaApis,
ProducerStateManager and AclApis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kraftcheck.kafka.serve.acls import refused
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import UNSET, Ended
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.data import Data
from kraftcheck.kafka.serve.metadata import Metadata, Settling
from kraftcheck.kafka.serve.partition import ServedPartition, ServedTopic
from kraftcheck.kafka.serve.requests import Request, Serve, Waiting, by_topic
from kraftcheck.kafka.serve.topics import is_name

PREFERRED: Final = 0
_METADATA: Final = ("__cluster_metadata", 0)
PARTITIONS_MAX: Final = 2000
"""max.request.partition.size.limit."""
DIRECTORY: Final = "/kraftcheck/broker-{}"
"""Each broker has one, of which there is nothing but the name."""
_CONSTANT: Final = "Replicas of a served partition stay as they are."


class Administrators:
    def __init__(self, core: Core, metadata: Metadata, data: Data) -> None:
        self._core = core
        self._data = data
        self._world = core.world
        self._metadata = metadata
        self.served: dict[str, Serve] = {
            "ElectLeaders": self._elect_leaders,
            "DescribeTopicPartitions": self._describe_partitions,
            "DescribeLogDirs": self._describe_log_dirs,
            "DescribeProducers": self._describe_producers,
            "DescribeQuorum": self._describe_quorum,
            "AlterPartitionReassignments": self._reassign,
            "ListPartitionReassignments": lambda _: {"error_message": None, "topics": []},
            **dict.fromkeys(("DescribeAcls", "CreateAcls", "DeleteAcls"), _without_acls),
        }

    # --- Reassignment: KIP-455, as far as replicas are a constant of a partition

    def _reassign(self, request: Request) -> Message:
        """Answer a reassignment (ReplicationControlManager.alterPartitionReassignments).

        Nothing is ever in progress, so nothing can be cancelled; and a partition may be given the
        replicas that it has.
        """

        def slot_of(topic: Message, asked: Message) -> Message:
            partition = self._world.partition(topic["name"], asked["partition_index"])
            error, why = "NONE", None
            if partition is None:
                error, why = "UNKNOWN_TOPIC_OR_PARTITION", "No such topic, or partition."
            elif asked["replicas"] is None:
                error, why = "NO_REASSIGNMENT_IN_PROGRESS", None
            elif tuple(asked["replicas"]) != partition.constants.replicas:
                error, why = "INVALID_REPLICA_ASSIGNMENT", _CONSTANT
            answer = {"error_code": ERRORS[error], "error_message": why}
            return {"partition_index": asked["partition_index"], **answer}

        allowed = request.body.get("allow_replication_factor_change", True)
        return {
            "allow_replication_factor_change": allowed,
            "error_message": None,
            "responses": by_topic(request.body["topics"], slot_of),
        }

    # --- Elections: C9

    def _elect_leaders(self, request: Request) -> Message | Waiting:
        asked, results, chosen = request.body["topic_partitions"], dict[str, list[Message]](), []
        wanted: Iterable[tuple[str, int]]
        if asked is None:
            wanted = [(t.name, at) for t in self._shown() for at in range(len(t.partitions))]
        else:
            wanted = [(each["topic"], at) for each in asked for at in each["partitions"]]
        preferred = request.body.get("election_type", PREFERRED) == PREFERRED
        for name, at in wanted:
            error, why = self._elect(name, at, preferred)
            if error == "NONE":
                partition = self._world.partition(name, at)
                assert partition is not None, "it was elected for"
                chosen.append(partition)
            if asked is not None or error != "ELECTION_NOT_NEEDED":
                told = {"partition_id": at, "error_code": ERRORS[error], "error_message": why}
                results.setdefault(name, []).append(told)
        answer: Message = {
            "error_code": ERRORS["NONE"],
            "replica_election_results": [
                {"topic": name, "partition_result": told} for name, told in results.items()
            ],
        }
        if not chosen:
            return answer
        waiting = Settling(request, chosen, lambda _: answer)
        return self._core.wait(waiting, request.body["timeout_ms"])

    def _elect(self, name: str, at: int, preferred: bool) -> tuple[str, str | None]:
        """An error, and Kafka's words for it."""
        topic, partition = self._world.topics.get(name), self._world.partition(name, at)
        if topic is None:
            return "UNKNOWN_TOPIC_OR_PARTITION", f"No such topic as {name}"
        if partition is None:
            return "UNKNOWN_TOPIC_OR_PARTITION", f"No such partition as {name}-{at}"
        first = partition.constants.replicas[0]
        before = partition.controller.partition.leader
        if before == first if preferred else before >= 0:
            return "ELECTION_NOT_NEEDED", _NOT_NEEDED
        if not preferred:
            return "ELIGIBLE_LEADERS_NOT_AVAILABLE", _NOT_ELIGIBLE
        self._world.elect(partition)
        if partition.controller.partition.leader != first:
            return "PREFERRED_LEADER_NOT_AVAILABLE", _NOT_AVAILABLE
        return "NONE", None

    # --- Replicas: KIP-966

    def _shown(self) -> list[ServedTopic]:
        return list(self._world.topics.values())

    def _describe_partitions(self, request: Request) -> Message:
        """Topics and their partitions in order, from a cursor on, so many at once."""
        body = request.body
        names = [each["name"] for each in body["topics"]] or [t.name for t in self._shown()]
        cursor = body["cursor"] or {"topic_name": "", "partition_index": 0}
        left = min(PARTITIONS_MAX, max(1, body["response_partition_limit"]))
        told, onwards = [], None
        for name in sorted({*names}):
            if name < cursor["topic_name"]:
                continue
            topic = self._world.topics.get(name)
            if topic is None:
                known = "UNKNOWN_TOPIC_OR_PARTITION" if is_name(name) else "INVALID_TOPIC_EXCEPTION"
                told.append({"name": name, "error_code": ERRORS[known], "partitions": []})
                continue
            first = cursor["partition_index"] if name == cursor["topic_name"] else 0
            if not left:
                onwards = {"topic_name": name, "partition_index": first}
                break
            some = topic.partitions[first : first + left]
            left -= len(some)
            described = self._metadata.described(topic, request.broker)
            partitions = [*self._replicas(some, described["partitions"], request.broker)]
            told.append(described | {"partitions": partitions})
            if first + len(some) < len(topic.partitions):
                onwards = {"topic_name": name, "partition_index": first + len(some)}
                break
        return {"topics": told, "next_cursor": onwards}

    def _replicas(
        self, some: Iterable[ServedPartition], described: list[Message], broker: int
    ) -> Iterator[Message]:
        for partition in some:
            known = partition.known_to(broker)
            last = [known.last_known_leader] if known.last_known_leader >= 0 else []
            eligible = {"eligible_leader_replicas": list(known.elr), "last_known_elr": last}
            yield described[partition.index] | eligible

    # --- The controller: KIP-836, KIP-853

    def _describe_quorum(self, request: Request) -> Message:
        """Describe the quorum: one controller, which is no broker, and the brokers as observers.

        Each is as far as it has come in the metadata log of the partition that is on all of them.
        """

        def slot_of(topic: Message, asked: Message) -> Message:
            at = asked["partition_index"]
            known = (topic["topic_name"], at) == _METADATA
            slot: Message = {"partition_index": at, "leader_id": UNSET, "leader_epoch": UNSET}
            slot |= {"high_watermark": UNSET, "current_voters": [], "observers": []}
            slot["error_code"] = ERRORS["NONE" if known else "UNKNOWN_TOPIC_OR_PARTITION"]
            return slot | (self._quorum() if known else {})

        topics = by_topic(request.body["topics"], slot_of)
        nodes = [{"node_id": len(self._world.setup.brokers), "listeners": []}]
        return {"error_code": ERRORS["NONE"], "topics": topics, "nodes": nodes}

    def _quorum(self) -> Message:
        world = self._world
        of, now = world.offsets, world.now // 1000
        end, controller = of.controller.offset, len(world.setup.brokers)

        def replica(node: int, at: int) -> Message:
            times = {"last_fetch_timestamp": now, "last_caught_up_timestamp": now}
            return {"replica_id": node, "log_end_offset": at} | (times if at == end else {})

        there = [each for each in of.brokers if each in world.up() - world.isolated]
        return {
            "leader_id": controller,
            "leader_epoch": 1,
            "high_watermark": end,
            "current_voters": [replica(controller, end)],
            "observers": [replica(each, of.row(each).image.offset) for each in there],
        }

    # --- Directories

    def _describe_log_dirs(self, request: Request) -> Message:
        broker, asked = request.broker, request.body["topics"]
        wanted = (
            [(t, range(len(t.partitions))) for t in self._shown()]
            if asked is None
            else [
                (topic, each["partitions"])
                for each in asked
                if (topic := self._world.topics.get(each["topic"])) is not None
            ]
        )
        topics = []
        for topic, numbers in wanted:
            held = [p for p in topic.partitions if p.index in numbers and broker in p.brokers]
            if held:
                partitions = [
                    {"partition_index": p.index, "partition_size": self._size(p, broker)}
                    for p in held
                ]
                topics.append({"name": topic.name, "partitions": partitions})
        directory = {"log_dir": DIRECTORY.format(broker), "topics": topics}
        return {"error_code": ERRORS["NONE"], "results": [directory]}

    def _size(self, partition: ServedPartition, broker: int) -> int:
        """Bytes of batches, from the first that is not deleted."""
        row = partition.row(broker)
        there = row.log[row.log_start : len(row.log)]
        return sum(len(self._world.batch(each).data) for each in there)

    # --- Producers: KIP-664

    def _describe_producers(self, request: Request) -> Message:
        def slot_of(topic: Message, index: int) -> Message:
            of = self._world.topics.get(topic["name"])
            partition, error = self._data.find(of, index, request.broker, False)
            slot: Message = {"partition_index": index, "error_code": ERRORS[error]}
            slot["error_message"] = _NOT_HOSTED if of is None else None
            if partition is not None and error == "NONE":
                slot["active_producers"] = self._producers(partition, request.broker)
            return slot

        return {"topics": by_topic(request.body["topics"], slot_of, "partition_indexes")}

    def _producers(self, partition: ServedPartition, broker: int) -> list[Message]:
        """What a replica's log says of each, whether it leads or not.

        A marker of another epoch leaves no sequence number.
        """
        row, known = partition.row(broker), dict[int, Message]()
        for at in range(len(row.log)):
            batch = self._world.batch(self._world.entry(partition, row, at))
            if batch.producer == UNSET:
                continue
            was = known.pop(batch.producer, {"coordinator_epoch": UNSET})
            same = was.get("producer_epoch") == batch.producer_epoch
            said = known[batch.producer] = was | {
                "producer_id": batch.producer,
                "producer_epoch": batch.producer_epoch,
                "last_sequence": was["last_sequence"] if same else UNSET,
                "last_timestamp": batch.max_time,
            }
            if isinstance(batch.value, Ended):
                said["coordinator_epoch"] = batch.value.coordinator_epoch
                said["current_txn_start_offset"] = UNSET
                continue
            if batch.sequence != UNSET:
                said["last_sequence"] = batch.last_sequence
            if batch.is_transactional and said.get("current_txn_start_offset", UNSET) == UNSET:
                said["current_txn_start_offset"] = batch.base
        return sorted(known.values(), key=lambda each: int(each["producer_id"]))


def _without_acls(request: Request) -> Message:
    """Kafka's words, which differ."""
    more = " on the broker" if request.api == "DescribeAcls" else "."
    return refused(request, "SECURITY_DISABLED", f"No Authorizer is configured{more}")


_NOT_HOSTED: Final = "This server does not host this topic-partition."
_NOT_NEEDED: Final = "Leader election not needed for topic partition."
_NOT_AVAILABLE: Final = "The preferred leader was not available."
_NOT_ELIGIBLE: Final = "Eligible topic partition leaders are not available."
