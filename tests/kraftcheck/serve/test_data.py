"""`serve --data`: logs in directories, from which a cluster begins after its process was killed."""

from __future__ import annotations

import os
import signal
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.kafka.disks.directory import read
from kraftcheck.kafka.disks.partition import judge
from kraftcheck.kafka.serve import directories
from kraftcheck.kafka.serve.admin import Process
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.clock import Clock
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.directories import Directories, of_broker
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.kafka.serve.keeping import Data, locked
from kraftcheck.kafka.serve.real_files import RealFiles
from kraftcheck.kafka.serve.tape import Taped, replayed
from kraftcheck.kafka.serve.world import Setup
from kraftcheck.reference.storage.batches import header_of
from kraftcheck.reference.storage.cutting import truncate
from kraftcheck.reference.storage.log import Log
from tests.kraftcheck.serve.wire import PORTS, Wire, batch

NONE = ERRORS["NONE"]


def begun(folder: Path) -> tuple[Data, Wire]:
    sink = BytesIO()
    taped = Taped(Setup(seed=1, ports=PORTS), sink)
    data = Data(folder)
    data.begin(taped, Clock(20))
    wire = Wire(taped)
    wire.sink = sink
    wire.now = taped.core.world.now
    return data, wire


def values(wire: Wire) -> list[tuple[int, bytes]]:
    """Of the leader's log: base offsets, and what is behind the header."""
    found = []
    records = wire.fetch(0)["records"] or b""
    while records:
        size = 12 + int.from_bytes(records[8:12], "big")
        found.append((header_of(records[:size]).base, records[61:size]))
        records = records[size:]
    return found


def test_a_cluster_begins_with_what_another_has_acknowledged(tmp_path: Path) -> None:
    data, wire = begun(tmp_path / "data")
    wire.create(partitions=2, min_insync_replicas="2")
    for at in range(5):
        assert wire.produce(batch(b"v%d" % at, b"w", producer=(1001, 0, 2 * at)))["error_code"] == 0
        data.keep(wire.core.world)
    before, topic = values(wire), wire.core.world.topics["t"]
    assert len(before) == 5
    del data, wire  # As a kill: nothing is closed.
    _, wire = begun(tmp_path / "data")
    assert values(wire) == before
    again = wire.core.world.topics["t"]
    assert len(again.partitions) == 2 and again.id != topic.id
    assert again.partitions[0].constants.min_insync_replicas == 2
    # A batch that comes again is known, and the next one follows.
    repeated = wire.produce(batch(b"v4", b"w", producer=(1001, 0, 8)))
    assert (repeated["error_code"], repeated["base_offset"]) == (NONE, 8)
    following = wire.produce(batch(b"v5", producer=(1001, 0, 10)))
    assert (following["error_code"], following["base_offset"]) == (NONE, 10)
    played = replayed(wire.tape(tmp_path / "tape"))
    assert played.difference is None and not played.violated


def test_nobody_else_begins_from_a_folder_that_is_served(tmp_path: Path) -> None:
    lock = locked(tmp_path / "data")
    with pytest.raises(BadInput, match="another served cluster keeps its logs here"):
        locked(tmp_path / "data")
    os.close(lock)
    os.close(locked(tmp_path / "data"))


