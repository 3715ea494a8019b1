"""What a file system keeps of files that nobody synced, if the power goes: H3, H4, H5 and H9.

    .venv/bin/python -m experiments.written_back [--case hole|marker|tail|times] [--repeat N]
                                                 [--control] [--file-system ext4|xfs|btrfs]

What a broker would make of a disk like that is known (docs/reference/storage.md). The question is
whether a disk becomes like that. Many files are written as a broker writes its own, then the power
is cut (power.py), at a moment by chance. No Kafka is needed; what it does in between is left out
where it would sync.

hole    A rolled segment is as it was at the end of an earlier batch, the next one has records: a
        log whose recovery finds nothing wrong, and that lacks records. Nobody flushes the first
        one, as if its flush behind the roll came late.
marker  The marker of a clean stop is removed, and records are appended. The marker is there again,
        and they are as well: whole, or torn.
tail    Records are cut, the recovery point is written down (synced), and others of the same size
        are appended. Behind one of these an old one follows.

times   An index gets its last entry by its mapping and is trimmed to what it has, as a clean stop
        does behind the last sync; then a checkpoint is written, synced and renamed. The index has
        its new length, and zeros in it (Z161).

The control: somebody syncs what was written last (hole: the next segment; marker: nobody removes
the marker; tail: the records are overwritten, and not cut; times: the entry is not written). It
must show what is looked for.

Ends with 1 if that was found, with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

import mmap
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import click

from experiments.power import KINDS, cut_power, disk
from experiments.tools import click_errors

FILES: Final = 200
BATCHES: Final = (69, 512, 1024, 4096, 16384)
"""Bytes; one record is 69, and files of batches that fill blocks are among them."""
MOST_S: Final = 40
"""Linux writes by itself what is older than half a minute, and looks every five seconds."""
OLD, NEW = b"a", b"b"
TIMES: Final = "0.timeindex"
ENTRY, INDEX = 12, 10485756
"""Bytes of an entry, and of an index at work."""


class Case(NamedTuple):
    write: Callable[[Path, int, bool], None]
    """What is written of one partition; its last step returns what is done for the control."""
    broken: Callable[[Path, int], bool]
    """Whether what is looked for is there."""


def append(path: Path, content: bytes, size: int, times: int) -> None:
    """So many batches, each by one write, as Kafka does it."""
    with open(path, "ab", buffering=0) as file:
        for _ in range(times):
            file.write(content * size)


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def batches(path: Path, size: int) -> list[bytes]:
    """The first byte of each whole batch; of what is torn, or zeros: b"?"."""
    data = path.read_bytes() if path.exists() else b""
    whole = (data[at : at + size] for at in range(0, len(data), size))
    return [each[:1] if each in (OLD * size, NEW * size) else b"?" for each in whole]


def roll(at: Path, size: int, control: bool) -> None:
    append(at / "0.log", OLD, size, 5)
    append(at / "5.log", NEW, size, 5)
    if control:
        sync(at / "5.log")


def lacks_records(at: Path, size: int) -> bool:
    """Say whether the first segment lacks records while nothing in it is torn.

    It has less than 5 + 3, and the next segment has some.
    """
    first, second = batches(at / "0.log", size), batches(at / "5.log", size)
    return len(first) < 8 and b"?" not in first and second[:1] == [NEW]


def start(at: Path, size: int, control: bool) -> None:
    if not control:
        (at / "marker").unlink()
    append(at / "0.log", NEW, size, 5)
    if control:
        sync(at / "0.log")


def skips_recovery(at: Path, size: int) -> bool:
    found = batches(at / "0.log", size)
    return (at / "marker").exists() and len(found) > 3


def cut(at: Path, size: int, control: bool) -> None:
    if not control:
        os.truncate(at / "0.log", size)
        point = at / "recovery-point"
        point.write_bytes(b"1")
        sync(point)
        append(at / "0.log", NEW, size, 1)
        return
    with open(at / "0.log", "r+b", buffering=0) as file:
        file.seek(size)
        file.write(NEW * size)
    sync(at / "0.log")


def comes_back(at: Path, size: int) -> bool:
    return b"ba" in b"".join(batches(at / "0.log", size))


def trim(at: Path, size: int, control: bool) -> None:
    index, checkpoint = at / TIMES, at / "checkpoint"
    with open(index, "r+b") as file:
        if not control:
            with mmap.mmap(file.fileno(), INDEX) as mapped:
                mapped[:ENTRY] = NEW * ENTRY
        file.truncate(ENTRY)
    temporary = at / "checkpoint.tmp"
    temporary.write_bytes(b"1")
    sync(temporary)
    temporary.rename(checkpoint)
    sync(at)


def is_zeroed(at: Path, size: int) -> bool:
    return (at / TIMES).read_bytes() == bytes(ENTRY)


CASES: Final = {
    "hole": Case(roll, lacks_records),
    "marker": Case(start, skips_recovery),
    "tail": Case(cut, comes_back),
    "times": Case(trim, is_zeroed),
}


def tried(
    folder: Path, kind: str, case: Case, control: bool, draw: random.Random
) -> tuple[int, int, float]:
    """Count the partitions that lack records, and those that have something of the last write.

    Also give the seconds between that write and the power cut.
    """
    with disk(folder, kind):
        places = [(folder / str(number), BATCHES[number % len(BATCHES)]) for number in range(FILES)]
        for at, size in places:
            at.mkdir()
            (at / "marker").touch()
            append(at / "0.log", OLD, size, 3)
            (at / TIMES).touch()
            os.truncate(at / TIMES, INDEX)
        sync_all(folder)
        waited = draw.uniform(0, MOST_S)
        moments = sorted(draw.uniform(0, waited) for _ in places)
        began = time.monotonic()
        for moment, (at, size) in zip(moments, places, strict=True):
            time.sleep(max(0.0, began + moment - time.monotonic()))
            case.write(at, size, control)
        time.sleep(max(0.0, began + waited - time.monotonic()))
        cut_power(folder)
        found = sum(case.broken(at, size) for at, size in places)
        kept = sum(
            NEW in batches(at / name, of)
            for at, size in places
            for name, of in (("0.log", size), ("5.log", size), (TIMES, ENTRY))
        )
    return found, kept, waited


def sync_all(folder: Path) -> None:
    for each in sorted(folder.rglob("*")):
        sync(each)


@click.command()
@click.option("--case", "name", type=click.Choice(list(CASES)), default="hole", show_default=True)
@click.option("--control", is_flag=True, help="What is looked for is made.")
@click.option("--repeat", type=click.IntRange(1), default=3, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--file-system", "kind", type=click.Choice(list(KINDS)), default="ext4")
@click_errors("written_back", kafka=False)
def main(name: str, control: bool, repeat: int, seed: int, kind: str) -> None:
    """Try what a file system keeps of what nobody synced."""
    draw, shown = random.Random(seed), 0
    for turn in range(1, repeat + 1):
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
            found, kept, waited = tried(Path(folder) / "disk", kind, CASES[name], control, draw)
        shown += found
        click.echo(
            f"power cut {turn} of {repeat}, {waited:.1f} s after the first: {found} of {FILES} "
            f"partitions; {kept} kept something of what was written last"
        )
    click.echo(f"{kind}, {name}: {'VIOLATED' if shown else 'not seen'}")
    sys.exit(int(shown > 0))


if __name__ == "__main__":
    main()
