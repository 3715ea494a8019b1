"""The logs of a served cluster in the directories of its brokers (`serve --data`).

Each broker's logs are those of the storage engine, in Kafka's formats: whatever an answer says was
appended has been written before the answer leaves, so that it survives the end of the process. What
holds them together is `cluster.json`: topics, settings, who leads.

A cluster that begins from them is one of a new generation: it makes the topics anew and appends
what they had (restoring.py), into directories of its own; `cluster.json` names these once all is in
them. Until then, a process that is killed begins from the old ones again.
"""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_bytes
from kraftcheck.reference.partition.log import GONE, Record, RecordLog
from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.reference.storage.batches import Batch
from kraftcheck.reference.storage.broker import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    offset_in,
)
from kraftcheck.reference.storage.cutting import truncate
from kraftcheck.reference.storage.epochs import MalformedEpochs, lines
from kraftcheck.reference.storage.files import write_text
from kraftcheck.reference.storage.loading import Unloadable, load
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.rules import Config, StorageRules
from kraftcheck.serve.partition import ServedPartition
from kraftcheck.serve.real_files import RealFiles
from kraftcheck.serve.world import ServedWorld

CLUSTER: Final = "cluster.json"
CONFIG: Final = Config(segment_bytes=1 << 30, segment_ms=1 << 62, index_bytes=1 << 20)
CHECKPOINT_S: Final = 5.0
CHUNK: Final = 1 << 22
"""Bytes of batches that one command restores."""
JSON_MAX: Final = 1 << 26


class Assigned(msgspec.Struct, frozen=True):
    """A partition, as metadata has it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int


class Topic(msgspec.Struct, frozen=True):
    name: str
    id: str
    """In hexadecimal."""
    configs: dict[str, str]
    min_insync_replicas: int
    partitions: tuple[Assigned, ...]


class Stored(msgspec.Struct, frozen=True):
    """`cluster.json`."""

    brokers: int
    generation: int = 0
    """How often a cluster has begun from these directories."""
    topics: tuple[Topic, ...] = ()


def stored(folder: Path, brokers: int) -> Stored:
    """What there is to begin from. Raises BadInput: it is of another cluster, or damaged."""
    path = folder / CLUSTER
    try:
        found = msgspec.json.decode(read_bytes(path, JSON_MAX), type=Stored)
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise BadInput(
                f"{folder} has files in it, and no {CLUSTER}; name another folder"
            ) from None
        return Stored(brokers)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise BadInput(f"{path}: {error}") from None
    if found.brokers != brokers:
        raise BadInput(
            f"{folder} has the logs of {found.brokers} brokers; start it with --brokers "
            f"{found.brokers}"
        )
    return found


def of_broker(folder: Path, generation: int, broker: int) -> Path:
    return folder / f"generation-{generation}" / f"broker-{broker}"


class Recovered:
    """The directories of a generation, read."""

    def __init__(self, folder: Path, found: Stored) -> None:
        self._folder, self.stored = folder, found
        self._files = {
            broker: RealFiles(of_broker(folder, found.generation, broker))
            for broker in range(found.brokers)
        }

    def log(self, topic: Topic, index: int) -> tuple[list[Batch], int]:
        """Read the batches of the in-sync replica with the longest log of the latest epoch.

        Deleted batches too, since a segment stays whole. Also give the offset below which one of
        the replicas deleted records: what may be deleted is committed. Raises BadInput: no log can
        be read.
        """
        found, start, why = [], 0, "no replica"
        for broker in topic.partitions[index].isr:
            try:
                log = _loaded(self._files[broker], topic.name, index)
                found.append(log.read(0, log.end))
                start = max(start, log.start)
            except (OSError, Unloadable, MalformedEpochs, ValueError) as error:
                why = f"broker {broker}: {error}"
        if not found:
            raise BadInput(f"{self._folder}: {topic.name}-{index}: {why}")
        last = max(found, key=lambda each: (each[-1].epoch, each[-1].last) if each else (-1, -1))
        return last, start

    def close(self) -> None:
        for each in self._files.values():
            each.close()


def _loaded(files: RealFiles, topic: str, number: int) -> Log:
    start, recovery_point = [
        offset_in(files.read(name) if files.size(name) is not None else None, topic, number) or 0
        for name in (LOG_STARTS, RECOVERY_POINTS)
    ]
    now = int(time.time() * 1000)
    rules = StorageRules(CONFIG)
    return load(files, f"{topic}-{number}", rules, now, start, recovery_point, clean=False)


class Directories:
    """Where a cluster's logs are kept while it runs."""

    def __init__(self, folder: Path, generation: int, brokers: int) -> None:
        self._folder, self._generation, self._brokers = folder, generation, brokers
        shutil.rmtree(folder / f"generation-{generation}", ignore_errors=True)
        self._files = [
            RealFiles(of_broker(folder, generation, broker)) for broker in range(brokers)
        ]
        self._logs: dict[tuple[int, int], tuple[ServedPartition, Log]] = {}
        """By partition and broker."""
        self._kept: dict[tuple[int, int], tuple[object, RecordLog]] = {}
        """Of each the row that was kept last, and its log."""
        self._said = b""
        self._deletions = 0
        self._begin_elsewhere: set[int] = set()
        """Brokers of whose logs one begins at an offset that is not written yet."""
        self._checkpoint_at = time.monotonic() + CHECKPOINT_S

    def keep(self, world: ServedWorld) -> None:
        """All that has changed is written. Raises OSError."""
        live = {partition.number for partition in world.live_partitions}
        for key in [key for key in self._logs if key[0] not in live]:
            self._drop(key)
        for partition in world.live_partitions:
            for broker in partition.brokers:
                row = partition.row(broker)
                known = self._kept.get((partition.number, broker))
                deleted = world.deletions != self._deletions
                if known is None or known[0] is not row or deleted:
                    self._keep(world, partition, broker)
        self._deletions = world.deletions
        for broker in sorted(self._begin_elsewhere):
            self._checkpoint(broker, LOG_STARTS, lambda log: log.start)
        self._begin_elsewhere.clear()
        self._tell(world)
        if time.monotonic() >= self._checkpoint_at:
            self.checkpoint()

    def _keep(self, world: ServedWorld, partition: ServedPartition, broker: int) -> None:
        key = partition.number, broker
        if key not in self._logs:
            files = self._files[broker]
            shutil.rmtree(files.root / f"{partition.topic.name}-{partition.index}", True)
            self._logs[key] = partition, _loaded(files, partition.topic.name, partition.index)
        log, row = self._logs[key][1], partition.row(broker)
        before: RecordLog = self._kept[key][1] if key in self._kept else ()
        common = min(len(before), len(row.log))
        while common and not _agree(before[common - 1], row.log[common - 1]):
            common -= 1
        if common < len(before):
            truncate(log, world.offset_of(partition, row, common))
        for at in range(common, len(row.log)):
            entry = world.entry(partition, row, at)
            head, body = world.batch(entry).pieces()
            log.append_as_follower(head + body, entry.epoch)
        log.update_high_watermark(world.offset_of(partition, row, row.high_watermark))
        start = world.start_of(partition, row)
        if log.increment_start(min(start, log.high_watermark)):
            self._begin_elsewhere.add(broker)
        log.run_tasks()
        self._kept[key] = row, row.log

    def _drop(self, key: tuple[int, int]) -> None:
        log = self._logs.pop(key)[1]
        self._kept.pop(key, None)
        files = self._files[key[1]]
        for name in files.list(log.folder):
            files.unlink(f"{log.folder}/{name}")
        shutil.rmtree(files.root / log.folder, True)

    def _tell(self, world: ServedWorld) -> None:
        topics = tuple(_described(world))
        said = msgspec.json.encode(Stored(self._brokers, self._generation, topics))
        if said != self._said:
            write_text(RealFiles(self._folder), CLUSTER, said.decode())
            self._said = said

    def checkpoint(self) -> None:
        """As Kafka's brokers write them from time to time (D6)."""
        for broker in range(self._brokers):
            self._checkpoint(broker, HIGH_WATERMARKS, lambda log: log.high_watermark)
            self._checkpoint(broker, RECOVERY_POINTS, lambda log: log.recovery_point)
            self._checkpoint(broker, LOG_STARTS, lambda log: log.start)
        self._checkpoint_at = time.monotonic() + CHECKPOINT_S

    def _checkpoint(self, broker: int, path: str, of: Callable[[Log], int]) -> None:
        """Write where all logs of a broker begin, at once when one begins elsewhere.

        Kafka does so within a minute (log.flush.start.offset.checkpoint.interval.ms).
        """
        rows = [
            f"{partition.topic.name} {partition.index} {of(log)}"
            for (_, whose), (partition, log) in self._logs.items()
            if whose == broker and (path != LOG_STARTS or log.start > log.segments[0].base)
        ]
        write_text(self._files[broker], path, lines(rows))

    def close(self) -> None:
        """The logs are closed, and all that is in them is durable (D19)."""
        for _, log in self._logs.values():
            log.flush(log.end, including=True)
            log.close()
        self.checkpoint()
        for each in self._files:
            each.close()


