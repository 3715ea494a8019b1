"""Requests and answers, without sockets."""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from kraftcheck.serve import world
from kraftcheck.serve.apis import ERRORS, SERVED, versions
from kraftcheck.serve.codec import Message, description
from kraftcheck.serve.data import Produce
from kraftcheck.serve.pace import ServedPace
from kraftcheck.serve.topics import SETTINGS
from tests.kraftcheck.serve.test_codec import made
from tests.kraftcheck.serve.wire import (
    PORTS,
    SECOND,
    Wire,
    answer,
    bases,
    batch,
    frame,
    producing,
    with_topic,
)

NONE, NOT_LEADER = ERRORS["NONE"], ERRORS["NOT_LEADER_OR_FOLLOWER"]


@pytest.fixture
def wire() -> Wire:
    return with_topic()


# --- Offsets: an entry is a batch


def test_offsets_count_records_and_not_batches(wire: Wire) -> None:
    sizes = (3, 1, 5)
    told = [wire.produce(batch(*[b"v"] * size)) for size in sizes]
    assert [each["base_offset"] for each in told] == [0, 3, 4]
    assert wire.offset(-1)["offset"] == 9
    found = wire.fetch(0)
    assert found["high_watermark"] == found["last_stable_offset"] == 9
    assert bases(found["records"]) == [(0, 3), (3, 1), (4, 5)]
    for offset, first in ((2, 0), (3, 3), (4, 4), (8, 4)):
        assert bases(wire.fetch(offset)["records"])[0][0] == first
    assert wire.fetch(9)["records"] == b""
    assert wire.fetch(10)["error_code"] == ERRORS["OFFSET_OUT_OF_RANGE"]
    assert wire.fetch(-1)["error_code"] == ERRORS["OFFSET_OUT_OF_RANGE"]


def test_an_off_by_one_in_the_map_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = world.ServedWorld.entry_at
    monkeypatch.setattr(world.ServedWorld, "entry_at", lambda *of: right(*of) + 1)
    with pytest.raises(AssertionError):
        test_offsets_count_records_and_not_batches(with_topic())


def test_a_time_is_looked_up_in_the_records(wire: Wire) -> None:
    wire.produce(batch(b"a", b"b", time=100))
    wire.produce(batch(b"c", b"d", time=200))
    asked = {50: 0, 101: 1, 102: 2, 201: 3, 202: -1}
    assert {time: wire.offset(time)["offset"] for time in asked} == asked
    assert wire.offset(-3)["offset"] == 3
    assert wire.offset(-2)["offset"] == 0


def test_what_was_answered_is_kept_by_nobody(wire: Wire) -> None:
    """Its timeout is far away, of the cluster's own time: a queue of them would be the longest."""
    wire.produce(batch(b"a"))
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Produce)]


# --- Producers


def test_a_batch_again_is_answered_and_not_appended(wire: Wire) -> None:
    """T1, T2: sequence numbers of records, though the reference counts batches."""
    first = batch(b"a", b"b", b"c", producer=(7, 0, 0))
    second = batch(b"d", b"e", producer=(7, 0, 3))
    assert wire.produce(first)["base_offset"] == 0
    assert wire.produce(second)["base_offset"] == 3
    assert wire.produce(first)["base_offset"] == 0
    gap = wire.produce(batch(b"f", producer=(7, 0, 6)))
    assert gap["error_code"] == ERRORS["OUT_OF_ORDER_SEQUENCE_NUMBER"]
    assert wire.produce(batch(b"f", producer=(7, 0, 5)))["base_offset"] == 5
    assert wire.produce(batch(b"g", producer=(7, 1, 0)))["base_offset"] == 6
    old = wire.produce(batch(b"h", producer=(7, 0, 6)))
    assert old["error_code"] == ERRORS["INVALID_PRODUCER_EPOCH"]
    assert wire.offset(-1)["offset"] == 7


def _broken(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda good: b"", "INVALID_RECORD"),
        (lambda good: good[:40], "INVALID_RECORD"),
        (lambda good: good + good, "INVALID_RECORD"),
        (lambda good: _broken(good, 16, 1), "INVALID_RECORD"),
        (lambda good: _broken(good, 70, 0xFF), "CORRUPT_MESSAGE"),
        (lambda good: batch(b"v" * 1_100_000), "MESSAGE_TOO_LARGE"),
        (lambda good: batch(b"v", producer=(7, -1, -1)), "INVALID_RECORD"),
    ],
)
def test_what_is_no_batch_is_refused(
    wire: Wire, spoil: Callable[[bytes], bytes], error: str
) -> None:
    assert wire.produce(spoil(batch(b"v" * 20)))["error_code"] == ERRORS[error]
    other = (wire.leader() + 1) % 3
    told = wire.produce(spoil(batch(b"v" * 20)), broker=other)
    assert told["error_code"] == NOT_LEADER
    assert wire.offset(-1)["offset"] == 0


