"""What clients saw on the wire, as a history of theirs that `check` judges (docs/histories.md).

Taken where requests come in and answers go out, from their bodies alone, and held against what the
configuration promises after what happened to the cluster (reference/clients/promises.py): so what
lies between a client and the reference, bytes and offsets, is judged as well.

*Operations.* A batch is one record, at its base offset. An idempotent producer's batch that comes
again is the same append, which is over when it is first answered well. A batch of another producer
is an append of its own whenever it comes; where several have the same bytes, the offset that was
acknowledged says which of them is read. Each operation has a process of its own: connections are
shared by clients' threads, and a client's own order is part of real time.

*Times* are a count of what came in and went out. The interval of an operation is the front's, which
is narrower than the client's: what is refused might have been allowed to a client that was slow to
send or to hear, but no cluster knows that it was.

Each partition is judged by itself, its records as a log has them, those of transactions too. What
spans partitions is judged as well (wire_across.py): transactions, as whoever reads only what is
committed sees them, and the offsets that groups committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import google_crc32c

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import Batch as Stored
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.requests import ACKS, Request
from kraftcheck.kafka.serve.wire_across import Across, Transaction, partitions
from kraftcheck.kafka.serve.wire_members import Members
from kraftcheck.kafka.serve.world import ServedWorld
from kraftcheck.reference.storage.batches import (
    CONTROL,
    CRC_BEGINS,
    HEADER,
    LENGTH_BEGINS,
    NOBODY,
    TRANSACTIONAL,
    Marker,
    marker_of,
)
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK

_LATEST, _EARLIEST, _COMMITTED = -1, -2, 1
_REFUSED: Final = frozenset(
    ERRORS[name]
    for name in (
        *("CORRUPT_MESSAGE", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"),
        *("MESSAGE_TOO_LARGE", "INVALID_RECORD", "NOT_ENOUGH_REPLICAS", "INVALID_REQUIRED_ACKS"),
        *("TOPIC_AUTHORIZATION_FAILED", "INVALID_TXN_STATE"),
    )
)
"""Errors that say that nothing was appended."""


class Batch(NamedTuple):
    """As much as the wire says."""

    name: tuple[int, ...]
    """Equal only for batches that may be one; the producer's id, epoch and sequence number and the
    checksum, or nobody's, checksum and length. Of nobody's whose bytes have another checksum, that
    one as well: no broker has it.
    """
    producer: tuple[int, int]
    base: int
    end: int
    attributes: int
    marker: Marker

    @property
    def is_numbered(self) -> bool:
        """By an idempotent producer."""
        return self.name[0] != NOBODY

    @property
    def is_control(self) -> bool:
        return self.marker != ""

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)


class Append:
    __slots__ = ("asked", "batch", "completed", "invoked", "offset", "refused", "transaction")

    def __init__(self, batch: Batch, invoked: int, transaction: Transaction | None) -> None:
        self.batch = batch
        self.invoked = invoked
        self.completed: int | None = None
        """When it was answered well."""
        self.offset: int | None = None
        self.asked = self.refused = 0
        """How often it was asked for, and answered with an error that says that nothing was
        appended.
        """
        self.transaction = transaction

    def called(self, at: int) -> str:
        """at: which one it is of those to its partition."""
        if not self.batch.is_numbered:
            return f"batch {at} sent"
        producer, epoch, sequence, _ = self.batch.name
        return f"producer {producer}, epoch {epoch}, sequence {sequence}"

    @property
    def outcome(self) -> str:
        if self.asked == self.refused:
            return FAIL
        return INDETERMINATE if self.completed is None else OK


class Read(NamedTuple):
    invoked: int
    completed: int
    start: int
    batches: list[Batch]
    end: int
    """The visible end of the log that was told: of what is committed, if `is_committed`."""
    is_committed: bool
    is_held_back: bool
    """Whether what is open hides something."""
    left: frozenset[int]
    """By their base, batches that the answer says are of aborted transactions."""


class Log:
    """Of one partition."""

    def __init__(self, partition: ServedPartition) -> None:
        self.partition = partition
        self.acks: set[int] = set()
        self.appends: list[Append] = []
        self.numbered: dict[tuple[int, ...], Append] = {}
        self.reads: list[Read] = []
        self.told: list[tuple[str, int, int, int]] = []
        """Ends and starts: which, when asked, when told, the offset."""
        self.is_read = False
        """Whether in the end all that there is was read."""

    def values(self) -> dict[int, str]:
        """What each append is called, by identity."""
        return {id(append): append.called(at) for at, append in enumerate(self.appends)}


class WireHistory:
    """Of all clients of a cluster."""

    def __init__(self) -> None:
        self._now = 0
        self.logs: dict[int, Log] = {}
        self._asked: dict[int, tuple[int, list[tuple[Log, Append]]]] = {}
        """By connection: since when its request is there, and what it appends."""
        self._sessions: dict[tuple[int, int], dict[tuple[Any, int], int]] = {}
        """Of brokers' fetch sessions: from where each partition is read."""
        self._restored: dict[tuple[int, int], Transaction] = {}
        """By partition and producer, of an earlier cluster, what has no marker yet."""
        self.across = Across()
        self.members = Members()

    # --- What comes in and goes out

    def requested(self, world: ServedWorld, request: Request) -> None:
        self._now += 1
        appends = []
        self.across.requested(self._now, world, request)
        self.members.requested(request)
        if request.api == "Produce":
            topics = request.body["topic_data"]
            for _, of, asked in partitions(world, topics, "name", "partition_data", "index"):
                log = self._log(of)
                for batch in _batches(asked.get("records") or b""):
                    if request.body["acks"] in ACKS:  # of another nothing is appended
                        log.acks.add(request.body["acks"])
                    appends.append((log, self._append(log, batch)))
        self._asked[request.connection] = self._now, appends

    def answered(self, world: ServedWorld, request: Request, body: Message) -> None:
        """An answer leaves whole. One that was invented says nothing."""
        self._now += 1
        invoked, appends = self._asked.pop(request.connection, (self._now, []))
        if request.invented:
            return
        if request.api == "Produce":
            self._acknowledged(world, body, appends)
        elif request.api == "Fetch":
            self._fetched(world, request, body, invoked)
        elif request.api == "ListOffsets":
            self._listed(world, request, body, invoked)
        else:
            self.across.answered(self._now, world, request, body, invoked)
            self.members.answered(self._now, world, request, body, invoked)

    def restored(self, partition: ServedPartition, batch: Stored) -> None:
        """What an earlier cluster had is there before anybody asks (restoring.py).

        Of its transactions each partition's part is taken by itself.
        """
        log = self._log(partition)
        log.acks.add(-1)
        for each in _batches(b"".join(batch.pieces())):
            self._now += 1
            # A marker may have the next epoch (KIP-890).
            key = partition.number, each.producer[0]
            if each.is_control:
                if ended := self._restored.pop(key, None):
                    self.across.decided(ended, each.marker.lower(), self._now)
                continue
            transaction = None
            if each.is_transactional:
                transaction = self._restored.get(key) or self.across.begun(self._now)
                self._restored[key] = transaction
            append = Append(each, self._now, transaction)
            append.asked, append.completed, append.offset = 1, self._now + 1, each.base
            log.appends.append(append)
            if each.is_numbered:
                log.numbered[each.name] = append
            self._now += 1

    def committed(self, group: str, partition: ServedPartition, offset: int) -> None:
        """What an earlier cluster had of a group."""
        self._now += 2
        self.across.kept(group, partition, offset, self._now)

    def _append(self, log: Log, batch: Batch) -> Append:
        known = log.numbered.get(batch.name) if batch.is_numbered else None
        if known is None:
            transaction = None
            if batch.is_transactional:
                transaction = self.across.transaction_of(batch.producer, self._now)
            known = Append(batch, self._now, transaction)
            log.appends.append(known)
            if batch.is_numbered:
                log.numbered[batch.name] = known
        known.asked += 1
        if known.transaction is not None:
            known.transaction.open.add(id(known))
        return known

    def _acknowledged(
        self, world: ServedWorld, body: Message, appends: list[tuple[Log, Append]]
    ) -> None:
        topics = body["responses"]
        for _, of, told in partitions(world, topics, "name", "partition_responses", "index"):
            log, error = self._log(of), told.get("error_code", 0)
            for append in [each for whose, each in appends if whose is log]:
                append.refused += error in _REFUSED
                if append.transaction is not None:
                    append.transaction.open.discard(id(append))
                if error == ERRORS["NONE"] and append.completed is None:
                    append.completed, append.offset = self._now, told["base_offset"]

    def _fetched(self, world: ServedWorld, request: Request, body: Message, invoked: int) -> None:
        if body.get("error_code"):
            return
        starts = self._starts(request, body)
        committed = request.body.get("isolation_level") == _COMMITTED
        for topic, of, told in partitions(world, body["responses"], "topic"):
            name = topic["topic_id"] if "topic_id" in topic else topic["topic"]
            log, start = self._log(of), starts.get((name, told["partition_index"]))
            if start is None or told.get("error_code", 0):
                continue
            end: int = told["high_watermark"]
            stable = told.get("last_stable_offset", end) if committed else end
            all_of_it = list(_batches(told.get("records") or b""))
            aborted = told.get("aborted_transactions") or ()
            left = _aborted(all_of_it, aborted) if committed else frozenset()
            # A batch that begins before was asked for in its middle. Where the answer has room for
            # nothing else, it says nothing of what follows.
            read = [b for b in all_of_it if b.base >= start]
            if not read and any(b.base < start < b.end for b in all_of_it):
                continue
            held = stable < end
            log.reads.append(Read(invoked, self._now, start, read, stable, committed, held, left))

    def _starts(self, request: Request, body: Message) -> dict[tuple[Any, int], int]:
        """From where a fetch reads, by partition."""
        asked = request.body
        listed = {
            (topic.get("topic_id", topic.get("topic")), each["partition"]): each["fetch_offset"]
            for topic in asked["topics"]
            for each in topic["partitions"]
        }
        if asked.get("session_epoch", -1) > 0:
            known = self._sessions.setdefault((request.broker, asked["session_id"]), {})
        elif body.get("session_id"):
            known = self._sessions[request.broker, body["session_id"]] = {}
        else:
            return listed
        known.update(listed)
        return known

    def _listed(self, world: ServedWorld, request: Request, body: Message, invoked: int) -> None:
        asked = {
            (topic["name"], each["partition_index"]): each["timestamp"]
            for topic in request.body["topics"]
            for each in topic["partitions"]
        }
        committed = request.body.get("isolation_level") == _COMMITTED
        for topic, of, told in partitions(world, body["topics"]):
            # Who may not ask is answered, and was not asked any further.
            timestamp = asked.get((topic["name"], told["partition_index"]))
            what = {_LATEST: "latest", _EARLIEST: "earliest", None: None}.get(timestamp)
            log = self._log(of)
            if what is None or told.get("error_code", 0):
                continue
            if what == "earliest" or not committed:
                log.told.append((what, invoked, self._now, told.get("offset", NOBODY)))

    def _log(self, partition: ServedPartition) -> Log:
        log = self.logs.get(partition.number)
        if log is None:
            log = self.logs[partition.number] = Log(partition)
        return log


