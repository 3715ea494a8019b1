"""The engine against Kafka's own log: equal bytes, and a difference that is planted is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.live.witness.jars import versions
from kraftcheck.kafka.witness.releases import log_on_disk
from kraftcheck.kafka.witness.storage import (
    FOLDER,
    Both,
    Compared,
    Differs,
    Ended,
    compare,
    compare_crashes,
    hosted,
    tell,
)
from kraftcheck.reference.storage.as_kafka import AsKafka
from kraftcheck.reference.storage.batches import Corrupt, data_batch, records_of
from kraftcheck.reference.storage.disk import Crash, MemoryDisk
from kraftcheck.reference.storage.histories import FIRST_TIME, Operation
from kraftcheck.reference.storage.loading import load
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.rules import Config
from tests.kraftcheck.stored_storage import asked_anew, stored

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


DRAWN = settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)


def test_histories_that_are_drawn_lead_to_the_same_bytes(host: Host, tmp_path: Path) -> None:
    """By Hypothesis, which makes one that does not small; so many as its profile says."""
    total = Compared()

    @DRAWN
    @given(chance=st.randoms(use_true_random=False), operations=st.integers(1, 40))
    def told(chance: Random, operations: int) -> None:
        tell(host, tmp_path / "t", chance, total, operations, dumps=True)

    told()
    assert total.operations > 100
    assert total.dumped > 100


def test_of_an_index_at_work_the_tool_says_the_same(host: Host, tmp_path: Path) -> None:
    """Of Kafka's own it complains where the log has no record, and of entries that were cut."""
    fresh = Both(host, tmp_path / "t", SMALL)
    fresh.open(FIRST_TIME)
    assert host.ask([f"dump {tmp_path}/t/{FOLDER}/{0:020}.index"]) == [
        "!NoSuchElementException null"
    ]
    assert fresh.dump() == (3, 1)
    both = Both(host, tmp_path / "u", Config(segment_bytes=1000, index_bytes=120, index_interval=0))
    both.open(FIRST_TIME)
    for operation in (*map(appended, (b"a", b"b", b"c")), Operation("truncate", ("1",))):
        both.perform(operation)
    accepted, complaints = both.dump()
    assert accepted > 3 and complaints == 1


def test_a_file_that_the_tool_does_not_accept_is_seen(host: Host, tmp_path: Path) -> None:
    """Planted: an entry that leads into the middle of a batch, on our side."""
    both = Both(host, tmp_path / "t", SMALL)
    both.open(FIRST_TIME)
    for key in (b"a", b"b", b"c", b"d", b"e"):
        both.perform(appended(key))
    name = next(path for path in both.disk.content() if path.endswith(f"{0:020}.index"))
    both.disk.write(name, 4, b"\0\0\0\5")
    with pytest.raises(Differs, match="DumpLogSegments says"):
        both.dump()


def test_a_difference_is_made_small(host: Host, tmp_path: Path) -> None:
    """Planted: an entry of the index for each batch."""
    made: list[int] = []

    @DRAWN
    @given(chance=st.randoms(use_true_random=False), operations=st.integers(1, 40))
    def told(chance: Random, operations: int) -> None:
        total = Compared()
        try:
            tell(host, tmp_path / "t", chance, total, operations, dumps=False, rules=IndexesMore)
        except Differs:
            made.append(total.operations)
            raise

    with pytest.raises(Differs, match="index"):
        told()
    assert made[-1] < 4


def test_what_crashes_leave_is_recovered_alike(host: Host, tmp_path: Path) -> None:
    total = Compared()
    for seed in range(3):
        compare_crashes(host, tmp_path / "c", seed, 5, total)
    assert total.differ == []
    assert total.crashed > 10


def test_what_is_stored_is_what_kafka_says(host: Host, tmp_path: Path) -> None:
    """What is held against the engine where there is no Java."""
    assert asked_anew(host, tmp_path / "t") == stored()


def test_other_releases_write_the_same_bytes() -> None:
    """But for 4.4, whose index keeps its room as the log is closed; 4.0 has its log in Scala."""
    told = {version: log_on_disk(version, 3) for version in versions()}
    assert told.pop("4.0.2")["not_driven"] == "a storage of Apache Kafka since 4.1, not of 4.0.2"
    differ = told.pop("4.4.0")["differ"]
    assert differ and all("close: " in each and ".index: " in each for each in differ)
    assert [each["differ"] for each in told.values()] == [[] for _ in told]
    assert all(each["operations"] > 100 for each in told.values())


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


def idempotent(sequence: int, key: bytes = b"a") -> Operation:
    data = data_batch([(key, b"v" * 60)], FIRST_TIME, 7, 0, sequence)
    return Operation("leader", ("0", "client", data.hex()))


# -- Where Kafka decides otherwise (docs/reference/storage.md), each with a control