def test_without_acks_nothing_is_answered_and_an_error_ends_the_connection(wire: Wire) -> None:
    sent = frame("Produce", 9, producing(batch(b"v"), 0, 1))
    assert wire.send(wire.leader(), sent) == []
    assert wire.offset(-1)["offset"] == 1
    assert wire.send((wire.leader() + 1) % 3, sent) == [None]


def test_acks_of_all_wait_for_in_sync_replicas_and_time_out() -> None:
    wire = Wire(min_insync_replicas=2)
    wire.create()
    leader = wire.leader()
    for broker in range(3):
        if broker != leader:
            wire.do("kill", broker=broker)
    sent = frame("Produce", 9, producing(batch(b"v"), -1, 10))
    wire.taped.arrive("frame", wire.now, leader, sent)
    assert not [e for e in wire.taped.left() if e.connection == leader]
    assert wire.core.waits(leader)
    wire.wait(0.3)
    (data,) = [e.data for e in wire.taped.left() if e.connection == leader]
    told = answer("Produce", 9, data)["responses"][0]["partition_responses"][0]
    assert told["error_code"] == ERRORS["REQUEST_TIMED_OUT"]
    wire.wait(5)
    assert wire.produce(batch(b"v"))["error_code"] == ERRORS["NOT_ENOUGH_REPLICAS"]


# --- Consumers


def test_a_fetch_waits_for_records(wire: Wire) -> None:
    asked = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}]
    topics = [{"topic": "t", "partitions": asked}]
    body = {"replica_id": -1, "max_wait_ms": 5000, "min_bytes": 1, "topics": topics}
    leader = wire.leader()
    assert wire.send(leader, frame("Fetch", 11, body)) == []
    wire.taped.arrive("opened", wire.now, 9, b"%d" % leader)
    sent = frame("Produce", 9, producing(batch(b"v"), 1, 1))
    wire.taped.arrive("frame", wire.now, 9, sent)
    wire.wait(0.1)
    assert [e.connection for e in wire.taped.left()] == [9, leader]


def steps_of_batches(wire: Wire, batches: int) -> int:
    """Each as soon as the one before it is answered."""
    partition = wire.core.world.partition("t", 0)
    assert partition is not None
    before = partition.handler_calls
    data = frame("Produce", 9, producing(batch(b"v"), -1, 5000))
    for _ in range(batches):
        now = wire.core.world.now
        wire.taped.arrive("frame", now, wire.leader(), data)
        wire.core.leap(now + SECOND)
        assert len(wire.taped.left()) == 1
    return partition.handler_calls - before


