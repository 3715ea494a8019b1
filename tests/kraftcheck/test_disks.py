"""`disk`: logs of real brokers, and what it says of folders that are none.

z140.tar.xz has the partition of a run of finds/Z140/run.py on Apache Kafka 4.3.1, from two
of its brokers, stopped cleanly: b2 copied several transactions at once (finds/Z140/README.md).
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import random
import shutil
import struct
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeAlias

import google_crc32c
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings, strategies as st

from kraftcheck.cli import cli
from kraftcheck.kafka.disks.found import Common, DiskReplica
from kraftcheck.kafka.disks.partition import judge
from kraftcheck.osutil.files import open_file
from tests.kafka.disks.written import (
    SECOND,
    Laid,
    bytes_of,
    write_broker,
    write_lines,
    write_properties,
    write_segment,
)

Plant: TypeAlias = Callable[[Path], object]
F_OFD_SETLK = 37
"""Of Linux: a lock of the open file."""
SAMPLE = Path(__file__).resolve().parents[1] / "kafka/disks/z140.tar.xz"


def asked(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["disk", *map(str, words)])


def listing(folder: Path) -> dict[Path, tuple[int, int]]:
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {path: (state.st_size, state.st_mtime_ns) for path, state in found.items()}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kafka")
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(folder)
    return folder


def test_what_kafkas_leader_wrote_holds(kafka: Path) -> None:
    done = asked(kafka / "b1")
    assert done.exit_code == 0 and "verdict  holds: 1 directories of 1 partitions" in done.output


def test_z140_is_seen_on_the_disk_of_the_follower(kafka: Path) -> None:
    before = listing(kafka)
    done = asked(kafka / "b1", kafka / "b2", "--json")
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    (partition,) = said["partitions"]
    leader, follower = partition["replicas"]
    assert partition["together"] == [] and leader["findings"] == []
    (finding,) = follower["findings"]
    assert (finding["weight"], finding["invariant"]) == ("violated", "TxnIndexExact")
    assert "from 9 to 10 has the last stable offset 15, by the log 11" in finding["said"]
    assert (follower["start"], follower["end"]) == (0, 18)
    assert listing(kafka) == before


def test_of_many_alike_the_first_are_told(tmp_path: Path) -> None:
    partition = write_broker(tmp_path)
    write_segment(partition, 7, [*SECOND, *[Laid(12 + 2 * i, epoch=3) for i in range(1, 20)]])
    done = asked(tmp_path)
    assert done.exit_code == 1 and done.output.count("NoHole") == 6
    assert "and 14 more of NoHole in" in done.output


def test_of_very_many_alike_so_many_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kraftcheck.kafka.disks.partition.FINDINGS_MAX", 10)
    partition = write_broker(tmp_path)
    write_segment(partition, 7, [*SECOND, *[Laid(12 + 2 * i, epoch=3) for i in range(1, 20)]])
    (replica,) = json.loads(asked(tmp_path, "--json").stdout)["partitions"][0]["replicas"]
    said = [each["said"] for each in replica["findings"] if each["invariant"] == "NoHole"]
    assert len(said) == 11 and said[-1] == "and 9 more"


def test_a_hole_in_a_partition_that_lies_alone_is_unknown(tmp_path: Path) -> None:
    """A copy of one partition: whether it is compacted its broker's checkpoints would say."""
    partition = write_broker(tmp_path / "b")
    write_segment(partition, 7, [*SECOND, Laid(14, epoch=3)])
    assert asked(partition).exit_code == 1
    alone = tmp_path / "copied" / "t-0"
    shutil.copytree(partition, alone)
    done = asked(alone)
    assert done.exit_code == 2 and "unknown: NoHole" in done.output
    assert "whether a cleaner was at work nothing says" in done.output


def test_what_a_start_forgets_of_producers_is_told(tmp_path: Path) -> None:
    """All but the last batch of each, of those that may still be sent again."""
    write_broker(tmp_path)
    done = asked(tmp_path)
    assert (
        "note: a start knows the last batch of a producer only: 1 earlier ones of 1" in done.output
    )
    (replica,) = json.loads(asked(tmp_path, "--json").stdout)["partitions"][0]["replicas"]
    assert replica["forgotten"] == [[5, 0, 1]]
    late = SECOND[3]._replace(time=130_000)
    write_segment(tmp_path / "t-0", 7, [*SECOND[:3], late])
    assert "note:" not in asked(tmp_path).output


def test_a_partitions_own_directory_is_enough(kafka: Path) -> None:
    done = asked(kafka / "b2" / "t-0")
    assert done.exit_code == 1 and "violated: TxnIndexExact" in done.output


