"""A cluster begins with what another one kept: topics, records, committed offsets.

What is kept comes as commands, and so stands on the tape; each batch is appended by the partition's
leader, as any other, and followers fetch it. Leader epochs begin anew, and so topics have new ids,
as if they had been made again: a client that lives on believes the new epochs. Transactions that
were open are aborted, as their coordinator would at their timeout; members of groups join anew.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.storage.batches import coordinator_epoch_of, header_of, records_of
from kraftcheck.serve.batches import Batch, Ended, marker, parsed
from kraftcheck.serve.core import Core
from kraftcheck.serve.groups import Committed, GroupGone, OffsetGone, nobody
from kraftcheck.serve.logs import wrapped
from kraftcheck.serve.offsets import Kept
from kraftcheck.serve.partition import ServedPartition, ServedTopic
from kraftcheck.serve.topics import made
from kraftcheck.serve.transactions import Transactions
from kraftcheck.serve.world import INTERNAL, OFFSETS

IDS: Final = 1000
"""So many topics a generation makes at most, before their ids come again."""
LARGEST: Final = 1 << 30


class Restoring:
    """The command `restore`, in four forms.

    Topics; batches of a partition; where its log begins; and that all are there.
    """

    def __init__(self, core: Core, transactions: Transactions) -> None:
        self._core, self._transactions = core, transactions
        self._topics_made: dict[str, ServedTopic] = {}
        """By the ids that they had."""
        self._kept = Kept()
        self._open: dict[tuple[str, int], dict[int, int]] = {}
        """Of each partition the producers with an open transaction, and their epochs."""
        core.faults.commands["restore"] = self.command

    def command(self, said: Mapping[str, Any]) -> str:
        """Returns what is wrong with it, or ""."""
        if "topics" in said:
            return self._topics(said)
        if "batches" in said:
            return self._batches(said["topic"], said["partition"], said["batches"])
        if "start" in said:
            return self._begins(said["topic"], said["partition"], said["start"])
        return self._end()

    def _topics(self, said: Mapping[str, Any]) -> str:
        world = self._core.world
        world.ids_made = IDS * said["generation"]
        self._transactions.made_up_to(said["producers"])
        for each in said["topics"]:
            if each["name"] not in INTERNAL:
                self._topics_made[each["id"]] = made(world, each)
        return ""

    def _batches(self, name: str, index: int, batches: list[str]) -> str:
        if name in INTERNAL:
            for each in batches if name == OFFSETS else ():
                self._said_of_groups(base64.b64decode(each))
            return ""
        partition = self._core.world.partition(name, index)
        if partition is None:
            return f"no partition {name}-{index}"
        open_ = self._open.setdefault((name, index), {})
        for each in batches:
            batch = _batch(base64.b64decode(each))
            if batch.value is not None:
                open_.pop(batch.producer, None)
            elif batch.is_transactional:
                open_[batch.producer] = batch.producer_epoch
            if wrong := self._taken(partition, batch):
                return f"{name}-{index}: {wrong}"
        return ""

    def _begins(self, name: str, index: int, offset: int) -> str:
        """Records below an offset were deleted, and are again."""
        world = self._core.world
        partition = world.partition(name, index)
        if partition is None:
            return f"no partition {name}-{index}"
        leader = partition.controller.partition.leader
        if leader != NOBODY:
            world.delete_before(partition, leader, self._core.number(lambda _: None), offset)
            if world.start_of(partition, partition.row(leader)) == offset:
                return ""
        return f"{name}-{index}: records below {offset} could not be deleted"

    def _taken(self, partition: ServedPartition, batch: Batch) -> str:
        """Of a log that clients read: appended, and seen by whoever judges what they are told."""
        wrong = self._append(partition, batch)
        if not wrong and self._core.witness is not None:
            self._core.witness.restored(partition, batch)
        return wrong

    def _append(self, partition: ServedPartition, batch: Batch) -> str:
        core, leader = self._core, partition.controller.partition.leader
        if leader == NOBODY:
            return "nobody leads it"
        end = len(partition.row(leader).log)
        ignored = core.world.append(partition, leader, batch, 1, core.number(lambda _: None))
        if not ignored and len(partition.row(leader).log) == end:
            ignored = "a batch was not appended"
        return ignored

    def _said_of_groups(self, data: bytes) -> None:
        """A record of the log of offsets, as its coordinator read it."""
        head = header_of(data)
        if head.is_control:
            batch = _batch(data)
        else:
            found = list(records_of(head))
            value = _record(found[0].value) if found and found[0].value is not None else None
            if value is None:
                return
            # Of a transaction, if it has a producer; coordinators do not number what they write.
            batch = wrapped(value, head.producer, head.producer_epoch)
        batch.base = head.base
        self._kept.take(None, batch)

    def _end(self) -> str:
        for (name, index), open_ in self._open.items():
            partition = self._core.world.partition(name, index)
            for producer, epoch in open_.items():
                if partition is not None:
                    self._taken(partition, marker(producer, epoch, Ended("Abort", 0)))
        for known in self._kept.by_group.values():
            for record, _ in known.values():
                if record.topic in self._topics_made:
                    self._committed(self._topics_made[record.topic], record)
        return ""

    def _committed(self, topic: ServedTopic, record: Committed) -> None:
        core, own = self._core, record._replace(topic=topic.id.hex(), leader_epoch=UNDEFINED)
        wrong = self._append(core.world.offsets, wrapped(own))
        partition = core.world.partition(topic.name, record.partition)
        if not wrong and partition is not None and core.witness is not None:
            core.witness.committed(record.group, partition, record.offset)


def _batch(data: bytes) -> Batch:
    """As a producer, or a coordinator, gave it."""
    head = header_of(data)
    if head.is_control:
        decision = "Commit" if head.marker == "COMMIT" else "Abort"
        ended = Ended(decision, coordinator_epoch_of(head))
        return marker(head.producer, head.producer_epoch, ended)
    return parsed(bytes(8) + data[8:], LARGEST)


def _record(value: bytes) -> Any:
    """A committed offset, or that one, or a group, is gone; None: of a group's members."""
    said = msgspec.json.decode(value)
    if isinstance(said, list):
        return Committed(*said) if len(said) == len(Committed._fields) else OffsetGone(*said)
    gone = GroupGone(*nobody(str(said.get("group"))))
    return gone if msgspec.json.encode(gone) == value else None
