"""A directory of a partition: what Kafka writes holds, and each planted fault is found by name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.kafka.disks.files import Aborted, Remembered
from kraftcheck.kafka.disks.found import Common, Finding, verdict_of
from kraftcheck.kafka.disks.partition import judge
from tests.kafka.disks.written import (
    ABORTED,
    FIRST,
    SECOND,
    Laid,
    bytes_of,
    judged,
    write_broker,
    write_lines,
    write_segment,
    write_snapshot,
)

LOG, NEXT = f"{0:020}.log", f"{7:020}.log"
Fault = Callable[[Path], None]


def test_what_a_broker_writes_holds(tmp_path: Path) -> None:
    write_broker(tmp_path)
    found = judged(tmp_path)
    assert found.findings == []
    assert (found.start, found.end, found.segments) == (0, 12, 2)
    assert found.epochs == [(0, 0), (2, 7), (3, 10)]
    assert (found.bytes, found.synced, found.transactions) == (found.synced, found.bytes, 2)


def test_batches_that_straddle_blocks_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_broker(tmp_path)
    for size in (61, 64, 100, 150, 1000):
        monkeypatch.setattr("kraftcheck.kafka.disks.batches.BLOCK", size)
        assert judged(tmp_path).findings == [] and judged(tmp_path).end == 12


# -- Faults


def written(name: str, data: bytes) -> Fault:
    def plant(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return plant


def segment(*batches: Laid, base: int = 7) -> Fault:
    """The segment with other batches, and indexes that fit them."""
    return lambda folder: write_segment(folder, base, batches)


def altered(name: str, at: int, data: bytes) -> Fault:
    def plant(folder: Path) -> None:
        whole = bytearray((folder / name).read_bytes())
        whole[at : at + len(data)] = data
        (folder / name).write_bytes(whole)

    return plant


def appended(name: str, data: bytes) -> Fault:
    def plant(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.write(data)

    return plant


def transactions(*entries: Aborted) -> Fault:
    return lambda folder: write_segment(folder, 0, FIRST, entries)


def remembered(offset: int, **producers: Remembered) -> Fault:
    told = {int(name[1:]): each for name, each in producers.items()}
    return lambda folder: write_snapshot(folder, offset, told)


def epochs(*lines: str) -> Fault:
    return lambda folder: write_lines(folder / "leader-epoch-checkpoint", lines)


def marks(name: str, offset: int) -> Fault:
    path = f"{name}-offset-checkpoint"
    return lambda folder: write_lines(folder.parent / path, [f"t 0 {offset}"])


def without_snapshots(folder: Path) -> None:
    for path in folder.glob("*.snapshot"):
        path.unlink()


VIOLATED: dict[str, tuple[Fault, str, str]] = {
    "a byte of a record": (altered(LOG, 70, b"y"), "BatchesWhole", "checksum of the batch"),
    "a length": (altered(LOG, 8, b"\0\0\0\1"), "BatchesWhole", "a batch of 13 bytes"),
    "a version": (altered(LOG, 16, b"\1"), "BatchesWhole", "version 1"),
    "a torn end": (appended(NEXT, bytes_of(Laid(12))[:80]), "BatchesWhole", "80 of them"),
    "a few bytes": (appended(NEXT, b"abc"), "BatchesWhole", "3 bytes at the end"),
    "a hole between segments": (
        segment(SECOND[0]._replace(base=8, epoch=0), *SECOND[2:]), "NoHole", "7 to 7 are missing",
    ),
    "a hole": (
        segment(*SECOND[:3], SECOND[3]._replace(base=10, epoch=2), Laid(14, epoch=2)),
        "NoHole", "12 to 13 are missing",
    ),
    "an offset twice": (
        segment(*SECOND, Laid(11, epoch=3)), "OffsetsAscend", "offset 11 comes after 11",
    ),
    "below the segment": (
        segment(*SECOND, base=8), "OffsetsAscend", "below the segment's first, 8",
    ),
    "an epoch that falls": (
        segment(*SECOND, Laid(12, epoch=2)), "EpochsAscend", "epoch 2 at offset 12 comes after 3",
    ),
    "an index entry": (
        altered(f"{0:020}.index", 4, b"\0\0\0\7"), "IndexLowerBound", "offset 3 leads to 7,",
    ),
    "half an index entry": (appended(f"{0:020}.index", b"1234"), "IndexLowerBound", "entries of 8"),
    "a time too early": (
        altered(f"{0:020}.timeindex", 12, struct.pack(">qi", 1400, 3)),
        "IndexLowerBound", "1400 is not the latest up to offset 3: 1500 is there",
    ),
    "a time index that ends early": (
        written(f"{0:020}.timeindex", struct.pack(">qi", 1000, 2)), "IndexLowerBound",
        "it ends with 1000, the segment with 1600",
    ),
    "zeros in a time index": (
        appended(f"{0:020}.timeindex", b"\0" * 24), "IndexLowerBound", "it ends with zeros",
    ),
    "no aborted transaction": (
        lambda folder: (folder / f"{0:020}.txnindex").unlink(), "TxnIndexExact", "is not in it",
    ),
    "a strange aborted transaction": (
        transactions(ABORTED, Aborted(5, 0, 2, 3)), "TxnIndexExact", "and not in the log",
    ),
    "a transaction that begins late": (
        transactions(ABORTED._replace(first=4)), "TxnIndexExact", "begins at 4 in it",
    ),
    "Z140": (
        transactions(ABORTED._replace(stable=11)), "TxnIndexExact", "offset 11, by the log 7",
    ),
    "half a transaction": (appended(f"{0:020}.txnindex", b"12"), "TxnIndexExact", "entries of 34"),
    "a sequence": (
        remembered(7, p5=Remembered(0, 1, 2, -1)), "ProducerStateReplays",
        "producer 5: sequence 1, by the log 2",
    ),
    "a transaction that is over": (
        remembered(12, p7=Remembered(0, 1, 7, 7)), "ProducerStateReplays", "transaction 7, by",
    ),
    "an epoch that is not known": (
        epochs("0 0", "3 10"), "EpochCacheSound", "epoch 2, which begins at 7, is not in it",
    ),
    "an epoch that begins late": (
        epochs("0 0", "2 8", "3 10"), "EpochCacheSound", "begins at 8, by the log at 7",
    ),
    "an epoch that ends too early": (
        epochs("0 0", "2 6", "3 10"), "EpochCacheSound", "2 begins at 6, and epoch 0 goes on to 6",
    ),
    "an epoch that nobody wrote in": (
        epochs("0 0", "1 3", "2 7", "3 10"), "EpochCacheSound",
        "1 begins at 3, and epoch 0 goes on to 6",
    ),
    "no epoch file": (
        lambda folder: (folder / "leader-epoch-checkpoint").unlink(), "EpochCacheSound",
        "is missing: who follows",
    ),
    "the first batches are gone": (
        lambda folder: write_segment(folder, 0, FIRST[1:], [ABORTED]), "NoHole",
        "the offsets 0 to 2, with which the log begins, are missing",
    ),
    "no snapshot at all": (
        without_snapshots,
        "ProducerStateReplays", "there is no other: a start after a clean stop remembers no",
    ),
    "a time that is too late": (
        altered(f"{7:020}.timeindex", 36, struct.pack(">q", 1 << 62)), "IndexLowerBound",
        f"{1 << 62} is later than all up to offset 11, at most 2300",
    ),
    "a time of a later batch": (
        altered(f"{7:020}.timeindex", 12, struct.pack(">q", 2200)), "IndexLowerBound",
        "2200 is later than all up to offset 8, at most 2100",
    ),
    "a time index without entries": (
        written(f"{7:020}.timeindex", b""), "IndexLowerBound",
        "it is empty, the segment ends with 2300",
    ),
    "epochs that fall": (
        epochs("2 7", "0 0", "3 10"), "EpochCacheSound", "do not ascend",
    ),
    "no epoch file of Kafka's": (
        written("leader-epoch-checkpoint", b"0\n9\n0 0\n"),
        "EpochCacheSound", "9 entries said, 1 there",
    ),
}  # fmt: skip

REPORTED: dict[str, tuple[Fault, str, str]] = {
    "a log that was cut within a batch": (
        segment(*SECOND[:3], SECOND[3]._replace(base=11, records=1, sequence=4)), "NoHole",
        "10 to 10 are missing",
    ),
    "a transaction index that looks further": (
        transactions(ABORTED._replace(stable=6)), "TxnIndexExact", "look further",
    ),
    "a snapshot with a false checksum": (
        altered(f"{12:020}.snapshot", 12, b"\7"), "ProducerStateReplays", "an older one is taken",
    ),
    "a recovery point of a clean stop": (
        marks("recovery-point", 11), "HwWithinLog", "is 11, and a clean stop flushed",
    ),
    "no recovery point of a clean stop": (
        lambda folder: write_lines(folder.parent / "recovery-point-offset-checkpoint", ["u 0 1"]),
        "HwWithinLog", "notes the recovery point of other partitions, and not",
    ),
    "a cleaner's offset": (marks("cleaner", 13), "HwWithinLog", "the cleaned is 13, the log ends"),
    "an epoch beyond the end": (
        epochs("0 0", "2 7", "3 10", "4 13"), "EpochCacheSound", "at 13, and the log ends at 12",
    ),
    "no snapshot where a segment begins": (
        lambda folder: (folder / f"{7:020}.snapshot").unlink(), "ProducerStateReplays",
        "is missing: an older one is taken",
    ),
    "no index": (lambda folder: (folder / f"{0:020}.index").unlink(), "IndexLowerBound", "missing"),
    "left of a cleaning": (
        lambda folder: (folder / f"{0:020}.log.swap").touch(), "LeftOver", "left of a cleaning",
    ),
    "a hanging transaction": (
        segment(*SECOND, Laid(12, epoch=3, transactional=True, producer=9, producer_epoch=0),
                Laid(13, epoch=3, time=2_000_000)),
        "TransactionsEnd", "producer 9 is open since offset 12, 33 minutes",
    ),
}  # fmt: skip


def cut(base: int, *batches: Laid) -> Fault:
    """The end of the log is gone, with what lay beside it."""

    def plant(folder: Path) -> None:
        for path in folder.glob(f"{7:020}.*"):
            path.unlink()
        if batches:
            write_segment(folder, base, batches)

    return plant


DAMAGED: dict[str, tuple[Fault, str, str]] = {
    "a high watermark": (
        marks("replication", 13), "HwWithinLog",
        "the high watermark is 13, the log ends at 12: records that were flushed are gone",
    ),
    "a log start": (marks("log-start", 99), "HwWithinLog", "12: a start drops all of it: records"),
    "half of the log": (cut(7, *SECOND[:2]), "HwWithinLog", "the recovery point is 12, the log"),
    "the last segment": (cut(7), "HwWithinLog", "the snapshot is 12, the log ends at 7"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_what_was_flushed_and_is_gone_is_damaged(name: str, tmp_path: Path) -> None:
    plant, invariant, said = DAMAGED[name]
    wrong = [each for each in planted(tmp_path, plant) if each.weight == "damaged"]
    assert any(each.invariant == invariant and said in each.said for each in wrong), wrong


@pytest.mark.parametrize(
    ("lost", "weight", "said"),
    [
        ("altered", "damaged", "; whole batches go on with offset 8; a start cuts them"),
        ("length", "damaged", "; whole batches go on with offset 8; a start cuts them"),
        ("torn", "unknown", "; whether they were ever flushed nothing says"),
        ("gone", "unknown", "the log ends at 7: whether the rest was ever flushed nothing says"),
    ],
)
def test_what_was_committed_and_not_noted_as_flushed(
    lost: str, weight: str, said: str, tmp_path: Path
) -> None:
    """Of a broker that was killed. A power loss may tear the end of a file, and not its middle."""
    partition = write_broker(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (partition / f"{12:020}.snapshot").unlink()
    write_lines(tmp_path / "recovery-point-offset-checkpoint", ["t 0 7"])
    for path in partition.glob("*.*index"):
        path.unlink()
    log = partition / NEXT
    data = bytearray(log.read_bytes())
    if lost == "altered":
        data[70] ^= 1
    elif lost == "length":
        data[9] ^= 1
    log.write_bytes(data if weight == "damaged" else data[:80] if lost == "torn" else b"")
    found = [each for each in judged(tmp_path).findings if each.weight in ("damaged", "unknown")]
    assert any(each.weight == weight and said in each.said for each in found), found
    assert verdict_of(found) == weight


def test_a_batch_that_is_altered_amid_the_metadata_log_is_damaged(tmp_path: Path) -> None:
    """Each append to it is flushed before the next (KafkaRaftClient.appendBatch)."""
    partition = write_broker(tmp_path)
    common = Common(synced=True)
    altered(NEXT, 70, b"y")(partition)
    (partition / f"{12:020}.snapshot").unlink()
    found = [each for each in judge(partition, common).findings if each.weight != "report"]
    assert [each.weight for each in found if each.invariant == "BatchesWhole"] == ["damaged"]
    (partition / NEXT).write_bytes((partition / NEXT).read_bytes()[:-3])
    segment(*SECOND)(partition)
    appended(NEXT, bytes_of(Laid(12))[:80])(partition)
    (torn,) = [e for e in judge(partition, common).findings if e.invariant == "BatchesWhole"]
    assert torn.weight == "report"
    write_snapshot(partition, 13, {})
    (torn,) = [e for e in judge(partition, common).findings if e.invariant == "BatchesWhole"]
    assert torn.weight == "damaged" and "; a snapshot was taken at offset 13" in torn.said


def test_an_epoch_that_a_crash_left_is_a_report(tmp_path: Path) -> None:
    """A cut of the log takes entries back in the background."""
    epochs("0 0", "2 7", "3 10", "4 11")(write_broker(tmp_path))
    (tmp_path / ".kafka_cleanshutdown").unlink()
    write_lines(tmp_path / "recovery-point-offset-checkpoint", ["t 0 7"])
    assert {each.weight for each in judged(tmp_path).findings} == {"report"}
    write_lines(tmp_path / "recovery-point-offset-checkpoint", ["t 0 12"])
    (found,) = judged(tmp_path).findings
    assert (found.weight, found.invariant) == ("violated", "EpochCacheSound")


def test_a_log_start_explains_what_is_missing_below_it(tmp_path: Path) -> None:
    partition = write_broker(tmp_path)
    write_segment(partition, 0, FIRST[1:], [ABORTED])
    write_lines(tmp_path / "log-start-offset-checkpoint", ["t 0 3"])
    epochs("0 3", "2 7", "3 10")(partition)
    (found,) = judged(tmp_path).findings
    assert (found.weight, found.invariant) == ("report", "NoHole")
    write_lines(tmp_path / "cleaner-offset-checkpoint", ["t 0 3"])
    assert judged(tmp_path).findings == []


def planted(folder: Path, plant: Fault) -> list[Finding]:
    plant(write_broker(folder))
    return judged(folder).findings


@pytest.mark.parametrize("name", VIOLATED)
def test_a_fault_is_found(name: str, tmp_path: Path) -> None:
    plant, invariant, said = VIOLATED[name]
    weight = "damaged" if invariant == "BatchesWhole" else "violated"
    wrong = [each for each in planted(tmp_path, plant) if each.weight == weight]
    assert any(each.invariant == invariant and said in each.said for each in wrong), wrong


@pytest.mark.parametrize("name", REPORTED)
def test_what_breaks_no_promise_is_reported(name: str, tmp_path: Path) -> None:
    plant, invariant, said = REPORTED[name]
    found = planted(tmp_path, plant)
    assert {each.weight for each in found} == {"report"}
    assert any(each.invariant == invariant and said in each.said for each in found), found


def test_a_torn_end_is_what_a_crash_leaves(tmp_path: Path) -> None:
    """Where the broker was not stopped cleanly, and nothing says that it was flushed."""
    appended(NEXT, bytes_of(Laid(12))[:80])(write_broker(tmp_path))
    (tmp_path / ".kafka_cleanshutdown").unlink()
    (found,) = judged(tmp_path).findings
    assert (found.weight, found.invariant) == ("report", "BatchesWhole")
    assert found.position == (tmp_path / "t-0" / NEXT).stat().st_size - 80
    write_lines(tmp_path / "recovery-point-offset-checkpoint", ["t 0 13"])
    weights = {each.invariant: each.weight for each in judged(tmp_path).findings}
    assert weights == {"BatchesWhole": "damaged"}


@pytest.mark.parametrize(
    ("recovery_point", "weight", "said"),
    [
        (0, "report", "; a start cuts them, and drops 1 segments behind, "),
        (6, "damaged", "below the recovery point 6; a start cuts them, and drops 1 segments"),
        (7, "damaged", "no start looks at them, whoever reads them fails"),
    ],
)
def test_what_a_start_drops_behind_a_torn_segment(
    recovery_point: int, weight: str, said: str, tmp_path: Path
) -> None:
    """It looks from the segment of the recovery point on; what follows is not judged then."""
    partition = write_broker(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    write_lines(tmp_path / "replication-offset-checkpoint", ["t 0 4"])
    write_lines(tmp_path / "recovery-point-offset-checkpoint", [f"t 0 {recovery_point}"])
    log = partition / LOG
    log.write_bytes(log.read_bytes()[: -len(bytes_of(FIRST[3])) - 3])
    found = judged(tmp_path)
    torn = next(each for each in found.findings if each.invariant == "BatchesWhole")
    assert torn.weight == weight and said in torn.said
    assert (found.end, found.segments) == (12 if recovery_point == 7 else 4, 2)


def test_who_is_shown_what_by_a_wrong_stable_offset(tmp_path: Path) -> None:
    """The next aborted transaction began before the offset that the one before tells (Z140)."""
    partition = write_broker(tmp_path)
    wrong = ABORTED._replace(stable=9)
    aborted = SECOND[2]._replace(marker=0)
    write_segment(partition, 0, FIRST, [wrong])
    write_segment(partition, 7, [*SECOND[:2], aborted, SECOND[3]], [Aborted(7, 7, 9, 10)])
    found = [each for each in judged(tmp_path).findings if each.invariant == "TxnIndexExact"]
    assert [each.weight for each in found] == ["violated"]
    assert (
        "a fetch of a committed reader that begins up to 6 and ends at most at 9" in found[0].said
    )
    assert "what was aborted: from 7 on (producer 7) by one that ends above 7" in found[0].said
    write_segment(partition, 7, SECOND)
    (partition / f"{7:020}.txnindex").unlink()
    found = [each for each in judged(tmp_path).findings if each.invariant == "TxnIndexExact"]
    assert "no aborted record is shown by that now" in found[0].said


def test_a_log_that_is_compacted_has_holes(tmp_path: Path) -> None:
    segment(SECOND[0], *SECOND[2:])(write_broker(tmp_path))
    assert {each.invariant for each in judged(tmp_path).findings} == {"NoHole"}
    write_lines(tmp_path / "cleaner-offset-checkpoint", ["t 0 7"])
    assert judged(tmp_path).findings == []


def test_an_index_of_kafka_3_has_the_end_of_what_was_appended_at_once(tmp_path: Path) -> None:
    partition = write_broker(tmp_path)
    index = partition / f"{0:020}.index"
    entries = list(struct.iter_unpack(">ii", index.read_bytes()))
    index.write_bytes(struct.pack(">ii", entries[2][0], entries[0][1]))
    assert judged(tmp_path).findings == []
    index.write_bytes(struct.pack(">ii", entries[0][0] - 1, entries[0][1]))
    (found,) = judged(tmp_path).findings
    assert "offset 2 leads to" in found.said


def test_below_a_log_start_epochs_are_forgotten(tmp_path: Path) -> None:
    """DeleteRecords within a segment: what lies below is there until the segment goes."""
    epochs("2 8", "3 10")(write_broker(tmp_path))
    assert {each.weight for each in judged(tmp_path).findings} == {"violated"}
    write_lines(tmp_path / "log-start-offset-checkpoint", ["t 0 8"])
    assert judged(tmp_path).findings == []


def test_an_active_segment_has_room_in_its_indexes(tmp_path: Path) -> None:
    partition = write_broker(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    for end in ("index", "timeindex"):
        appended(f"{7:020}.{end}", b"\0" * 240)(partition)
    assert judged(tmp_path).findings == []


def test_an_index_too_short_for_its_log_lets_no_start_end(tmp_path: Path) -> None:
    """A recovery makes an entry of each of three batches, at the distance of two that are there."""
    partition = write_broker(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    index, times = (partition / f"{7:020}.{end}" for end in ("index", "timeindex"))
    index.write_bytes(index.read_bytes()[-16:])
    times.write_bytes(times.read_bytes()[:12] + b"\0" * 12)
    [found] = judged(tmp_path).findings
    assert (found.weight, found.invariant) == ("violated", "StartUpTotal")
    assert found.said == "recovery needs 3 entries, and has room for 2: no start ends"
    # Were it open, it were as long as the other.
    appended(times.name, b"\0" * 12)(partition)
    assert judged(tmp_path).findings == []


def test_what_was_open_where_a_log_begins_is_not_guessed(tmp_path: Path) -> None:
    """The first segment is gone: of a transaction that began there only the end is seen."""
    partition = write_broker(tmp_path)
    for path in partition.glob(f"{0:020}.*"):
        path.unlink()
    (partition / f"{12:020}.snapshot").unlink()
    write_segment(partition, 7, SECOND)
    aborted = struct.pack(">hqqqq", 0, 9, 2, 9, 10)
    (partition / f"{7:020}.txnindex").write_bytes(aborted)
    assert [each for each in judged(tmp_path).findings if each.weight == "violated"] == []
