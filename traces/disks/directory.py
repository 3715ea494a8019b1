"""Read a broker's log directory: its partitions, and what is not judged.

What has a name or a format that is not known here is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from kraftcheck.traces.disks import files
from kraftcheck.traces.disks.files import Malformed, Newer
from kraftcheck.traces.disks.found import Common, Finding, Weight
from kraftcheck.traces.disks.voters import METADATA, begins, torn

Told = TypeVar("Told")
Marks = dict[tuple[str, int], int]
OWN: Final = ("remote-log-index-cache",)
"""Folders of Kafka's that are none of a partition (RemoteIndexCache)."""


class Place(NamedTuple):
    """The directory of a partition."""

    path: Path
    topic: str
    partition: int
    common: Common


class Directory(NamedTuple):
    places: list[Place]
    findings: list[Finding]
    cluster: str | None = None
    """The id of the cluster that it is of; None: nothing says it."""


def read(folder: Path) -> Directory:
    """Raises OSError: the folder cannot be listed."""
    found = Directory([], [], _cluster(folder))
    beside = (*files.BROKERS, files.META, files.CLEANED, files.BOOTSTRAP)
    common = Common(
        alone=not any((folder / name).exists() for name in beside) and not _is_whole(folder),
        stopped=(folder / files.CLEAN).exists(),
        node=_told(found, folder / files.META, lambda path: files.node(path.parent), None),
    )
    names = (files.HIGH_WATERMARKS, files.RECOVERY_POINTS, files.LOG_STARTS, files.CLEANED)
    none: Marks = {}
    marks = [_told(found, folder / name, files.checkpoint, none) for name in names]
    for path in sorted(folder.iterdir()):
        if not path.is_dir():
            continue
        name = files.PARTITION.fullmatch(path.name)
        if files.LEFT_OVER.fullmatch(path.name):
            said = "is left of a deletion, a move or another topic: not judged"
            found.findings.append(Finding("report", "LeftOver", path.name, -1, said))
        elif name is not None:
            key = name["topic"], int(name["partition"])
            at = [each.get(key) for each in marks]
            # The metadata log is recovered at each start (KafkaRaftLog.createLog); since 4.4 its
            # indexes are left as they are.
            stopped = common.stopped and path.name != METADATA
            if path.name == METADATA:
                at[2] = _told(found, path, begins, None)
            of = msgspec.structs.replace(
                common,
                stopped=stopped,
                synced=path.name == METADATA,
                unnoted=_unnoted(path, at, marks),
                high_watermark=at[0],
                recovery_point=at[1],
                log_start=at[2],
                cleaned=at[3],
            )
            found.places.append(Place(path, *key, of))
        elif path.name not in OWN:
            said = "is not TOPIC-NUMBER: not judged"
            found.findings.append(Finding("report", "NamesParse", path.name, -1, said))
    there = {(each.topic, each.partition) for each in found.places}
    for file, told in zip(names, marks, strict=True):
        for topic, number in sorted(told.keys() - there):
            said = f"names {topic}-{number}, which is not there"
            found.findings.append(Finding("report", "NamesParse", file, -1, said))
    _beside(found, folder, common)
    return found


def _cluster(folder: Path) -> str | None:
    """Nothing, where the file is damaged: that is said of the node."""
    with suppress(Malformed, OSError):
        return files.cluster(folder)
    return None


def _unnoted(path: Path, at: Sequence[int | None], marks: Sequence[Marks]) -> tuple[str, ...]:
    """Which of the marks that a broker notes of each partition are noted of others only."""
    if path.name == METADATA:
        return ()
    names = ("high watermark", "recovery point")
    pairs = zip(names, at, marks, strict=False)
    return tuple(name for name, mark, of in pairs if of and mark is None)


def _is_whole(folder: Path) -> bool:
    """Whether a metadata log has more than its segments, which a recording copies alone."""
    path = folder / METADATA
    return path.is_dir() and any(each.suffix != ".log" for each in path.iterdir())


def _beside(found: Directory, folder: Path, common: Common) -> None:
    """What a broker reads at its start, and what says that it was stopped cleanly."""

    def note(weight: Weight, name: str, said: str, position: int = -1) -> None:
        found.findings.append(Finding(weight, "FilesWhole", name, position, said))

    if common.alone:
        return
    if not (folder / files.META).exists():
        said = "is missing: a broker takes the directory for a new one, or does not start"
        note("report", files.META, said)
    elif not _told(found, folder / files.META, files.is_ended, True):
        note("report", files.META, "its last line has no end: it may be cut")
    if any(place.path.name != METADATA for place in found.places):
        for name in files.BROKERS:
            path = folder / name
            if not path.exists():
                note("report", name, "is missing: a start begins without what it notes")
            elif path.is_file() and path.stat().st_size == 0:
                note("report", name, "is empty: a start begins without what it notes")
    if common.stopped:
        try:
            files.stop_epoch(folder)
        except (Malformed, OSError) as error:
            said = f"{error}: the controller takes the stop for an unclean one"
            note("report", files.CLEAN, said)
    path = folder / files.BOOTSTRAP
    if path.exists() and (bad := _told(found, path, torn, None)):
        note("unknown" if bad.foreign else "violated", path.name, bad.why, bad.position)


def _told(found: Directory, path: Path, read: Callable[[Path], Told], nothing: Told) -> Told:
    """What a file says, or else nothing, and why it does not."""
    try:
        return read(path)
    except Newer as error:
        finding = Finding("unknown", "FilesWhole", path.name, error.position, str(error))
    except Malformed as error:
        said = f"{error}; what it says is not known"
        finding = Finding("violated", "FilesWhole", path.name, error.position, said)
    except OSError as error:
        finding = Finding("unknown", "FilesWhole", path.name, -1, str(error.strerror))
    found.findings.append(finding)
    return nothing
