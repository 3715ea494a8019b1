"""Outcomes as Kafka's own client tells them: by a program that is made up, and by the client."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from kraftcheck.kafka.live import java_client
from kraftcheck.kafka.live.java_client import Java
from kraftcheck.kafka.live.library import ClientError, Ending, LibraryError, SendResult
from kraftcheck.kafka.serve.admin import Process

FAKE = """
import sys, time
print("ready", flush=True)
for line in sys.stdin:
    name, what, *words = line.split()
    if what == "commit":
        time.sleep(LATE)
    if what == "close":
        sys.exit()
    print(name, {answers}.get(what, "ok"), flush=True)
"""


def made_up(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    answers: Mapping[str, str] | None = None,
    late: float = 0.0,
) -> java_client.JavaSender:
    """A producer of a program that answers each of these words so, others with "ok"."""
    program = tmp_path / "program.py"
    text = FAKE.replace("{answers}", repr(dict(answers or {}))).replace("LATE", str(late))
    program.write_text(text, encoding="utf-8")
    monkeypatch.setattr(java_client, "command", lambda: [sys.executable, str(program)])
    return Java().sender("nowhere:1", {"message.timeout.ms": 1000, "enable.idempotence": True})


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        ("ok", Ending("ok")),
        ("aborted !KafkaException", Ending("fail", "KafkaException")),
        ("unknown !TimeoutException", Ending("info", "TimeoutException")),
        ("!IllegalStateException", Ending("info", "IllegalStateException")),
    ],
)
def test_how_a_transaction_ends(
    answer: str, ending: Ending, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert made_up(monkeypatch, tmp_path, {"commit": answer}).end(False, 10.0) == ending


def test_what_became_of_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One word for each, or one for all."""
    answers = {"write": "7 !TimeoutException", "send": "!ProducerFencedException"}
    answers["init"] = "!InvalidPidMappingException"
    sender = made_up(monkeypatch, tmp_path, answers)
    sends = [(0, b"1"), (1, b"2")]
    assert sender.write("t", sends, 10.0) == [SendResult(7), SendResult(error="TimeoutException")]
    assert sender.send("t", 0, b"4") == SendResult(error="ProducerFencedException", fatal=True)
    with pytest.raises(ClientError, match="InvalidPidMappingException"):
        sender.initialise(10.0)


def test_an_answer_that_comes_late_is_not_taken_for_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sender = made_up(monkeypatch, tmp_path, late=0.5)
    assert sender.end(False, 0.1) == Ending("info", "timed-out")
    assert sender.end(True, 10.0) == Ending("info", "timed-out")


def test_a_program_that_ends_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sender = made_up(monkeypatch, tmp_path)
    sender.close()
    assert sender.end(False, 10.0) == Ending("info", "ended")


def test_what_is_not_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_client, "command", lambda: ["false"])
    with pytest.raises(LibraryError, match="does not start"):
        Java().sender("nowhere:1", {})
    with pytest.raises(LibraryError, match="plain connections"):
        Java().sender("nowhere:1", {"security.protocol": "ssl"})


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    made = Process("--judge", "0", "--min-insync-replicas", "2")
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.kafka
def test_the_client_itself(process: Process) -> None:
    """A commit, an abort, and one whose id another instance has taken."""
    servers = process.cluster.bootstrap_servers
    java = Java()
    options = {"message.timeout.ms": 10_000, "request.timeout.ms": 3_000, "linger.ms": 0}
    first = java.sender(servers, {**options, "transactional.id": "a"})
    first.initialise(20.0)
    told = first.write("t", [(0, b"1")], 20.0)
    assert told == [SendResult(0)] and first.end(False, 20.0) == Ending("ok")
    first.write("t", [(0, b"2")], 20.0)
    assert first.end(True, 20.0) == Ending("ok")
    second = java.sender(servers, {**options, "transactional.id": "a"})
    second.initialise(20.0)
    told = first.write("t", [(0, b"3")], 20.0)
    assert told[0].error is not None and first.end(False, 20.0).kind != "ok"
    second.write("t", [(0, b"4")], 20.0)
    assert second.end(False, 20.0) == Ending("ok")
    reader = Consumer({"bootstrap.servers": servers, "group.id": "g", "log_level": 0})
    reader.assign([TopicPartition("t", 0, 0)])
    shown: list[bytes] = []
    while len(shown) < 2:
        shown += [value for m in reader.consume(10, 1.0) if (value := m.value()) is not None]
    assert shown == [b"1", b"4"]
    assert process.cluster.end().verdict == "holds"
    first.close()
    second.close()
