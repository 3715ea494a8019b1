"""Transactions of both versions, without sockets."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.kafka.serve import coordinator, producers
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.reference.transactions.messages import TxnRecord
from kraftcheck.reference.transactions.rules import TransactionRules
from tests.kraftcheck.serve.wire import Wire, bases, batch, producing, with_topic

NONE = ERRORS["NONE"]


@pytest.fixture
def wire() -> Wire:
    return with_topic(partitions=2)


class Producer:
    """One that speaks version 1 or 2, of the id "x"."""

    def __init__(self, wire: Wire, version: int) -> None:
        self.wire, self.version = wire, version
        self.id = self.epoch = -1
        self.sequences = [0, 0]

    @property
    def coordinator(self) -> int:
        for broker in sorted(self.wire.core.world.up()):
            said = self.wire.ask(broker, "FindCoordinator", 3, key="x", key_type=1)
            if said["error_code"] == NONE:
                node: int = said["node_id"]
                return node
        raise AssertionError("nobody coordinates")

    def init(self, timeout_ms: int = 60_000) -> int:
        """The error, after at most some tries."""
        for _ in range(10):
            body = {"transactional_id": "x", "transaction_timeout_ms": timeout_ms}
            said = self.wire.ask(self.coordinator, "InitProducerId", 4, **body)
            if said["error_code"] != ERRORS["CONCURRENT_TRANSACTIONS"]:
                break
        self.id, self.epoch, self.sequences = said["producer_id"], said["producer_epoch"], [0, 0]
        error: int = said["error_code"]
        return error

    @property
    def said(self) -> dict[str, Any]:
        return {"producer_id": self.id, "producer_epoch": self.epoch}

    def add(self, *partitions: int) -> list[int]:
        said = self.wire.ask(
            *(self.coordinator, "AddPartitionsToTxn", 3),
            v3_and_below_transactional_id="x",
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[{"name": "t", "partitions": list(partitions)}],
        )
        (topic,) = said["results_by_topic_v3_and_below"]
        return [each["partition_error_code"] for each in topic["results_by_partition"]]

    def send(self, partition: int = 0, *values: bytes) -> int:
        """The error. In version 1 the partition is to be added before."""
        values = values or (b"v",)
        at = self.wire.leader("t", partition)
        producer = self.id, self.epoch, self.sequences[partition]
        records = batch(*values, producer=producer, transactional=True)
        body = {"transactional_id": "x", **producing(records, partition=partition)}
        said = self.wire.ask(at, "Produce", 12 if self.version == 2 else 9, **body)
        error: int = said["responses"][0]["partition_responses"][0]["error_code"]
        if error == NONE:
            self.sequences[partition] += len(values)
        return error

    def write(self, partition: int = 0) -> None:
        if self.version == 1:
            assert self.add(partition) == [NONE]
        assert self.send(partition) == NONE

    def end(self, committed: bool) -> int:
        body = {"transactional_id": "x", "committed": committed, **self.said}
        version = 5 if self.version == 2 else 3
        said = self.wire.ask(self.coordinator, "EndTxn", version, **body)
        error: int = said["error_code"]
        if error == NONE and self.version == 2:
            self.epoch, self.sequences = said["producer_epoch"], [0, 0]
        return error


def committed(wire: Wire, offset: int = 0) -> Message:
    return wire.fetch(offset, isolation_level=1)


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_committed_is_seen_and_what_is_open_or_aborted_is_not(
    wire: Wire, version: int
) -> None:
    one = Producer(wire, version)
    assert one.init() == NONE
    epoch = one.epoch
    one.write()
    found = committed(wire)
    assert (found["last_stable_offset"], found["high_watermark"]) == (0, 1)
    assert (found["records"], bases(wire.fetch(0)["records"])) == (b"", [(0, 1)])
    assert wire.offset(-1)["offset"] == 1
    assert one.end(committed=True) == NONE
    assert one.epoch == epoch + (version == 2)
    found = committed(wire)
    assert (found["last_stable_offset"], bases(found["records"])) == (2, [(0, 1), (1, 1)])
    assert found["aborted_transactions"] == []
    one.write()
    assert one.end(committed=False) == NONE
    found = committed(wire)
    assert found["last_stable_offset"] == 4
    assert found["aborted_transactions"] == [{"producer_id": one.id, "first_offset": 2}]
    assert committed(wire, 4)["aborted_transactions"] == []


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_has_several_partitions_and_batches(wire: Wire, version: int) -> None:
    one = Producer(wire, version)
    one.init()
    for partition in (0, 1):
        one.write(partition)
        assert one.send(partition, b"more", b"still") == NONE
    assert one.end(committed=True) == NONE
    assert bases(committed(wire)["records"]) == [(0, 1), (1, 2), (3, 1)]
    row = wire.core.world.topics["t"].partitions[1].row(wire.leader("t", 1))
    assert len(row.log) == 3


def test_what_the_coordinator_does_not_know_is_refused(wire: Wire) -> None:
    one = Producer(wire, 1)
    one.init()
    assert one.send() == ERRORS["INVALID_TXN_STATE"]
    assert one.add(0, 7) == [
        ERRORS["OPERATION_NOT_ATTEMPTED"],
        ERRORS["UNKNOWN_TOPIC_OR_PARTITION"],
    ]
    assert one.end(committed=True) == ERRORS["INVALID_TXN_STATE"]
    assert one.add(0) == [NONE]
    one.epoch += 1
    assert one.end(committed=True) == ERRORS["PRODUCER_FENCED"]
    assert one.add(1) == [ERRORS["PRODUCER_FENCED"]]
    one.id += 1
    assert one.end(committed=True) == ERRORS["INVALID_PRODUCER_ID_MAPPING"]
    assert wire.offset(-1)["offset"] == 0
    assert one.init(timeout_ms=0) == ERRORS["INVALID_TRANSACTION_TIMEOUT"]


def test_who_takes_an_id_over_fences_who_had_it(wire: Wire) -> None:
    old, new = Producer(wire, 2), Producer(wire, 2)
    old.init()
    old.write()
    assert new.init() == NONE
    assert (new.id, new.epoch > old.epoch) == (old.id, True)
    found = committed(wire)
    assert found["last_stable_offset"] == 2
    assert len(found["aborted_transactions"]) == 1
    assert old.send() == ERRORS["INVALID_PRODUCER_EPOCH"]
    assert old.end(committed=True) == ERRORS["PRODUCER_FENCED"]
    new.write()
    assert new.end(committed=True) == NONE


def test_who_speaks_an_old_version_has_not_heard_of_fenced_producers(wire: Wire) -> None:
    """KIP-588."""
    old, new = Producer(wire, 1), Producer(wire, 1)
    old.init()
    new.init()
    for version, error in ((1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")):
        ids = {"v3_and_below_producer_id": old.id, "v3_and_below_producer_epoch": old.epoch}
        topics = [{"name": "t", "partitions": [0]}]
        of = {"v3_and_below_transactional_id": "x", "v3_and_below_topics": topics}
        said = wire.ask(old.coordinator, "AddPartitionsToTxn", version, **ids, **of)
        (slot,) = said["results_by_topic_v3_and_below"][0]["results_by_partition"]
        assert slot["partition_error_code"] == ERRORS[error]
        for api, more in (("EndTxn", {"committed": True}), ("AddOffsetsToTxn", {"group_id": "g"})):
            body = {"transactional_id": "x", **more, **old.said}
            assert wire.ask(old.coordinator, api, version, **body)["error_code"] == ERRORS[error]


def test_an_epoch_that_was_not_heard_of_is_given_again(wire: Wire) -> None:
    """X7: a producer that says which epoch it has, and says so again."""
    one = Producer(wire, 1)
    one.init()

    def ask(epoch: int) -> tuple[int, int]:
        body = {"transactional_id": "x", "transaction_timeout_ms": 1000, **one.said}
        said = wire.ask(one.coordinator, "InitProducerId", 4, **body | {"producer_epoch": epoch})
        return said["error_code"], said["producer_epoch"]

    first = one.epoch
    assert [ask(first), ask(first)] == [(NONE, first + 1)] * 2
    assert ask(first + 1) == (NONE, first + 2)
    assert ask(first)[0] == ERRORS["PRODUCER_FENCED"]
    assert ask(first + 9)[0] == ERRORS["PRODUCER_FENCED"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_that_takes_too_long_is_aborted(wire: Wire, version: int) -> None:
    one = Producer(wire, version)
    one.init(timeout_ms=1000)
    one.write()
    wire.wait(1.1 * 20)
    found = committed(wire)
    assert (found["last_stable_offset"], len(found["aborted_transactions"])) == (2, 1)
    assert one.end(committed=True) == ERRORS["PRODUCER_FENCED"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_outlives_coordinators_and_leaders(wire: Wire, version: int) -> None:
    one = Producer(wire, version)
    one.init()
    one.write()
    dead = one.coordinator
    wire.do("kill", broker=dead)
    wire.wait(6)
    wire.do("restart", broker=dead)
    wire.wait(10)
    wire.connect(dead)
    assert one.send() == NONE
    wire.do("move", topic="t", partition=0)
    wire.wait(6)
    assert one.send() == NONE
    assert committed(wire)["last_stable_offset"] == 0
    assert one.end(committed=True) == NONE
    assert bases(committed(wire)["records"]) == [(at, 1) for at in range(4)]


def test_markers_are_written_by_the_next_coordinator(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision is in the log, and who made it goes before anybody has heard of it."""
    one = Producer(wire, 1)
    one.init()
    one.write()
    with monkeypatch.context() as lost:
        lost.setattr(coordinator.Tenure, "mark", lambda *_: None)
        assert one.end(committed=True) == NONE
        assert committed(wire)["last_stable_offset"] == 0
        wire.do("kill", broker=one.coordinator)
    wire.wait(8)
    assert bases(committed(wire)["records"]) == [(0, 1), (1, 1)]