@pytest.mark.parametrize("seed", range(3))
def test_directories_are_the_logs_of_brokers_whatever_is_done_to_them(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills that lose what was not flushed, other leaders, truncations."""
    cuts: list[int] = []

    def cut(log: Log, offset: int) -> bool:
        cuts.append(offset)
        return truncate(log, offset)

    monkeypatch.setattr(directories, "truncate", cut)
    data, wire = begun(tmp_path)
    wire.create(min_insync_replicas="1")
    for at in range(12):
        wire.produce(batch(b"%d" % at), acks=1)
        if at % 4 == seed:
            leader = wire.leader()
            wire.do("cut", broker=leader)
            wire.produce(batch(b"lost%d" % at), leader, acks=1)
            data.keep(wire.core.world)
            wire.wait(20)
            wire.do("join", broker=leader)
            wire.do("kill", broker=leader, lose=True)
            data.keep(wire.core.world)
            wire.do("restart", broker=leader)
            wire.wait(20)
            wire.connect(leader)
        data.keep(wire.core.world)
    assert cuts
    partition = wire.core.world.topics["t"].partitions[0]
    for broker in partition.brokers:
        files = RealFiles(of_broker(tmp_path, 1, broker))
        log = directories._loaded(files, "t", 0)
        row = partition.row(broker)
        expected = [wire.core.world.batch(entry) for entry in row.log]
        assert [each.data[21:] for each in log.read(0, log.end)] == [b.data[21:] for b in expected]
        assert [each.epoch for each in log.read(0, log.end)] == [entry.epoch for entry in row.log]
    data.end(wire.core.world)
    for broker in partition.brokers:
        for place in read(of_broker(tmp_path, 1, broker)).places:
            found = judge(place.path, place.common).findings
            assert not [each for each in found if each.weight != "report"]


def test_a_broker_that_does_not_write_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault: of each append the last batch stays in memory."""
    append = Log.append_as_follower
    monkeypatch.setattr(
        Log,
        "append_as_follower",
        lambda log, data, epoch: log.end if b"v4" in data else append(log, data, epoch),
    )
    data, wire = begun(tmp_path)
    wire.create()
    for at in range(5):
        wire.produce(batch(b"v%d" % at))
        data.keep(wire.core.world)
    before = values(wire)
    assert values(begun(tmp_path)[1]) == before[:4]


def test_a_kill_while_a_cluster_begins_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, wire = begun(tmp_path)
    wire.create()
    for at in range(3):
        wire.produce(batch(b"v%d" % at))
        data.keep(wire.core.world)
    before = values(wire)
    told = Directories._tell
    monkeypatch.setattr(Directories, "_tell", lambda *_: (_ for _ in ()).throw(OSError("killed")))
    with pytest.raises(OSError, match="killed"):
        begun(tmp_path)
    monkeypatch.setattr(Directories, "_tell", told)
    assert values(begun(tmp_path)[1]) == before


def test_a_topic_that_was_deleted_and_made_again_is_the_new_one(tmp_path: Path) -> None:
    data, wire = begun(tmp_path)
    wire.create()
    wire.produce(batch(b"old"))
    data.keep(wire.core.world)
    wire.core.world.delete("t")
    wire.create()
    wire.produce(batch(b"new"))
    data.keep(wire.core.world)
    assert [value[-4:-1] for _, value in values(begun(tmp_path)[1])] == [b"new"]


def delete(wire: Wire, offset: int) -> None:
    of = [{"partition_index": 0, "offset": offset}]
    topics = [{"name": "t", "partitions": of}]
    told = wire.ask(wire.leader(), "DeleteRecords", 2, topics=topics, timeout_ms=5000)
    assert told["topics"][0]["partitions"][0]["error_code"] == NONE


def with_deleted(folder: Path, *offsets: int) -> None:
    """Four batches of three records each, of which those below the offsets are deleted; killed."""
    data, wire = begun(folder)
    wire.create()
    for at in range(4):
        wire.produce(batch(b"a", b"b", b"c", producer=(1001, 0, 3 * at)))
    data.keep(wire.core.world)
    for offset in offsets:
        delete(wire, offset)
        data.keep(wire.core.world)


@pytest.mark.parametrize("offsets", [(3,), (4,), (4, 5), (12,)])
def test_records_that_were_deleted_are_gone_from_the_next_clusters_too(
    offsets: tuple[int, ...], tmp_path: Path
) -> None:
    with_deleted(tmp_path / "data", *offsets)
    for generation in (2, 3):
        data, wire = begun(tmp_path / "data")
        assert wire.offset(-2)["offset"] == offsets[-1]
        assert wire.fetch(offsets[-1] - 1)["error_code"] == ERRORS["OFFSET_OUT_OF_RANGE"]
        assert wire.offset(-1)["offset"] == 12
        # What an idempotent producer sent is remembered all the same.
        again = wire.produce(batch(b"a", b"b", b"c", producer=(1001, 0, 9)))
        assert (again["error_code"], again["base_offset"]) == (NONE, 9)
        data.keep(wire.core.world)
        for broker in range(3):
            for place in read(of_broker(tmp_path / "data", generation, broker)).places:
                found = judge(place.path, place.common).findings
                assert not [each for each in found if each.weight != "report"]
    said = judged(wire.tape(tmp_path / "tape"))
    assert (said.verdict, said.reasons) == ("holds", [])


def test_a_broker_that_forgets_where_its_log_begins_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Directories, "_checkpoint", lambda *_: None)
    with_deleted(tmp_path, 4)
    assert begun(tmp_path)[1].offset(-2)["offset"] == 0


