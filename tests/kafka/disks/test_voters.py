"""Directories of controllers, by hand: who votes by them, and whether anybody can be elected."""

from __future__ import annotations

import struct
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest

from kraftcheck.kafka.disks.directory import read
from kraftcheck.kafka.disks.found import DiskReplica, Quorum, Voter
from kraftcheck.kafka.disks.partition import METADATA_ID, judge
from kraftcheck.kafka.disks.replicas import compare
from kraftcheck.reference.storage.batches import CONTROL, Batch, Record, encoded
from tests.kafka.disks.written import (
    Laid,
    bytes_of,
    write_election,
    write_lines,
    write_properties,
    write_topic,
)

C1, C2, C3 = (Voter(number, f"{number:032x}") for number in (1, 2, 3))
ENDPOINT = b"\x02" + b"\x05CTRL" + b"\x05host" + struct.pack(">H", 9093) + b"\0"
"""One of a list: its name, its host, its port, no tagged fields."""


def voters_batch(base: int, voters: Sequence[Voter], epoch: int = 1) -> bytes:
    """As a leader writes it: VotersRecord in a control batch."""
    value = struct.pack(">h", 0) + bytes([len(voters) + 1])
    for each in voters:
        own = struct.pack(">i", each.number) + bytes.fromhex(each.directory)
        value += own + ENDPOINT + struct.pack(">hh", 0, 1) + b"\0\0"
    record = Record(base, 0, struct.pack(">hh", 0, 6), value)
    like = Batch(base, base, epoch, CONTROL, 0, 0, -1, -1, -1, 1, b"")
    return encoded(like, [record])


def footer(base: int, epoch: int = 3) -> bytes:
    """How a snapshot ends."""
    record = Record(base, 0, struct.pack(">hh", 0, 4), struct.pack(">hb", 0, 0))
    like = Batch(base, base, epoch, CONTROL, 0, 0, -1, -1, -1, 1, b"")
    return encoded(like, [record])


SNAPSHOT = voters_batch(0, [C1, C2], epoch=3) + footer(1)


def write_controller(folder: Path, own: Voter, log: bytes, **snapshots: bytes) -> Path:
    """snapshots: by name, without its end."""
    directory = urlsafe_b64encode(bytes.fromhex(own.directory)).decode().rstrip("=")
    partition = folder / f"c{own.number}" / "__cluster_metadata-0"
    partition.mkdir(parents=True)
    (partition / f"{0:020}.log").write_bytes(log)
    write_properties(partition.parent, own.number, directory)
    write_election(partition, epoch=3)
    write_topic(partition, METADATA_ID)
    for name, data in snapshots.items():
        (partition / f"{name}.checkpoint").write_bytes(data)
    return partition.parent


def judged(folder: Path) -> DiskReplica:
    [place] = read(folder).places
    return judge(place.path, place.common)


def said(*folders: Path) -> list[str]:
    found = compare([judged(each) for each in folders])
    return [each.said for each in found if each.invariant == "SomebodyElectable"]


TAGS = b"\2\0\3abc\x81\1\0"
"""Two tagged fields: of three bytes; the 129th, of none."""


def test_tagged_fields_are_stepped_over(tmp_path: Path) -> None:
    """Of an endpoint, of what a voter supports, and of the voter: of later versions of Kafka."""
    value = struct.pack(">h", 0) + bytes([3])
    for each in (C1, C2):
        value += struct.pack(">i", each.number) + bytes.fromhex(each.directory) + b"\3"
        value += (b"\2A\2h" + struct.pack(">H", 9) + TAGS) * 2
        value += struct.pack(">hh", 0, 1) + TAGS + TAGS
    like = Batch(0, 0, 1, CONTROL, 0, 0, -1, -1, -1, 1, b"")
    log = encoded(like, [Record(0, 0, struct.pack(">hh", 0, 6), value + TAGS)])
    found = judged(write_controller(tmp_path, C1, log))
    assert found.quorum is not None and found.quorum.voters == [C1, C2]


BOTH = voters_batch(0, [C1, C2])
LEFT = BOTH + voters_batch(1, [C2])


def test_what_a_directory_says_of_elections(tmp_path: Path) -> None:
    found = judged(write_controller(tmp_path, C1, LEFT))
    assert found.quorum == Quorum(own=C1, voters=[C2], epoch=1, end=2)


def test_a_leader_that_removed_itself_and_was_not_heard(tmp_path: Path) -> None:
    """Z164: it does not stand, and nobody else's log is as long."""
    removed = write_controller(tmp_path, C1, LEFT)
    other = write_controller(tmp_path, C2, BOTH)
    (why,) = said(removed, other)
    assert "1 is no voter by its own log; 2 gets 1 of 2 votes" in why
    assert "1's log has epoch 1 to 2" in why


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LEFT, LEFT),  # it was heard
        (BOTH, BOTH),
        (BOTH + bytes_of(Laid(1, epoch=1)), BOTH),  # the first leads on
    ],
)
def test_somebody_can_be_elected(first: bytes, second: bytes, tmp_path: Path) -> None:
    folders = [write_controller(tmp_path, *of) for of in ((C1, first), (C2, second))]
    assert not said(*folders)


