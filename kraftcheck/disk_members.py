"""What the metadata log in brokers' directories says of partitions: who is in the ISR and the ELR.

Every node has a copy (`__cluster_metadata-0`), of which some may be behind. A record is committed
once a majority of the voters has it, so the longest of theirs has it if a majority of them is read;
what is in its end and not committed only adds to a set that is asked of more (a replica that is
proposed has all that is committed) or less.
(org.apache.kafka.image.MetadataDelta; MetadataRecordSerde.)
"""

from __future__ import annotations

import struct
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from kraftcheck.osutil.files import open_file
from kraftcheck.reference.storage.batches import (
    Record,
    Undecodable,
    header_of,
    records_of,
    unsigned,
)
from kraftcheck.serve import codec
from kraftcheck.traces.disks import files
from kraftcheck.traces.disks.batches import Batch, batches
from kraftcheck.traces.disks.directory import Place
from kraftcheck.traces.disks.elections import FILE, election_of
from kraftcheck.traces.disks.found import Finding
from kraftcheck.traces.disks.members import Members
from kraftcheck.traces.disks.voters import METADATA, snapshots_of, voters_of

SOUND: Final = "ControllerStateIsReplay"
RECORDS: Final = {
    2: "TopicRecord",
    3: "PartitionRecord",
    5: "PartitionChangeRecord",
    9: "RemoveTopicRecord",
    28: "ClearElrRecord",
}
OF_TOPICS: Final = ("PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord")
"""By the id of one that must be there."""
BEGIN, END, ABORT = 23, 24, 25
"""Of transactions of the metadata log (KIP-868)."""
FRAME: Final = 1
SAME: Final = -2
"""The leader of a change that leaves it."""


class Unread(Exception):
    """The metadata log cannot be read. The text is one line."""


class NodeLog(msgspec.Struct):
    """The metadata log of one node: where it lies, of which node, its end as votes go by."""

    folder: Path
    node: str
    epoch: int
    end: int
    whole: bool = True
    """Whether all of it can be read."""


class _Partition(msgspec.Struct):
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    unclean: bool
    epoch: int = 0
    replicas: tuple[int, ...] = ()