@pytest.mark.parametrize(
    ("late", "end"), [(True, 3), (False, 1)], ids=["behind the truncation", "control"]
)
def test_a_late_flush_counts_what_comes_after_as_flushed(
    host: Host, tmp_path: Path, late: bool, end: int
) -> None:
    """`flushed_upto`: the flush behind a roll runs behind a truncation. What is appended then lies
    below the recovery point, so that no later flush syncs it, and a start does not look whether a
    power loss has torn it."""
    both = Both(host, tmp_path / "t", SMALL)
    both.open(FIRST_TIME)
    cut, tasks = Operation("truncate", ("1",)), Operation("tasks")
    behind = [cut, tasks] if late else [tasks, cut]
    for operation in (*map(appended, (b"a", b"b", b"c")), *behind, appended(b"d"), appended(b"e")):
        both.perform(operation)
    log = both.log
    assert (log.end, log.recovery_point, log.active.base) == (3, 2 if late else 1, 2)
    content = both.disk.content()
    path = f"{FOLDER}/{0:020}.log"
    content[path] = content[path][:-20] + bytes(20)
    again = Both(host, tmp_path / "u", SMALL, content)
    again.open(FIRST_TIME, recovery_point=log.recovery_point, clean=False)
    assert again.log.end == end


def lacks_a(content: dict[str, bytes], config: Config) -> bool:
    """Whether the engine, with Kafka's rules, starts from it, and has no value of this key."""
    try:
        log = load(MemoryDisk(content), FOLDER, AsKafka(config), FIRST_TIME, clean=False)
    except Corrupt:  # `recovers_early`
        return False
    return b"a" not in keys_of(log)


def keys_of(log: Log) -> set[bytes | None]:
    batches = log.read(log.start, log.end)
    return {record.key for batch in batches for record in records_of(batch)}


@pytest.mark.parametrize("flushed", [False, True], ids=["not flushed", "control"])
def test_what_was_not_flushed_takes_an_older_record_away(
    host: Host, tmp_path: Path, flushed: bool
) -> None:
    """`flushes_before_cleaning`: a value that a later one replaces is cleaned away, and durably so;
    the later one, whose flush stands still, is lost with the power before the round is over."""
    config = Config(segment_bytes=200, index_bytes=120, index_interval=0, compact=True)
    before = Both(host, tmp_path / "s", config)
    before.open(FIRST_TIME)
    for key in (b"a", b"b"):
        before.perform(appended(key))
    both = Both(host, tmp_path / "t", config, before.disk.content())
    both.open(FIRST_TIME, recovery_point=2)
    for operation in (appended(b"a"), appended(b"c"), Operation("hw", ("4",))):
        both.perform(operation)
    if flushed:
        both.perform(Operation("tasks"))
    both.perform(Operation("clean", ("0", "3", "1000")))
    assert [each.base for each in both.log.read(0, both.log.end)] == [1, 2, 3]
    crashes = [Crash(both.disk, upto) for upto in range(len(both.disk.journal))]
    states = [crash.drawn(Random(seed), "ordered") for crash in crashes for seed in range(5)]
    lost = [state for state in states if lacks_a(state, config)]
    assert bool(lost) == (not flushed)
    if lost:
        again = Both(host, tmp_path / "u", config, lost[0])
        again.open(FIRST_TIME, clean=False)
        assert b"a" not in keys_of(again.log)


@pytest.mark.parametrize(
    ("recovery_point", "end"), [(0, 1), (1, 3)], ids=["not flushed", "control"]
)
def test_a_torn_segment_below_the_start_takes_those_above(
    host: Host, tmp_path: Path, recovery_point: int, end: int
) -> None:
    """`drops_below_start`, `recovers_from`: a segment that nobody reads any more, and whose flush
    stood still, is torn by a power loss; those above it were synced."""
    config = Config(segment_bytes=200, index_bytes=120, index_interval=0)
    both = Both(host, tmp_path / "t", config)
    both.open(FIRST_TIME)
    for key in (b"a", b"b", b"c"):
        both.perform(appended(key))
    content = both.disk.content()
    path = f"{FOLDER}/{0:020}.log"
    content[path] = content[path][:-20] + bytes(20)
    again = Both(host, tmp_path / "u", config, content)
    again.open(FIRST_TIME, start=1, recovery_point=recovery_point, clean=False)
    assert again.log.end == end


@pytest.mark.parametrize("above", [True, False], ids=["above", "control"])
def test_the_last_of_a_producer_is_cleaned_away_for_one_that_is_cut(
    host: Host, tmp_path: Path, above: bool
) -> None:
    """`last_by_committed`: what lies above the high watermark is taken for a producer's last batch,
    and the committed one goes. The other one is cut: a retry of the first is appended again."""
    config = Config(segment_bytes=200, index_bytes=120, index_interval=0, compact=True)
    both = Both(host, tmp_path / "t", config)
    both.open(FIRST_TIME)
    for operation in (idempotent(0), appended(b"a"), Operation("hw", ("2",))):
        both.perform(operation)
    both.perform(idempotent(1) if above else appended(b"c"))
    both.perform(Operation("clean", ("0", "2", "1000")))
    both.perform(Operation("truncate", ("2",)))
    both.perform(Operation("crash"))
    end = both.log.end
    both.perform(idempotent(0))
    assert both.log.end == (end + 1 if above else end)
