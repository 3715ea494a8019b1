"""Draw what is done to a log.

Appends of several producers, transactions, rolls, flushes, truncations, deletions, compaction,
stops and crashes.

An operation is a name and what it needs, made for the log as it stands. The same ones are told to
Apache Kafka's classes (kraftcheck/witness/storage.py), and to the engine on a disk that crashes.
"""

from __future__ import annotations

from copy import copy
from random import Random
from typing import Any, Final, NamedTuple

from kraftcheck.reference.storage.batches import batches_of, data_batch, marker_batch, moved
from kraftcheck.reference.storage.cleaning import clean, first_uncleanable
from kraftcheck.reference.storage.cutting import truncate, truncate_fully
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.retention import delete_old
from kraftcheck.reference.storage.rules import Config

FIRST_TIME: Final = 1_700_000_000_000


class Operation(NamedTuple):
    name: str
    words: tuple[str, ...] = ()
    """What it is told with, numbers as text, bytes as hexadecimal digits."""

    def __str__(self) -> str:
        return " ".join((self.name, *self.words))


class _Producer:
    def __init__(self, id: int) -> None:
        self.id, self.epoch, self.sequence = id, 0, 0
        self.open = False
        self.last = b""


class Client:
    """Who appends: plain producers, numbering ones, and one in transactions. epoch: of the leader.

    follows: whether the log is a follower's, which takes several batches at once. cleaned: from
    where on the log is dirty.
    """

    def __init__(self, chance: Random, config: Config, *, follows: bool = False) -> None:
        self.chance, self.config, self.follows = chance, config, follows
        self.time = FIRST_TIME
        self.epoch = 0
        self.unruly = copy(chance)
        self.producers = [_Producer(id) for id in (7, 8, 9)]
        self.cleaned = 0
        self.keys = 0

    def tick(self) -> int:
        self.time += self.chance.choice((0, 1, 10, 500))
        return self.time

    # -- Batches

    def batch(self) -> tuple[bytes, str]:
        """Data, or a marker, and who writes it."""
        chance = self.chance
        time = self.time - chance.choice((0, 0, 0, 700))
        kind = chance.random()
        if kind < 0.25:
            return data_batch(self._records(), time), "client"
        producer = chance.choice(self.producers)
        if kind < 0.32 and producer.last and not producer.open:
            return producer.last, "client"  # A retry.
        if kind < 0.35 and not producer.open:
            producer.epoch, producer.sequence = producer.epoch + 1, 0
        if producer.open and kind > 0.6:
            producer.open = False
            commit = chance.random() < 0.5
            return marker_batch(commit, time, producer.id, producer.epoch), "coordinator"
        records = self._records()
        producer.open = producer.open or producer.id != 7
        data = data_batch(
            records, time, producer.id, producer.epoch, producer.sequence, producer.open
        )
        producer.sequence += len(records)
        producer.last = data
        return data, "client"

    def _records(self) -> list[tuple[bytes, bytes | None]]:
        chance = self.chance
        return [
            (
                b"k%d" % chance.randint(0, 4),
                None if chance.random() < 0.15 else b"v" * chance.choice((3, 20, 90)),
            )
            for _ in range(chance.choice((1, 1, 2, 5)))
        ]

    # -- Operations

    def next(self, log: Log) -> Operation:
        """What is done now."""
        chance = self.chance
        if not self.follows and self.unruly.random() < 0.04:
            return self._unruly()
        draw = chance.random()
        if self.config.compact and chance.random() < 0.2:
            return self._clean(log)
        if draw < 0.6:
            return self._append(log)
        if draw < 0.66:
            ends = [each.last + 1 for each in log.read(log.high_watermark, log.end)]
            return Operation("hw", (str(chance.choice([log.high_watermark, log.end, *ends])),))
        if draw < 0.71:
            return Operation("tasks")
        if draw < 0.76:
            return Operation("flush")
        if draw < 0.79:
            return Operation("roll")
        if draw < 0.85:
            return self._truncate(log)
        if draw < 0.88:
            return Operation("start", (str(chance.randint(log.start, log.high_watermark)),))
        if draw < 0.91:
            return Operation("retain")
        if draw < 0.96:
            self.time += chance.choice((1000, 60_000, 3_600_000))
            return Operation("now", (str(self.time),))
        return Operation(chance.choice(("stop", "crash")))

    def _append(self, log: Log) -> Operation:
        self.tick()
        if self.chance.random() < 0.06:
            self.epoch += 1
        if not self.follows:
            data, origin = self.batch()
            return Operation("leader", (str(self.epoch), origin, data.hex()))
        offset, out = log.end, b""
        if self.config.compact and self.chance.random() < 0.05:
            offset += 2  # The leader's log was compacted.
        for _ in range(self.chance.choice((1, 3, 6))):
            data = moved(self.batch()[0], offset, self.epoch)
            offset = next(iter(batches_of(data)))[1].last + 1
            out += data
        return Operation("follower", (str(self.epoch), out.hex()))

    def _unruly(self) -> Operation:
        """Draw a batch that a client may not append.

        A marker, one without a sequence, and in a compacted log one without a key (which others
        take). It has a stream of its own.
        """
        data = (
            marker_batch(self.unruly.random() < 0.5, self.time, 8, 0),
            data_batch([(b"k0", b"v")], self.time, 7, 0, -1),
            data_batch([(b"k0", b"v"), (None, b"v")], self.time),
        )
        return Operation("leader", (str(self.epoch), "client", self.unruly.choice(data).hex()))

    def _truncate(self, log: Log) -> Operation:
        self.epoch += 1
        for producer in self.producers:
            producer.open = False  # What it did is gone, or not: it begins anew.
            producer.epoch, producer.sequence, producer.last = producer.epoch + 1, 0, b""
        if self.chance.random() < 0.05:
            return Operation("anew", (str(self._anew(log)),))
        return Operation("truncate", (str(self.chance.randint(log.high_watermark, log.end)),))

    def _anew(self, log: Log) -> int:
        """Draw where a replica starts anew.

        Above its end, as a leader's log does; or below all that it has, if that is not compacted:
        of what is given up above, older records may be cleaned.
        """
        offset = self.chance.randint(0, log.end + 5)
        below = offset <= log.segments[0].base and not self.config.compact
        return offset if below or offset >= log.end else log.end + offset % 6

    def _clean(self, log: Log) -> Operation:
        upto = first_uncleanable(log)
        first = max(self.cleaned, log.start)
        if first > log.end:
            first = log.start
        if first >= upto:
            return Operation("hw", (str(log.end),))
        keys = self.chance.choice((2, 3, 1000))
        return Operation("clean", (str(first), str(upto), str(keys)))