def _agree(one: Record, other: Record) -> bool:
    """Whether they may be one entry: what was deleted was committed, so every replica had it."""
    return one == other or GONE in (one, other)


def _described(world: ServedWorld) -> Iterator[Topic]:
    for topic in world.topics.values():
        yield Topic(
            topic.name,
            topic.id.hex(),
            topic.configs,
            topic.partitions[0].constants.min_insync_replicas,
            tuple(_assigned(each) for each in topic.partitions),
        )


def _assigned(partition: ServedPartition) -> Assigned:
    known = partition.controller.partition
    return Assigned(tuple(partition.constants.replicas), tuple(sorted(known.isr)), known.leader)


def commands(recovered: Recovered) -> Iterator[dict[str, Any]]:
    """What a fresh cluster is told, so that it has what there is. Raises BadInput."""
    found = recovered.stored
    logs = {
        (topic.name, index): recovered.log(topic, index)
        for topic in found.topics
        for index in range(len(topic.partitions))
    }
    producers = [batch.producer for log, _ in logs.values() for batch in log]
    yield {
        "do": "restore",
        "generation": found.generation + 1,
        "producers": max(producers, default=NOBODY),
        "topics": [
            {
                "name": topic.name,
                "id": topic.id,
                "configs": topic.configs | {"min.insync.replicas": str(topic.min_insync_replicas)},
                "assignments": [each.replicas for each in topic.partitions],
            }
            for topic in found.topics
        ],
    }
    for (name, index), (log, start) in logs.items():
        of = {"do": "restore", "topic": name, "partition": index}
        for chunk in _chunks(log):
            yield of | {"batches": [base64.b64encode(each.data).decode() for each in chunk]}
        if start and log:
            yield of | {"start": start}
    yield {"do": "restore", "ends": True}


def _chunks(log: list[Batch]) -> Iterator[list[Batch]]:
    chunk: list[Batch] = []
    size = 0
    for batch in log:
        chunk.append(batch)
        size += batch.size
        if size > CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
