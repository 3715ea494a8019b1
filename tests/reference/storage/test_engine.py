"""The engine: what crashes leave is recovered, planted faults are seen, Kafka's way is known."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from kraftcheck.kafka.disks.directory import read
from kraftcheck.kafka.disks.partition import judge as judge_folder
from kraftcheck.reference.storage.as_kafka import AsKafka
from kraftcheck.reference.storage.batches import (
    Record,
    batches_of,
    data_batch,
    encoded,
    fault_of,
    header_of,
    marker_batch,
    records_of,
)
from kraftcheck.reference.storage.broker import CLEAN, Broker
from kraftcheck.reference.storage.crashing import (
    Story,
    enumerated,
    judge,
    judged_start,
    played,
)
from kraftcheck.reference.storage.disk import Change, Crash, MemoryDisk, killed
from kraftcheck.reference.storage.histories import FIRST_TIME, Operation
from kraftcheck.reference.storage.judging import judge_failing
from kraftcheck.reference.storage.promises import batches_in
from kraftcheck.reference.storage.rules import Config, StorageRules

SMALL = Config(segment_bytes=300, index_bytes=120, index_interval=0)


def told(story: Story, *operations: str) -> Story:
    for each in operations:
        name, *words = each.split()
        story.perform(Operation(name, tuple(words)))
    return story


def leader(key: bytes = b"k", epoch: int = 0, pad: int = 60) -> str:
    return f"leader {epoch} client {data_batch([(key, b'v' * pad)], FIRST_TIME).hex()}"


def test_a_batch_is_read_as_it_was_written() -> None:
    data = data_batch([(b"a", None), (None, b"value")], 1000, 7, 2, 5, transactional=True)
    batch = header_of(data)
    assert not fault_of(data)
    assert (batch.last, batch.producer, batch.last_sequence, batch.records) == (1, 7, 6, 2)
    assert list(records_of(batch)) == [
        Record(0, 1000, b"a", None),
        Record(1, 1000, None, b"value"),
    ]
    assert encoded(batch, list(records_of(batch))) == data
    assert fault_of(data[:-1] + b"?") == "the checksum of the batch of offset 0 does not fit"
    assert header_of(marker_batch(False, 1000, 7, 2)).marker == "ABORT"


@pytest.mark.slow
def test_every_state_that_a_short_history_may_leave_is_recovered() -> None:
    """Exhaustively, of up to three appends between syncs."""
    story = told(Story(StorageRules(SMALL), FIRST_TIME), leader(b"a"), "flush", "checkpoint")
    begin = len(story.disk.journal)
    told(story, leader(b"b"), leader(b"c"), leader(b"d"))
    count = 0
    for upto, content in enumerated(story, range(begin, len(story.disk.journal) + 1, 3)):
        assert judged_start(story, upto, content)[0] == []
        count += 1
    assert count > 1000


def test_histories_by_chance_keep_all_promises() -> None:
    for seed in range(8):
        assert judge(StorageRules, seed, 30).found == []


def test_as_kafka_decides_promises_are_broken() -> None:
    found = {each.promise for seed in range(12) for each in judge(AsKafka, seed, 30).found}
    assert found >= {"ProducerStateReplays", "IndexLowerBound", "FlushedSurvives"}


def test_a_start_of_kafka_fails_where_ours_does_not() -> None:
    """A new segment whose index has no name yet, after a torn one (docs/reference/storage.md)."""
    story = told(Story(AsKafka(SMALL), FIRST_TIME), "checkpoint", leader(b"a"), leader(b"b"))
    told(story, "roll", leader(b"c"))
    content = story.crash(len(story.disk.journal)).process()
    [first, second] = [path for path in content if path.endswith(".log")]
    for end in (".index", ".snapshot"):
        del content[second.replace(".log", end)]
    half = len(content[first]) // 2  # The second of two batches: its pages were never written.
    content[first] = content[first][:half] + bytes(half)
    assert judged_start(story, len(story.disk.journal), content)[0][0].promise == "StartUpTotal"
    story.rules = StorageRules(SMALL)
    assert judged_start(story, len(story.disk.journal), content)[0] == []


def test_what_is_lost_is_missed() -> None:
    """A fault planted in what a crash leaves: of what was flushed a batch is gone."""
    story = told(Story(StorageRules(SMALL), FIRST_TIME), leader(), leader(), "flush", "checkpoint")
    upto = len(story.disk.journal)
    content = story.crash(upto).process()
    path = next(path for path in content if path.endswith(".log"))
    assert judged_start(story, upto, content)[0] == []
    content[path] = content[path][: len(content[path]) // 2]
    promises = {each.promise for each in judged_start(story, upto, content)[0]}
    assert promises == {"FlushedSurvives"}


def test_what_a_sync_has_covered_is_certain() -> None:
    disk = MemoryDisk()
    disk.create("t-0/a")
    disk.write("t-0/a", 0, b"one")
    disk.make_folder("t-0")
    disk.sync("t-0/a")
    disk.sync_folder("t-0")
    disk.sync_folder("")
    disk.write("t-0/a", 3, b"two")
    disk.create("t-0/b")
    disk.rename("t-0/b", "t-0/c")
    states = list(Crash(disk, len(disk.journal)).states())
    assert all(each["t-0/a"].startswith(b"one") for each in states)
    assert {each["t-0/a"] for each in states} >= {b"one", b"onetwo", b"one\0\0\0"}
    assert {("t-0/b" in each, "t-0/c" in each) for each in states} == {
        (False, False),
        (True, False),
        (False, True),
    }
    free = [Crash(disk, len(disk.journal)).drawn(Random(seed), "free") for seed in range(50)]
    assert any("t-0/c" in each for each in free)


@pytest.mark.parametrize("seed", [2, 5, 11, 17, 23])
def test_the_judge_of_disks_accepts_ours(seed: int, tmp_path: Path) -> None:
    """After a start and a clean stop; with what only reports an operator wants to see."""
    story = played(StorageRules, seed, 30)
    told(story, "tasks")
    story.broker.stop()
    for path, data in story.disk.content().items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    for place in read(tmp_path).places:
        found = judge_folder(place.path, place.common)
        assert [each for each in found.findings if each.weight == "violated"] == []
        assert found.end == batches_in(story.broker.log)[-1].last + 1


def test_names_that_come_apart_are_survived() -> None:
    """Free mode: of a cleaner's swap, of two rolls, of the index of aborted transactions."""
    for seed in (4, 6, 171):
        assert judge(StorageRules, seed, 60, mode="free").found == []
    kafka = [judge(AsKafka, seed, 60, mode="free").found for seed in (4, 6, 171)]
    assert any(kafka)


