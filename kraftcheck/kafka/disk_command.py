"""`disk`: what lies on the disks of brokers, judged on its own and side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count, groupby
from pathlib import Path
from typing import TypeAlias

import msgspec

from kraftcheck import exits
from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput, refusing
from kraftcheck.kafka import disk_page
from kraftcheck.kafka.disk_members import Metadata, Unread
from kraftcheck.kafka.disks import directory, files
from kraftcheck.kafka.disks.directory import Directory, Place
from kraftcheck.kafka.disks.found import (
    Common,
    DiskPartition,
    DiskReplica,
    Finding,
    verdict_of,
    verdict_on,
    with_roles,
)
from kraftcheck.kafka.disks.partition import judge
from kraftcheck.kafka.disks.replicas import judged as together
from kraftcheck.kafka.disks.voters import METADATA
from kraftcheck.screen import Columns, Screen

TOLD = 5
Beside: TypeAlias = Mapping[Path, Sequence[Finding]]
"""By log directory, what is in it beside the partitions."""
HEADS = (
    *("partition", "folder", "role", ">segments", ">bytes", ">synced", ">from", ">to", "epochs"),
    "verdict",
)
"""role: in the ISR, by the metadata log. synced: bytes that are known to be on the disk."""


def run(
    folders: Sequence[Path], topics: Sequence[str], screen: Screen, page: Path | None = None
) -> int:
    """Judge log directories, or directories of partitions.

    Exit code 1: something is not as Kafka promises; 2: a broker is at work in one, something cannot
    be read, or nothing is there to be judged.

    topics: only these. page: a file for a page. Raises BadInput: a folder is none, or has nothing
    of Kafka's, or the page is to lie in one that is judged; OSError: one cannot be listed.
    """
    if page is not None and any(folder.resolve() in page.resolve().parents for folder in folders):
        raise BadInput(f"{page} would be written to a folder that is judged; name another")
    asked = {folder: _directory(folder) for folder in folders}
    # Who names a place twice has it judged once.
    places = {each.path.resolve(): each for found in asked.values() for each in found.places}
    chosen = [each for each in places.values() if not topics or each.topic in topics]
    if not chosen:
        raise BadInput(
            f"no partition of {', '.join(topics)} is there" if topics else "no partition"
        )
    before = _sizes(chosen)
    partitions: dict[tuple[str, int], list[Place]] = defaultdict(list)
    for each in chosen:
        partitions[each.topic, each.partition].append(each)
    metadata, of_metadata = _metadata(asked.values())
    judged: list[DiskPartition] = []
    number = count(1)
    with screen.progress("directories", len(chosen)) as meter:
        for key, of in sorted(partitions.items()):
            replicas: list[DiskReplica] = []
            cleaned = any(each.common.compacted for each in of)
            for each in of:
                common = msgspec.structs.replace(each.common, copied_cleaned=cleaned)
                replicas.append(judge(each.path, common))
                meter.update(next(number), each.path.name)
            topic_id = next((each.common.topic_id for each in replicas), None)
            members = None if metadata is None else metadata.members(*key, topic_id)
            judged.append(together(*key, replicas, members))
    beside: dict[Path, Sequence[Finding]] = {
        folder: found.findings for folder, found in asked.items() if found.findings
    }
    if foreign := _of_clusters(asked):
        first = min(asked)
        beside[first] = [*beside.get(first, ()), foreign]
    for folder, several in of_metadata.items():
        beside[folder] = [*beside.get(folder, ()), *several]
    held = [str(folder) for folder in folders if _is_held(folder)]
    if _sizes(chosen) != before:
        held = held or ["the files"]
    verdict, said = _summary(judged, beside, held)
    if page is not None:
        _write(page, disk_page.page(judged, verdict, said, [str(each) for each in folders]))
    return _tell(judged, beside, verdict, said, held, screen)


def _metadata(asked: Iterable[Directory]) -> tuple[Metadata | None, Beside]:
    """Read the metadata log, if one is there.

    Also give what is wrong with it, or why it cannot be read, and where.
    """
    places = [each for of in asked for each in of.places if each.path.name == METADATA]
    if not places:
        return None, {}
    try:
        metadata = Metadata(places)
    except Unread as error:
        why = str(error)
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
    else:
        found = metadata.findings
        return metadata, {metadata.folder.parent: found} if metadata.folder and found else {}
    said = f"{why}: who is in the ISR is not known"
    finding = Finding("unknown", "FilesWhole", METADATA, -1, said)
    return None, {places[0].path.parent: [finding]}


def _of_clusters(asked: Mapping[Path, Directory]) -> Finding | None:
    """Say that not all are of one cluster (as MetaPropertiesEnsemble.verify does for a node)."""
    of: dict[str, list[str]] = defaultdict(list)
    for folder, found in sorted(asked.items()):
        if found.cluster is not None:
            of[found.cluster].append(str(folder))
    if len(of) < 2:
        return None
    said = "; ".join(f"{', '.join(folders)}: {name}" for name, folders in sorted(of.items()))
    return Finding("report", "SameCluster", files.META, -1, f"ids of several clusters: {said}")


def _write(page: Path, text: str) -> None:
    with refusing(OSError, of=page):
        write_whole(page, text)


def _directory(folder: Path) -> Directory:
    """Raises BadInput, OSError."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder")
    whole = folder.absolute()
    name = files.PARTITION.fullmatch(whole.name)
    if name is not None and files.segments_of(folder):
        beside = directory.read(whole.parent)
        common = next(
            (each.common for each in beside.places if each.path == whole), Common(alone=True)
        )
        place = Place(folder, name["topic"], int(name["partition"]), common)
        of_all = [each for each in beside.findings if each.invariant == "FilesWhole"]
        named = [msgspec.structs.replace(each, file=f"../{each.file}") for each in of_all]
        return Directory([place], named)
    found = directory.read(folder)
    if not found.places:
        lacks = "no folder TOPIC-NUMBER" if name is None else "neither a segment nor a partition"
        raise BadInput(f"{folder} is not a log directory of Kafka: it has {lacks}")
    return found