@pytest.mark.skipif(sys.platform != "linux", reason="locks are asked of Linux only")
def test_a_broker_that_is_at_work_makes_it_unknown(tmp_path: Path) -> None:
    write_broker(tmp_path)
    with (tmp_path / ".lock").open("w") as held:
        # Kafka's is a lock of its process. One of ours would not stand against us.
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        fcntl.fcntl(held, F_OFD_SETLK, whole)
        done = asked(tmp_path)
    assert done.exit_code == 2 and f"a broker is running in {tmp_path}" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none",), "none is no folder"),
        (("empty",), "empty is not a log directory of Kafka"),
        (("b", "--topic", "x"), "no partition of x is there"),
        ((), "DIR"),
    ],
)
def test_what_is_no_log_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_broker(tmp_path / "b")
    (tmp_path / "empty").mkdir()
    done = asked(*words)
    assert done.exit_code == 3 and said in done.output


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    partition = write_broker(tmp_path)
    index = partition / f"{0:020}.txnindex"
    index.unlink()
    index.mkdir()
    done = asked(tmp_path)
    assert done.exit_code == 2 and f"{index}: is a folder" in done.output


def test_an_empty_partition_holds_nothing_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").touch()
    done = asked(tmp_path)
    assert done.exit_code == 2 and "nothing was there to be judged" in done.output
    (row,) = [line for line in done.output.splitlines() if line.startswith("t-0 ")]
    assert row.split()[-1] == "-", "nor does it say so of this directory"


def parted(folder: Path) -> list[Path]:
    """Two brokers, the second with another record where the first has a committed one."""
    for name in ("b1", "b2"):
        write_broker(folder / name)
    write_segment(folder / "b2" / "t-0", 7, [*SECOND[:3], Laid(10, epoch=4)])
    write_lines(folder / "b1" / "log-start-offset-checkpoint", ["t 0 3"])
    return [folder / name for name in ("b1", "b2")]


def test_a_page_shows_where_replicas_part(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = asked(*parted(tmp_path / "brokers"), "--html", page)
    text = page.read_text()
    assert done.exit_code == 1
    assert text.count("part at 10</text>") == 1 and "epochs 3 and 4" in text
    for words in ("segment 00000000000000000007: up to 12", "leader epoch 4", "log start 3"):
        assert words in text
    assert text.count("transaction of producer 7, aborted: 3 up to 7") == 2
    assert "violated</b>" in text and "LogMatching" in text
    assert "<script" not in text and "http://" not in text
    again = tmp_path / "again.html"
    asked(*[tmp_path / "brokers" / name for name in ("b1", "b2")], "--html", again)
    assert again.read_text() == text


def test_a_page_of_equal_replicas_has_no_place_where_they_part(tmp_path: Path) -> None:
    for name in ("b1", "b2"):
        write_broker(tmp_path / name)
    page = tmp_path / "page.html"
    done = asked(tmp_path / "b1", tmp_path / "b2", "--html", page)
    assert done.exit_code == 0 and "part at" not in page.read_text()


def test_names_of_folders_are_escaped_on_the_page(tmp_path: Path) -> None:
    write_broker(tmp_path / "<b>1")
    page = tmp_path / "page.html"
    asked(tmp_path / "<b>1", "--html", page)
    assert "<b>1" not in page.read_text() and "&lt;b&gt;1" in page.read_text()


def test_no_page_is_written_to_what_is_judged(tmp_path: Path) -> None:
    write_broker(tmp_path / "b")
    before = listing(tmp_path)
    done = asked(tmp_path / "b", "--html", tmp_path / "b" / "page.html")
    assert done.exit_code == 3 and "name another" in done.output
    assert listing(tmp_path) == before


def test_of_many_partitions_those_in_which_something_is_wrong_are_drawn(tmp_path: Path) -> None:
    for number in range(45):
        partition = write_broker(tmp_path / f"b{number}")
        partition.rename(tmp_path / f"t-{number}")
    (tmp_path / "t-44" / f"{0:020}.txnindex").unlink()
    page = tmp_path.parent / f"{tmp_path.name}.html"
    done = asked(tmp_path, "--html", page)
    text = page.read_text()
    assert done.exit_code == 1 and "5 more partitions were judged" in text
    assert "t-44 <b" in text and text.count("<svg") == 40


# -- Bad input: a line or a finding that names the file, and no change


def swapped(name: str, make: Callable[[Path], object]) -> Plant:
    """Something else in a file's place."""

    def plant(folder: Path) -> None:
        path = folder / name
        path.unlink(missing_ok=True)
        make(path)

    return plant


def with_bytes(name: str, at: int, data: bytes) -> Plant:
    def plant(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:at] + data + whole[at + len(data) :])

    return plant


