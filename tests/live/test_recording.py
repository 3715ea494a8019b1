"""Recording against librdkafka's own mock of a cluster, which needs no Java."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from kraftcheck.checking.judge import judge_file
from kraftcheck.checking.options import Options
from kraftcheck.kafka.live import recording
from kraftcheck.kafka.live.confluent import SILENT, ConfluentReader
from kraftcheck.kafka.live.crew import Crew
from kraftcheck.kafka.live.faults import Called
from kraftcheck.kafka.live.journal import ANSWERS, HISTORY, RECORDING, Journal
from kraftcheck.kafka.live.library import Got
from kraftcheck.kafka.live.polling import Poller
from kraftcheck.kafka.live.properties import PropertyError, properties
from kraftcheck.kafka.live.recording import Plan, RecordingError, record
from kraftcheck.kafka.live.topics import TopicError
from kraftcheck.kafka.observed import answers
from kraftcheck.traces.formats import jsonlines

TOPICS = (
    *("kraftcheck", "zero", "groups-4", "groups-9", "groups-18", "txn-0", "txn-1", "observed"),
    *(
        "second-log",
        "second-groups",
        "second-txn",
        "full",
        "held",
        "twice",
        "refuted",
        "hurt",
        "with",
    ),
)


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """The addresses of a mock cluster of three brokers; it lives as long as its producer. A topic
    is there once it was asked for.
    """
    mock = Producer({**SILENT, "bootstrap.servers": "mock", "test.mock.num.brokers": 3})
    for topic in TOPICS:
        mock.list_topics(topic, timeout=10)
    brokers = mock.list_topics(timeout=10).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    del mock


@pytest.fixture(scope="module")
def folder(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    record(bootstrap, Plan(seconds=1.5, partitions=2, make_topic=False), folder)
    return folder


def test_a_recording_is_a_history_of_a_partition_log(folder: Path) -> None:
    history = jsonlines.read(folder / HISTORY)
    assert history.model == "partition-log"
    kinds = Counter((o.f, o.outcome) for o in history.operations)
    assert kinds["append", "ok"] > 20
    assert kinds["latest", "ok"] > 0
    assert {a.kind for a in history.annotations} == {"leader epoch"}


def test_every_acked_record_was_read_at_its_offset(folder: Path) -> None:
    assert_acked_is_read(folder)


def assert_acked_is_read(folder: Path) -> None:
    history = jsonlines.read(folder / HISTORY)
    read = {
        (o.key, offset): value
        for o in history.operations
        if o.f == "fetch" and o.result
        for offset, value in o.result
    }
    acked = {
        (o.key, o.result): o.argument
        for o in history.operations
        if o.f == "append" and o.outcome == "ok"
    }
    assert acked
    assert acked.items() <= read.items()


def test_the_description_says_what_was_recorded_and_that_it_is_complete(folder: Path) -> None:
    told = json.loads((folder / RECORDING).read_text(encoding="utf-8"))
    assert told["complete"] is True
    assert told["plan"]["acks"] == "all"
    lines = (folder / HISTORY).read_text(encoding="utf-8").splitlines()
    assert told["lines"] == len(lines)
    beside = {path.name for path in folder.glob("*.jsonl")} - {HISTORY}
    assert told["kept"].keys() == beside


def test_unacknowledged_produce_has_no_offset(bootstrap: str, tmp_path: Path) -> None:
    plan = Plan(
        seconds=0.7, topic="zero", make_topic=False, acks="0", idempotent=False, consumers=0
    )
    record(bootstrap, plan, tmp_path)
    history = jsonlines.read(tmp_path / HISTORY)
    appends = [o for o in history.operations if o.f == "append"]
    assert appends
    assert {o.result for o in appends} == {None}


@pytest.mark.slow
def test_members_of_a_group_share_a_log(bootstrap: str, tmp_path: Path) -> None:
    """The mock gives the members nothing to read for three seconds, more on a busy machine."""
    for seconds in (4.5, 9.0, 18.0):
        folder = tmp_path / str(seconds)
        topic = f"groups-{seconds:.0f}"
        plan = Plan(workload="groups", seconds=seconds, rate=20, topic=topic, make_topic=False)
        recording = record(bootstrap, msgspec.structs.replace(plan, partitions=2), folder)
        history = jsonlines.read(folder / HISTORY)
        members = {o.process for o in history.operations if o.f == "subscribe"}
        assert len(members) == plan.consumers
        assert recording.configuration["consumers"] == "listen"
        assert judge_file(folder / HISTORY, Options()).verdict == "holds"
        if any(o.f == "fetch" and o.result for o in history.operations if o.process in members):
            return
    pytest.fail("no member was ever given anything")


@pytest.mark.parametrize(("aborts", "anomalies"), [(0.0, set()), (0.5, {"G1a"})])
def test_transactions_are_all_or_nothing(
    bootstrap: str, tmp_path: Path, aborts: float, anomalies: set[str]
) -> None:
    """The mock shows everybody what was aborted: that is found. So is what it shows before the
    commit is asked for, if somebody polls just then.
    """
    topic = f"txn-{len(anomalies)}"
    plan = Plan(
        workload="transactions",
        aborts=aborts,
        seconds=0.8,
        rate=40,
        topic=topic,
        make_topic=False,
    )
    recording = record(bootstrap, plan, tmp_path)
    history = jsonlines.read(tmp_path / HISTORY)
    ends = {o.argument for o in history.operations if o.f == "end" and o.outcome == "ok"}
    assert ends == ({"commit", "abort"} if aborts else {"commit"})
    assert recording.configuration["transactions"] is True
    verdict = judge_file(tmp_path / HISTORY, Options())
    assert verdict.transactions > 3
    found = {anomaly.name for anomaly in verdict.anomalies}
    assert found - {"future-read"} == anomalies
    assert verdict.verdict == ("violated" if found else "holds")


def test_brokers_are_asked_meanwhile(bootstrap: str, tmp_path: Path) -> None:
    """The mock knows no ELR, no quorum, and names no epoch with an offset."""
    plan = Plan(observe=True, seconds=1.0, rate=40, topic="observed", make_topic=False)
    record(bootstrap, plan, tmp_path)
    told = answers.read(tmp_path / answers.NAME)
    assert {answer.broker for answer in told} == {1, 2, 3}
    views = [answer for answer in told if answer.what == answers.PARTITION]
    assert {(v.key, v.epoch, v.elr, len(v.isr)) for v in views} == {("observed-0", 0, None, 3)}
    (leader,) = {view.leader for view in views}
    marks = [answer for answer in told if answer.what == answers.HIGH_WATERMARK]
    assert {mark.broker for mark in marks if mark.error is None} == {leader}
    assert {mark.error for mark in marks if mark.broker != leader} == {"NotLeaderForPartitionError"}
    assert max(mark.offset for mark in marks) > 0


def test_a_broker_that_is_gone_gives_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = {7: ("127.0.0.1", 9)}
    asked, write = threading.Event(), Poller._write

    def written(*said: Any) -> None:
        write(*said)
        asked.set()

    monkeypatch.setattr(Poller, "_write", written)
    with (
        Journal(tmp_path / HISTORY) as journal,
        Poller(journal, tmp_path / ANSWERS, nobody, "t", 1),
    ):
        assert asked.wait(60)
    told = answers.read(tmp_path / ANSWERS)
    assert {(answer.broker, answer.what) for answer in told} == {(7, "none")}
    assert {answer.error for answer in told} == {"Connection refused"}


@pytest.mark.parametrize("workload", ["log", "groups"])
def test_another_client_library_is_another_opinion(
    bootstrap: str, tmp_path: Path, workload: str
) -> None:
    """The mock answers kafka-python's question for versions in a way that it cannot read."""
    plan = Plan(
        client="kafka-python",
        api_version="2.1",
        workload=workload,
        seconds=1.0,
        rate=40,
        topic=f"second-{workload}",
        make_topic=False,
    )
    recording = record(bootstrap, plan, tmp_path)
    assert recording.complete
    assert recording.client.startswith("kafka-python ")
    history = jsonlines.read(tmp_path / HISTORY)
    appends = Counter(o.outcome for o in history.operations if o.f == "append")
    assert appends["ok"] > 0
    assert set(appends) == {"ok"}
    assert_acked_is_read(tmp_path)
    assert judge_file(tmp_path / HISTORY, Options()).verdict == "holds"


