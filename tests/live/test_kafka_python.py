"""Outcomes as kafka-python tells them, each told once by a producer that is made up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import kafka
import pytest
from kafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    NotEnoughReplicasError,
    OutOfOrderSequenceNumberError,
)
from kafka.protocol.metadata import MetadataRequest

from kraftcheck.live.broker import Broker, NoAnswer
from kraftcheck.live.kafka_python import KafkaPython, KafkaPythonSender
from kraftcheck.live.library import Ending, SendResult


class Metadata(NamedTuple):
    offset: int


class Future:
    def __init__(self, outcome: int | KafkaError) -> None:
        self._outcome = outcome

    def get(self, timeout: float) -> Metadata:
        if isinstance(self._outcome, KafkaError):
            raise self._outcome
        return Metadata(self._outcome)


class Producer:
    """Does what it is told. outcome: of each record; refused: what `send` raises."""

    def __init__(
        self,
        outcome: int | KafkaError = 7,
        refused: KafkaError | None = None,
        commit: Callable[[], None] = lambda: None,
        abort: Callable[[], None] = lambda: None,
    ) -> None:
        self._outcome, self._refused = outcome, refused
        self.commit_transaction, self.abort_transaction = commit, abort

    def send(self, topic: str, value: bytes, partition: int) -> Future:
        if self._refused is not None:
            raise self._refused
        return Future(self._outcome)

    def begin_transaction(self) -> None: ...

    def flush(self, seconds: float) -> None: ...


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Callable[[Producer], KafkaPythonSender]:
    def made(producer: Producer) -> KafkaPythonSender:
        monkeypatch.setattr(kafka, "KafkaProducer", lambda **options: producer)
        return KafkaPython().sender("127.0.0.1:9", {"acks": "1", "message.timeout.ms": 1000})

    return made


def failing(error: KafkaError) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


def slow() -> None:
    """Never comes back; the thread that it holds is a daemon, and left behind."""
    threading.Event().wait()


@pytest.mark.parametrize(
    ("producer", "told"),
    [
        (Producer(7), SendResult(7)),
        (Producer(-1), SendResult(None)),
        (Producer(KafkaTimeoutError()), SendResult(error="KafkaTimeoutError")),
        (Producer(NotEnoughReplicasError()), SendResult(error="NotEnoughReplicasError")),
        (
            Producer(OutOfOrderSequenceNumberError()),
            SendResult(error="OutOfOrderSequenceNumberError", fatal=True),
        ),
        (
            Producer(refused=KafkaTimeoutError()),
            SendResult(error="KafkaTimeoutError", never_sent=True),
        ),
    ],
)
def test_the_fate_of_a_record(
    sender: Callable[[Producer], KafkaPythonSender], producer: Producer, told: SendResult
) -> None:
    assert sender(producer).send("t", 0, b"1") == told


@pytest.mark.parametrize(
    ("producer", "abort", "ending"),
    [
        (Producer(7), False, Ending("ok")),
        (Producer(7), True, Ending("ok")),
        (Producer(abort=failing(KafkaError())), True, Ending("info", error="KafkaError")),
        (Producer(commit=slow), False, "timed out"),
        (Producer(commit=failing(KafkaError())), False, Ending("fail", error="KafkaError")),
        (
            Producer(commit=failing(KafkaError()), abort=failing(KafkaError())),
            False,
            Ending("info", error="KafkaError"),
        ),
    ],
    ids=["committed", "aborted", "not aborted", "no answer", "refused", "refused, not aborted"],
)
def test_the_end_of_a_transaction(
    sender: Callable[[Producer], KafkaPythonSender],
    producer: Producer,
    abort: bool,
    ending: Ending | str,
) -> None:
    """A commit that was not answered may have happened; one that was refused here has not."""
    expected = Ending("info", error=ending) if isinstance(ending, str) else ending
    assert sender(producer).end(abort, 0.1) == expected


@pytest.mark.parametrize(
    ("producer", "told"),
    [
        (Producer(7), SendResult(7)),
        (Producer(NotEnoughReplicasError()), SendResult(error="NotEnoughReplicasError")),
        (Producer(refused=KafkaTimeoutError()), SendResult(error="KafkaTimeoutError")),
    ],
    ids=["written", "not written", "refused"],
)
def test_the_records_of_a_transaction(
    sender: Callable[[Producer], KafkaPythonSender], producer: Producer, told: SendResult
) -> None:
    assert sender(producer).write("t", [(0, b"1"), (1, b"2")], 0.1) == [told, told]


def test_options_have_the_library_s_names(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(
        kafka, "KafkaProducer", lambda **options: seen.update(options) or Producer()
    )
    told = {"acks": "all", "enable.idempotence": True, "message.timeout.ms": 9, "linger.ms": 0}
    KafkaPython((2, 1)).sender("a:1,b:2", told).send("t", 0, b"1")
    wanted = {"acks": "all", "enable_idempotence": True, "delivery_timeout_ms": 9, "linger_ms": 0}
    assert wanted.items() <= seen.items()
    assert seen["bootstrap_servers"] == ["a:1", "b:2"]
    assert seen["api_version"] == (2, 1)


@pytest.mark.parametrize(
    ("said", "reason"),
    [(b"", "the connection was closed"), (b"\0\0\0\4\0\0\0\x09", "Correlation")],
    ids=["closed", "of another question"],
)
def test_a_broker_that_talks_nonsense_gives_no_answer(said: bytes, reason: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        broker = Broker("127.0.0.1", server.getsockname()[1])
        with pytest.raises(NoAnswer, match=reason):
            broker.version(MetadataRequest, 9)
        thread.join()


def test_a_broker_that_says_nothing_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        broker = Broker("127.0.0.1", server.getsockname()[1], timeout=0.05)
        with pytest.raises(NoAnswer, match="timed out"):
            broker.ask(MetadataRequest(), 9)


def test_a_producer_that_does_not_let_go_of_a_record_is_left_behind(
    sender: Callable[[Producer], KafkaPythonSender],
) -> None:
    """It waits for what it has pending before it closes, and says so as an error."""
    asked: list[float] = []

    class Stuck(Producer):
        def close(self, timeout: float) -> None:
            asked.append(timeout)
            raise KafkaTimeoutError

    made = sender(Stuck())
    made.send("t", 0, b"1")
    made.close()
    assert len(asked) == 1
