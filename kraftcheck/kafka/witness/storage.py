"""Kafka's own log of a partition in a JVM, told the same as the engine of the reference.

The same operations are to lead both to equal states and to equal bytes: of `.log`, `.index`,
`.timeindex`, `.txnindex` and the epoch file; snapshots of producers to equal entries, whose order
in the file is that of a map. What a crash left is to be recovered by both alike.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from kraftcheck.kafka.live.witness.host import Host, running
from kraftcheck.kafka.live.witness.jars import DEFAULT, class_path
from kraftcheck.reference.storage.as_kafka import AsKafka
from kraftcheck.reference.storage.broker import CLEAN, LOG_STARTS, RECOVERY_POINTS, offset_in
from kraftcheck.reference.storage.crashing import played
from kraftcheck.reference.storage.disk import MemoryDisk
from kraftcheck.reference.storage.histories import Client, Operation, configured, perform
from kraftcheck.reference.storage.indexes import Full
from kraftcheck.reference.storage.loading import load
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.producers import Malformed, Refused, parsed
from kraftcheck.reference.storage.rules import Config, StorageRules

FOLDER: Final = "t-0"
LATE: Final = 1 << 50
"""When files are changed: later than any timestamp, as on the other side."""


class Differs(AssertionError):
    """Kafka's log is another than the engine's. The text says where."""


def settings_of(config: Config) -> dict[str, Any]:
    """A configuration, by Kafka's names."""
    return {
        "internal.segment.bytes": config.segment_bytes,
        "segment.ms": config.segment_ms,
        "segment.index.bytes": config.index_bytes,
        "index.interval.bytes": config.index_interval,
        "flush.messages": config.flush_messages,
        "retention.bytes": config.retention_bytes,
        "retention.ms": config.retention_ms,
        "cleanup.policy": "compact" if config.compact else "delete",
        "delete.retention.ms": config.delete_retention,
        "segment.jitter.ms": 0,
    }


@contextmanager
def hosted(version: str = DEFAULT) -> Iterator[Host]:
    """A JVM with Kafka's classes. Raises ArtifactError, WitnessError."""
    with running(class_path(version, of="storage"), "{}") as host:
        yield host


class Ended(Exception):
    """Kafka's log cannot go on, and neither can the engine's."""


class Both:
    """A log of the engine, in memory, and Kafka's, in a folder that is made anew.

    Raises Differs from every operation after which they are not the same.
    """

    def __init__(
        self,
        host: Host,
        folder: Path,
        config: Config,
        content: dict[str, bytes] | None = None,
        rules: type[StorageRules] = AsKafka,
    ) -> None:
        self.host, self.folder = host, folder
        self.rules = rules(config)
        self.disk = MemoryDisk(content)
        self.disk.now = LATE
        self.told: list[str] = []
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path, data in (content or {}).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(data)
        self.log: Log

    def ask(self, line: str) -> str:
        self.told.append(line if len(line) < 200 else f"{line[:200]}...")
        return self.host.ask([line])[0]

    def open(self, now: int, start: int = 0, recovery_point: int = 0, clean: bool = True) -> None:
        settings = json.dumps(settings_of(self.rules.config), separators=(",", ":"))
        words = (self.folder / FOLDER, start, recovery_point, str(clean).lower(), now, settings)
        said = self.ask(" ".join(map(str, ("open", *words))))
        failed = ""
        try:
            self.log = load(self.disk, FOLDER, self.rules, now, start, recovery_point, clean)
        except Exception as error:  # Whatever it is, Kafka is to fail as well.
            failed = repr(error)
        self._compare(said, failed)
        if failed:
            raise Ended(f"{failed}; Kafka says {said}")

    def perform(self, operation: Operation) -> None:
        if operation.name in ("stop", "crash"):
            self._restart(operation.name == "stop")
            return
        said = self.ask(str(operation))
        failed, result = "", None
        try:
            result = perform(self.log, operation)
        except Refused as error:
            failed = f"{error.error}: {error}"
        except Full as error:
            if "full" in said:
                raise Ended from None
            failed = repr(error)
        if operation.name == "clean" and not failed:
            if said != str(result):
                raise Differs(f"{operation}: cleaned up to {said}, the engine to {result}")
            said = self.ask(f"now {self.log.now}")
        self._compare(said, failed)

    def _restart(self, clean: bool) -> None:
        start, recovery_point, now = self.log.start, self.log.recovery_point, self.log.now
        if clean:
            self._close()
            recovery_point = self.log.recovery_point
        else:
            self.ask("drop")
        self.open(now, start, recovery_point, clean)

    def _close(self) -> None:
        self.ask("close")
        self.log.flush(self.log.end, including=True)
        self.log.close()
        self.files()

    def _compare(self, said: str, failed: str) -> None:
        if failed or said.startswith("!"):
            if not (failed and said.startswith("!")):
                raise Differs(f"{self.told[-1]}: Kafka says {said}, the engine {failed or 'ok'}")
            return
        log = self.log
        own = (log.end, log.start, log.recovery_point, log.high_watermark, log.last_stable)
        theirs = [*map(int, said.split())]
        theirs[-1] = max(theirs[-1], log.start)  # Kafka's is that of the batch that has it.
        if tuple(theirs) != own:
            raise Differs(f"{self.told[-1]}: Kafka is at {said}, the engine at {own}")
        self.files()

    def dump(self) -> tuple[int, int]:
        """Stops both cleanly, and gives Kafka's tool our files.

        How many it accepts: all; and of how many it had complained before.

        An index at work has room for more, and what was cut: the tool looks for a batch in a log
        without one, or behind its end. It says the same of Kafka's own. Raises Differs.
        """
        complaints = 0
        for own, theirs in self._written():
            if "index" not in own.suffix:
                continue
            said = [re.sub(r"\S*/", "", self.ask(f"dump {path}")) for path in (own, theirs)]
            if said[0] != said[1]:
                raise Differs(
                    f"{own.name}: DumpLogSegments says {said[0][:300]}; of Kafka's own {said[1]}"
                )
            if _complains(said[0]):
                if int(own.stem) != self.log.active.base or own.suffix == ".txnindex":
                    raise Differs(f"{own.name}: DumpLogSegments says {said[0][:300]}")
                complaints += 1
        self._close()
        done = 0
        for own, _ in self._written():
            said_of = self.ask(f"dump {own}")
            if _complains(said_of):
                raise Differs(f"{own.name}, stopped: DumpLogSegments says {said_of[:300]}")
            done += 1
        return done, complaints

    def _written(self) -> list[tuple[Path, Path]]:
        """Our files that the tool reads, in a folder of their own, and Kafka's."""
        folder = self.folder / "ours" / FOLDER
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        names = sorted(path.removeprefix(f"{FOLDER}/") for path in self.disk.content())
        for name in names:
            (folder / name).write_bytes(self.disk.content()[f"{FOLDER}/{name}"])
        read = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
        return [
            (folder / name, self.folder / FOLDER / name)
            for name in names
            if Path(name).suffix in read
        ]

    def files(self) -> None:
        """Raises Differs: other files, or other bytes."""
        theirs = {
            f"{FOLDER}/{path.name}": path.read_bytes()
            for path in sorted((self.folder / FOLDER).iterdir())
            if path.name != "partition.metadata"
        }
        ours = self.disk.content()
        if theirs.keys() != ours.keys():
            raise Differs(f"{self.told[-1]}: other files: {sorted(theirs.keys() ^ ours.keys())}")
        for path, data in theirs.items():
            own = ours[path]
            if ".snapshot" in path and data != own:
                if _entries(data) != _entries(own):
                    raise Differs(f"{self.told[-1]}: {path}: {_entries(data)}, {_entries(own)}")
            elif data != own:
                at = next(
                    (n for n, (a, b) in enumerate(zip(data, own, strict=False)) if a != b),
                    min(len(data), len(own)),
                )
                raise Differs(
                    f"{self.told[-1]}: {path}: {len(data)} bytes and {len(own)}, from {at} on"
                )


