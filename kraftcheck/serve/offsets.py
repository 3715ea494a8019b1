"""What consumers have committed: records of one partition, replicated like any other.

A commit is checked by its group (groups.py), appended to `__consumer_offsets`, and answered when
all in-sync replicas have it; a fetch reads what is committed of the leader's log, so that after a
failover the new leader knows as much. Whoever commits without being a member may do so while the
group is empty (Kafka's OffsetMetadataManager).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraftcheck.serve.apis import ERRORS
from kraftcheck.serve.batches import Batch
from kraftcheck.serve.classic import ClassicGroup
from kraftcheck.serve.codec import Message
from kraftcheck.serve.core import Core, Request, Serve, Waiting
from kraftcheck.serve.groups import Committed, GroupGone, Groups
from kraftcheck.serve.logs import TOLD, TOLD_ELSE, WRITE_MS, Appends, Followed, wrapped
from kraftcheck.serve.world import OFFSETS, ServedPartition, ServedTopic
from reference.partition.types import UNDEFINED

_MEMBERS_FROM: Final = 9
"""The version of OffsetCommit and OffsetFetch that knows members of the consumer protocol."""


class Kept:
    """What a log says. by_group: by topic and partition."""

    def __init__(self) -> None:
        self.by_group: dict[str, dict[tuple[str, int], Committed]] = {}

    def take(self, batch: Batch) -> None:
        record = batch.value
        if isinstance(record, Committed):
            self.by_group.setdefault(record.group, {})[record.topic, record.partition] = record
        elif isinstance(record, GroupGone):
            self.by_group.pop(record.group, None)


class Offsets:
    def __init__(self, core: Core, groups: Groups) -> None:
        self._core = core
        self._world = core.world
        self._groups = groups
        log = core.world.offsets
        self._kept = Followed(core.world, log, Kept, Kept.take, committed=True)
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
        refused = self._commit_error(request)
        for topic in body["topics"]:
            of = self._topic(topic)
            slots: list[Message] = []
            named = {key: topic[key] for key in ("name", "topic_id") if key in topic}
            commit.topics.append({**named, "partitions": slots})
            for asked in topic["partitions"]:
                index = asked["partition_index"]
                slot: Message = {"partition_index": index}
                slots.append(slot)
                if refused != "NONE":
                    slot["error_code"] = ERRORS[refused]
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
        return self._core.wait(commit, WRITE_MS)

    def _commit_error(self, request: Request) -> str:
        """G30, G31."""
        body = request.body
        error, coordinator = self._groups.of(request.broker)
        if coordinator is None:
            return error
        id, epoch = body["group_id"], body["generation_id_or_member_epoch"]
        group = coordinator.groups.get(id)
        if group is None:
            if epoch >= 0:
                by_epoch = request.version >= _MEMBERS_FROM
                return "GROUP_ID_NOT_FOUND" if by_epoch else "ILLEGAL_GENERATION"
            group = coordinator.groups[id] = ClassicGroup(id, coordinator)
        return group.commit_error(body)

    # --- What was committed

    def _offset_fetch(self, request: Request) -> Message:
        body = request.body
        if request.version < 8:
            error, topics = self._fetched(request, body)
            return {"error_code": ERRORS[error], "topics": topics}
        groups = []
        for group in body["groups"]:
            error, topics = self._fetched(request, group)
            told = {"group_id": group["group_id"], "error_code": ERRORS[error], "topics": topics}
            groups.append(told)
        return {"groups": groups}

    def _fetched(self, request: Request, said: Message) -> tuple[str, list[Message]]:
        error, coordinator = self._groups.of(request.broker)
        if coordinator is None:
            return error, []
        group = coordinator.groups.get(said["group_id"])
        if group is not None and (error := group.fetch_error(said)) != "NONE":
            return error, []
        known = self._kept.of(request.broker).by_group.get(said["group_id"], {})
        asked = said["topics"]
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
        self.hurries = True
        self.partitions: frozenset[ServedPartition] = frozenset()
        self.topics: list[Message] = []
        self._appends = Appends(core, request.broker)

    def append(self, log: ServedPartition, slot: Message, record: Committed) -> None:
        def answered(error: str, offset: int) -> None:
            slot["error_code"] = ERRORS[TOLD.get(error, TOLD_ELSE)]

        self._appends.append(log, wrapped(record), -1, answered)

    def is_ready(self) -> bool:
        return self._appends.are_settled()

    def expire(self) -> None:
        self._appends.expire()

    def answer(self) -> Message:
        return {"topics": self.topics}
