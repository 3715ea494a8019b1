"""`disk`: what lies on the disks of brokers, judged on its own and side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from kraftcheck import disk_page, exits
from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput
from kraftcheck.screen import Columns, Screen
from traces.disks import files
from traces.disks.found import Common, Finding, Found, Judged
from traces.disks.partition import judge, partitions_of
from traces.disks.replicas import compare

TOLD = 5
HEADS = ("partition", "folder", ">segments", ">bytes", ">from", ">to", "epochs", "verdict")


def run(
    folders: Sequence[Path], topics: Sequence[str], screen: Screen, page: Path | None = None
) -> int:
    """Judge log directories, or directories of partitions. Exit code 1: something is not as Kafka
    promises; 2: a broker is at work in one, or nothing is there to be judged.

    topics: only these. page: a file for a page. Raises BadInput: a folder is none, or has nothing
    of Kafka's, or the page is to lie in one that is judged.
    """
    if page is not None and any(folder.resolve() in page.resolve().parents for folder in folders):
        raise BadInput(f"{page} would be written to a folder that is judged; name another")
    places = [place for folder in folders for place in _partitions(folder)]
    chosen = [each for each in places if not topics or each[1] in topics]
    if not chosen:
        raise BadInput(
            f"no partition of {', '.join(topics)} is there" if topics else "no partition"
        )
    before = _sizes(chosen)
    replicas: dict[tuple[str, int], list[Found]] = defaultdict(list)
    with screen.progress("partitions", len(chosen)) as meter:
        for done, (path, topic, number, common) in enumerate(chosen, 1):
            replicas[topic, number].append(judge(path, common))
            meter.update(done, path.name)
    judged = [Judged(*key, found, compare(found)) for key, found in sorted(replicas.items())]
    held = [str(folder) for folder in folders if _is_held(folder)]
    if _sizes(chosen) != before:
        held = held or ["the files"]
    verdict, said = _summary(judged, held)
    if page is not None:
        _write(page, disk_page.page(judged, verdict, said, [str(each) for each in folders]))
    return _tell(judged, verdict, said, held, screen)


def _write(page: Path, text: str) -> None:
    try:
        write_whole(page, text)
    except OSError as error:
        raise BadInput(f"{page}: {error.strerror}") from None


def _partitions(folder: Path) -> Iterator[tuple[Path, str, int, Common]]:
    """Raises BadInput."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder")
    name = files.PARTITION.fullmatch(folder.absolute().name)
    if name is not None and files.segments_of(folder):
        beside = partitions_of(folder.absolute().parent)
        common = next((each[3] for each in beside if each[0].name == folder.name), Common())
        yield folder, name["topic"], int(name["partition"]), common
        return
    found = list(partitions_of(folder))
    if not found:
        raise BadInput(f"{folder} is no log directory of Kafka's: no folder TOPIC-NUMBER is in it")
    yield from found


def _is_held(folder: Path) -> bool:
    return files.is_held(folder) or files.is_held(folder.absolute().parent)


def _sizes(places: Sequence[tuple[Path, str, int, Common]]) -> dict[Path, tuple[int, int]]:
    found = {}
    for folder, *_ in places:
        for path in files.segments_of(folder).values():
            state = path.stat()
            found[path] = state.st_size, state.st_mtime_ns
    return found


def _summary(judged: Sequence[Judged], held: Sequence[str]) -> tuple[str, list[str]]:
    """The verdict on all, and what there is to say of it."""
    verdict = _verdict([finding for of in judged for finding in of.findings])
    said = [
        f"unknown: a broker is at work in {folder}: what was read may be no state of it"
        for folder in held
    ]
    empty = all(each.end == each.start for of in judged for each in of.replicas)
    if empty:
        said.append("unknown: no record is in any of them: nothing was there to be judged")
    if held or (empty and verdict == "holds"):
        verdict = "unknown"
    count = sum(len(of.replicas) for of in judged)
    return verdict, [*said, f"verdict  {verdict}: {count} directories of {len(judged)} partitions"]


def _tell(
    judged: Sequence[Judged],
    verdict: str,
    said: Sequence[str],
    held: Sequence[str],
    screen: Screen,
) -> int:
    rows = [
        (
            f"{of.topic}-{of.partition}",
            each.folder,
            each.segments,
            f"{each.bytes:,}",
            each.start,
            each.end,
            ",".join(str(epoch) for epoch, _ in each.epochs[-4:]),
            _verdict(each.findings),
        )
        for of in judged
        for each in of.replicas
    ]
    table = Columns(HEADS, rows)
    screen.line(table.head)
    for row in rows:
        screen.line(table.row(row))
    for line in _lines(judged):
        screen.line(line)
    for line in said:
        screen.line(line)
    screen.document(_document(judged, verdict, held))
    return exits.code_of(verdict)


def _lines(judged: Sequence[Judged]) -> Iterator[str]:
    """The findings, of one kind in one file the first ones."""
    for of in judged:
        for each in of.replicas:
            for (name, file), alike in groupby(each.findings, lambda f: (f.invariant, f.file)):
                several = list(alike)
                place = f"{each.folder}/{file}".rstrip("/")
                for found in several[:TOLD]:
                    at = f" at byte {found.position:,}" if found.position >= 0 else ""
                    yield f"{found.weight}: {name}: {place}{at}: {found.said}"
                if len(several) > TOLD:
                    yield f"and {len(several) - TOLD:,} more of {name} in {place}; --json has all"
        for found in of.together:
            yield f"{found.weight}: {found.invariant}: {found.said}"


def _verdict(findings: Sequence[Finding]) -> str:
    return "violated" if any(each.weight == "violated" for each in findings) else "holds"


def _document(judged: Sequence[Judged], verdict: str, held: Sequence[str]) -> dict[str, object]:
    return {
        "verdict": verdict,
        "at_work": list(held),
        "partitions": [
            {
                "topic": of.topic,
                "partition": of.partition,
                "replicas": [_replica(each) for each in of.replicas],
                "together": msgspec.to_builtins(of.together),
            }
            for of in judged
        ],
    }


def _replica(found: Found) -> dict[str, object]:
    fields = msgspec.structs.asdict(found)
    common = found.common
    for name in ("batches", "ended", "layout", "common"):
        del fields[name]
    fields |= {
        "high_watermark": common.high_watermark,
        "recovery_point": common.recovery_point,
        "log_start": common.log_start,
        "cleaned": common.cleaned,
    }
    return {name: msgspec.to_builtins(value) for name, value in fields.items()}
