"""What consumers have committed: records of one partition, replicated like any other.

A commit is checked by its group (groups.py), appended to `__consumer_offsets`, and answered when
all in-sync replicas have it; a fetch reads what is committed of the leader's log, so that after a
failover the new leader knows as much. Whoever commits without being a member may do so while the
group is empty (Kafka's OffsetMetadataManager).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import Batch, Ended
from kraftcheck.kafka.serve.classic import ClassicGroup
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.groups import Committed, GroupGone, Groups, OffsetGone, answered
from kraftcheck.kafka.serve.logs import (
    TOLD,
    TOLD_ELSE,
    WRITE_MS,
    Appending,
    Followed,
    Promise,
    wrapped,
)
from kraftcheck.kafka.serve.producers import Producers, Transactional
from kraftcheck.kafka.serve.requests import Request, Serve, Waiting, by_topic
from kraftcheck.reference.partition.log import Record as Entry
from kraftcheck.reference.partition.types import UNDEFINED

TV2_COMMIT: Final = 5
"""The version of TxnOffsetCommit from which on a client speaks version 2 of transactions."""
OF_TRANSACTIONS: Final = (
    *("INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING"),
    *("CONCURRENT_TRANSACTIONS", "TRANSACTION_ABORTABLE", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
)
"""What a producer is told of its transaction as it is."""
_MEMBERS_FROM: Final = 9
"""The version of OffsetCommit and OffsetFetch that knows members of the consumer protocol."""


class Kept:
    """What a log says.

    by_group: by topic and partition, with the offset of the record; pending: of transactions that
    are open, by producer.
    """

    def __init__(self) -> None:
        self.by_group: dict[str, dict[tuple[str, int], tuple[Committed, int]]] = {}
        self.pending: dict[int, list[tuple[Committed, int]]] = {}

    def take(self, _: Entry | None, batch: Batch) -> None:
        record = batch.value
        if isinstance(record, Committed):
            if batch.is_transactional:
                self.pending.setdefault(batch.producer, []).append((record, batch.base))
            else:
                self._keep(record, batch.base)
        elif isinstance(record, OffsetGone):
            self.by_group.get(record.group, {}).pop((record.topic, record.partition), None)
        elif isinstance(record, GroupGone):
            self.by_group.pop(record.group, None)
        elif isinstance(record, Ended):
            for each, at in self.pending.pop(batch.producer, ()):
                if record.decision == "Commit":
                    self._keep(each, at)

    def _keep(self, record: Committed, at: int) -> None:
        """Of two that were committed, the later record counts (KAFKA-5247)."""
        known = self.by_group.setdefault(record.group, {})
        key = record.topic, record.partition
        if key not in known or known[key][1] < at:
            known[key] = record, at

    def is_unstable(self, group: str, topic: str, partition: int) -> bool:
        wanted = group, topic, partition
        return any(
            (each.group, each.topic, each.partition) == wanted
            for records in self.pending.values()
            for each, _ in records
        )


class Offsets:
    def __init__(self, core: Core, groups: Groups, producers: Producers) -> None:
        self._core = core
        self._world = core.world
        self._groups = groups
        self._producers = producers
        log = core.world.offsets
        self._kept = Followed(core.world, log, Kept, Kept.take, committed=True)
        self._newest = Followed(core.world, log, Kept, Kept.take, committed=False)
        self.served: dict[str, Serve] = {
            "OffsetCommit": self._offset_commit,
            "OffsetFetch": self._offset_fetch,
            "TxnOffsetCommit": self._txn_offset_commit,
            "OffsetDelete": self._offset_delete,
        }

    # --- Commits

    def _offset_commit(self, request: Request) -> Message | Waiting:
        def append(commit: Commit, slot: Message, record: Committed) -> None:
            batch, told = wrapped(record), commit.listener(slot)
            commit.appends.append(self._world.offsets, batch, -1, told)

        return self._committed(request, self._commit_error(request), append)

    def _txn_offset_commit(self, request: Request) -> Message | Waiting:
        """X29."""
        body = request.body
        version = 2 if request.version >= TV2_COMMIT else 1
        aborts = request.version >= TV2_COMMIT - 1
        of = Transactional(body["transactional_id"], version, aborts)

        def append(commit: Commit, slot: Message, record: Committed) -> None:
            batch = wrapped(record, body["producer_id"], body["producer_epoch"])
            self._producers.append(
                *(self._world.offsets, request.broker, batch, of, commit.appends),
                commit.listener(slot),
            )

        return self._committed(request, self._txn_error(request), append)

    def _committed(
        self,
        request: Request,
        refused: str,
        append: Callable[[Commit, Message, Committed], None],
    ) -> Message | Waiting:
        body, commit = request.body, Commit(self._core, request)

        def slot_of(topic: Message, asked: Message) -> Message:
            of, index = self._world.topic_of_clients(topic), asked["partition_index"]
            slot: Message = {"partition_index": index}
            if refused != "NONE":
                slot["error_code"] = ERRORS[refused]
            elif of is None or index >= len(of.partitions):
                by_name = "name" in topic
                unknown = "UNKNOWN_TOPIC_OR_PARTITION" if by_name else "UNKNOWN_TOPIC_ID"
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
                append(commit, slot, record)
            return slot

        commit.topics = by_topic(body["topics"], slot_of)
        if commit.is_ready():
            return commit.answer()
        return self._core.wait(commit, WRITE_MS)

    def _txn_error(self, request: Request) -> str:
        """G32: who says that it is a member has to be one."""
        body = request.body
        error, coordinator = self._groups.coordinator_of(request.broker)
        if coordinator is None:
            return error
        group = coordinator.groups.get(body["group_id"])
        epoch, id = body.get("generation_id", UNDEFINED), body.get("member_id", "")
        if epoch < 0 and not id:
            return "NONE"
        if group is None:
            return "ILLEGAL_GENERATION"
        said = {**body, "generation_id_or_member_epoch": epoch, "member_id": id}
        error = group.commit_error(said)
        return "ILLEGAL_GENERATION" if error == "STALE_MEMBER_EPOCH" else error

    def _commit_error(self, request: Request) -> str:
        """G30; ClassicGroup and ConsumerGroup.validateOffsetCommit."""
        body = request.body
        error, coordinator = self._groups.coordinator_of(request.broker)
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

    # --- Deletion: KIP-496

    def _offset_delete(self, request: Request) -> Message | Waiting:
        """What no member subscribes to. Kafka's GroupMetadataManager and OffsetMetadataManager."""
        body = request.body
        error, coordinator = self._groups.coordinator_of(request.broker)
        group = coordinator.groups.get(body["group_id"]) if coordinator else None
        if coordinator is not None:
            if not body["group_id"]:
                error = "INVALID_GROUP_ID"
            elif group is None:
                error = "GROUP_ID_NOT_FOUND"
            else:
                error = group.deletion_error()
        if coordinator is None or group is None or error != "NONE":
            return {"error_code": ERRORS[error]}
        known = self._newest.state_of(request.broker).by_group.get(body["group_id"], {})
        told: dict[str, list[Message]] = {}
        gone: list[OffsetGone] = []
        asked = [(t["name"], p["partition_index"]) for t in body["topics"] for p in t["partitions"]]
        # Those that there are not are told first.
        for name, index in sorted(asked, key=lambda each: self._exists(*each)):
            of, why = self._world.topic_of_clients({"name": name}), "NONE"
            if of is None or not self._exists(name, index):
                why = "UNKNOWN_TOPIC_OR_PARTITION"
            elif group.subscribes(name):
                why = "GROUP_SUBSCRIBED_TO_TOPIC"
            elif (of.id.hex(), index) in known:
                gone.append(OffsetGone(body["group_id"], of.id.hex(), index))
            slot: Message = {"partition_index": index, "error_code": ERRORS[why]}
            told.setdefault(name, []).append(slot)
        answer = {"topics": [{"name": name, "partitions": of} for name, of in told.items()]}
        promise, left = Promise(request, hurries=True), len(gone)

        def written(error: str) -> None:
            nonlocal left
            left -= 1
            if error != "NONE":
                promise.refuse(error)
            elif not left:
                promise.tell(answer)

        for each in gone:
            coordinator.write(each, written)
        if not gone:
            promise.tell(answer)
        return answered(promise)

    def _exists(self, topic: str, partition: int) -> bool:
        of = self._world.topic_of_clients({"name": topic})
        return of is not None and 0 <= partition < len(of.partitions)

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
        error, coordinator = self._groups.coordinator_of(request.broker)
        if coordinator is None:
            return error, []
        group = coordinator.groups.get(said["group_id"])
        if group is not None and (error := group.fetch_error(said)) != "NONE":
            return error, []
        known = self._kept.state_of(request.broker).by_group.get(said["group_id"], {})
        asked = said["topics"]
        if asked is None:
            asked = self._all(known, request.version >= 10)
        views: tuple[Kept, ...] = ()
        if request.body.get("require_stable"):
            # A marker ends a transaction where it is written, and is seen where it is replicated.
            views = self._newest.state_of(request.broker), self._kept.state_of(request.broker)
        told = partial(self._told, said["group_id"], known, views)
        return "NONE", by_topic(asked, told, "partition_indexes")

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

    def _told(
        self,
        group: str,
        known: dict[tuple[str, int], tuple[Committed, int]],
        views: tuple[Kept, ...],
        topic: Message,
        index: int,
    ) -> Message:
        """views: in which no transaction may be open that changes what is told."""
        of = self._world.topic_of_clients(topic)
        told: Message = {"partition_index": index, "committed_offset": UNDEFINED}
        told |= {"committed_leader_epoch": UNDEFINED, "metadata": ""}
        if of is None:
            return told
        found, _ = known.get((of.id.hex(), index), (None, 0))
        if any(view.is_unstable(group, of.id.hex(), index) for view in views):
            told["error_code"] = ERRORS["UNSTABLE_OFFSET_COMMIT"]
        elif found is not None:
            told["committed_offset"] = found.offset
            told["committed_leader_epoch"] = found.leader_epoch
            told["metadata"] = found.metadata
        return told


class Commit(Appending):
    """A commit that waits until its records are replicated."""

    def __init__(self, core: Core, request: Request) -> None:
        super().__init__(core, request)
        self.topics: list[Message] = []

    def listener(self, slot: Message) -> Callable[[str, int], None]:
        """Who hears what became of a slot's record."""

        def heard(error: str, offset: int) -> None:
            known = TOLD.get(error, error if error in OF_TRANSACTIONS else TOLD_ELSE)
            slot["error_code"] = ERRORS[known]

        return heard

    def answer(self) -> Message:
        return {"topics": self.topics}
