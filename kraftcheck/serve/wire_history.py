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

Not judged: transactions (of which records are looked at as a log has them, also where readers are
to leave them out), and what groups commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kraftcheck.serve.apis import ERRORS
from kraftcheck.serve.batches import Batch
from kraftcheck.serve.codec import Message
from kraftcheck.serve.requests import Request
from kraftcheck.serve.world import INTERNAL, ServedPartition, World
from reference.storage.batches import CONTROL, HEADER, LENGTH_BEGINS, NOBODY

if TYPE_CHECKING:
    from traces.checkers.assessment import Report

_LATEST, _EARLIEST, _COMMITTED = -1, -2, 1
_ACKS: Final = {0: "0", 1: "1", -1: "all"}
_REFUSED: Final = frozenset(
    ERRORS[name]
    for name in (
        *("CORRUPT_MESSAGE", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"),
        *("MESSAGE_TOO_LARGE", "INVALID_RECORD", "NOT_ENOUGH_REPLICAS", "INVALID_REQUIRED_ACKS"),
        *("TOPIC_AUTHORIZATION_FAILED", "INVALID_TXN_STATE"),
    )
)
"""Errors that say that nothing was appended."""


class _Batch(NamedTuple):
    """As much as the wire says. name: equal only for batches that may be one; the producer's id,
    epoch and sequence number and the checksum, or nobody's, checksum and length.
    """

    name: tuple[int, ...]
    base: int
    attributes: int

    @property
    def is_numbered(self) -> bool:
        """By an idempotent producer."""
        return self.name[0] != NOBODY


class _Append:
    __slots__ = ("asked", "batch", "completed", "invoked", "offset", "refused")

    def __init__(self, batch: _Batch, invoked: int) -> None:
        self.batch = batch
        self.invoked = invoked
        self.completed: int | None = None
        """When it was answered well."""
        self.offset: int | None = None
        self.asked = self.refused = 0
        """How often it was asked for, and answered with an error that says that nothing was
        appended.
        """


class _Read(NamedTuple):
    invoked: int
    completed: int
    start: int
    batches: list[_Batch]
    end: int


class _Log:
    """Of one partition."""

    def __init__(self, partition: ServedPartition) -> None:
        self.partition = partition
        self.acks: set[int] = set()
        self.appends: list[_Append] = []
        self.numbered: dict[tuple[int, ...], _Append] = {}
        self.reads: list[_Read] = []
        self.told: list[tuple[str, int, int, int]] = []
        """Ends and starts: which, when asked, when told, the offset."""


class WireHistory:
    """Of all clients of a cluster."""

    def __init__(self) -> None:
        self._now = 0
        self._logs: dict[int, _Log] = {}
        self._asked: dict[int, tuple[int, list[tuple[_Log, int, _Append]]]] = {}
        """By connection: since when its request is there, and what it appends."""
        self._sessions: dict[tuple[int, int], dict[tuple[Any, int], int]] = {}
        """Of brokers' fetch sessions: from where each partition is read."""

    # --- What comes in and goes out

    def asked(self, world: World, request: Request) -> None:
        self._now += 1
        appends = []
        if request.api == "Produce":
            for topic in request.body["topic_data"]:
                for asked in topic["partition_data"]:
                    log = self._log(world, topic, "name", asked["index"])
                    for batch in _batches(asked.get("records") or b"") if log else ():
                        assert log is not None, "it was asked a moment ago"
                        log.acks.add(request.body["acks"])
                        appends.append((log, asked["index"], self._append(log, batch)))
        self._asked[request.connection] = self._now, appends

    def answered(self, world: World, request: Request, body: Message) -> None:
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

    def restored(self, world: World, partition: ServedPartition, batch: Batch) -> None:
        """What an earlier cluster had is there before anybody asks (restoring.py)."""
        self._now += 1
        log = self._logs.setdefault(partition.number, _Log(partition))
        log.acks.add(-1)
        for each in _batches(b"".join(batch.pieces())):
            if not _is_control(each):
                append = self._append(log, each)
                self._now += 1
                append.completed, append.offset = self._now, each.base

    def _append(self, log: _Log, batch: _Batch) -> _Append:
        known = log.numbered.get(batch.name) if batch.is_numbered else None
        if known is None:
            known = _Append(batch, self._now)
            log.appends.append(known)
            if batch.is_numbered:
                log.numbered[batch.name] = known
        known.asked += 1
        return known

    def _acknowledged(
        self, world: World, body: Message, appends: list[tuple[_Log, int, _Append]]
    ) -> None:
        for topic in body["responses"]:
            for told in topic["partition_responses"]:
                log = self._log(world, topic, "name", told["index"])
                for of, index, append in appends:
                    if of is not log or index != told["index"]:
                        continue
                    error = told.get("error_code", 0)
                    append.refused += error in _REFUSED
                    if error == ERRORS["NONE"] and append.completed is None:
                        append.completed, append.offset = self._now, told["base_offset"]

    def _fetched(self, world: World, request: Request, body: Message, invoked: int) -> None:
        if body.get("error_code"):
            return
        starts = self._starts(request, body)
        committed = request.body.get("isolation_level") == _COMMITTED
        for topic in body["responses"]:
            name = topic["topic_id"] if "topic_id" in topic else topic["topic"]
            for told in topic["partitions"]:
                log = self._log(world, topic, "topic", told["partition_index"])
                start = starts.get((name, told["partition_index"]))
                if log is None or start is None or told.get("error_code", 0):
                    continue
                end = told["high_watermark"]
                if committed and told.get("last_stable_offset", end) < end:
                    # Who leaves out what is open sees less on purpose.
                    continue
                # A batch that begins before was asked for in its middle.
                read = [b for b in _batches(told.get("records") or b"") if b.base >= start]
                log.reads.append(_Read(invoked, self._now, start, read, end))

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

    def _listed(self, world: World, request: Request, body: Message, invoked: int) -> None:
        asked = {
            (topic["name"], each["partition_index"]): each["timestamp"]
            for topic in request.body["topics"]
            for each in topic["partitions"]
        }
        committed = request.body.get("isolation_level") == _COMMITTED
        for topic in body["topics"]:
            for told in topic["partitions"]:
                log = self._log(world, topic, "name", told["partition_index"])
                timestamp = asked[topic["name"], told["partition_index"]]
                what = {_LATEST: "latest", _EARLIEST: "earliest"}.get(timestamp)
                if log is None or what is None or told.get("error_code", 0):
                    continue
                if what == "earliest" or not committed:
                    log.told.append((what, invoked, self._now, told.get("offset", NOBODY)))

    def _log(self, world: World, topic: Message, name: str, index: int) -> _Log | None:
        by_id = name not in topic
        of = world.with_id(topic["topic_id"]) if by_id else world.topics.get(topic[name])
        if of is None or of.name in INTERNAL or not 0 <= index < len(of.partitions):
            return None
        partition = of.partitions[index]
        return self._logs.setdefault(partition.number, _Log(partition))

    # --- Judged

    def reports(self) -> Iterator[tuple[str, Report]]:
        """Of each partition of which clients heard, what is said of its history."""
        # Not needed to serve, and long to load.
        from msgspec.structs import replace

        from reference.clients.promises import promised
        from reference.partition.sim.options import configuration_of
        from traces.checkers.check import check_log
        from traces.history import History

        for log in self._logs.values():
            operations = tuple(_operations(log))
            if not operations:
                continue
            partition = log.partition
            where = f"{partition.topic.name}-{partition.index}"
            acks = min(log.acks, key=(0, 1, -1).index, default=-1)
            configuration = replace(configuration_of(partition.options), acks=_ACKS[acks])
            promise = promised(configuration, partition.losses.envelope())
            history = History(source=where, format="wire", time_unit="event", operations=operations)
            yield where, check_log(history, promise, configuration, gaps=True)


def _batches(records: bytes) -> Iterator[_Batch]:
    """Of records as they go over the wire; what is no batch is none."""
    at = 0
    while at + HEADER.size <= len(records):
        fields = HEADER.unpack_from(records, at)
        base, length, _, _, crc, attributes, *_, producer, epoch, sequence, _ = fields
        numbered = producer != NOBODY and sequence >= 0
        name = (producer, epoch, sequence, crc) if numbered else (NOBODY, crc, length)
        yield _Batch(name, base, attributes)
        at += max(length, 0) + LENGTH_BEGINS


def _operations(log: _Log) -> Iterator[Any]:
    """In order of invocation, with a process for each."""
    from traces.history import FAIL, INDETERMINATE, OK, Operation

    values = {id(append): _called(append, at) for at, append in enumerate(log.appends)}
    found: list[tuple[int, dict[str, Any]]] = []
    for append in log.appends:
        outcome = OK if append.completed is not None else INDETERMINATE
        if append.asked == append.refused:
            outcome = FAIL
        value = values[id(append)]
        said: dict[str, Any] = {"f": "append", "argument": value, "result": append.offset}
        found.append((append.invoked, said | _ended(outcome, append.completed)))
    named = _Named(log, values)
    for read in log.reads:
        result = tuple([(b.base, named.value(b)) for b in read.batches if not _is_control(b)])
        said = {"f": "fetch", "argument": read.start, "result": result, "end": read.end}
        found.append((read.invoked, said | _ended(OK, read.completed)))
    for what, invoked, completed, offset in log.told:
        said = {"f": what, "result": offset}
        found.append((invoked, said | _ended(OK, completed)))
    key = f"{log.partition.topic.name}-{log.partition.index}"
    for at, (invoked, said) in enumerate(sorted(found, key=lambda each: each[0])):
        yield Operation(index=at, process=at, group=at, key=key, invoked=invoked, **said)


def _ended(outcome: str, completed: int | None) -> dict[str, Any]:
    return {"outcome": outcome, "completed": completed}


def _called(append: _Append, at: int) -> str:
    if not append.batch.is_numbered:
        return f"batch {at} sent"
    producer, epoch, sequence, _ = append.batch.name
    return f"producer {producer}, epoch {epoch}, sequence {sequence}"


def _unsent(batch: _Batch) -> str:
    return f"nobody's, at {batch.base}"


def _is_control(batch: _Batch) -> bool:
    return bool(batch.attributes & CONTROL)


class _Named:
    """Which append's batch it is that was read somewhere."""

    def __init__(self, log: _Log, values: dict[int, str]) -> None:
        self._values = values
        self._numbered = log.numbered
        self._acked: dict[tuple[tuple[int, ...], int], str] = {}
        self._open: dict[tuple[int, ...], list[str]] = {}
        self._any: dict[tuple[int, ...], str] = {}
        for append in log.appends:
            name, value = append.batch.name, values[id(append)]
            self._any[name] = value
            if append.offset is not None and append.offset >= 0:
                self._acked[name, append.offset] = value
            else:
                self._open.setdefault(name, []).append(value)

    def value(self, batch: _Batch) -> str:
        name = batch.name
        if batch.is_numbered:
            append = self._numbered.get(name)
            return _unsent(batch) if append is None else self._values[id(append)]
        known = self._acked.get((name, batch.base))
        if known is None:
            waiting = self._open.get(name)
            known = waiting.pop(0) if waiting else self._any.get(name, _unsent(batch))
            self._acked[name, batch.base] = known
        return known
