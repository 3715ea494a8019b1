"""Compacted replicas side by side: each cleaned at its own time, and read the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.kafka.disks.found import DiskReplica, Finding
from kraftcheck.kafka.disks.replicas import compare
from kraftcheck.reference.storage.batches import data_batch, marker_batch
from kraftcheck.reference.storage.cleaning import first_uncleanable
from kraftcheck.reference.storage.crashing import Story, played
from kraftcheck.reference.storage.histories import FIRST_TIME, Operation
from kraftcheck.reference.storage.rules import Config, StorageRules
from tests.kafka.disks.written import judged, write_lines

CONFIG = Config(segment_bytes=300, index_interval=0, compact=True, delete_retention=0)
VALUES = ((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"b", None), (b"c", b"2"))


class CompactedFacts:
    """A log in which a record is a batch."""

    def __init__(self, *records: tuple[bytes, bytes | None]) -> None:
        self.story = Story(StorageRules(CONFIG), FIRST_TIME)
        for key, value in records:
            self.append(data_batch([(key, value and value * 80)], FIRST_TIME))

    def append(self, data: bytes, origin: str = "client") -> None:
        self.do("leader", "0", origin, data.hex())

    def do(self, name: str, *words: str) -> None:
        self.story.perform(Operation(name, words))

    def written(self, folder: Path, *, cleaned: bool) -> DiskReplica:
        """After a clean stop, with all committed."""
        self.do("hw", str(self.story.broker.log.end))
        if cleaned:
            for _ in range(2):  # Tombstones go in the second round.
                self.do("now", str(self.story.broker.log.now + 1))
                self.do("clean", "0", str(first_uncleanable(self.story.broker.log)), "1000")
        return written(self.story, folder)


def written(story: Story, folder: Path) -> DiskReplica:
    story.perform(Operation("tasks"))
    story.broker.stop()
    for path, data in story.disk.content().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return judged(folder)


def both(folder: Path, *records: tuple[bytes, bytes | None]) -> list[Finding]:
    """Of a replica that has VALUES and is cleaned, and one with these records."""
    one = CompactedFacts(*VALUES).written(folder / "b1", cleaned=True)
    return compare([one, CompactedFacts(*records).written(folder / "b2", cleaned=False)])


def test_one_is_cleaned_and_the_other_not(tmp_path: Path) -> None:
    assert both(tmp_path, *VALUES) == []
    cleaned, whole = (judged(tmp_path / name) for name in ("b1", "b2"))
    assert cleaned.bytes < whole.bytes
    assert cleaned.common.compacted and not whole.common.compacted


@pytest.mark.parametrize(
    ("at", "record", "said"),
    [
        (2, (b"a", b"9"), "key 'a': {0} has a value at offset 2, {1} has a value at offset 2"),
        (4, (b"x", None), "key 'b': {0} has nothing, {1} has a value at offset 1"),
        (5, (b"d", b"2"), "key 'd': {0} has nothing, {1} has a value at offset 5"),
    ],
)
def test_a_value_that_only_one_has(
    at: int, record: tuple[bytes, bytes | None], said: str, tmp_path: Path
) -> None:
    found = both(tmp_path, *VALUES[:at], record, *VALUES[at + 1 :])
    names = [f"{tmp_path / name}/t-0" for name in ("b1", "b2")]
    assert {(each.weight, each.invariant) for each in found} == {
        ("violated", "CompactionKeepsLatest")
    }
    assert said.format(*names) in {each.said for each in found}


def test_where_nobody_says_what_is_committed_it_is_a_report(tmp_path: Path) -> None:
    both(tmp_path, *VALUES[:2], (b"a", b"9"), *VALUES[3:])
    (tmp_path / "b2" / "replication-offset-checkpoint").unlink()
    found = compare([judged(tmp_path / name) for name in ("b1", "b2")])
    assert {each.weight for each in found} == {"report"}


def test_what_is_left_of_a_batch_is_compared(tmp_path: Path) -> None:
    """Its epoch: a replica that was not truncated, where values are the same."""
    one = CompactedFacts(*VALUES).written(tmp_path / "b1", cleaned=True)
    other = CompactedFacts(*VALUES[:5])
    other.do("leader", "3", "client", data_batch([(b"c", b"2" * 80)], FIRST_TIME).hex())
    (found,) = compare([one, other.written(tmp_path / "b2", cleaned=False)])
    assert (found.weight, found.invariant) == ("violated", "LogMatching")
    assert "part at offset 5 (epochs 0 and 3)" in found.said


def test_what_was_aborted_is_no_value(tmp_path: Path) -> None:
    for name, cleaned in (("b1", True), ("b2", False)):
        told = CompactedFacts(*VALUES)
        opened = data_batch([(b"a", b"x" * 80)], FIRST_TIME, 8, 0, 0, transactional=True)
        told.append(opened)
        told.append(
            marker_batch(commit=False, time=FIRST_TIME, producer=8, producer_epoch=0), "coordinator"
        )
        told.append(data_batch([(b"z", b"z" * 80)], FIRST_TIME))
        told.do("roll")
        told.written(tmp_path / name, cleaned=cleaned)
    pair = [judged(tmp_path / name) for name in ("b1", "b2")]
    assert compare(pair) == []
    for path in (tmp_path / "b2").rglob("*.txnindex"):
        path.unlink()
    assert "key 'a'" in compare(pair)[0].said


def test_what_one_has_cleaned_and_the_other_may_not_have_is_not_compared(tmp_path: Path) -> None:
    both(tmp_path, *VALUES)
    write_lines(tmp_path / "b2" / "replication-offset-checkpoint", ["t 0 1"])
    (found,) = compare([judged(tmp_path / name) for name in ("b1", "b2")])
    assert found.weight == "report" and "known to be committed is what is below 1" in found.said


@pytest.mark.parametrize("seed", range(12))
def test_a_log_and_what_a_cleaner_makes_of_it(seed: int, tmp_path: Path) -> None:
    config = Config(segment_bytes=400, index_interval=0, compact=True, delete_retention=1000)
    one = played(StorageRules, seed, 40, config)
    one.perform(Operation("hw", (str(one.broker.log.end),)))
    before = written(one, tmp_path / "b1")
    other = Story(StorageRules(config), one.broker.log.now, one.disk.content())
    other.perform(Operation("hw", (str(other.broker.log.end),)))
    for _ in range(2):
        upto = first_uncleanable(other.broker.log)
        if upto > other.broker.log.start:
            words = (str(other.broker.log.start), str(upto), "1000")
            other.perform(Operation("clean", words))
        other.perform(Operation("now", (str(other.broker.log.now + 2000),)))
    assert compare([before, written(other, tmp_path / "b2")]) == []


def test_what_stands_behind_damage_is_not_compared(tmp_path: Path) -> None:
    assert both(tmp_path, *VALUES) == []
    log = max((tmp_path / "b2").glob("t-0/*.log"))
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    pair = [judged(tmp_path / name) for name in ("b1", "b2")]
    lag, values = compare(pair)
    assert lag.said.endswith("ends at 5, and 6 was committed")
    assert values.said.endswith("has bytes that are no batch")
