"""Replicas side by side: what is committed is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.disks.written import (
    SECOND,
    Told,
    judged,
    write_broker,
    write_lines,
    write_segment,
)
from traces.disks.replicas import compare


@pytest.fixture
def brokers(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("b1", "b2"):
        write_broker(tmp_path / name)
    return tmp_path / "b1", tmp_path / "b2"


def test_equal_replicas_agree(brokers: tuple[Path, Path]) -> None:
    assert compare([judged(each) for each in brokers]) == []
    assert compare([judged(brokers[0])]) == []


@pytest.mark.parametrize(("mark", "weight"), [(11, "violated"), (10, "report")])
def test_logs_that_part(brokers: tuple[Path, Path], mark: int, weight: str) -> None:
    one, other = brokers
    write_segment(other / "t-0", 7, [*SECOND[:3], Told(10, epoch=4)])
    for each in brokers:
        write_lines(each / "replication-offset-checkpoint", [f"t 0 {mark}"])
    (found,) = compare([judged(one), judged(other)])
    assert (found.weight, found.invariant) == (weight, "LogMatching")
    assert "part at offset 10 (epochs 3 and 4)" in found.said


def test_of_a_log_that_nothing_says_is_committed_nothing_is_demanded(
    brokers: tuple[Path, Path],
) -> None:
    one, other = brokers
    write_segment(other / "t-0", 7, [*SECOND[:3], Told(10, epoch=4)])
    (other / "replication-offset-checkpoint").unlink()
    (found,) = compare([judged(one), judged(other)])
    assert found.weight == "report" and "the least high watermark of both" in found.said


def test_a_replica_that_lacks_what_is_committed(brokers: tuple[Path, Path]) -> None:
    one, other = brokers
    write_segment(other / "t-0", 7, SECOND[:2])
    (found,) = compare([judged(one), judged(other)])
    assert found.weight == "report" and "b2/t-0 ends at 9, and 12 was committed" in found.said


def test_a_log_that_begins_later_is_compared_from_there(brokers: tuple[Path, Path]) -> None:
    one, other = brokers
    for path in (other / "t-0").glob(f"{0:020}.*"):
        path.unlink()
    assert compare([judged(one), judged(other)]) == []
    write_segment(other / "t-0", 7, [SECOND[0], Told(8, epoch=2, time=9), *SECOND[2:]])
    (found,) = compare([judged(one), judged(other)])
    assert found.weight == "violated" and "part at offset 8" in found.said