def perform(log: Log, operation: Operation) -> Any:
    """What the engine makes of it. Raises Refused, OSError."""
    words = operation.words
    match operation.name:
        case "leader":
            return log.append_as_leader(
                bytes.fromhex(words[2]),
                int(words[0]),
                "coordinator" if words[1] == "coordinator" else "client",
            )
        case "follower":
            return log.append_as_follower(bytes.fromhex(words[1]), int(words[0]))
        case "roll":
            return log.roll()
        case "flush":
            return log.flush(log.end)
        case "truncate":
            return truncate(log, int(words[0]))
        case "anew":
            return truncate_fully(log, int(words[0]))
        case "hw":
            return log.update_high_watermark(int(words[0]))
        case "start":
            return log.increment_start(int(words[0]))
        case "retain":
            return delete_old(log)
        case "tasks":
            return log.run_tasks()
        case "now":
            log.now = int(words[0])
            return None
        case "clean":
            first, upto, keys = map(int, words)
            return clean(log, first, upto, keys)
    raise ValueError(operation.name)


def configured(chance: Random) -> Config:
    """Small segments, of all kinds."""
    return Config(
        segment_bytes=chance.choice((400, 800, 2000)),
        segment_ms=chance.choice((600, 10_000, 10**9)),
        index_bytes=chance.choice((36, 60, 240)),
        index_interval=chance.choice((0, 100, 400)),
        flush_messages=chance.choice((1, 7, (1 << 62))),
        retention_bytes=chance.choice((-1, 1000, 3000)),
        retention_ms=chance.choice((-1, 5_000, 10**7)),
        compact=chance.random() < 0.4,
        delete_retention=chance.choice((0, 1000, 10**8)),
    )
