"""Disks: a crash keeps what is flushed, and of the rest any prefix."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.log import Entry
from kraftcheck.reference.quorum.sim.disk import Disk
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.types import Constants, Row, initial_row
from kraftcheck.reference.sim.choices import SeededChooser

ROW: Row = replace(
    initial_row(Constants((0, 1, 2), 2)),
    log=tuple(Entry(1, value) for value in range(5)),
    flushed=2,
)


def disk(**options: Any) -> Disk:
    return Disk(Options(**options), SeededChooser(1).stream("disk"))


def test_a_lossy_crash_keeps_any_prefix_from_the_flushed_end_on() -> None:
    lossy = disk(lossy=1000)
    assert set(Counter(lossy.kept(ROW) for _ in range(200))) == {2, 3, 4}


def test_a_crash_that_is_not_lossy_keeps_all() -> None:
    assert disk().kept(ROW) == 5


def test_what_is_flushed_is_never_lost() -> None:
    assert disk(lossy=1000).kept(replace(ROW, flushed=5)) == 5


def test_some_crashes_lose_and_others_do_not() -> None:
    half = disk(lossy=500)
    kept = Counter(half.kept(ROW) == 5 for _ in range(300))
    assert 100 < kept[True] < 200


def test_flushes_take_their_time() -> None:
    assert {disk().flush_time() for _ in range(5)} == {1000}
    slow = disk(flush_ms=400)
    times = {slow.flush_time() for _ in range(100)}
    assert min(times) == 1000 and max(times) == 400_000
    slow.heal()
    assert slow.flush_time() == 1000
