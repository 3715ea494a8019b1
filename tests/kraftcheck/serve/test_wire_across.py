"""Transactions and committed offsets as clients saw them: they hold, planted faults are seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kraftcheck.kafka.serve import (
    coordinator as coordinators,
    data,
    last_client,
    offsets,
    producers,
    restoring,
)
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import Ended
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.kafka.serve.logs import wrapped
from kraftcheck.kafka.serve.tape import replayed
from kraftcheck.kafka.serve.wire_history import WireHistory
from kraftcheck.kafka.serve.wire_judged import findings
from tests.kraftcheck.serve.test_data import begun
from tests.kraftcheck.serve.test_groups import coordinator
from tests.kraftcheck.serve.test_transactions import Producer
from tests.kraftcheck.serve.wire import Wire, answer, batch, frame, plant, producing, with_topic

NONE = ERRORS["NONE"]
Wrong = Callable[..., Any]
RESTORE = (restoring.Restoring, "_committed")


def commit(wire: Wire, offset: int, broker: int | None = None) -> int:
    """By somebody who is no member of "g"; the error."""
    asked = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    topics = [{"name": "t", "partitions": [asked]}]
    body = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""}
    at = coordinator(wire) if broker is None else broker
    said = wire.ask(at, "OffsetCommit", 7, **body, topics=topics)
    error: int = said["topics"][0]["partitions"][0]["error_code"]
    return error


def committed(wire: Wire, group: str = "g") -> int:
    asked = [{"name": "t", "partition_indexes": [0]}]
    body = {"group_id": group, "topics": asked, "require_stable": True}
    (topic,) = wire.ask(coordinator(wire), "OffsetFetch", 7, **body)["topics"]
    found: int = topic["partitions"][0]["committed_offset"]
    return found


def within(one: Producer, offset: int, group: str = "x") -> int:
    """Commits a consumed offset in a transaction; the error."""
    asked = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    topics = [{"name": "t", "partitions": [asked]}]
    body = {"transactional_id": "x", "group_id": group, "topics": topics, **one.said}
    if one.version == 1:
        said = one.wire.ask(
            one.coordinator, "AddOffsetsToTxn", 3, transactional_id="x", group_id=group, **one.said
        )
        assert said["error_code"] == NONE
    version = 5 if one.version == 2 else 3
    told = one.wire.ask(coordinator(one.wire), "TxnOffsetCommit", version, **body)
    error: int = told["topics"][0]["partitions"][0]["error_code"]
    return error


def session(wire: Wire, version: int = 2) -> None:
    """Transactions over two partitions that are committed, aborted, and left open by who is then
    fenced; readers of both kinds; offsets within transactions, and of another group without.
    """
    wire.create(partitions=2)
    one = Producer(wire, version)
    assert one.init() == NONE
    for at, decision in enumerate((True, False, True, False)):
        for partition in (0, 1):
            one.write(partition)
        wire.produce(batch(b"plain"))
        assert within(one, at + 1) == NONE
        wire.fetch(0, isolation_level=1)
        assert one.end(decision) == NONE
        assert commit(wire, at) == NONE
        assert (committed(wire), committed(wire, "x")) == (at, at + 1 - (not decision))
        wire.fetch(0, isolation_level=1)
        wire.fetch(0)
    one.write(0)
    other = Producer(wire, version)
    assert other.init() == NONE
    other.write(0)
    assert other.end(True) == NONE
    wire.fetch(0, isolation_level=1)


@pytest.mark.parametrize("version", [1, 2])
def test_a_session_holds(tmp_path: Path, version: int) -> None:
    wire = Wire()
    session(wire, version)
    path = wire.tape(tmp_path / "tape")
    said = judged(path)
    assert (said.verdict, said.reasons) == ("holds", [])
    seen = WireHistory()
    played = replayed(path, watched=False, witness=seen)
    found = {each.where: each for each in findings(seen, [played.core.world.offsets])}
    assert list(found) == ["t-0", "t-1", "transactions", "committed offsets"]
    report = found["transactions"].report
    assert report is not None and report.transactions == 6
    decided = [(each.decision, each.ended is not None) for each in seen.across.transactions]
    ends = [("commit", True), ("abort", True)]
    assert decided == [*ends, *ends, ("", False), ("commit", True)]


def leave_out_aborted(right: Any, *of: Any) -> Any:
    """An answer names no aborted transactions."""
    told, size = right(*of)
    return told | {"aborted_transactions": []}, size


def name_too_many(right: Any, *of: Any) -> Any:
    """An answer names the first transaction, which was committed."""
    told, size = right(*of)
    if told.get("aborted_transactions"):
        first = told["aborted_transactions"][0]
        told["aborted_transactions"] = [{**first, "first_offset": 0}]
    return told, size


def forget_open(right: Any, self: producers.Ongoing, watermark: int) -> int:
    """What is open is shown to readers of what is committed."""
    return watermark


def mark_half(right: Any, self: Any, key: Any, producer: int, m: Any, *more: Any) -> None:
    """A transaction that is committed is aborted in its second partition."""
    if key[1] == 1:
        m = type(m)(**{**_fields(m), "decision": "Abort"})
    right(self, key, producer, m, *more)


def answer_of_before(right: Any, self: Any, record: Any, at: int) -> None:
    """An OffsetFetch tells what was committed before the last commit."""
    kept = vars(self).setdefault("before", {})
    before, kept[record.group] = kept.get(record.group, (record, at)), (record, at)
    right(self, *before)


def answer_nothing(*_: Any) -> None:
    pass


def answer_unasked(right: Any, *of: Any) -> Any:
    """It tells one more than was committed."""
    told = right(*of)
    told["committed_offset"] += told["committed_offset"] >= 0
    return told


def keep_aborted(right: Any, self: Any, entry: Any, taken: Any) -> None:
    """Offsets of an aborted transaction are committed."""
    value = taken.value
    if isinstance(value, Ended):
        value = value._replace(decision="Commit")
    right(self, entry, type(taken)(**{**_fields(taken), "value": value}))


READ, MARK = (data.Fetch, "_read_one"), (coordinators.Tenure, "mark")
KEEP, TAKE, TELL = (offsets.Kept, "_keep"), (offsets.Kept, "take"), (offsets.Offsets, "_told")


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def simple(wire: Wire) -> None:
    """As `session`, without looking at what is told."""
    wire.create(partitions=2)
    one = Producer(wire, 2)
    one.init()
    for at, decision in enumerate((True, False, True)):
        for partition in (0, 1):
            one.write(partition)
        within(one, at + 1)
        wire.fetch(0, isolation_level=1)
        one.end(decision)
        commit(wire, at)
        committed(wire)
        committed(wire, "x")
    wire.fetch(0, isolation_level=1)


@pytest.mark.parametrize(
    ("at", "wrong", "where", "words"),
    [
        (READ, leave_out_aborted, "transactions", ("G1a",)),
        (READ, name_too_many, "transactions", ("poll-skip",)),
        ((producers.Ongoing, "stable"), forget_open, "transactions", ("future-read", "G1a")),
        (MARK, mark_half, "transactions", ("G1a", "poll-skip")),
        (KEEP, answer_of_before, "committed offsets", ("stale-offset",)),
        (KEEP, answer_nothing, "committed offsets", ("offset-lost",)),
        (TELL, answer_unasked, "committed offsets", ("unknown-offset",)),
        (TAKE, keep_aborted, "committed offsets", ("unknown-offset",)),
    ],
)
def test_planted_faults_are_seen(
    at: tuple[type, str],
    wrong: Wrong,
    where: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, *at, wrong)
    wire = Wire()
    simple(wire)
    said = judged(wire.tape(tmp_path / "tape"))
    assert said.verdict == "violated"
    told = [each for each in said.reasons if each.startswith(f"of {where}, ")]
    assert told, said.reasons
    assert any(word in told[0] for word in words), told


def test_what_was_acknowledged_and_is_gone_is_missed_by_the_last_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody in the session reads."""

    def wrong(right: Any, self: data.Produce, partition: Any, slot: Any, records: Any) -> None:
        if b"second" in records:
            slot |= {"error_code": 0, "base_offset": 1, "log_start_offset": 0}
            return
        right(self, partition, slot, records)

    plant(monkeypatch, data.Produce, "append", wrong)
    wire = with_topic()
    for value in (b"first", b"second"):
        wire.produce(batch(value))
    path = wire.tape(tmp_path / "tape")
    said = judged(path)
    assert said.verdict == "violated"
    assert "batch 1 sent" in said.reasons[0]
    monkeypatch.setattr(last_client, "_ask", lambda *_: False)
    assert judged(path).verdict == "holds"


