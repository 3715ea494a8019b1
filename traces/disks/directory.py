"""A log directory of a broker: its partitions, and what of it is not judged because its name or its
format is none that is known here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from kraftcheck.traces.disks import files
from kraftcheck.traces.disks.files import Malformed, Newer
from kraftcheck.traces.disks.found import Common, Finding
from kraftcheck.traces.disks.voters import METADATA, begins

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


def read(folder: Path) -> Directory:
    """Raises OSError: the folder cannot be listed."""
    found = Directory([], [])
    beside = (files.META, files.HIGH_WATERMARKS, files.RECOVERY_POINTS, files.CLEANED)
    common = Common(
        alone=not any((folder / name).exists() for name in beside),
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
                high_watermark=at[0],
                recovery_point=at[1],
                log_start=at[2],
                cleaned=at[3],
            )
            found.places.append(Place(path, *key, of))
        elif path.name not in OWN:
            said = "is not TOPIC-NUMBER: not judged"
            found.findings.append(Finding("report", "NamesParse", path.name, -1, said))
    return found


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
