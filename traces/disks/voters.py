"""Controllers whose voters change (KIP-853): whether, by what lies on their disks, one can lead.

A set of voters is in force where its record is, committed or not. Who is no voter by its own log
does not stand (V13); who is asked for a vote gives it to nobody whose log is behind its own, a
voter or not. So there may be nobody who can be elected, for ever: Z164. Nothing is said where a
voter's disk is not there: it may stand, or vote.

(org.apache.kafka.raft.QuorumState.isVoter, UnattachedState.canGrantVote; VotersRecord.json.)
"""

from __future__ import annotations

import re
import struct
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from kraftcheck.osutil.files import open_file, read_text
from kraftcheck.reference.storage.batches import Undecodable, header_of, records_of, unsigned
from kraftcheck.traces.disks.batches import Bad, Batch, batches
from kraftcheck.traces.disks.files import META, TEXT_MAX, segments_of
from kraftcheck.traces.disks.found import DiskReplica, Finding, Quorum, Voter

METADATA: Final = "__cluster_metadata-0"
VOTERS: Final = 6
"""The kind of a control record that has a set of voters (ControlRecordType.KRAFT_VOTERS)."""
FOOTER: Final = 4
"""The kind of the last record of a snapshot (ControlRecordType.SNAPSHOT_FOOTER)."""
_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_OWN: Final = re.compile(r"^(node\.id|directory\.id)=(\S+)$", re.MULTILINE)


def quorum_of(folder: Path, epoch: int, end: int) -> Quorum | None:
    """None: another log, one without voters, or nobody says whose it is.

    epoch: of the last record of its segments, -1 if there is none. Raises OSError.
    """
    if folder.name != METADATA:
        return None
    own, voters, snapshots = _own(folder.parent / META), voters_of(folder), snapshots_of(folder)
    if own is None or not voters or any(torn(path) for path in snapshots):
        return None
    if epoch < 0 and snapshots:
        epoch = int(snapshots[-1].stem.split("-")[1])
    return Quorum(own, voters, epoch, end)


def snapshots_of(folder: Path) -> list[Path]:
    """Of the metadata log, ascending: named by the offset after their last record, and its epoch.

    Raises OSError.
    """
    return sorted(path for path in folder.iterdir() if _SNAPSHOT.fullmatch(path.name))


def voters_of(folder: Path) -> list[Voter]:
    """The last set in a metadata log; none if it has none. Raises OSError."""
    last: list[Voter] = []
    for path in (*snapshots_of(folder), *segments_of(folder).values()):
        for last in _sets(path):  # noqa: B007
            pass
    return last


def torn_snapshots(folder: Path) -> Iterator[tuple[Path, Bad]]:
    """The snapshots of a metadata log that do not go to their end.

    Kafka renames one only when its footer is written (RecordsSnapshotWriter,
    FileRawSnapshotWriter). Raises OSError.
    """
    if folder.name == METADATA:
        for path in snapshots_of(folder):
            if bad := torn(path):
                yield path, bad


def begins(folder: Path) -> int | None:
    """Give where a metadata log starts that was cut; None: it was not cut.

    It starts at the end of its first snapshot, which may be within a segment, and which no
    checkpoint says (KafkaRaftLog.deleteBeforeSnapshot). Raises OSError.
    """
    snapshots, segments = snapshots_of(folder), segments_of(folder)
    if not snapshots or min(segments, default=0) == 0:
        return None
    return int(snapshots[0].stem.split("-")[0])


def uncovered(folder: Path, start: int) -> str:
    """What is wrong with where a metadata log begins (V4); empty: nothing is.

    start: the offset of its first record. (KafkaRaftLog.recoverSnapshots.) Raises OSError.
    """
    if folder.name != METADATA or start <= 0:
        return ""
    ends = [int(path.stem.split("-")[0]) for path in snapshots_of(folder)]
    if ends and ends[-1] >= start:
        return ""
    latest = f"the latest ends at {ends[-1]}" if ends else "there is none"
    return f"the log begins at {start}, and no snapshot goes up to there: {latest}"