def _is_held(folder: Path) -> bool:
    return files.is_held(folder) or files.is_held(folder.absolute().parent)


def _sizes(places: Sequence[Place]) -> dict[Path, tuple[int, int]]:
    """Of what can be asked; the judge says what cannot."""
    found = {}
    for each in places:
        with suppress(OSError):
            for path in files.segments_of(each.path).values():
                state = path.stat()
                found[path] = state.st_size, state.st_mtime_ns
    return found


def _summary(
    judged: Sequence[DiskPartition], beside: Beside, held: Sequence[str]
) -> tuple[str, list[str]]:
    """The verdict on all, and what there is to say of it."""
    findings = [finding for of in judged for finding in of.findings]
    verdict: str = verdict_of([*findings, *chain.from_iterable(beside.values())])
    said = [
        *(_line(folder, each) for folder, several in beside.items() for each in several),
        *(
            f"unknown: a broker is running in {folder}: the files may be inconsistent"
            for folder in held
        ),
    ]
    empty = all(each.end == each.start for of in judged for each in of.replicas)
    if empty:
        said.append("unknown: no record is in any of them: nothing was there to be judged")
    forgotten = [each for of in judged for found in of.replicas for each in found.forgotten]
    if forgotten:
        batches = sum(each.batches for each in forgotten)
        said.append(
            f"note: a start knows the last batch of a producer only: {batches:,} earlier ones of "
            f"{len(forgotten):,} producers, of the last two minutes of their logs, are forgotten, "
            "and a retry of one is out of order (Z141); --json has them"
        )
    if held or (empty and verdict == "holds"):
        verdict = "unknown"
    count = sum(len(of.replicas) for of in judged)
    return verdict, [*said, f"verdict  {verdict}: {count} directories of {len(judged)} partitions"]


def _tell(
    judged: Sequence[DiskPartition],
    beside: Beside,
    verdict: str,
    said: Sequence[str],
    held: Sequence[str],
    screen: Screen,
) -> int:
    rows = [
        (
            f"{of.topic}-{of.partition}",
            each.folder,
            role or "-",
            each.segments,
            f"{each.bytes:,}",
            f"{each.synced:,}",
            each.start,
            each.end,
            ",".join(str(epoch) for epoch, _ in each.epochs[-4:]),
            verdict_on(each),
        )
        for of in judged
        for each, role in with_roles(of)
    ]
    table = Columns(HEADS, rows)
    screen.line(table.head)
    for row in rows:
        screen.line(table.row(row))
    for line in _lines(judged):
        screen.line(line)
    for line in said:
        screen.line(line)
    screen.document(_document(judged, beside, verdict, held))
    return exits.code_of(verdict)


def _lines(judged: Sequence[DiskPartition]) -> Iterator[str]:
    """The findings, of one kind in one file the first ones."""
    for of in judged:
        for each in of.replicas:
            for (name, file), alike in groupby(each.findings, lambda f: (f.invariant, f.file)):
                several = list(alike)
                for found in several[:TOLD]:
                    yield _line(each.folder, found)
                if len(several) > TOLD:
                    place = f"{each.folder}/{file}".rstrip("/")
                    yield f"and {len(several) - TOLD:,} more of {name} in {place}; see --json"
        for found in of.together:
            yield f"{found.weight}: {found.invariant}: {found.said}"


def _line(folder: Path | str, found: Finding) -> str:
    place = f"{folder}/{found.file}".rstrip("/")
    at = f" at byte {found.position:,}" if found.position >= 0 else ""
    return f"{found.weight}: {found.invariant}: {place}{at}: {found.said}"


def _document(
    judged: Sequence[DiskPartition], beside: Beside, verdict: str, held: Sequence[str]
) -> dict[str, object]:
    return {
        "verdict": verdict,
        "at_work": list(held),
        "directories": {str(folder): msgspec.to_builtins(each) for folder, each in beside.items()},
        "partitions": [
            {
                "topic": of.topic,
                "partition": of.partition,
                "replicas": [
                    {"role": role or None, **_replica(each)} for each, role in with_roles(of)
                ],
                "together": msgspec.to_builtins(of.together),
            }
            for of in judged
        ],
    }


def _replica(found: DiskReplica) -> dict[str, object]:
    fields = msgspec.structs.asdict(found)
    common = found.common
    for name in ("sums", "ended", "transactions", "layout", "common", "election", "noted_epochs"):
        del fields[name]
    fields |= {name.replace(" ", "_"): mark for name, mark in common.marks.items()}
    fields |= {"node": common.node, "topic_id": common.topic_id}
    return {name: msgspec.to_builtins(value) for name, value in fields.items()}
