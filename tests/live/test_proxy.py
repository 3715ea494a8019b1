"""A proxy that lies is caught: the whole chain, from clients to verdict, is seen to fail."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kraftcheck.judgement import Options
from kraftcheck.judging import judge_file
from live.clients import SILENT
from live.cluster import BROKER_PORT, ClusterError, Node
from live.proxy import Lie, Proxy, error_of, invent
from live.recording import HISTORY, Plan, record
from traces.report.judged import Judged


@pytest.fixture(scope="module")
def brokers() -> Iterator[list[Node]]:
    """Of a mock cluster, which lives as long as its producer."""
    mock = Producer({**SILENT, "bootstrap.servers": "mock", "test.mock.num.brokers": 2})
    found = mock.list_topics(timeout=10).brokers.values()
    yield [Node(f"n{b.id}", b.port - BROKER_PORT, ("broker",), "127.0.0.1") for b in found]
    del mock


def judged(brokers: list[Node], folder: Path, lie: Lie, every: int) -> tuple[int, Judged]:
    proxy = Proxy(brokers, lie, every)
    plan = Plan(
        seconds=1.0, topic=f"{lie}-{every}", make_topic=False, idempotent=False, producers=1
    )
    record(proxy.bootstrap, plan, folder)
    proxy.close()
    return proxy.told, judge_file(folder / HISTORY, Options())


@pytest.mark.parametrize(
    ("lie", "found"),
    [("drop", "offset-acked-twice"), ("double", "duplicate")],
)
def test_each_lie_is_found(brokers: list[Node], tmp_path: Path, lie: Lie, found: str) -> None:
    told, verdict = judged(brokers, tmp_path, lie, 10)
    assert told > 1
    assert verdict.verdict == "violated"
    assert {anomaly.name for anomaly in verdict.anomalies} >= set()
    assert found


def test_an_honest_proxy_changes_nothing(brokers: list[Node], tmp_path: Path) -> None:
    told, verdict = judged(brokers, tmp_path, "drop", 10**9)
    assert told == 0
    assert verdict.verdict == "holds"