def test_a_batch_is_nine_steps(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetches wait at the leader. Planted: they do not, and each batch is asked for anew."""
    steps_of_batches(wire, 1)
    assert steps_of_batches(wire, 40) <= 9.2 * 40
    monkeypatch.setattr(ServedPace, "parks", lambda *_: False)
    steps_of_batches(wire, 1)
    assert steps_of_batches(wire, 40) > 11 * 40


def test_a_fetch_that_waits_at_a_leader_that_dies_is_given_up(wire: Wire) -> None:
    """And not only after its timeout: the connection ends."""
    partition = wire.core.world.partition("t", 0)
    assert partition is not None
    wire.produce(batch(b"v"))
    wire.wait(1)
    old = wire.leader()
    others = [broker for broker in partition.brokers if broker != old]
    assert all(partition.row(broker).fetching for broker in others)
    wire.do("kill", broker=old)
    wire.wait(0.1)
    assert not any(partition.row(broker).fetching for broker in others)


def test_each_waits_for_as_long_as_it_said(wire: Wire) -> None:
    """One event is for all that wait as long; the first of them is over when it is due."""
    topics = [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0}]}]
    body = {"replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "topics": topics}
    leader, told = wire.leader(), []
    for connection in (21, 22, 23):
        wire.taped.arrive("opened", wire.now, connection, b"%d" % leader)
        wire.taped.arrive("frame", wire.now, connection, frame("Fetch", 11, body))
        wire.wait(2)
    wire.taped.arrive("closed", wire.now, 22)
    # 500 ms of theirs are 10 s of the cluster's own.
    for seconds in (3.9, 0.2, 1.8, 2.2):
        wire.wait(seconds)
        told.append([e.connection for e in wire.taped.left()])
    assert told == [[], [21], [], [23]]


def test_limits_of_a_fetch_are_kept_but_for_the_first_batch(wire: Wire) -> None:
    for _ in range(3):
        wire.produce(batch(b"v" * 500))
    assert len(bases(wire.fetch(0, max_bytes=1200)["records"])) == 2
    assert len(bases(wire.fetch(0, max_bytes=1)["records"])) == 1


def test_a_session_tells_what_has_changed(wire: Wire) -> None:
    """W11."""

    def fetch(id: int, epoch: int, *offsets: int) -> tuple[int, int, bool]:
        asked = [
            {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
            for offset in offsets
        ]
        topics = [{"topic": "t", "partitions": asked}] if asked else []
        body = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "topics": topics}
        session = {"session_id": id, "session_epoch": epoch}
        told = wire.ask(wire.leader(), "Fetch", 11, **body, **session)
        return told["error_code"], told["session_id"], bool(told["responses"])

    error, id, is_told = fetch(0, 0, 0)
    assert (error, is_told) == (NONE, True)
    assert fetch(id, 1) == (NONE, id, False)
    wire.produce(batch(b"v"))
    assert fetch(id, 2) == (NONE, id, True)
    assert fetch(id, 3, 1) == (NONE, id, False)
    assert fetch(id, 3)[0] == ERRORS["INVALID_FETCH_SESSION_EPOCH"]
    assert fetch(id + 1, 1)[0] == ERRORS["FETCH_SESSION_ID_NOT_FOUND"]
    assert fetch(id, -1, 0) == (NONE, 0, True)
    assert fetch(id, 4)[0] == ERRORS["FETCH_SESSION_ID_NOT_FOUND"]


# --- What a consumer commits


def _committed(wire: Wire, broker: int, group: str = "g") -> Message:
    asked = [{"name": "t", "partition_indexes": [0]}]
    said = wire.ask(broker, "OffsetFetch", 7, group_id=group, topics=asked)
    if said["error_code"]:
        return said
    found: Message = said["topics"][0]["partitions"][0]
    return found


def _commit(wire: Wire, broker: int, offset: int, **more: object) -> int:
    partitions = [{"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}]
    body = {"group_id": "g", "member_id": "", "topics": [{"name": "t", "partitions": partitions}]}
    told = wire.ask(broker, "OffsetCommit", 7, **body | more)
    code: int = told["topics"][0]["partitions"][0]["error_code"]
    return code


def test_a_committed_offset_outlives_its_coordinator(wire: Wire) -> None:
    said = wire.ask(1, "FindCoordinator", 3, key="g", key_type=0)
    old = said["node_id"]
    assert _commit(wire, old, 5) == NONE
    assert _commit(wire, old, 7) == NONE
    assert _commit(wire, (old + 1) % 3, 9) == ERRORS["NOT_COORDINATOR"]
    member = {"member_id": "m", "generation_id_or_member_epoch": 1}
    assert _commit(wire, old, 9, **member) == ERRORS["UNKNOWN_MEMBER_ID"]
    wire.do("kill", broker=old)
    wire.wait(6)
    new = wire.ask((old + 1) % 3, "FindCoordinator", 3, key="g", key_type=0)["node_id"]
    assert new != old
    assert _committed(wire, new)["committed_offset"] == 7
    assert _committed(wire, new)["metadata"] == "m"
    assert _committed(wire, new, "other")["committed_offset"] == -1
    other = next(b for b in range(3) if b not in (old, new))
    assert _committed(wire, other)["error_code"] == ERRORS["NOT_COORDINATOR"]


# --- Frames


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        b"\xff" * 30,
        bytes(9),
        frame("Metadata", 4, {"topics": None})[:-1],
        struct.pack(">hhih", 0, 2, 1, -1),
        struct.pack(">hhih", 7, 0, 1, -1),
    ],
)
def test_what_is_no_request_ends_its_connection_and_no_other(wire: Wire, data: bytes) -> None:
    assert wire.send(0, data) == [None]
    assert wire.ask(1, "Metadata", 4, topics=None)["brokers"]


def test_any_request_is_answered_or_ends_its_connection(wire: Wire) -> None:
    """Messages of every API that say anything: nobody fails, and the cluster keeps its promises."""
    random = Random(5)
    for _ in range(1000):
        api = random.choice(SERVED)
        of, valid = description(f"{api}Request"), versions(api)
        version = random.randint(valid.first, valid.last)
        said = made(random, of.fields, version)
        _meddled(random, wire, of.fields, said)
        broker = random.randrange(3)
        wire.connect(broker)
        wire.send(broker, frame(api, version, said))
    assert wire.ask(1, "Metadata", 4, topics=None)["brokers"]


def _meddled(random: Random, wire: Wire, fields: Iterable[Any], said: Message) -> None:
    """With names, numbers and ids that there are, or nearly."""
    t = wire.core.world.topics.get("t")
    for field in fields:
        value = said.get(field.name)
        if value is None or field.name not in said:
            continue
        if field.type == "string":
            said[field.name] = random.choice(("t", "u", "g", "x", "", "range"))
        elif field.type in ("int8", "int16", "int32", "int64"):
            said[field.name] = random.choice((-3, -2, -1, 0, 1, 2, 100))
        elif field.type == "uuid" and t is not None:
            said[field.name] = t.id
        elif field.type == "records":
            producer = random.choice(((-1, -1, -1), (1001, 0, 0)))
            is_of_one = random.random() < 0.5 and producer[0] >= 0
            said[field.name] = batch(b"v", producer=producer, transactional=is_of_one)
        elif field.type == "[]int32":
            said[field.name] = [random.choice((-1, 0, 1, 7)) for _ in value]
        elif field.type.startswith("[]") and field.fields:
            for each in value:
                _meddled(random, wire, field.fields, each)


def test_api_versions_too_new_is_answered_with_what_there_is(wire: Wire) -> None:
    (data,) = wire.send(0, struct.pack(">hhih", 18, 99, 7, -1))
    said = answer("ApiVersions", 0, data)
    assert said["error_code"] == ERRORS["UNSUPPORTED_VERSION"]
    assert len(said["api_keys"]) == len(SERVED)


# --- Topics


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"name": "t"}, "TOPIC_ALREADY_EXISTS"),
        ({"name": "a/b"}, "INVALID_TOPIC_EXCEPTION"),
        ({"name": "__consumer_offsets"}, "INVALID_TOPIC_EXCEPTION"),
        ({"name": "u", "replication_factor": 4}, "INVALID_REPLICATION_FACTOR"),
        ({"name": "u", "num_partitions": 0}, "INVALID_PARTITIONS"),
        ({"name": "u", "configs": [{"name": "x", "value": "1"}]}, "INVALID_CONFIG"),
        (
            {"name": "u", "configs": [{"name": "cleanup.policy", "value": "compact"}]},
            "INVALID_CONFIG",
        ),
    ],
)
def test_topics_that_are_refused(wire: Wire, asked: dict[str, object], error: str) -> None:
    topic = {"num_partitions": 1, "replication_factor": 3} | asked
    told = wire.ask(0, "CreateTopics", 5, topics=[topic], timeout_ms=1000)
    assert told["topics"][0]["error_code"] == ERRORS[error]
    assert "u" not in wire.core.world.topics


def test_a_topic_is_gone_when_it_is_deleted(wire: Wire) -> None:
    told = wire.ask(0, "DeleteTopics", 4, topic_names=["t", "u"], timeout_ms=1000)
    codes = [each["error_code"] for each in told["responses"]]
    assert codes == [NONE, ERRORS["UNKNOWN_TOPIC_OR_PARTITION"]]
    said = wire.ask(0, "Metadata", 4, topics=[{"name": "t"}], allow_auto_topic_creation=False)
    assert said["topics"][0]["error_code"] == ERRORS["UNKNOWN_TOPIC_OR_PARTITION"]


def test_a_topic_gets_more_partitions(wire: Wire) -> None:
    def ask(**more: object) -> int:
        asked = [{"name": "t", "count": 3, "assignments": None} | more]
        said = wire.ask(0, "CreatePartitions", 1, topics=asked, timeout_ms=1000)
        error: int = said["results"][0]["error_code"]
        return error

    assert ask(name="u") == ERRORS["UNKNOWN_TOPIC_OR_PARTITION"]
    assert ask(count=1) == ERRORS["INVALID_PARTITIONS"]
    assert ask(assignments=[{"broker_ids": [0, 1, 2]}]) == ERRORS["INVALID_REPLICA_ASSIGNMENT"]
    assert ask(count=2, assignments=[{"broker_ids": [2, 0, 1]}]) == NONE
    assert ask() == NONE
    said = wire.ask(1, "Metadata", 4, topics=[{"name": "t"}])
    found = [p["replica_nodes"] for p in said["topics"][0]["partitions"]]
    assert (found[1], len(found)) == ([2, 0, 1], 3)
    assert [p["error_code"] for p in said["topics"][0]["partitions"]] == [NONE] * 3


def test_settings_change_where_nothing_depends_on_them(wire: Wire) -> None:
    def ask(key: str, value: str | None, operation: int = 0, name: str = "t") -> int:
        config = {"name": key, "value": value, "config_operation": operation}
        resource = {"resource_type": 2, "resource_name": name, "configs": [config]}
        said = wire.ask(0, "IncrementalAlterConfigs", 1, resources=[resource])
        error: int = said["responses"][0]["error_code"]
        return error

    assert ask("max.message.bytes", "300") == NONE
    assert wire.produce(batch(b"v" * 400))["error_code"] == ERRORS["MESSAGE_TOO_LARGE"]
    assert ask("max.message.bytes", None, operation=1) == NONE
    assert wire.produce(batch(b"v" * 400))["error_code"] == NONE
    for key, value in (("x", "1"), ("min.insync.replicas", "2"), ("cleanup.policy", "compact")):
        assert ask(key, value) == ERRORS["INVALID_CONFIG"]
    assert ask("retention.ms", "1", name="u") == ERRORS["UNKNOWN_TOPIC_OR_PARTITION"]


def test_settings_are_told_with_their_types(wire: Wire) -> None:
    def ask(kind: int, name: str) -> dict[str, tuple[str, int]]:
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
        said = wire.ask(0, "DescribeConfigs", 4, resources=[resource])["results"][0]
        assert said["error_code"] == NONE
        return {each["name"]: (each["value"], each["config_type"]) for each in said["configs"]}

    of_topic = ask(2, "t")
    assert of_topic["retention.ms"] == ("604800000", 5)
    assert set(of_topic) == set(SETTINGS)
    assert ask(4, "1")["advertised.listeners"] == (f"CLIENTS://127.0.0.1:{PORTS[1]}", 7)
    assert "advertised.listeners" not in ask(4, "")


def test_metadata_makes_a_topic_and_names_its_leader_at_once(wire: Wire) -> None:
    said = wire.ask(1, "Metadata", 4, topics=[{"name": "new"}])
    (partition,) = said["topics"][0]["partitions"]
    assert (partition["error_code"], sorted(partition["isr_nodes"])) == (NONE, [0, 1, 2])


# --- Faults


def test_a_killed_leader_is_followed_by_another_and_comes_back(wire: Wire) -> None:
    wire.produce(batch(b"a"))
    old = wire.leader()
    wire.do("kill", broker=old)
    assert [e.connection for e in wire.taped.left() if e.data is None] == [old]
    wire.wait(6)
    assert wire.leader() not in (old, -1)
    assert wire.produce(batch(b"b"))["base_offset"] == 1
    said = wire.ask(wire.leader(), "Metadata", 9, topics=[{"name": "t"}])
    assert old not in [b["node_id"] for b in said["brokers"]]
    wire.do("restart", broker=old)
    wire.wait(10)
    wire.connect(old)
    found = wire.core.described()["topics"]["t"][0]
    assert found["isr"] == [0, 1, 2]
    assert wire.fetch(0, broker=old)["error_code"] == NOT_LEADER


def test_a_connection_that_is_cut_after_the_request_has_had_its_effect(wire: Wire) -> None:
    leader = wire.leader()
    for when, appended in (("before", 0), ("after", 1)):
        assert wire.do("reset", when=when, api="Produce", broker=leader) == ""
        topics = [{"name": "t", "partition_data": [{"index": 0, "records": batch(b"v")}]}]
        body = {"acks": -1, "timeout_ms": 1000, "topic_data": topics}
        assert wire.send(leader, frame("Produce", 9, body)) == [None]
        wire.connect(leader)
        assert wire.offset(-1)["offset"] == appended


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"do": "fly"}, "no command 'fly'"),
        ({"do": "kill", "broker": 3}, "no broker 3"),
        ({"do": "kill"}, "'broker' is missing"),
        ({"do": "kill", "broker": "x"}, "no broker 'x'"),
        ({"do": "create", "name": "u", "partitions": "0"}, "INVALID_PARTITIONS"),
        ({"do": "create", "name": "u", "partitions": "two"}, "is no number"),
        ({"do": "move", "topic": "u", "partition": 0}, "no partition u-0"),
        ({"do": "reset", "when": "now"}, "before or after"),
        ({"do": "reset", "when": "after", "api": "Produced"}, "no API 'Produced'"),
    ],
)
def test_commands_that_mean_nothing(wire: Wire, said: dict[str, object], why: str) -> None:
    assert why in wire.core.command(said)
