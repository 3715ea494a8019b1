"""A proxy that lies is caught: the whole chain, from clients to verdict, is seen to fail."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kraftcheck.checking.judge import judge_file
from kraftcheck.checking.options import Options
from kraftcheck.live.cluster import BROKER_PORT, ClusterError, Node
from kraftcheck.live.confluent import SILENT
from kraftcheck.live.journal import HISTORY
from kraftcheck.live.proxy import Lie, Proxy, error_of, invent
from kraftcheck.live.recording import Plan, record
from kraftcheck.traces.report.judged import JudgedHistory


@pytest.fixture(scope="module")
def brokers() -> Iterator[list[Node]]:
    """Of a mock cluster, which lives as long as its producer."""
    mock = Producer({**SILENT, "bootstrap.servers": "mock", "test.mock.num.brokers": 2})
    found = mock.list_topics(timeout=10).brokers.values()
    yield [Node(f"n{b.id}", b.port - BROKER_PORT, ("broker",), "127.0.0.1") for b in found]
    del mock


def judged(brokers: list[Node], folder: Path, lie: Lie, every: int) -> tuple[int, JudgedHistory]:
    """How many lies were told, and the verdict on what acks of all promise without retries."""
    proxy = Proxy(brokers, lie, every)
    plan = Plan(
        seconds=1.0,
        topic=f"{lie}-{every}",
        make_topic=False,
        idempotent=False,
        retries=False,
        producers=1,
        rate=200,
    )
    Producer({**SILENT, "bootstrap.servers": proxy.bootstrap}).list_topics(plan.topic, timeout=10)
    record(proxy.bootstrap, plan, folder)
    proxy.close()
    return proxy.told, judge_file(folder / HISTORY, Options())


@pytest.mark.parametrize(
    ("lie", "found"),
    [("drop", "inconsistent-offsets"), ("double", "duplicate")],
)
def test_each_lie_is_found(brokers: list[Node], tmp_path: Path, lie: Lie, found: str) -> None:
    told, verdict = judged(brokers, tmp_path, lie, 10)
    assert told > 1
    assert verdict.verdict == "violated"
    assert found in {anomaly.name for anomaly in verdict.anomalies}
    assert verdict.certificate is not None and len(verdict.certificate.operations) <= 2


def test_an_honest_proxy_changes_nothing(brokers: list[Node], tmp_path: Path) -> None:
    told, verdict = judged(brokers, tmp_path, "drop", 10**9)
    assert told == 0
    assert verdict.verdict == "holds"


def test_answers_can_get_lost_without_a_lie(brokers: list[Node]) -> None:
    proxy = Proxy(brokers, None)
    settings = {**SILENT, "bootstrap.servers": proxy.bootstrap, "retries": 0}
    producer = Producer({**settings, "message.timeout.ms": 1500, "request.timeout.ms": 1000})

    def errors() -> list[bool]:
        told: list[bool] = []
        producer.produce(
            "lost", b"1", partition=0, on_delivery=lambda error, _: told.append(error is not None)
        )
        producer.flush(10)
        return told

    assert errors() == [False]
    proxy.silent.set()
    assert errors() == [True]
    proxy.silent.clear()
    assert errors() == [False]
    proxy.close()
    direct = {**SILENT, "bootstrap.servers": brokers[0].listener, "group.id": "g"}
    consumer = Consumer(direct)
    assert consumer.get_watermark_offsets(TopicPartition("lost", 0), timeout=10) == (0, 3)
    consumer.close()


def test_addresses_must_be_as_long_as_the_proxy_s() -> None:
    with pytest.raises(ClusterError, match="not of the same length"):
        Proxy([Node("n1", 1, ("broker",), "10.91.0.10")], "drop", 2)


OLD = struct.pack(">iih", 7, 1, 3) + b"abc" + struct.pack(">iihqq", 1, 0, 0, 41, -1)
FLEXIBLE = struct.pack(">ibbb", 7, 0, 2, 4) + b"abc" + struct.pack(">bihqq", 2, 0, 0, 41, -1)
BY_ID = struct.pack(">ibb", 7, 0, 2) + b"i" * 16 + struct.pack(">bihqq", 2, 0, 0, 41, -1)


@pytest.mark.parametrize(("version", "answer"), [(8, OLD), (12, FLEXIBLE), (13, BY_ID)])
def test_an_answer_is_invented_from_the_last(version: int, answer: bytes) -> None:
    assert error_of(version, answer) == 0
    invented = invent(version, answer, 8)
    assert struct.unpack_from(">i", invented) == (8,)
    assert invented[4:].replace(struct.pack(">q", 42), struct.pack(">q", 41)) == answer[4:]
    assert len(invented) == len(answer)
    refused = answer.replace(struct.pack(">ihq", 0, 0, 41), struct.pack(">ihq", 0, 6, 41))
    assert error_of(version, refused) == 6
