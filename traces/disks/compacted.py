"""Compacted replicas side by side: the last value of each key is the same (CompactionKeepsLatest).

Which records a cleaner has left is each broker's own affair; what a consumer makes of them is not.
So of each log the last committed value of each key is read, up to what both know to be committed,
and held against the other's. A tombstone that one has cleaned away, and the other has not, is none.

A key that stands below the other's first segment is not asked for: retention may have had it. The
keys are held in memory, as their digests: 0.3 kB each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from kraftcheck.osutil.files import open_file
from kraftcheck.reference.storage.batches import Undecodable, header_of, records_of
from kraftcheck.traces.disks import files
from kraftcheck.traces.disks.batches import Bad, batches
from kraftcheck.traces.disks.found import DiskReplica, Finding, Weight

TOLD: Final = 5
"""So many keys of two replicas are told of."""


class Last(NamedTuple):
    offset: int
    value: bytes
    """Its digest; b"": a tombstone."""
    key: str


NOTHING: Final = Last(-1, b"", "")
Values: TypeAlias = dict[bytes, Last]


def compare(pairs: Sequence[tuple[DiskReplica, DiskReplica]]) -> list[Finding]:
    """What cannot be read is unknown of the replica itself."""
    read: dict[tuple[str, int], Values | str] = {}
    found: list[Finding] = []
    for pair in pairs:
        bound, known = _bound(pair)
        least = max(each.common.cleaned or 0 for each in pair)
        names = " and ".join(each.folder for each in pair)
        if bound < least:
            said = f"{names}: values are not compared, one is cleaned up to {least}, and known "
            found.append(_finding("report", said + f"to be committed is what is below {bound}"))
            continue
        if not all(each.layout for each in pair):
            continue
        if torn := [each.folder for each in pair if each.is_torn]:
            said = f"{names}: values are not compared: {torn[0]} has bytes that are no batch"
            found.append(_finding("report", said))
            continue
        for each in pair:
            if (each.folder, bound) not in read:
                read[each.folder, bound] = _read(each, bound)
        one, other = (read[each.folder, bound] for each in pair)
        if isinstance(one, str) or isinstance(other, str):
            why = one if isinstance(one, str) else other
            found.append(_finding("report", f"{names}: values are not compared: {why}"))
            continue
        start = max(max(each.layout[0].base, each.common.log_start or 0) for each in pair)
        weight: Weight = "violated" if known else "report"
        said_ = list(_differing(pair, one, other, start))
        found += [_finding(weight, said) for said in said_[:TOLD]]
        if len(said_) > TOLD:
            found.append(_finding(weight, f"{names}: so do {len(said_) - TOLD:,} more keys"))
    return found


def _finding(weight: Weight, said: str) -> Finding:
    return Finding(weight, "CompactionKeepsLatest", "", -1, said)


def _bound(pair: Sequence[DiskReplica]) -> tuple[int, bool]:
    """Up to where both have all that is committed and ended, and whether that was written down."""
    marks = [each.common.high_watermark for each in pair]
    opened = [first for each in pair for _, first, _ in each.open]
    ends = [each.end for each in pair]
    known = None not in marks
    return min([*ends, *opened, *(mark for mark in marks if mark is not None)]), known


def _differing(
    pair: Sequence[DiskReplica], one: Values, other: Values, start: int
) -> Iterator[str]:
    for key in sorted(one.keys() | other.keys()):
        lasts = one.get(key, NOTHING), other.get(key, NOTHING)
        newest = max(lasts, key=lambda each: each.offset)
        if lasts[0].value == lasts[1].value or newest.offset < start:
            continue
        said = [f"{of.folder} has {_told(last)}" for of, last in zip(pair, lasts, strict=True)]
        yield f"key {newest.key}: {', '.join(said)}"


def _told(last: Last) -> str:
    if last.offset < 0:
        return "nothing"
    return f"{'a value' if last.value else 'a tombstone'} at offset {last.offset}"


def _read(found: DiskReplica, bound: int) -> Values | str:
    """Or why they cannot be read. What is aborted is what its transaction index tells readers."""
    out: Values = {}
    aborted: dict[int, list[tuple[int, int]]] = {}
    try:
        for name in files.indexes_from(Path(found.folder)):
            for entry in files.transaction_index(name):
                aborted.setdefault(entry.producer, []).append((entry.last, entry.first))
        for path in files.segments_of(Path(found.folder)).values():
            _segment(path, bound, aborted, out)
    except (Undecodable, files.Malformed) as error:
        return f"{found.folder}: {error}"
    except OSError as error:
        return f"{error.filename or found.folder}: {error.strerror}"
    return out


def _segment(
    path: Path, bound: int, aborted: dict[int, list[tuple[int, int]]], out: Values
) -> None:
    with open_file(path) as file:
        for each in batches(path):
            if isinstance(each, Bad) or each.base >= bound:
                return
            if each.marker or _is_aborted(aborted.get(each.producer, []), each.base):
                continue
            file.seek(each.position)
            for record in records_of(header_of(file.read(each.size))):
                if record.key is not None and record.offset < bound:
                    value = b"" if record.value is None else _digest(record.value)
                    key = repr(record.key[:40].decode("utf-8", "backslashreplace"))
                    out[_digest(record.key)] = Last(record.offset, value, key)


def _is_aborted(ended: Sequence[tuple[int, int]], offset: int) -> bool:
    """ended: (marker, first offset), ascending."""
    at = bisect_left(ended, (offset, -1))
    return at < len(ended) and ended[at][1] <= offset


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