def text(name: str, said: str) -> Plant:
    return lambda folder: (folder / name).write_text(said)


def legacy(folder: Path) -> None:
    """A message of version 1, as brokers of 0.10 wrote them and later ones keep."""
    rest = struct.pack(">bbqii", 1, 0, 1000, -1, -1)
    message = struct.pack(">qiI", 12, len(rest) + 4, zlib.crc32(rest)) + rest
    (folder / "t-0" / f"{12:020}.log").write_bytes(message)


LOG, TXN, SNAPSHOT = (f"t-0/{0:020}.log", f"t-0/{0:020}.txnindex", f"t-0/{12:020}.snapshot")
HW, EPOCHS = "replication-offset-checkpoint", "t-0/leader-epoch-checkpoint"
META, TOPIC = "meta.properties", "t-0/partition.metadata"
BAD: dict[str, tuple[Plant, int, str]] = {
    "a folder for a log": (swapped(LOG, Path.mkdir), 2, f"{LOG}: is a folder"),
    "a pipe for a log": (swapped(LOG, os.mkfifo), 2, f"{LOG}: is a pipe"),
    "a loop for a log": (
        swapped(LOG, lambda path: path.symlink_to(path.name)), 2, f"{LOG}: Too many levels"
    ),
    "a log that is gone": (
        swapped(LOG, lambda path: path.symlink_to("nowhere")), 2, f"{LOG}: No such file"
    ),
    "a folder for a checkpoint": (swapped(HW, Path.mkdir), 2, f"{HW}: is a folder"),
    "a folder for an epoch file": (swapped(EPOCHS, Path.mkdir), 2, f"{EPOCHS}: is a folder"),
    "batches of a later version": (with_bytes(LOG, 16, b"\3"), 2, f"{LOG} at byte 0: a batch of"),
    "batches of an earlier version": (legacy, 2, "at byte 0: a batch of version 1, which is not"),
    "a later transaction index": (with_bytes(TXN, 0, b"\0\1"), 2, f"{TXN} at byte 0: an entry of"),
    "a later snapshot": (with_bytes(SNAPSHOT, 0, b"\0\2"), 2, f"{SNAPSHOT} at byte 0: a snapshot"),
    "a later checkpoint": (text(HW, "1\n1\nt 0 12\n"), 2, f"{HW} at byte 0: a checkpoint of"),
    "a later epoch file": (text(EPOCHS, "1\n1\n0 0\n"), 2, f"{EPOCHS} at byte 0: a checkpoint"),
    "later properties": (text(META, "version=7\n"), 2, f"{META}: properties of"),
    "later metadata": (text(TOPIC, "version: 1\n"), 2, f"{TOPIC}: properties of"),
    "metadata without a version": (
        text("t-0/partition.metadata", "x"), 1, "partition.metadata: has no version"
    ),
    "a checkpoint of other bytes": (
        swapped(HW, lambda path: path.write_bytes(b"\xff\0")), 1, f"{HW}: no checkpoint of Kafka's"
    ),
    "a number that is none": (text(HW, "0\n1\nt x 12\n"), 1, f"{HW}: line 3 is not of 3 words"),
    "an epoch that is none": (text(EPOCHS, "0\n1\nx 0\n"), 1, f"{EPOCHS}: line 3 is not of 2"),
    "a cut index": (with_bytes(f"t-0/{0:020}.index", 24, b"1"), 1, ".index at byte 24: 25 bytes"),
    "an offset beyond all": (
        with_bytes(LOG, 0, bytes_of(Laid((1 << 63) - 1, records=9))), 1, "ends before it begins"
    ),
    "a log with another name": (swapped("t-0/x.log", Path.touch), 0, "t-0/x.log: is not an offset"),
    "an offset of 64 bits": (
        swapped(f"t-0/{'9' * 20}.log", Path.touch), 0, f"{'9' * 20}.log: is not an offset"
    ),
    "a folder with another name": (swapped("lost+found", Path.mkdir), 0, "lost+found: is not T"),
    "a directory that is left": (
        swapped(f"t-0.{'0' * 32}-stray", Path.mkdir), 0, "-stray: is left of a deletion",
    ),
    "a loop of folders": (
        swapped("a-0", lambda path: path.symlink_to("a-0")), 0, "verdict  holds: 1 directories"
    ),
    "the folder within itself": (
        swapped("a-0", lambda path: path.symlink_to(".")), 0, "verdict  holds: 2 directories"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_and_left_as_it_is(name: str, tmp_path: Path) -> None:
    write_broker(tmp_path)
    plant, code, said = BAD[name]
    plant(tmp_path)
    before = listing(tmp_path)
    done = asked(tmp_path)
    assert done.exit_code == code and said in done.output, done.output
    assert listing(tmp_path) == before
    page = tmp_path.parent / f"{tmp_path.name}.html"
    assert asked(tmp_path, "--html", page).exit_code == code and page.exists()


@pytest.mark.parametrize(
    "make",
    [Path.touch, lambda path: path.symlink_to(path.name), lambda path: path.symlink_to("no")],
)
def test_what_is_no_folder_is_one_line(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "data")
    done = asked(tmp_path / "data")
    assert done.exit_code == 3 and "data is no folder" in done.output


def test_a_disk_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other partition is judged, and what is permitted of this one."""
    write_broker(tmp_path)
    (tmp_path / "t-0").rename(tmp_path / "t-1")
    write_broker(tmp_path / "more")
    (tmp_path / "more" / "t-0").rename(tmp_path / "t-0")

    def failing(path: Path) -> BinaryIO:
        if path.name == f"{7:020}.log" and path.parent.name == "t-0":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        if path.name == f"{0:020}.txnindex" and path.parent.name == "t-1":
            return Torn(path.read_bytes())
        return open_file(path)

    for module in (
        "kraftcheck.kafka.disks.batches",
        "kraftcheck.kafka.disks.files",
        "kraftcheck.osutil.files",
    ):
        monkeypatch.setattr(f"{module}.open_file", failing)
    done = asked(tmp_path)
    assert done.exit_code == 2
    assert f"unknown: FilesWhole: {tmp_path}/t-0/{7:020}.log: Permission denied" in done.output
    assert f"unknown: FilesWhole: {tmp_path}/t-1/{0:020}.txnindex: Input/output" in done.output


class Torn(io.BytesIO):
    def fileno(self) -> int:
        return 0

    def read(self, size: int | None = -1) -> bytes:
        raise OSError(errno.EIO, "Input/output error")


def test_what_goes_while_it_is_judged_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker at work whose lock nobody sees: it is on another machine."""
    write_broker(tmp_path)

    def gone(path: Path, common: Common) -> DiskReplica:
        (path / f"{0:020}.log").unlink()
        return judge(path, common)

    monkeypatch.setattr("kraftcheck.kafka.disk_command.judge", gone)
    done = asked(tmp_path)
    assert done.exit_code == 2 and "files may be inconsistent" in done.output


@pytest.mark.slow
@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_whatever_is_altered_there_is_a_verdict(seed: int) -> None:
    """Bytes of a file or two, also such that a checksum fits: never a defect, never a change."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for broker in ("b1", "b2"):
            write_broker(folder / broker)
            if chance.random() < 0.3:
                write_lines(folder / broker / "cleaner-offset-checkpoint", ["t 0 7"])
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for path in chance.sample(files, 2):
            path.write_bytes(altered(path.read_bytes(), chance, is_log=path.suffix == ".log"))
        before = listing(folder)
        brokers = [folder / broker for broker in ("b1", "b2")]
        with tempfile.NamedTemporaryFile(suffix=".html") as page:
            done = asked(*brokers, "--html", page.name)
        assert done.exit_code in (0, 1, 2) and "defect" not in done.output, done.output
        assert listing(folder) == before


def altered(data: bytes, chance: random.Random, *, is_log: bool) -> bytes:
    if chance.random() < 0.3 or not data:
        return data[: chance.randint(0, len(data))] + chance.randbytes(chance.randint(0, 90))
    out = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        out[chance.randrange(len(out))] = chance.choice((0, 1, 127, 128, 255))
    if is_log:
        end = 12 + struct.unpack_from(">i", data, 8)[0]
        out[8:12], out[16:17] = data[8:12], data[16:17]
        struct.pack_into(">I", out, 17, google_crc32c.value(bytes(out[21:end])))
    return bytes(out)


IDS = ("moZHqMNwhI812wVBfVekyA", "AdChjJXYQPOLCFGiNbLaEg")


def test_two_topics_of_one_name_are_not_held_against_each_other(tmp_path: Path) -> None:
    """One was deleted and made anew while a broker was down."""
    brokers = parted(tmp_path)
    for at, folder in enumerate(brokers):
        (folder / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {IDS[at]}\n")
    done = asked(*brokers)
    assert f"are of two topics, {IDS[0]} and {IDS[1]}: not held" in done.output
    assert "LogMatching" not in done.output


def test_two_directories_of_one_broker_are_told(tmp_path: Path) -> None:
    for name in ("d1", "d2"):
        write_broker(tmp_path / name)
        write_properties(tmp_path / name, 3)
    done = asked(tmp_path / "d1", tmp_path / "d2", tmp_path / "d1")
    assert done.exit_code == 0 and done.output.count("are both of node 3") == 1
    assert "holds: 2 directories" in done.output