def test_a_coordinator_that_was_replaced_may_not_know(tmp_path: Path) -> None:
    """Cut off from the others, it answers what it knows."""
    wire = with_topic()
    assert commit(wire, 1) == NONE
    old = coordinator(wire)
    wire.do("cut", broker=old)
    wire.wait(12)
    new = wire.core.world.offsets.controller.partition.leader
    assert new != old
    assert commit(wire, 5, new) == NONE
    asked = [{"name": "t", "partition_indexes": [0]}]
    said = {"group_id": "g", "topics": asked, "require_stable": True}
    (topic,) = wire.ask(old, "OffsetFetch", 7, **said)["topics"]
    assert topic["partitions"][0]["committed_offset"] == 1
    wire.do("join", broker=old)
    found = judged(wire.tape(tmp_path / "tape"))
    assert (found.verdict, found.reasons) == ("holds", [])


# --- What a cluster began with (`serve --data`)


def answer_less(right: Any, self: Any, topic: Any, record: Any) -> None:
    """A restored offset is told as the one before it."""
    append = self._append

    def one_less(partition: Any, own: Any) -> Any:
        return append(partition, wrapped(own.value._replace(offset=own.value.offset - 1)))

    self._append = one_less
    right(self, topic, record)
    del self._append


def lose_restored(right: Any, self: Any, partition: Any, taken: Any) -> Any:
    """The batch of the last transaction was shown to the judge, and is not there."""
    if taken.is_transactional and taken.value is None and taken.producer_epoch == 2:
        taken.stamp(4, 1)
        return ""
    return right(self, partition, taken)


