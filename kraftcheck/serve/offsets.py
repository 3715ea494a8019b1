"""What consumers have committed: records of one partition, replicated like any other.

The leader of `__consumer_offsets` is the coordinator of every group. A commit is appended there and
answered when all in-sync replicas have it; a fetch reads what is committed of the leader's log, so
that after a failover the new leader knows as much. Groups have no members here: a commit comes from
a consumer that was assigned its partitions by hand (Kafka's OffsetMetadataManager, whose group is
then empty).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from kraftcheck.serve.apis import ERRORS
from kraftcheck.serve.batches import single
from kraftcheck.serve.codec import Message
from kraftcheck.serve.core import Core, Request, Serve, Waiting
from kraftcheck.serve.data import Appends
from kraftcheck.serve.world import OFFSETS, ServedPartition, ServedTopic
from reference.partition.types import UNDEFINED

COMMIT_MS: Final = 5000
"""offsets.commit.timeout.ms."""
TOLD: Final = {
    "NONE": "NONE",
    "NOT_LEADER_OR_FOLLOWER": "NOT_COORDINATOR",
    "REQUEST_TIMED_OUT": "REQUEST_TIMED_OUT",
}
"""What a consumer hears of what an append met; COORDINATOR_NOT_AVAILABLE else."""


class Committed(NamedTuple):
    """A record. topic: its id, in hexadecimal."""

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str


class Offsets:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._world = core.world
        self.served: dict[str, Serve] = {
            "OffsetCommit": self._offset_commit,
            "OffsetFetch": self._offset_fetch,
        }

    def _topic(self, said: Message) -> ServedTopic | None:
        found = (
            self._world.topics.get(said["name"])
            if "name" in said
            else self._world.with_id(said["topic_id"])
        )
        return None if found is None or found.name == OFFSETS else found

    # --- Commits

    def _offset_commit(self, request: Request) -> Message | Waiting:
        body, commit = request.body, Commit(self._core, request)
        is_member = body["generation_id_or_member_epoch"] >= 0 or body["member_id"]
        for topic in body["topics"]:
            of = self._topic(topic)
            slots: list[Message] = []
            named = {key: topic[key] for key in ("name", "topic_id") if key in topic}
            commit.topics.append({**named, "partitions": slots})
            for asked in topic["partitions"]:
                index = asked["partition_index"]
                slot: Message = {"partition_index": index}
                slots.append(slot)
                if is_member:
                    slot["error_code"] = ERRORS["UNKNOWN_MEMBER_ID"]
                elif of is None or index >= len(of.partitions):
                    unknown = (
                        "UNKNOWN_TOPIC_OR_PARTITION" if "name" in topic else "UNKNOWN_TOPIC_ID"
                    )
                    slot["error_code"] = ERRORS[unknown]
                else:
                    record = Committed(
                        body["group_id"],
                        of.id.hex(),
                        index,
                        asked["committed_offset"],
                        asked.get("committed_leader_epoch", UNDEFINED),
                        asked["committed_metadata"] or "",
                    )
                    commit.append(self._world.offsets, slot, record)
        if commit.is_ready():
            return commit.answer()
        return self._core.wait(commit, COMMIT_MS)

    # --- What was committed

    def _offset_fetch(self, request: Request) -> Message:
        body = request.body
        if request.version < 8:
            error, topics = self._fetched(request, body["group_id"], body["topics"])
            return {"error_code": ERRORS[error], "topics": topics}
        groups = []
        for group in body["groups"]:
            error, topics = self._fetched(request, group["group_id"], group["topics"])
            told = {"group_id": group["group_id"], "error_code": ERRORS[error], "topics": topics}
            groups.append(told)
        return {"groups": groups}

    def _fetched(
        self, request: Request, group: str, asked: list[Message] | None
    ) -> tuple[str, list[Message]]:
        log, broker = self._world.offsets, request.broker
        row = log.row(broker)
        error = log.rules.list_offsets_error(row)
        if error != "NONE":
            loading = error == "OFFSET_NOT_AVAILABLE"
            return "COORDINATOR_LOAD_IN_PROGRESS" if loading else "NOT_COORDINATOR", []
        known: dict[tuple[str, int], Committed] = {}
        for entry in row.log[: row.high_watermark]:
            record: Committed = self._world.batch(entry).value
            if record.group == group:
                known[record.topic, record.partition] = record
        if asked is None:
            asked = self._all(known, request.version >= 10)
        return "NONE", [self._told(topic, known) for topic in asked]

    def _all(self, known: Iterable[tuple[str, int]], by_id: bool) -> list[Message]:
        """As if all partitions that there are had been asked for."""
        by: dict[str, list[int]] = {}
        for topic, partition in known:
            by.setdefault(topic, []).append(partition)
        asked: list[Message] = []
        for id, indexes in by.items():
            of = self._world.with_id(bytes.fromhex(id))
            if of is not None:
                named: Message = {"topic_id": of.id} if by_id else {"name": of.name}
                asked.append(named | {"partition_indexes": indexes})
        return asked

    def _told(self, topic: Message, known: dict[tuple[str, int], Committed]) -> Message:
        of = self._topic(topic)
        partitions = []
        for index in topic["partition_indexes"]:
            found = known.get((of.id.hex(), index)) if of is not None else None
            partitions.append(
                {
                    "partition_index": index,
                    "committed_offset": UNDEFINED if found is None else found.offset,
                    "committed_leader_epoch": UNDEFINED if found is None else found.leader_epoch,
                    "metadata": "" if found is None else found.metadata,
                }
            )
        named: Message = {key: topic[key] for key in ("name", "topic_id") if key in topic}
        return named | {"partitions": partitions}


class Commit:
    """A commit that waits until its records are replicated."""

    def __init__(self, core: Core, request: Request) -> None:
        self.request = request
        self.partitions: frozenset[ServedPartition] = frozenset()
        self.topics: list[Message] = []
        self._appends = Appends(core, request.broker)

    def append(self, log: ServedPartition, slot: Message, record: Committed) -> None:
        def answered(error: str, offset: int) -> None:
            slot["error_code"] = ERRORS[TOLD.get(error, "COORDINATOR_NOT_AVAILABLE")]

        batch = single(msgspec.json.encode(record))
        batch.value = record
        self._appends.append(log, batch, -1, answered)

    def is_ready(self) -> bool:
        return self._appends.are_settled()

    def expire(self) -> None:
        self._appends.expire()

    def answer(self) -> Message:
        return {"topics": self.topics}