def _batches(records: bytes) -> Iterator[Batch]:
    """Of records as they go over the wire; what is no batch is none."""
    at = 0
    while at + HEADER.size <= len(records):
        fields = HEADER.unpack_from(records, at)
        base, length, _, _, crc, attributes, last, _, _, producer, epoch, sequence, _ = fields
        numbered = producer != NOBODY and sequence >= 0
        size = max(length, 0) + LENGTH_BEGINS
        name = (producer, epoch, sequence, crc) if numbered else (NOBODY, crc, length)
        found = google_crc32c.value(records[at + CRC_BEGINS : at + size])
        if not numbered and found != crc:
            name = (*name, found)
        marker = marker_of(records[at : at + size]) if attributes & CONTROL else ""
        yield Batch(name, (producer, epoch), base, base + last + 1, attributes, marker)
        at += size


def _aborted(batches: list[Batch], told: Iterable[Message]) -> frozenset[int]:
    """By their base, those that a reader of what is committed leaves out."""
    begun = sorted((each["first_offset"], each["producer_id"]) for each in told)
    producers: set[int] = set()
    left = set()
    for batch in batches:
        while begun and begun[0][0] < batch.end:
            producers.add(begun.pop(0)[1])
        if batch.marker == "ABORT":
            producers.discard(batch.producer[0])
        elif batch.is_transactional and batch.producer[0] in producers:
            left.add(batch.base)
    return frozenset(left)