def test_a_topic_that_was_deleted_is_gone_after_kill_9(tmp_path: Path) -> None:
    data, wire = begun(tmp_path)
    wire.create()
    wire.produce(batch(b"old"))
    data.keep(wire.core.world)
    topics = {"topic_names": ["t"], "timeout_ms": 5000}
    assert wire.ask(0, "DeleteTopics", 5, **topics)["responses"][0]["error_code"] == NONE
    data.keep(wire.core.world)
    assert "t" not in begun(tmp_path)[1].core.world.topics


@pytest.mark.parametrize("is_deleted", [False, True])
def test_an_offset_that_was_deleted_is_gone_from_the_next_cluster_too(
    is_deleted: bool, tmp_path: Path
) -> None:
    data, wire = begun(tmp_path)
    wire.create()

    def ask(api: str, version: int, of: Any, key: str = "partitions", **said: Any) -> Message:
        coordinator = wire.core.world.offsets.controller.partition.leader
        topics = [{"name": "t", key: [of]}]
        return wire.ask(coordinator, api, version, group_id="g", topics=topics, **said)

    def committed() -> int:
        found = ask("OffsetFetch", 7, 0, "partition_indexes", require_stable=False)
        return int(found["topics"][0]["partitions"][0]["committed_offset"])

    of = {"partition_index": 0, "committed_offset": 3, "committed_leader_epoch": -1}
    nobody: dict[str, Any] = {
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
    }
    ask("OffsetCommit", 8, of | {"committed_metadata": ""}, **nobody)
    assert committed() == 3
    if is_deleted:
        ask("OffsetDelete", 0, {"partition_index": 0})
    data.keep(wire.core.world)
    _, wire = begun(tmp_path)
    assert committed() == (-1 if is_deleted else 3)


def test_what_is_no_data_of_this_cluster_is_refused(tmp_path: Path) -> None:
    data, wire = begun(tmp_path / "data")
    data.keep(wire.core.world)
    cases = {
        "5 brokers": "has the logs of 3 brokers; start it with --brokers 3",
        "foreign": "has files in it, and no cluster.json",
        "damaged": "cluster.json",
        "a-file": "a-file is no folder\n",
    }
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "x").touch()
    (tmp_path / "a-file").touch()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "cluster.json").write_text("{")
    for name, said in cases.items():
        folder = tmp_path / ("data" if "brokers" in name else name)
        brokers = "5" if "brokers" in name else "3"
        words = ["serve", "--brokers", brokers, "--data", str(folder), "--until-eof"]
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 3 and said in done.output, done.output


def test_a_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    data, wire = begun(tmp_path)
    wire.create()
    wire.produce(batch(b"v"))
    data.keep(wire.core.world)
    for broker in range(3):
        (of_broker(tmp_path, 1, broker) / "t-0" / "leader-epoch-checkpoint").write_text("?")
    with pytest.raises(BadInput, match=r"t-0: broker \d: "):
        begun(tmp_path)


def test_records_offsets_and_transactions_survive_kill_9(tmp_path: Path) -> None:
    """With an unmodified client; what the second cluster did is judged."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    options = ("--judge", "0", "--min-insync-replicas", "2", "--data", str(tmp_path / "data"))
    process = Process(*options)
    process.cluster.create_topic("t")
    servers = {"bootstrap.servers": process.cluster.bootstrap_servers, "log_level": 0}
    producer = Producer(servers | {"transactional.id": "x"})
    producer.init_transactions(30)
    for value, end in ((b"committed", "commit"), (b"aborted", "abort"), (b"open", "")):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush(30)
        if end:
            getattr(producer, f"{end}_transaction")(30)
    plain = Producer(servers | {"enable.idempotence": True})
    plain.produce("t", b"plain")
    assert plain.flush(30) == 0
    group = Consumer(servers | {"group.id": "g", "enable.auto.commit": False})
    group.commit(offsets=[TopicPartition("t", 0, 2)], asynchronous=False)
    os.kill(process.pid, signal.SIGKILL)
    process = Process(*options)
    servers["bootstrap.servers"] = process.cluster.bootstrap_servers
    reader = Consumer(servers | {"group.id": "h", "isolation.level": "read_committed"})
    reader.assign([TopicPartition("t", 0, 0)])
    assert [each.value() for each in reader.consume(2, 30)] == [b"committed", b"plain"]
    again = Consumer(servers | {"group.id": "g"})
    assert again.committed([TopicPartition("t", 0)], 30)[0].offset == 2
    assert process.cluster.end_offset("t", 0) == 7  # The open transaction was aborted.
    for each in (reader, again):
        each.close()
    verdict = process.cluster.end()
    assert verdict.verdict == "holds", str(verdict)
    process.close()