def test_an_emptied_marker_opens_nothing() -> None:
    """A cleaned COMMIT of which only the batch is left, as a producer's last: none is open."""
    assert judge_failing(StorageRules, 744).found == []


def test_the_index_of_aborted_transactions_has_a_durable_name() -> None:
    """It comes into a segment whose own name is durable already."""
    story = told(Story(StorageRules(Config(flush_messages=1)), FIRST_TIME))
    opened = data_batch([(b"k", b"v")], FIRST_TIME, 8, 0, 0, transactional=True)
    told(story, f"leader 0 client {opened.hex()}")
    told(story, f"leader 0 coordinator {marker_batch(False, FIRST_TIME, 8, 0).hex()}", "checkpoint")
    upto = len(story.disk.journal)
    states = [content for _, content in enumerated(story, [upto])]
    assert states and all("t-0/00000000000000000000.txnindex" in each for each in states)


def test_a_marker_that_a_killed_start_removed_stays_away() -> None:
    """The kill comes between the removal and its sync; the power fails in the next start."""
    story = told(Story(StorageRules(SMALL), FIRST_TIME), leader(), "checkpoint")
    story.broker.stop()
    begun = len(story.disk.journal)
    Broker(story.disk, story.rules, FIRST_TIME)
    removed = next(
        at
        for at, each in enumerate(story.disk.journal)
        if at >= begun and isinstance(each, Change) and each.gone == CLEAN
    )
    disk = killed(story.disk, removed + 1)
    assert CLEAN not in disk.content()
    assert any(CLEAN in each for each in Crash(disk, removed + 1).states())
    Broker(disk, story.rules, FIRST_TIME)
    assert not any(CLEAN in each for each in Crash(disk, len(disk.journal)).states())