def test_a_full_disk_leaves_an_incomplete_recording(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = Journal.event

    def full(self: Journal, *said: Any, **more: Any) -> None:
        if self.lines >= 40:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        event(self, *said, **more)

    monkeypatch.setattr(Journal, "event", full)
    with pytest.raises(RecordingError, match="No space left on device; the recording is inc"):
        record(bootstrap, Plan(seconds=20.0, topic="full", make_topic=False), tmp_path)
    told = json.loads((tmp_path / RECORDING).read_text(encoding="utf-8"))
    assert told["complete"] is None
    assert len((tmp_path / HISTORY).read_bytes().splitlines()) == 40
    assert judge_file(tmp_path / HISTORY, Options()).verdict != "violated"


@pytest.mark.parametrize(
    ("client", "api_version", "said"),
    [
        ("librdkafka", None, "no client 'librdkafka': there are"),
        ("confluent-kafka", "2.8", "api-version is for kafka-python"),
        ("kafka-python", "new", "api-version 'new': not of the form 2.8"),
    ],
)
def test_a_client_that_cannot_be_had_is_one_line(
    client: str, api_version: str | None, said: str, tmp_path: Path
) -> None:
    plan = Plan(client=client, api_version=api_version)
    with pytest.raises(RecordingError, match=said):
        record("127.0.0.1:9", plan, tmp_path)


def test_a_client_that_its_library_does_not_let_go_is_left_behind(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history has its question without an answer, and is complete all the same."""
    poll, release = ConfluentReader.poll, threading.Event()

    def held(self: ConfluentReader, seconds: float) -> list[Got]:
        if threading.current_thread() is not threading.main_thread():
            release.wait()
        return poll(self, seconds)

    monkeypatch.setattr(ConfluentReader, "poll", held)
    join = Crew.join

    def patient_but_with_the_last(self: Crew, patience: float | None = None) -> int:
        while len([thread for thread in self._threads if thread.is_alive()]) > 1:
            self.wait(0.01)
        return join(self, patience and 0.0)

    monkeypatch.setattr(Crew, "join", patient_but_with_the_last)
    plan = Plan(seconds=0.5, topic="held", make_topic=False, consumers=1)
    recording = record(bootstrap, plan, tmp_path)
    release.set()
    assert (recording.held, recording.complete) == (1, True)
    polls = [json.loads(line) for line in (tmp_path / HISTORY).read_text("utf-8").splitlines()]
    kinds = Counter(each["type"] for each in polls if each["f"] == "poll")
    assert kinds["invoke"] == kinds["ok"] + 1
    assert judge_file(tmp_path / HISTORY, Options()).verdict == "holds"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:9092,other", "[::1]:"])
def test_an_address_without_a_port_is_told_as_that(address: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="it has no port: HOST:PORT is wanted"):
        record(address, Plan(seconds=0.1), tmp_path)


def test_nobody_there_is_one_line(tmp_path: Path) -> None:
    plan = Plan(seconds=0.1)
    with pytest.raises(RecordingError) as caught:
        # With all its patience: a closed port is told at once.
        begin = time.monotonic()
        record("127.0.0.1:9", plan, tmp_path, patience=60.0)
    assert time.monotonic() - begin < 30
    assert str(caught.value) == "127.0.0.1:9: nobody listens there"
    assert "\n" not in str(caught.value)
    assert not (tmp_path / HISTORY).exists()


@pytest.mark.slow
def test_a_second_recording_into_one_topic_is_judged_by_itself(
    bootstrap: str, tmp_path: Path
) -> None:
    """What was there is none of its offsets, and no value of it is written again."""
    plan = Plan(seconds=1.0, rate=40, topic="twice", make_topic=False)
    said: list[str] = []
    first = record(bootstrap, plan, tmp_path / "first", told=said.append)
    second = record(bootstrap, plan, tmp_path / "second", told=said.append)
    assert first.standing is not None and first.standing.records == 0
    assert second.standing is not None and second.standing.records > 10 and second.complete
    assert "topic twice has records already: what is recorded begins behind them" in said
    assert any(" lines, " in each for each in said)
    values = []
    for name in ("first", "second"):
        assert judge_file(tmp_path / name / HISTORY, Options()).verdict == "holds"
        appends = jsonlines.read(tmp_path / name / HISTORY).operations
        values.append({o.argument for o in appends if o.f == "append"})
        assert min(o.result for o in appends if o.f == "append" and o.outcome == "ok") == 0
    assert not values[0] & values[1]
    with pytest.raises(RecordingError, match="has records already, and members of a group"):
        groups = msgspec.structs.replace(plan, workload="groups")
        record(bootstrap, groups, tmp_path / "third")


def test_a_topic_that_is_not_there_is_told_and_not_made(bootstrap: str, tmp_path: Path) -> None:
    """Asked for by its name it would be made, in somebody's cluster."""
    for name, hint in (("twce", "did you mean twice"), ("elsewhere", "without --existing-topic")):
        with pytest.raises(RecordingError, match=f"there is no topic {name}: {hint}"):
            record(bootstrap, Plan(seconds=0.1, topic=name, make_topic=False), tmp_path / name)
        topics = AdminClient({**SILENT, "bootstrap.servers": bootstrap}).list_topics(timeout=10)
        assert name not in topics.topics and "twice" in topics.topics


def test_without_the_shift_a_second_recording_would_be_refuted(
    bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: offsets of others are taken for its own."""
    monkeypatch.setattr("kraftcheck.kafka.live.recording.Behind", lambda library, starts: library)
    plan = Plan(seconds=1.0, rate=40, topic="refuted", make_topic=False)
    for name in ("first", "second"):
        record(bootstrap, plan, tmp_path / name)
    assert judge_file(tmp_path / "second" / HISTORY, Options()).verdict == "violated"


@pytest.mark.slow
def test_a_command_of_the_user_does_the_faults(bootstrap: str, tmp_path: Path) -> None:
    script = tmp_path / "hurt"
    script.write_text(
        '#!/bin/sh\necho "$@ $KRAFTCHECK_TOPIC" >> "$0.log"\n'
        '[ "$1" = start ] && sleep 0.5 && echo "cut $2" && exit 0\necho broken >&2\nexit 4\n'
    )
    script.chmod(0o755)
    plan = Plan(
        seconds=5.0, rate=20, topic="hurt", make_topic=False, fault_command=str(script), seed=4
    )
    recording = record(bootstrap, plan, tmp_path / "recorded")
    calls = Path(f"{script}.log").read_text().split("\n")
    assert calls[:2] == ["start 1 hurt", "stop 1 hurt"]
    assert [each.kind for each in recording.faults] == ["cut 1"]
    assert recording.trouble == (f"`{script} stop 1` ended with 4: broken",)
    faults = jsonlines.read(tmp_path / "recorded" / HISTORY).annotations
    (shown,) = [each for each in faults if each.kind == "fault"]
    assert shown.label == "cut 1"
    # As long as the page says, to its tenth of a second: neither counts how long `start` took.
    (told,) = recording.faults
    assert shown.until is not None
    assert abs((shown.until - shown.at) / 1e6 - (told.end - told.begin)) < 100


@pytest.mark.parametrize(("printed", "name"), [("{}", "fault 1"), ("", "fault 1"), ("cut", "cut")])
def test_a_fault_is_called_what_its_command_says(printed: str, name: str, tmp_path: Path) -> None:
    with Journal(tmp_path / HISTORY) as journal:
        called = Called(f"echo '{printed}' #", journal, "host:1", "topic")
        assert (called._call("start", 1) or "fault 1") == name


def test_properties_reach_the_clients_and_secrets_stay_out(bootstrap: str, tmp_path: Path) -> None:
    given = {"sasl.password": "hush", "socket.keepalive.enable": "true"}
    plan = Plan(seconds=0.5, rate=20, topic="with", make_topic=False, properties=given)
    record(bootstrap, plan, tmp_path)
    text = (tmp_path / RECORDING).read_text(encoding="utf-8")
    assert "hush" not in text and '"(secret)"' in text and "keepalive" in text
    nonsense = msgspec.structs.replace(plan, properties={"no.such": "1"})
    with pytest.raises(RecordingError, match="No such configuration property"):
        record(bootstrap, nonsense, tmp_path)


def test_whoever_asks_a_cluster_of_ours_has_the_properties_too(tmp_path: Path) -> None:
    # Without them nobody who asks a cluster with TLS whether it is at rest is ever answered.
    plan = Plan(properties={"no.such": "1"}, observe=True)
    cluster: Any = SimpleNamespace(bootstrap="127.0.0.1:9")
    with pytest.raises(TopicError, match="No such configuration property"):
        recording._settled(cluster, plan)
    with (
        Journal(tmp_path / HISTORY) as journal,
        pytest.raises(TopicError, match="No such configuration property"),
        recording._observed(cluster.bootstrap, plan, journal, tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("security.protocol", "client.properties:1: not of the form key=value"),
        ("# a\n\nacks=0", "client.properties:3: acks is said by --acks"),
        ("sasl.jaas.config=x", "is Java's; say sasl.username and sasl.password"),
    ],
)
def test_a_property_that_cannot_be_used_is_one_line(lines: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(lines)
    with pytest.raises(PropertyError, match=said):
        properties([], [path])
    assert properties(["a=b=c"], []) == {"a": "b=c"}
