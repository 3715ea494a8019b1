"""Replicas side by side: what is committed is the same."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from kraftcheck.kafka.disks.files import Remembered
from kraftcheck.kafka.disks.replicas import compare, partings
from tests.kafka.disks.written import (
    SECOND,
    Laid,
    judged,
    write_broker,
    write_lines,
    write_segment,
    write_snapshot,
)


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
    write_segment(other / "t-0", 7, [*SECOND[:3], Laid(10, epoch=4)])
    for each in brokers:
        write_lines(each / "replication-offset-checkpoint", [f"t 0 {mark}"])
    (found,) = compare([judged(one), judged(other)])
    assert (found.weight, found.invariant) == (weight, "LogMatching")
    assert "part at offset 10 (epochs 3 and 4)" in found.said


def test_of_a_log_that_nothing_says_is_committed_nothing_is_demanded(
    brokers: tuple[Path, Path],
) -> None:
    one, other = brokers
    write_segment(other / "t-0", 7, [*SECOND[:3], Laid(10, epoch=4)])
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
    (found,) = compare([judged(one), judged(other)])
    assert (found.weight, found.invariant) == ("report", "SameStart")
    assert "b1/t-0 begins at 0" in found.said and "b2/t-0 at 7" in found.said
    write_segment(other / "t-0", 7, [SECOND[0], Laid(8, epoch=2, time=9), *SECOND[2:]])
    (found,) = compare([judged(one), judged(other)])
    assert found.weight == "violated" and "part at offset 8" in found.said


def test_what_is_said_of_deleted_records_is_the_same(brokers: tuple[Path, Path]) -> None:
    """Where the log has them no longer, neither's own judge knows what is right."""
    for each in brokers:
        for path in (each / "t-0").glob(f"{0:020}.*"):
            path.unlink()
    one, other = (each / "t-0" / f"{7:020}" for each in brokers)
    for path, stable in ((one, 7), (other, 9)):
        entry = struct.pack(">hqqqq", 0, 9, 2, 6, stable)
        path.with_suffix(".txnindex").write_bytes(entry)
    write_snapshot(other.parent, 7, {5: Remembered(0, 1, 2, -1)})
    found = {each.invariant: each for each in compare([judged(each) for each in brokers])}
    assert {name: each.weight for name, each in found.items()} == {
        "TxnIndexExact": "report", "ProducerStateReplays": "report"
    }  # fmt: skip
    assert "producer 9 up to 6: from 2, last stable offset 7, and from 2, last stable offset 9" in (
        found["TxnIndexExact"].said
    )
    assert "producer 5: epoch 0, sequence 2, offset 2, transaction -1, and epoch 0, sequence 1" in (
        found["ProducerStateReplays"].said
    )


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (["0 0", "2 9", "3 10"], ["epoch 0 ends at 7 as "]),
        (["0 0", "3 10"], ["epoch 0 ends at 7 as "]),
        (["0 0", "2 7", "3 10", "4 12"], []),
        (["2 7", "3 10"], []),
        (["0 0"], []),
        ([], []),
    ],
)
def test_epochs_that_are_over_end_at_one_offset(
    brokers: tuple[Path, Path], told: list[str], said: list[str]
) -> None:
    """Z222: a replica that copied a cleaned log has others."""
    one, other = brokers
    write_lines(other / "t-0" / "leader-epoch-checkpoint", told)
    found = compare([judged(one), judged(other)])
    assert [(each.weight, each.invariant) for each in found] == [
        ("report", "EpochCacheSound")
    ] * len(said)
    assert all(text in each.said for text, each in zip(said, found, strict=True))


@pytest.mark.parametrize("most", [1, 3, 1 << 13])
@pytest.mark.parametrize("seed", range(8))
def test_where_logs_part_is_where_their_batches_do(
    brokers: tuple[Path, Path], seed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However coarse the sums are: with holes, other starts, other ends, or none at all."""
    monkeypatch.setattr("kraftcheck.kafka.disks.sums.MOST", most)
    chance = random.Random(seed)
    told, at = [], 0
    for _ in range(60):
        told.append(Laid(at, records=chance.randint(1, 3)))
        at = told[-1].base + told[-1].records + chance.choice((0, 0, 0, 40))
    logs = [told[chance.randrange(20) :], told[chance.randrange(20) : 60 - chance.randrange(20)]]
    changed = chance.randrange(20, 60)
    if seed % 4:
        logs[1] = [each for each in logs[1] if each.base != told[changed].base]
        if seed % 4 == 1:
            more = told[changed]._replace(epoch=1)
            logs[1] = sorted([*logs[1], more])
    for folder, log in zip(brokers, logs, strict=True):
        for path in (folder / "t-0").glob("0*"):
            path.unlink()
        for part in (log[:17], log[17:]):
            write_segment(folder / "t-0", part[0].base, part)
    begin = max(log[0].base for log in logs)
    pairs = zip(*([each for each in log if each.base >= begin] for log in logs), strict=False)
    expected = [min(one.base, two.base) for one, two in pairs if one != two][:1]
    found = partings([judged(each) for each in brokers])
    assert [each.offset for each in found] == expected