def test_what_recovery_drops_goes_from_the_end() -> None:
    """A hole never comes between what stays and what is dropped, wherever a second crash comes."""
    config = Config(segment_bytes=200, index_bytes=120, index_interval=0)
    story = told(Story(StorageRules(config), FIRST_TIME), "checkpoint")
    told(story, *(leader(b"%d" % at, epoch=at // 2) for at in range(6)))
    content = story.crash(len(story.disk.journal)).process()
    logs = [path for path in content if path.endswith(".log")]
    assert len(logs) > 4
    content[logs[1]] = bytes(len(content[logs[1]]))
    disk = MemoryDisk(content)
    Broker(disk, story.rules, FIRST_TIME)
    for upto in range(len(disk.journal) + 1):
        bases = [
            int(path[4:24])
            for path in Crash(disk, upto).process()
            if path.endswith(".log") and int(path[4:24]) > 1
        ]
        assert bases == list(range(2, 2 + len(bases)))


@pytest.mark.parametrize("offset", [0, 9, 12])
def test_a_crash_while_a_replica_starts_anew_leaves_the_log_up_to_an_offset(offset: int) -> None:
    """Or nothing: it went from the lowest segment on, and a log was left that begins higher than
    anybody deleted (seed 50073). offset: below, and above, what there was."""
    config = Config(segment_bytes=200, index_bytes=120, index_interval=0)
    broken: dict[type[StorageRules], set[str]] = {}
    for rules in (StorageRules, AsKafka):
        story = told(Story(rules(config), FIRST_TIME), *[leader(pad=80)] * 6, "flush", "tasks")
        begin = len(story.disk.journal)
        told(story, f"anew {offset}", "checkpoint")
        assert story.broker.log.segments[0].base == offset
        broken[rules] = {
            each.promise
            for upto in range(begin, len(story.disk.journal) + 1)
            for each in judged_start(story, upto, story.crash(upto).process())[0]
        }
    assert not broken[StorageRules]
    assert ("RecoveredIsPrefix" in broken[AsKafka]) is (offset == 0)


def test_a_crash_while_a_compacted_log_is_given_up_leaves_all_of_it_or_nothing() -> None:
    """Of what is above, older records may be cleaned away: a log up to an offset lacks values."""
    config = Config(segment_bytes=200, index_bytes=120, index_interval=0, compact=True)
    story = told(Story(StorageRules(config), FIRST_TIME), *[leader(pad=80)] * 6, "hw 6")
    told(story, "clean 0 5 100", "flush", "checkpoint")
    begin = len(story.disk.journal)
    told(story, "anew 9", "checkpoint")
    found = [story.crash(at).process() for at in range(begin, len(story.disk.journal) + 1)]
    starts = [judged_start(story, begin + at, each) for at, each in enumerate(found)]
    assert not any(wrong for wrong, _, _ in starts)
    assert {broker.log.end for _, broker, _ in starts if broker is not None} == {6, 9}


def test_a_crash_while_a_swap_is_given_up_leaves_no_index_of_it() -> None:
    """Free mode: of its files the log is gone, and an index is there, which a start would take for
    the rest of a swap."""
    base = f"t-0/{0:020}"
    story = told(Story(StorageRules(SMALL), FIRST_TIME), leader(), "flush", "checkpoint")
    content = story.crash(len(story.disk.journal)).process()
    for end in (".log.swap", ".index.swap", ".timeindex.cleaned"):
        content[base + end] = content[base + end[: end.index(".", 1)]]
    for rules, sound in ((StorageRules, True), (AsKafka, False)):
        disk = MemoryDisk(content)
        Broker(disk, rules(SMALL), FIRST_TIME)
        left = [
            Crash(disk, upto).drawn(Random(seed), "free")
            for upto in range(len(disk.journal) + 1)
            for seed in range(40)
        ]
        alone = [f"{base}.index.swap" in each and f"{base}.log.swap" not in each for each in left]
        assert any(alone) is not sound


def test_a_segment_made_anew_has_a_durable_name_before_the_next() -> None:
    """Free mode: an epoch is known by what was refused; an empty segment is rolled, and filled."""
    operations = (leader(pad=400), "roll", leader(b"b"), "roll")
    for rules, sound in ((StorageRules, True), (AsKafka, False)):
        story = told(Story(rules(SMALL), FIRST_TIME), *operations)
        crash = story.crash(len(story.disk.journal))
        left = [crash.drawn(Random(seed), "free") for seed in range(200)]
        assert any(f"t-0/{1:020}.log" in each for each in left)
        assert all(f"t-0/{0:020}.log" in each for each in left) is sound


def test_a_marker_above_the_high_watermark_ends_nothing_after_a_restart() -> None:
    """No snapshot has such a transaction: of a log with one the last stable offset would rise, and
    a cleaner would take away what the transaction is to replace, before its end is committed."""
    opened = data_batch([(b"k", b"new")], FIRST_TIME, 8, 0, 0, transactional=True)
    for rules, stable in ((StorageRules, 1), (AsKafka, 2)):
        story = told(Story(rules(SMALL), FIRST_TIME), leader(b"k", pad=3))
        told(story, f"leader 0 client {opened.hex()}", "hw 2")
        told(story, f"leader 0 coordinator {marker_batch(True, FIRST_TIME, 8, 0).hex()}")
        assert story.broker.log.last_stable == 1
        told(story, "checkpoint", "stop")
        assert (story.broker.log.high_watermark, story.broker.log.last_stable) == (2, stable)
        told(story, "hw 3")
        assert story.broker.log.last_stable == 3


def test_zeros_below_the_recovery_point_are_not_looked_at() -> None:
    """As Kafka starts, and readers find them."""
    story = told(Story(AsKafka(SMALL), FIRST_TIME), *[leader()] * 3, "roll", leader(), "flush")
    content = story.crash(len(story.disk.journal)).process()
    path = f"t-0/{0:020}.log"
    content[path] = content[path][:130] + bytes(len(content[path]) - 130)
    content["recovery-point-offset-checkpoint"] = b"0\n1\nt 0 3\n"
    assert Broker(MemoryDisk(content), story.rules, FIRST_TIME).log.end == 4


def test_the_epoch_file_of_a_start_is_written_before_anything_is_appended() -> None:
    """An epoch was noted and its record lost; a record of the one before takes the place; the
    process is killed. (Found by the model storage-starts.)"""
    for rules, sound in ((StorageRules, True), (AsKafka, False)):
        story = told(Story(rules(SMALL), FIRST_TIME), leader(epoch=0), "flush", "checkpoint")
        told(story, leader(epoch=1))
        content = story.crash(len(story.disk.journal)).process()
        path = "t-0/00000000000000000000.log"
        content[path] = content[path][: len(content[path]) // 2]
        again = Story(rules(SMALL), FIRST_TIME, content)
        told(again, leader(b"other", epoch=0))
        upto = len(again.disk.journal)
        wrong, _, _ = judged_start(again, upto, again.crash(upto).process())
        assert ("EpochCacheSound" not in {each.promise for each in wrong}) is sound


def test_batches_of_a_file_end_where_it_is_torn() -> None:
    data = data_batch([(b"a", b"b")], 1000)
    assert [position for position, _ in batches_of(data + data[:40])] == [0]
