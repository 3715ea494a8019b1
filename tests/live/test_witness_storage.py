"""The engine against Kafka's own log: equal bytes, and a difference that is planted is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.witness.storage import (
    FOLDER,
    Both,
    Compared,
    Differs,
    Ended,
    compare,
    compare_crashes,
    hosted,
)
from live.witness.host import Host
from reference.storage.as_kafka import AsKafka
from reference.storage.batches import data_batch
from reference.storage.histories import FIRST_TIME, Operation
from reference.storage.rules import Config

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.xdist_group("storage"),
]
SMALL = Config(segment_bytes=300, index_bytes=120, index_interval=0)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with hosted() as found:
        yield found


def appended(key: bytes) -> Operation:
    data = data_batch([(key, b"v" * 60)], FIRST_TIME)
    return Operation("leader", ("0", "client", data.hex()))


def test_the_same_operations_lead_to_the_same_bytes(host: Host, tmp_path: Path) -> None:
    total = Compared()
    for seed in (0, 3, 6, 50):
        compare(host, tmp_path / "t", seed, total)
    assert total.differ == []
    assert total.operations > 100
    assert total.dumped > 0


def test_what_crashes_leave_is_recovered_alike(host: Host, tmp_path: Path) -> None:
    total = Compared()
    for seed in range(3):
        compare_crashes(host, tmp_path / "c", seed, 5, total)
    assert total.differ == []
    assert total.crashed > 10


class IndexesMore(AsKafka):
    """A fault: an entry for each batch, however small."""

    __slots__ = ()

    def index_due(self, since: int) -> bool:
        return since >= self.config.index_interval


def test_a_planted_difference_is_seen(host: Host, tmp_path: Path) -> None:
    both = Both(host, tmp_path / "t", SMALL, rules=IndexesMore)
    with pytest.raises(Differs, match="index: 120 bytes and 120, from"):
        both.open(FIRST_TIME)
        for key in (b"a", b"b"):
            both.perform(appended(key))


def test_kafka_does_not_start_behind_a_torn_segment(host: Host, tmp_path: Path) -> None:
    """A power loss left a new segment whose index has no name, and zeros in the one before."""
    both = Both(host, tmp_path / "t", SMALL)
    both.open(FIRST_TIME)
    for operation in (appended(b"a"), appended(b"b"), Operation("roll"), appended(b"c")):
        both.perform(operation)
    content = both.disk.content()
    first, second = [path for path in content if path.endswith(".log")]
    for end in (".index", ".snapshot"):
        del content[second.replace(".log", end)]
    half = len(content[first]) // 2
    content[first] = content[first][:half] + bytes(half)
    with pytest.raises(Ended, match="CorruptRecordException Found record size 0"):
        Both(host, tmp_path / "u", SMALL, content).open(FIRST_TIME, clean=False)


@pytest.mark.parametrize(
    ("survivors", "left"), [((0,), [0, 1, 3]), ((0, 2), [0, 2, 3])], ids=["below", "control"]
)
def test_a_swap_takes_the_place_of_what_its_survivors_span(
    host: Host, tmp_path: Path, survivors: tuple[int, ...], left: list[int]
) -> None:
    """H10: of a group of three segments the last one's old name is gone, the one before it still
    there. Where nothing is left of either, the one that is there is taken for the log's: a value
    without the tombstone behind it. (Renames in order do not leave that.)"""
    config = Config(segment_bytes=90, index_bytes=120, index_interval=0, compact=True)
    both = Both(host, tmp_path / "t", config)
    both.open(FIRST_TIME)
    for at in range(4):
        data = data_batch([(b"k%d" % (at % 2), None if at == 2 else b"v" * 20)], FIRST_TIME)
        both.perform(Operation("leader", ("0", "client", data.hex())))
    content = both.disk.content()
    logs = {at: f"{FOLDER}/{at:020}" for at in range(4)}
    assert all(f"{logs[at]}.log" in content for at in logs)
    swap = b"".join(content[f"{logs[at]}.log"] for at in survivors)
    for at in (0, 2):
        for path in [path for path in content if path.startswith(f"{logs[at]}.")]:
            del content[path]
    content[f"{logs[0]}.log.swap"] = swap
    recovered = Both(host, tmp_path / "u", config, content)
    recovered.open(FIRST_TIME, clean=False)
    assert [batch.base for batch in recovered.log.read(0, recovered.log.end)] == left