def test_a_voter_whose_disk_is_not_there_may_be_elected(tmp_path: Path) -> None:
    log = voters_batch(0, [C1, C2, C3])
    removed = write_controller(tmp_path, C1, log + voters_batch(1, [C2, C3]))
    other = write_controller(tmp_path, C2, log)
    assert not said(removed, other)
    third = write_controller(tmp_path, C3, log)
    assert not said(removed, other, third)  # two of three are as far
    assert not said(other)


def test_a_disk_that_was_exchanged_is_another_voter(tmp_path: Path) -> None:
    removed = write_controller(tmp_path, C1, LEFT)
    other = write_controller(tmp_path, C2._replace(directory="f" * 32), BOTH)
    assert not said(removed, other)


def test_voters_of_a_snapshot(tmp_path: Path) -> None:
    """The log has none of its own behind it."""
    name = f"{5:020}-{3:010}"
    found = judged(write_controller(tmp_path, C1, b"", **{name: SNAPSHOT}))
    assert not [each for each in found.findings if each.invariant == "FilesWhole"]
    assert found.quorum == Quorum(own=C1, voters=[C1, C2], epoch=3, end=0)


@pytest.mark.parametrize("left", ["nothing", "half a batch", "no footer", "half a footer"])
def test_a_snapshot_that_is_cut_is_told(left: str, tmp_path: Path) -> None:
    """And nothing is said of who can be elected by it."""
    name, first = f"{5:020}-{3:010}", voters_batch(0, [C1, C2], epoch=3)
    sizes = {"nothing": 0, "half a batch": 40, "no footer": len(first), "half a footer": -3}
    data = (first + footer(1))[: sizes[left]]
    found = judged(write_controller(tmp_path, C1, b"", **{name: data}))
    [told] = [each for each in found.findings if each.invariant == "FilesWhole"]
    assert (told.weight, told.file) == ("violated", f"{name}.checkpoint")
    assert found.quorum is None


@pytest.mark.parametrize(
    ("snapshot", "told"), [("", "there is none"), (f"{5:020}-{3:010}", "the latest ends at 5")]
)
def test_a_log_that_begins_behind_its_snapshot_is_told(
    snapshot: str, told: str, tmp_path: Path
) -> None:
    """V4. Kafka does not start with it."""
    whole = {snapshot: SNAPSHOT} if snapshot else {}
    place = write_controller(tmp_path, C1, b"", **whole) / "__cluster_metadata-0"
    (place / f"{0:020}.log").unlink()
    (place / f"{7:020}.log").write_bytes(voters_batch(7, [C1], epoch=3))
    found = [each.said for each in judged(place.parent).findings if each.invariant == "FilesWhole"]
    assert found == [f"the log begins at 7, and no snapshot goes up to there: {told}"]
    (place / f"{7:020}-{3:010}.checkpoint").write_bytes(SNAPSHOT)
    assert not [e for e in judged(place.parent).findings if e.invariant == "FilesWhole"]


def test_a_metadata_log_starts_at_its_first_snapshot(tmp_path: Path) -> None:
    """Which may be within a segment; epochs are known from there on."""
    place = write_controller(tmp_path, C1, b"") / "__cluster_metadata-0"
    (place / f"{0:020}.log").rename(place / f"{7:020}.log")
    (place / f"{7:020}.log").write_bytes(voters_batch(7, [C1], epoch=3))
    write_lines(place / "leader-epoch-checkpoint", ["3 8"])
    wrong = [each.said for each in judged(place.parent).findings if each.weight == "violated"]
    assert "epoch 3 begins at 8, by the log at 7" in wrong
    (place / f"{8:020}-{3:010}.checkpoint").write_bytes(SNAPSHOT)
    found = judged(place.parent)
    assert not [each for each in found.findings if each.weight == "violated"]
    assert found.common.log_start == 8


def test_what_says_nothing_of_voters(tmp_path: Path) -> None:
    """No such record, a torn one, or a directory that is nobody's."""
    data = bytes_of(Laid(0))
    assert judged(write_controller(tmp_path / "a", C1, data)).quorum is None
    assert judged(write_controller(tmp_path / "b", C1, voters_batch(0, [C1])[:-1])).quorum is None
    folder = write_controller(tmp_path / "c", C1, BOTH)
    (folder / "meta.properties").unlink()
    assert judged(folder).quorum is None