def torn(path: Path) -> Bad | None:
    """Why a snapshot of metadata does not go to its end; None: it does. Raises OSError."""
    last: Batch | None = None
    size, expected = path.stat().st_size, 0
    name = _SNAPSHOT.fullmatch(path.name)
    epoch = 0 if name is None else int(name[2])
    for each in batches(path):
        if isinstance(each, Bad):
            return each
        # Neither is in the checksum of a batch.
        if (each.base, each.epoch) != (expected, epoch):
            said = f"a batch of epoch {each.epoch} from offset {each.base}, in a snapshot of epoch "
            return Bad(each.position, size, f"{said}{epoch} where offset {expected} is next")
        expected, last = each.last + 1, each
    kinds: list[int] = []
    if last is not None and last.marker == "other":
        with open_file(path) as file:
            file.seek(last.position)
            kinds = [kind for kind, _ in _controls(file.read(last.size))]
    return None if FOOTER in kinds else Bad(size, size, "a snapshot without its end")


def _own(meta: Path) -> Voter | None:
    try:
        told = dict(_OWN.findall(read_text(meta, TEXT_MAX)))
        return Voter(int(told["node.id"]), _hexadecimal(told["directory.id"]))
    except (FileNotFoundError, KeyError, ValueError):
        return None


def _hexadecimal(directory: str) -> str:
    """Kafka writes 16 bytes in 22 letters (org.apache.kafka.common.Uuid)."""
    return urlsafe_b64decode(f"{directory}==").hex()


def _sets(path: Path) -> Iterator[list[Voter]]:
    """The sets of voters in a segment or a snapshot, one after the other."""
    with open_file(path) as file:
        for each in batches(path):
            if isinstance(each, Batch) and each.marker == "other":
                file.seek(each.position)
                yield from _of_batch(file.read(each.size))


def _of_batch(data: bytes) -> Iterator[list[Voter]]:
    try:
        for kind, value in _controls(data):
            if kind == VOTERS and value:
                yield _voters(value)
    except (Undecodable, IndexError, struct.error):
        return  # of a version that is not known here; that the batch is whole its checksum says


def _controls(data: bytes) -> Iterator[tuple[int, bytes | None]]:
    """The control records of a batch, by kind. Raises as the readers of bytes do."""
    for record in records_of(header_of(data)):
        if record.key:
            yield struct.unpack_from(">hh", record.key)[1], record.value


def _voters(value: bytes) -> list[Voter]:
    """Decode a VotersRecord of version 0.

    It has a version, and for each voter its number, its directory, where it listens, and the
    versions that it supports.
    """
    count, at = _count(value, 2)
    found = []
    for _ in range(count):
        number, directory = struct.unpack_from(">i16s", value, at)
        found.append(Voter(number, directory.hex()))
        endpoints, at = _count(value, at + 20)
        for _ in range(endpoints):
            for _ in ("name", "host"):
                size, at = _count(value, at)
                at += size
            at = _tags(value, at + 2)
        at = _tags(value, _tags(value, at + 4))
    return found


def _count(value: bytes, at: int) -> tuple[int, int]:
    """A length of the compact form, which is one more, and where it ends."""
    told, at = unsigned(value, at)
    return told - 1, at


def _tags(value: bytes, at: int) -> int:
    """Behind the tagged fields."""
    fields, at = unsigned(value, at)
    for _ in range(fields):
        _, at = unsigned(value, at)
        size, at = unsigned(value, at)
        at += size
    return at


def electable(replicas: Sequence[DiskReplica]) -> list[Finding]:
    """That nobody can be elected, if it is so."""
    there = {each.quorum.own: each.quorum for each in replicas if each.quorum is not None}
    if not there or {voter for each in there.values() for voter in each.voters} - there.keys():
        return []
    said = []
    for own, each in sorted(there.items()):
        if own not in each.voters:
            said.append(f"{own.number} is no voter by its own log")
            continue
        asked = [there[voter] for voter in each.voters]
        ahead = [o for o in asked if (o.epoch, o.end) > (each.epoch, each.end)]
        if 2 * (len(asked) - len(ahead)) > len(asked):
            return []
        longer = ", ".join(f"{o.own.number}'s log has epoch {o.epoch} to {o.end}" for o in ahead)
        said.append(
            f"{own.number} gets {len(asked) - len(ahead)} of {len(asked)} votes (its own log has "
            f"epoch {each.epoch} to {each.end}, {longer})"
        )
    why = f"nobody can be elected: {'; '.join(said)}"
    return [Finding("violated", "SomebodyElectable", "", -1, why)]
