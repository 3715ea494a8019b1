"""When a cluster is at rest: in sync is not enough."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kraftcheck.kafka.live import rest
from kraftcheck.kafka.live.rest import log_lengths, settle

DEADLINE_S = 0.3


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "HOLD_S", 0.05)
    monkeypatch.setattr(rest, "LOOK_S", 0.01)


@pytest.fixture
def disks(tmp_path: Path) -> Path:
    """Three brokers with the same ten bytes, in segments of their own."""
    for broker, segments in {1: [10], 2: [4, 6], 3: [10]}.items():
        for at, size in enumerate(segments):
            place = tmp_path / f"n{broker}" / "t-0"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{at:020}.log").write_bytes(b"x" * size)
            (place / f"{at:020}.index").write_bytes(b"x" * broker)
    return tmp_path


def at_rest(disks: Path, isr: list[int], partitions: int = 1, leader: int = 1) -> bool:
    nodes = [SimpleNamespace(name=f"n{broker}") for broker in (1, 2, 3)]
    cluster = SimpleNamespace(directory=disks, state=SimpleNamespace(nodes=nodes))
    partition = SimpleNamespace(isrs=isr, replicas=[1, 2, 3], leader=leader)
    known = SimpleNamespace(topics={"t": SimpleNamespace(partitions={0: partition})})
    admin = SimpleNamespace(list_topics=lambda topic, timeout: known)
    return settle(cast("Any", cluster), cast("Any", admin), "t", partitions, DEADLINE_S)


def test_in_sync_with_logs_of_one_length(disks: Path) -> None:
    assert at_rest(disks, [1, 2, 3])


@pytest.mark.parametrize(
    ("isr", "partitions", "leader"), [([1, 2], 1, 1), ([1, 2, 3], 2, 1), ([1, 2, 3], 1, -1)]
)
def test_out_of_sync_without_a_partition_or_a_leader(
    disks: Path, isr: list[int], partitions: int, leader: int
) -> None:
    assert not at_rest(disks, isr, partitions, leader)


def test_a_log_that_is_shorter_while_its_broker_is_in_the_isr(disks: Path) -> None:
    (disks / "n3" / "t-0" / f"{0:020}.log").write_bytes(b"x" * 9)
    assert not at_rest(disks, [1, 2, 3])


def test_other_topics_do_not_count(disks: Path) -> None:
    (disks / "n1" / "t-x-0").mkdir()
    (disks / "n1" / "t-x-0" / f"{0:020}.log").write_bytes(b"x")
    nodes = [disks / f"n{broker}" for broker in (1, 2, 3)]
    assert log_lengths(nodes, "t") == {"t-0": [10, 10, 10]}
    assert log_lengths(nodes, "t-x") == {"t-x-0": [1]}
