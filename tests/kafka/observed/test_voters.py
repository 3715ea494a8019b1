"""Sets of voters in a metadata log: which change is allowed, and which is not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.observed.controller import judge
from kraftcheck.kafka.observed.records import NAME, ObservedError, Record, read

RECORDED = Path(__file__).with_name("data") / "changing.metadata.jsonl.gz"


def led(offset: int, epoch: int) -> Record:
    return Record(offset, epoch, 0, "LEADER_CHANGE", 0, {"leaderId": 5}, offset + 1)


def told(offset: int, epoch: int, *voters: int, end: int = -1, disk: str = "d") -> Record:
    data: dict[str, Any] = {
        "voters": [{"voterId": v, "voterDirectoryId": f"{disk}{v}"} for v in voters]
    }
    return Record(offset, epoch, 0, "KRAFT_VOTERS", 0, data, max(end, offset + 1))


BEGUN = (Record(0, 1, 0, "LEADER_CHANGE", 0, {"leaderId": 5}, 3), told(2, 1, 5, 6, 7, end=3))


def test_sets_that_follow_each_other_by_one_voter_are_allowed() -> None:
    changes = (told(3, 1, 5, 6), led(4, 2), told(5, 2, 5, 6, 7), told(6, 2, 5, 6, 7))
    report = judge([*BEGUN, *changes])
    assert not report.findings
    assert report.steps["a voter removed"] == report.steps["a voter added"] == 1
    assert report.steps["voters as they were"] == report.steps["a voter updated"] == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (told(3, 1, 5), "more than one change"),
        (told(3, 1, 5, 6, 8), "more than one change"),
        (told(3, 1, 5, 6, 7, disk="e"), "more than one change"),
        (told(3, 2, 5, 6), "no leader has written before"),
        (told(3, 1, 5, 6, 6), "an id twice"),
        (told(2, 1, 5, 6, end=3), "with the first record of a leader"),
    ],
)
def test_others_are_not(change: Record, reason: str) -> None:
    [finding] = judge([*BEGUN, change]).findings
    assert finding.subject == "voters" and reason in finding.reason


def test_a_cluster_that_changes(tmp_path: Path) -> None:
    """Kafka 4.3.1: a controller leaves the voters and joins them, a topic is deleted and made anew,
    replicas move there and back (`record --inject voter --inject recreate --inject move`).
    """
    (tmp_path / NAME).write_bytes(gzip.decompress(RECORDED.read_bytes()))
    records = read(tmp_path / NAME)
    report = judge(records)
    assert not report.findings
    wanted = ("a voter removed", "a voter added", "change by reassignment ended")
    assert [report.steps[each] for each in wanted] == [1, 1, 2]
    assert report.unjudged["REMOVE_TOPIC_RECORD"] == 1
    *before, last = [each for each in records if each.kind == "KRAFT_VOTERS"]
    last.data["voters"][:] = [*last.data["voters"][:1]]
    [finding] = judge(records).findings
    assert finding.offset == last.offset and len(before) == 2


def test_a_log_that_goes_on_from_a_snapshot_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(msgspec.json.encode(BEGUN[1]))
    with pytest.raises(ObservedError, match="begins at offset 2, behind a snapshot"):
        read(tmp_path / NAME)