def test_who_waits_is_told_when_another_coordinator_takes_over() -> None:
    """Two leaders ask for a partition each, and no record is ever acknowledged."""
    silent: Any = SimpleNamespace(epoch=0, write=lambda *_: None, after=lambda *_: None)
    state = TxnRecord("Empty", 0, (), 1)
    record = coordinator.TransactionRecord("x", 7, 1000, 2, -1, (), state)
    one = coordinator.Transaction(silent, record)
    one.begin()
    told: list[str] = []
    for index in (0, 1):
        one.add(("t", index), 0, 2, lambda error, _: told.append(error))
    assert told == []
    one.leave()
    assert told == ["NOT_COORDINATOR", "NOT_COORDINATOR"]


def test_offsets_are_committed_with_their_transaction(wire: Wire) -> None:
    one = Producer(wire, 2)
    one.init()
    group = wire.ask(0, "FindCoordinator", 3, key="g", key_type=0)["node_id"]

    def commit(offset: int) -> int:
        asked = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        topics = [{"name": "t", "partitions": [asked]}]
        body = {"transactional_id": "x", "group_id": "g", "topics": topics, **one.said}
        told = wire.ask(group, "TxnOffsetCommit", 5, **body)
        error: int = told["topics"][0]["partitions"][0]["error_code"]
        return error

    def fetched(stable: bool) -> tuple[int, int]:
        asked = [{"name": "t", "partition_indexes": [0]}]
        body = {"group_id": "g", "topics": asked, "require_stable": stable}
        (topic,) = wire.ask(group, "OffsetFetch", 7, **body)["topics"]
        (found,) = topic["partitions"]
        return found["error_code"], found["committed_offset"]

    assert commit(3) == NONE
    assert fetched(stable=False) == (NONE, -1)
    assert fetched(stable=True) == (ERRORS["UNSTABLE_OFFSET_COMMIT"], -1)
    assert one.end(committed=True) == NONE
    assert fetched(stable=True) == (NONE, 3)
    assert commit(7) == NONE
    assert one.end(committed=False) == NONE
    assert fetched(stable=True) == (NONE, 3)
    one.epoch -= 2
    assert commit(9) == ERRORS["INVALID_PRODUCER_EPOCH"]


def test_a_tape_of_transactions_is_played_again(wire: Wire, tmp_path: Path) -> None:
    test_a_transaction_outlives_coordinators_and_leaders(wire, 2)
    said = judged(wire.tape(tmp_path / "tape"))
    assert (said.verdict, said.reasons) == ("holds", [])


def test_a_leader_that_verifies_nothing_is_seen(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z62: what no coordinator knows of is let in."""
    monkeypatch.setattr(TransactionRules, "needs_verification", lambda *_: False)
    with pytest.raises(AssertionError):
        test_what_the_coordinator_does_not_know_is_refused(wire)


def test_a_wrong_stable_offset_is_seen(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producers.Ongoing, "stable", lambda self, watermark: watermark)
    with pytest.raises(AssertionError):
        test_what_is_committed_is_seen_and_what_is_open_or_aborted_is_not(wire, 2)
