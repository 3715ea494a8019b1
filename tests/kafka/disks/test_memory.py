"""What `disk` needs does not grow with the log."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kafka.disks.written import Laid, bytes_of, judged, write_lines

GROWS = 1.8
"""At most, where the log is eight times as long. Peaks are some 50 kB; what the interpreter
keeps for new objects makes up to a third more. Without one of the bounds it is twice or more."""


def write_long(folder: Path, batches: int, segments: int) -> None:
    partition = folder / "t-0"
    partition.mkdir(parents=True)
    (folder / ".kafka_cleanshutdown").touch()
    write_lines(folder / "recovery-point-offset-checkpoint", [f"t 0 {batches}"])
    write_lines(partition / "leader-epoch-checkpoint", ["0 0"])
    each = batches // segments
    for base in range(0, batches, each):
        # Transactions, each of a batch and its end.
        told = [
            Laid(at, marker=(at // 2) % 2, producer=7, producer_epoch=0)
            if at % 2
            else Laid(at, transactional=True, producer=7, producer_epoch=0, sequence=at // 2)
            for at in range(base, base + each)
        ]
        (partition / f"{base:020}.log").write_bytes(b"".join(map(bytes_of, told)))


def peak(folder: Path) -> int:
    """Bytes, of judging it."""
    tracemalloc.start()
    try:
        found = judged(folder)
        assert found.end > 0 and not any(each.weight == "unknown" for each in found.findings)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    def set_to(name: str, value: int) -> None:
        monkeypatch.setattr(f"kraftcheck.kafka.disks.{name}", value)

    for name, value in (("sums.MOST", 32), ("partition.PART", 64), ("batches.BLOCK", 4096)):
        set_to(name, value)
    set_to("partition.ENDED", 16)
    set_to("partition.FINDINGS_MAX", 16)
    return set_to


def grows(folder: Path) -> float:
    """By what factor, where there are eight times as many batches in as many segments."""
    for name, batches in (("short", 600), ("long", 4800)):
        if not (folder / name).exists():
            write_long(folder / name, batches, 2)
    # The first call imports, and fills what the interpreter keeps for new objects. A collection
    # would empty that again, and a peak would be of how lately one was.
    gc.disable()
    try:
        judged(folder / "long")
        return peak(folder / "long") / peak(folder / "short")
    finally:
        gc.enable()


def test_memory_does_not_grow_with_the_log(
    small: Callable[[str, int], None], tmp_path: Path
) -> None:
    assert grows(tmp_path) < GROWS


@pytest.mark.parametrize(
    "name", ["sums.MOST", "partition.PART", "partition.ENDED", "partition.FINDINGS_MAX"]
)
def test_what_is_kept_of_each_batch_is_seen(
    name: str, small: Callable[[str, int], None], tmp_path: Path
) -> None:
    """Planted: no bound on one of the things that are kept."""
    small(name, 1 << 30)
    assert grows(tmp_path) > GROWS