@pytest.mark.parametrize(
    ("at", "wrong", "where", "words"),
    [
        (None, None, "", ()),
        (READ, leave_out_aborted, "transactions", ("G1a",)),
        (RESTORE, answer_less, "committed offsets", ("unknown-offset", "stale-offset")),
        (TELL, answer_unasked, "committed offsets", ("unknown-offset",)),
        ((restoring.Restoring, "_append"), lose_restored, "t-0", ("unseen",)),
    ],
)
def test_what_was_restored_is_judged(
    at: tuple[type, str] | None,
    wrong: Any,
    where: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Transactions and committed offsets of a cluster that was killed, and what is told of them by
    the one that begins with them. Without a fault nothing is said; nothing open is restored.
    """
    kept, wire = begun(tmp_path / "data")
    simple(wire)
    kept.keep(wire.core.world)
    del kept, wire  # As a kill: nothing is closed.
    if at is not None:
        plant(monkeypatch, *at, wrong)
    _, wire = begun(tmp_path / "data")
    wire.fetch(0, isolation_level=1)
    for group in "gx":
        committed(wire, group)
    said = judged(wire.tape(tmp_path / "tape"))
    told = [each for each in said.reasons if each.startswith(f"of {where}, ")]
    assert said.verdict == ("violated" if where else "holds"), said.reasons
    assert not where or any(word in each for each in told for word in words), said.reasons


# --- Any session of correct clients


class Walk:
    """Producers, readers and committers that do something by chance under faults, and do what
    Kafka's clients do about errors: ask again, or give up and take the id anew.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.wire = Wire(seed=seed)
        self.wire.create(partitions=2, **{"min.insync.replicas": "2"})
        self.producers: dict[str, dict[str, Any]] = {}
        self.down: set[int] = set()
        self.connections = 100

    def ask(self, broker: int, api: str, version: int, /, **body: Any) -> Message | None:
        """None: the connection ended, or nothing came for long."""
        self.connections += 1
        taped, wire, connection = self.wire.taped, self.wire, self.connections
        taped.arrive("opened", wire.now, connection, b"%d" % broker)
        taped.arrive("frame", wire.now, connection, frame(api, version, body))
        if self.random.random() < 0.03:
            # It has gone before it is answered.
            taped.arrive("closed", wire.now, connection)
            return None
        for _ in range(8):
            wire.wait(0.5 if self.random.random() < 0.9 else 6)
            for each in taped.left():
                if each.connection == connection:
                    return None if each.data is None else self._read(api, version, each.data)
        taped.arrive("closed", wire.now, connection)
        return None

    def _read(self, api: str, version: int, data: bytes) -> Message | None:
        try:
            return answer(api, version, data)
        except AssertionError:
            return None  # cut in its middle

    def coordinator(self, key: str, kind: int) -> int:
        said = self.ask(self.random.randrange(3), "FindCoordinator", 3, key=key, key_type=kind)
        return said["node_id"] if said and not said["error_code"] else 0

    def init(self, id: str) -> None:
        body = {"transactional_id": id, "transaction_timeout_ms": 60_000}
        said = self.ask(self.coordinator(id, 1), "InitProducerId", 4, **body)
        if said and not said["error_code"]:
            ids = {"producer_id": said["producer_id"], "producer_epoch": said["producer_epoch"]}
            of = {"ids": ids, "sequences": [0, 0], "version": self.random.choice((1, 2))}
            self.producers[id] = of | {"wrote": False}

    def produce(self, id: str) -> None:
        """A batch in a transaction, until it is acknowledged; else the producer is given up."""
        one, partition = self.producers[id], self.random.randrange(2)
        if one["version"] == 1:
            said = self.again(
                lambda: self.coordinator(id, 1),
                "AddPartitionsToTxn",
                3,
                lambda said: said["results_by_topic_v3_and_below"][0]["results_by_partition"][0][
                    "partition_error_code"
                ],
                v3_and_below_transactional_id=id,
                v3_and_below_producer_id=one["ids"]["producer_id"],
                v3_and_below_producer_epoch=one["ids"]["producer_epoch"],
                v3_and_below_topics=[{"name": "t", "partitions": [partition]}],
            )
            if said is None:
                self.producers.pop(id)
                return
        producer = *one["ids"].values(), one["sequences"][partition]
        values = [b"v"] * self.random.choice((1, 3))
        records = batch(*values, producer=producer, transactional=True)
        body = {"transactional_id": id, **producing(records, partition=partition)}
        one["wrote"] = True
        said = self.again(
            lambda: max(0, self.wire.leader("t", partition)),
            *("Produce", 12 if one["version"] == 2 else 9),
            lambda said: said["responses"][0]["partition_responses"][0]["error_code"],
            **body,
        )
        if said is None:
            self.producers.pop(id)
        else:
            one["sequences"][partition] += len(values)

    def consume(self, id: str) -> None:
        one, topics = self.producers[id], self.offsets()
        body = {"transactional_id": id, "group_id": "x", **one["ids"]}
        if one["version"] == 1:
            error = lambda said: said["error_code"]  # noqa: E731
            at = lambda: self.coordinator(id, 1)  # noqa: E731
            if self.again(at, "AddOffsetsToTxn", 3, error, **body) is None:
                self.producers.pop(id)
                return
        one["wrote"] = True
        version = 5 if one["version"] == 2 else 3
        at = lambda: self.coordinator("x", 0)  # noqa: E731
        if self.again(at, "TxnOffsetCommit", version, first_error, **body, topics=topics) is None:
            self.producers.pop(id)

    def end(self, id: str) -> None:
        one = self.producers[id]
        if not one["wrote"]:
            return
        version = 5 if one["version"] == 2 else 3
        body = {"transactional_id": id, "committed": self.random.random() < 0.7, **one["ids"]}
        at = lambda: self.coordinator(id, 1)  # noqa: E731
        said = self.again(at, "EndTxn", version, lambda said: said["error_code"], **body)
        if said is None:
            self.producers.pop(id)
            return
        one["wrote"] = False
        if version == 5:
            one["ids"] = {key: said[key] for key in one["ids"]}
            one["sequences"] = [0, 0]

    def again(
        self, at: Callable[[], int], api: str, version: int, error_of: Any, /, **body: Any
    ) -> Message | None:
        for _ in range(12):
            said = self.ask(at(), api, version, **body)
            if said is not None and not error_of(said):
                return said
            if said is not None and error_of(said) in FINAL:
                return None
            self.wire.wait(1)
        return None

    def offsets(self) -> list[Message]:
        asked = {"committed_offset": self.random.randrange(50), "committed_metadata": ""}
        index = self.random.randrange(2)
        return [{"name": "t", "partitions": [{"partition_index": index, **asked}]}]

    def commit(self) -> None:
        body = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""}
        self.ask(self.coordinator("g", 0), "OffsetCommit", 7, **body, topics=self.offsets())

    def committed(self) -> None:
        group, stable = self.random.choice("gx"), self.random.random() < 0.5
        asked = [{"name": "t", "partition_indexes": [0, 1]}]
        body = {"group_id": group, "topics": asked, "require_stable": stable}
        self.ask(self.coordinator(group, 0), "OffsetFetch", 7, **body)

    def fetch(self) -> None:
        partition = self.random.randrange(2)
        asked = {"partition": partition, "fetch_offset": self.random.choice((0, 0, 3))}
        topics = [{"topic": "t", "partitions": [{**asked, "partition_max_bytes": 1 << 20}]}]
        body = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "topics": topics}
        body["isolation_level"] = self.random.choice((0, 1, 1))
        at = self.random.choice((self.wire.leader("t", partition), self.random.randrange(3)))
        self.ask(max(0, at), "Fetch", 11, **body)

    def fault(self) -> None:
        broker = self.random.randrange(3)
        match self.random.randrange(5):
            case 0:
                api = self.random.choice(
                    ("Produce", "EndTxn", "TxnOffsetCommit", "OffsetCommit", "InitProducerId")
                )
                cut = self.random.choice(("before", "after", "within"))
                self.wire.do("reset", cut=cut, when={"api": api})
            case 1:
                self.wire.do("kill", broker=broker, lasts_ms=self.random.randrange(50, 500))
            case 2:
                self.wire.do("cut", broker=broker, lasts_ms=self.random.randrange(50, 900))
            case 3:
                self.wire.do("move", topic="t", partition=self.random.randrange(2))
            case _:
                self.wire.do("delay", ms=self.random.randrange(5, 100), when={"nth": 1})

    def walk(self, steps: int) -> None:
        for _ in range(steps):
            id = self.random.choice("xy")
            kind = self.random.random()
            if kind < 0.08:
                self.fault()
            elif kind < 0.2:
                self.commit()
            elif kind < 0.32:
                self.committed()
            elif kind < 0.5:
                self.fetch()
            elif id not in self.producers or kind < 0.53:
                self.init(id)
            elif kind < 0.75:
                self.produce(id)
            elif kind < 0.83:
                self.consume(id)
            else:
                self.end(id)


FINAL = [
    ERRORS[name]
    for name in (
        *(
            "INVALID_PRODUCER_EPOCH",
            "PRODUCER_FENCED",
            "INVALID_TXN_STATE",
            "TRANSACTION_ABORTABLE",
        ),
        *("OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_ID_MAPPING"),
    )
]


def first_error(said: Message) -> int:
    error: int = said["topics"][0]["partitions"][0]["error_code"]
    return error


@pytest.mark.parametrize("seed", range(6))
def test_no_session_under_faults_is_refused(seed: int, tmp_path: Path) -> None:
    walk = Walk(seed)
    walk.walk(60)
    said = judged(walk.wire.tape(tmp_path / "tape"))
    assert said.verdict == "holds", said.reasons


def test_what_shows_progress_has_its_place_in_every_log() -> None:
    """Whoever takes over behind it reads it, too."""
    wire = Wire()
    simple(wire)
    wire.taped.finish(wire.now)
    world = wire.core.world
    for partition in world.all:
        row = partition.row(partition.controller.partition.leader)
        placed = [world.batch(entry) for entry in row.log]
        assert [each.base for each in placed[1:]] == [each.end for each in placed[:-1]]
        assert placed[-1].value == Ended("Commit", 0)
