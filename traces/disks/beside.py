"""What lies beside the logs of two replicas: whether it says the same of what both had.

Epoch files, snapshots and transaction indexes are held against their own logs (partition.py), and
the logs against each other. What is left is what is said of records that were deleted since, or
cleaned away.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from kraftcheck.traces.disks import files
from kraftcheck.traces.disks.files import Aborted, Malformed, Remembered
from kraftcheck.traces.disks.found import DiskReplica, Finding

TOLD: Final = 5


def beside(one: DiskReplica, other: DiskReplica) -> list[Finding]:
    """Raises OSError."""
    ends = islice(_ends(one, other), TOLD)
    if one.common.compacted or other.common.compacted:
        return [*ends]
    producers, aborted = _producers(one, other), _aborted(one, other)
    return [*ends, *_starts(one, other), *islice(producers, TOLD), *islice(aborted, TOLD)]


def _ends(one: DiskReplica, other: DiskReplica) -> Iterator[Finding]:
    """Where epochs end that both know, and that are over: by that logs are cut.

    Who copies a log that was cleaned takes them to end too late, and does not notice what another
    has there [LeaderEpochFileCache.endOffsetFor; Z222]: a report, as nobody need have anything.
    """
    pair = [_epochs(each) for each in (one, other)]
    if not all(pair):
        return
    known = pair[0].keys() | pair[1].keys()
    least, latest = max(map(min, pair)), min(map(max, pair))
    for epoch in sorted(each for each in known if least <= each < latest):
        ends = [min(start for at, start in told.items() if at > epoch) for told in pair]
        if ends[0] != ends[1]:
            said = f"epoch {epoch} ends at {ends[0]} as {one.folder} has it, at {ends[1]} as "
            yield Finding("report", "EpochCacheSound", "", -1, f"{said}{other.folder} has it")


def _epochs(found: DiskReplica) -> dict[int, int]:
    """Nothing, where the judge of the replica alone says what is wrong with them."""
    try:
        return dict(files.epochs(Path(found.folder) / files.EPOCHS))
    except (FileNotFoundError, Malformed):
        return {}


def _starts(one: DiskReplica, other: DiskReplica) -> Iterator[Finding]:
    starts = [max(each.start, each.common.log_start or 0) for each in (one, other)]
    if starts[0] != starts[1]:
        said = f"{one.folder} begins at {starts[0]}, {other.folder} at {starts[1]}: each deletes in"
        yield Finding("report", "SameStart", "", -1, f"{said} its own time")


def _producers(one: DiskReplica, other: DiskReplica) -> Iterator[Finding]:
    """Of producers that both know at an offset.

    Of one that had expired on either side only its marker may be known there: a report.
    """
    ours, theirs = _snapshots(one), _snapshots(other)
    for name in sorted(ours.keys() & theirs.keys()):
        pair = [_told(path) for path in (ours[name], theirs[name])]
        for producer in sorted(pair[0].keys() & pair[1].keys()):
            if pair[0][producer] != pair[1][producer]:
                said = f"{name} of {one.folder} and {other.folder}: producer {producer}: "
                said += f"{_of(pair[0][producer])}, and {_of(pair[1][producer])}"
                yield Finding("report", "ProducerStateReplays", "", -1, said)


def _snapshots(found: DiskReplica) -> dict[str, Path]:
    return {path.name: path for path in Path(found.folder).glob("*.snapshot") if path.is_file()}


def _told(path: Path) -> dict[int, Remembered]:
    """Nothing, where the judge of the replica alone says what is wrong with it."""
    try:
        return files.snapshot(path)
    except Malformed:
        return {}


def _of(each: Remembered) -> str:
    return (
        f"epoch {each.epoch}, sequence {each.sequence}, offset {each.offset}, transaction "
        f"{each.transaction}"
    )


def _aborted(one: DiskReplica, other: DiskReplica) -> Iterator[Finding]:
    """Report transactions whose beginning one of the logs no longer has.

    It is a report only: a replica that came later never had the beginning.
    """
    start = max(one.start, other.start)
    ours, theirs = (
        {(each.producer, each.last): each for each in _entries(found, start)}
        for found in (one, other)
    )
    for key in sorted(ours.keys() & theirs.keys()):
        pair = ours[key], theirs[key]
        if pair[0] != pair[1]:
            said = f"{one.folder} and {other.folder}: the aborted transaction of producer {key[0]} "
            said += f"up to {key[1]}: {_stable(pair[0])}, and {_stable(pair[1])}"
            yield Finding("report", "TxnIndexExact", "", -1, said)


def _entries(found: DiskReplica, below: int) -> Iterator[Aborted]:
    """Those that begin below an offset."""
    for path in files.indexes_from(Path(found.folder)) if below else ():
        try:
            yield from (each for each in files.transaction_index(path) if each.first < below)
        except Malformed:
            return


def _stable(each: Aborted) -> str:
    return f"from {each.first}, last stable offset {each.stable}"