class Metadata:
    """By topic id (as `partition.metadata` has it) and number. Raises Unread, OSError.

    folder: whose copy was read. findings: what nobody can replay.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self._topics: dict[str, str] = {}
        self._partitions: dict[str, dict[int, _Partition]] = {}
        self._whole = False
        self._known = False
        self.folder: Path | None = None
        self.findings: list[Finding] = []
        found = [_end(each.path, each.common.node or "") for each in places]
        self.latest = False
        if found:
            best = max(found, key=lambda each: (each.epoch, each.end))
            voters = _voters(best.folder)
            voting = [each for each in found if each.node in voters and each.whole]
            if 2 * len({each.node for each in voting}) > len(voters):
                best = max(voting, key=lambda each: (each.epoch, each.end))
                self.latest = True
            self.folder = best.folder
            self._replay(best)

    def members(self, topic: str, partition: int, topic_id: str | None) -> Members | None:
        """None: it says nothing of it."""
        found = self._partitions.get(topic_id or self._topics.get(topic, ""), {}).get(partition)
        if found is None:
            return None
        return Members(
            found.leader,
            found.isr,
            found.elr,
            found.unclean,
            self._whole,
            self.latest,
            found.epoch,
            found.replicas,
        )

    def _replay(self, told: NodeLog) -> None:
        folder = told.folder
        begin, open_since = 0, list[tuple[int, int, codec.Message]]()
        is_open = False
        segments = files.segments_of(folder)
        self._whole = 0 in segments
        for path in [] if self._whole else snapshots_of(folder)[-1:]:
            begin = int(path.name[:20])
            for each in _records(path):
                self._apply(*each)
        self._known = told.whole and (self._whole or begin >= min(segments, default=0) > 0)
        for path in segments.values():
            for offset, kind, message in _records(path):
                if offset < begin:
                    continue
                if kind == BEGIN:
                    is_open = True
                elif kind in (END, ABORT):
                    for each in open_since if kind == END else ():
                        self._apply(*each)
                    is_open, open_since = False, []
                elif is_open:
                    open_since.append((offset, kind, message))
                else:
                    self._apply(offset, kind, message)

    def _apply(self, offset: int, kind: int, message: codec.Message) -> None:
        if self._known and RECORDS[kind] in OF_TOPICS:
            self._ask(offset, RECORDS[kind], _id(message["topic_id"]))
        match RECORDS[kind]:
            case "TopicRecord":
                self._topics[message["name"]] = _id(message["topic_id"])
                self._partitions[_id(message["topic_id"])] = {}
            case "RemoveTopicRecord":
                self._partitions.pop(_id(message["topic_id"]), None)
            case "ClearElrRecord":
                name = message["topic_name"]
                for topic, of in self._partitions.items():
                    if not name or self._topics.get(name) == topic:
                        for each in of.values():
                            each.elr = ()
            case _:
                self._change(message)

    def _ask(self, offset: int, name: str, topic: str) -> None:
        if topic not in self._partitions:
            said = f"offset {offset}: {name} of topic {topic}, which is not there by then: who "
            said += "wrote it had another state than the log gives, and who reads it ends"
            self.findings.append(Finding("violated", SOUND, METADATA, -1, said))

    def _change(self, message: codec.Message) -> None:
        of = self._partitions.setdefault(_id(message["topic_id"]), {})
        number: int = message["partition_id"]
        each = of.setdefault(number, _Partition(-1, (), (), False))
        if message["isr"] is not None:
            each.isr = tuple(message["isr"])
        if message.get("eligible_leader_replicas") is not None:
            each.elr = tuple(message["eligible_leader_replicas"])
        if message["replicas"] is not None:
            each.replicas = tuple(message["replicas"])
        if "leader_epoch" in message:
            each.epoch = message["leader_epoch"]
        elif message["leader"] != SAME:
            each.epoch += 1
        if message["leader"] != SAME:
            each.leader = message["leader"]
        each.unclean |= message["leader_recovery_state"] == 1


def _id(topic: bytes) -> str:
    """As Kafka writes it (org.apache.kafka.common.Uuid)."""
    return urlsafe_b64encode(topic).decode().rstrip("=")


def _end(folder: Path, node: str) -> NodeLog:
    told = NodeLog(folder, node, -1, 0)
    for path in files.segments_of(folder).values():
        for each in batches(path):
            if isinstance(each, Batch):
                told.epoch, told.end = each.epoch, each.last + 1
            else:
                told.whole = False
    for path in snapshots_of(folder)[-1:]:
        end, epoch = int(path.name[:20]), int(path.name[21:31])
        told.whole &= all(isinstance(each, Batch) for each in batches(path))
        if (epoch, end) > (told.epoch, told.end):
            told.epoch, told.end = epoch, end
    return told


def _voters(folder: Path) -> set[str]:
    """The voters of the log, or else those that `quorum-state` has: static ones."""
    if found := voters_of(folder):
        return {str(each.number) for each in found}
    try:
        election = election_of(folder)
    except files.Malformed as error:
        raise Unread(f"{folder / FILE}: {error}") from None
    return set() if election is None else {str(each) for each in election.voters}


def _records(path: Path) -> Iterator[tuple[int, int, codec.Message]]:
    """Those of RECORDS, and of transactions: offset, kind, content."""
    with open_file(path) as file:
        for each in batches(path):
            if not isinstance(each, Batch) or each.marker:
                continue
            file.seek(each.position)
            try:
                for record in records_of(header_of(file.read(each.size))):
                    if (found := _read(record)) is not None:
                        yield record.offset, *found
            except (Undecodable, codec.Malformed, IndexError, KeyError, struct.error) as error:
                said = f"{path} at byte {each.position:,}: a record of another format"
                raise Unread(f"{said} ({error})") from None


def _read(record: Record) -> tuple[int, codec.Message] | None:
    value = record.value or b""
    frame, at = unsigned(value, 0)
    if frame != FRAME:
        raise Undecodable(f"frame {frame}")
    kind, at = unsigned(value, at)
    version, at = unsigned(value, at)
    if kind in (BEGIN, END, ABORT):
        return kind, {}
    if kind not in RECORDS:
        return None
    return kind, codec.reader(RECORDS[kind], version)(value, at)[0]
