"""Damaged histories against every parser: how many, how they end, the slowest, the memory.

Each case is a small history of one format, damaged in one to four ways, read with the format told
and with the format to be found. A trace of ours is damaged in its manifest, or in its file of runs,
with a manifest that fits the damage or does not. All must be read, or refused with a HistoryError
of one line.

    python -m tests.traces.formats.fuzz [CASES] [SEED] [NAME ...]

default: 100000 (of each history), 1, all
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click

from benchmarks._measure import peak_memory
from kraftcheck.traces.formats import detect, trace
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.store import MANIFEST, Campaign
from tests.traces.formats.damage import damaged
from tests.traces.formats.texts import TEXTS

CASES: Final = 100_000
SECONDS_MAX: Final = 2.0
MEGABYTES_MAX: Final = 200
TRACE: Final = "trace"
RUNS: Final = 2
"""Of the trace."""


class Ends:
    """Counts how the cases of one history end, and notes the slowest of all."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.slowest = 0.0

    def add(self, name: str, case: Callable[[], None]) -> None:
        """Anything but a HistoryError of one line is an error that ends the benchmark."""
        begin = time.process_time()
        try:
            case()
            self.counts[name, "read"] += 1
        except HistoryError as error:
            assert str(error).isprintable() and len(error.reason) < 500, str(error)
            self.counts[name, "refused"] += 1
        self.slowest = max(self.slowest, time.process_time() - begin)


def main(cases: int = CASES, seed: int = 1, names: Sequence[str] = (*TEXTS, TRACE)) -> None:
    ends = Ends()
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        folder = Path(name)
        asked = Campaign(scenario="quorum", seed=seed, runs=RUNS)
        simulate(folder / "trace", asked, backend=Pool())
        before = peak_memory()
        for each in names:
            chance = random.Random(f"{each} {seed}")
            if each == TRACE:
                damage_trace(cases, chance, folder / "trace", ends)
            else:
                damage_text(each, cases, chance, folder / "history", ends)
    click.echo(f"{'history':<12} {'read':>9} {'refused':>9}")
    for each in names:
        click.echo(f"{each:<12} {ends.counts[each, 'read']:>9,} {ends.counts[each, 'refused']:>9,}")
    click.echo(
        f"{cases:,} damaged histories of each, texts read twice; slowest {ends.slowest * 1e3:.0f} "
        f"ms CPU; {before / 1024:.0f} MB before, {peak_memory() / 1024:.0f} MB at the peak"
    )
    assert ends.slowest < SECONDS_MAX, "a parser took long over a small file"
    assert peak_memory() - before < MEGABYTES_MAX * 1024, "a parser took much over a small file"


def harmed(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        data = damaged(data, *(chance.randrange(1 << 20) for _ in range(4)))
    return data


def damage_text(name: str, cases: int, chance: random.Random, path: Path, ends: Ends) -> None:
    text, format, _ = TEXTS[name]
    for _ in range(cases):
        path.write_bytes(harmed(text.encode(), chance))
        for chosen in ("auto", format):
            ends.add(name, partial(read_text, path, chosen))


def read_text(path: Path, format: str) -> None:
    detect.read(path, format)


def damage_trace(cases: int, chance: random.Random, folder: Path, ends: Ends) -> None:
    manifest, runs = folder / MANIFEST, next(folder.glob("*.runs.parquet"))
    said, data = manifest.read_bytes(), runs.read_bytes()
    digest = hashlib.sha256(data).hexdigest().encode()
    for _ in range(cases):
        way = chance.randrange(3)
        worse = data if way == 0 else harmed(data, chance)
        runs.write_bytes(worse)
        now = hashlib.sha256(worse).hexdigest().encode()
        fitting = said.replace(digest, now)
        manifest.write_bytes((harmed(said, chance), said, fitting)[way])
        ends.add("trace", partial(read_trace, folder))


def read_trace(folder: Path) -> None:
    for _ in trace.histories(folder):
        pass


if __name__ == "__main__":
    cases, seed, *chosen = [*sys.argv[1:], *(str(CASES), "1")[len(sys.argv[1:3]) :]]
    main(int(cases), int(seed), chosen or (*TEXTS, TRACE))