def _complains(said: str) -> bool:
    return any(word in said for word in ("Mismatches", "Exception", "rror", "!"))


def _entries(data: bytes) -> object:
    """Of a snapshot, in no order; of what is none, its bytes."""
    try:
        return parsed(data)
    except Malformed:
        return data


class Compared(msgspec.Struct):
    histories: int = 0
    operations: int = 0
    """After each of which both were compared."""
    crashed: int = 0
    """Directories that both started from, or refused."""
    refused: int = 0
    dumped: int = 0
    """Files that Kafka's tool accepts."""
    complained: int = 0
    """Indexes at work of which it did not, nor of Kafka's."""
    why: dict[str, int] = {}
    """Kafka did not start, and neither did the engine."""
    differ: list[str] = []
    """What is not the same."""


def compare(host: Host, folder: Path, seed: int, total: Compared, operations: int = 40) -> None:
    """A history of this seed, told to both. At its end every fiftieth is dumped as well."""
    total.histories += 1
    try:
        tell(host, folder, Random(seed), total, operations, dumps=seed % 50 == 0)
    except Differs as error:
        total.differ = [*total.differ, f"seed {seed}: {error}"]


def tell(
    host: Host,
    folder: Path,
    chance: Random,
    total: Compared,
    operations: int,
    *,
    dumps: bool,
    rules: type[StorageRules] = AsKafka,
) -> None:
    """A history that is drawn so, told to both. dumps: whether Kafka's tool reads its end.

    Raises Differs.
    """
    config = configured(chance)
    both = Both(host, folder, config, rules=rules)
    client = Client(chance, config, follows=chance.random() < 0.4)
    try:
        both.open(client.time)
        for _ in range(operations):
            both.perform(client.next(both.log))
            total.operations += 1
        if dumps:
            accepted, complaints = both.dump()
            total.dumped += accepted
            total.complained += complaints
    except Ended:
        pass


def compare_crashes(host: Host, folder: Path, seed: int, crashes: int, total: Compared) -> None:
    """What crashes of a history leave, ordered, is started from by both."""
    story = played(AsKafka, seed, 25)
    chance = Random(seed)
    for _ in range(crashes):
        upto = chance.randint(1, len(story.disk.journal))
        content = story.crash(upto).drawn(chance, "ordered")
        part = {path: data for path, data in content.items() if path.startswith(f"{FOLDER}/")}
        if not part:
            continue
        start = offset_in(content.get(LOG_STARTS), "t", 0)
        recovery_point = offset_in(content.get(RECOVERY_POINTS), "t", 0)
        both = Both(host, folder, story.rules.config, part)
        total.crashed += 1
        try:
            both.open(story.broker.log.now, start or 0, recovery_point or 0, CLEAN in content)
        except Ended as ended:
            total.refused += 1
            why = str(ended).partition("Kafka says !")[2].partition(" in file ")[0]
            total.why = {**total.why, why[:80]: total.why.get(why[:80], 0) + 1}
        except Differs as error:
            total.differ = [*total.differ, f"seed {seed}, crash at {upto}: {error}"]
