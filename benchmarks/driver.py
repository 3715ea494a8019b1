"""What the driver of a campaign does by itself, at a million and ten million distinct steps.

Parts are made up: each has as many new steps as old ones, with the content of steps of partitions
that were recorded, under keys by chance. They are merged, read, made into groups, and given to a
stand-in for TLC that accepts all; verdicts are entered and written. So what is measured is what is
left to the driver when workers ask TLC. Seconds of one processor; memory at the peak.

Then how fast TLC judges, on this machine, and from how many workers on it is the limit that it
judges on the driver alone: given what a worker takes to meet a new step.

    python -m benchmarks driver [MILLIONS ...]      default 1 10
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._measure import apart, peak_memory
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.jobs.campaigns import merge_files
from kraftcheck.traces.steps import judge as judging
from kraftcheck.traces.steps.classes import CLASSES, SLIM, PartFiles, examine
from kraftcheck.traces.steps.judge import CHUNK, Group, by_bench, grouped, judge, report_of
from tla_utils import CheckOptions, StepReport
from tla_utils.steps import ACCEPTED

MILLIONS: Final = (1, 10)
NEW: Final = 20_000
"""Steps of a part that no part before it had; it has as many others."""
RUNS: Final = 200
"""Partitions with drawn options, whose steps are looked at."""


class Cost(NamedTuple):
    """Seconds, and MiB that the process takes at its peak."""

    distinct: int
    merge: float
    judge: float
    memory: float


def met(folder: Path) -> tuple[pa.Table, float]:
    """Steps as they are recorded, and seconds of a worker for each that it has not met before."""
    begin = time.process_time()
    part = simulate_part("partition", 1, 0, RUNS)
    files = PartFiles(folder, "met", 0, RUNS)
    examine(part, files)
    seconds = time.process_time() - begin
    classes = pq.read_table(files.classes)
    return classes, seconds / len(classes)


def made(folder: Path, like: pa.Table, parts: int) -> list[PartFiles]:
    """Parts of one run each, with the files that workers leave."""
    chance = np.random.default_rng(1)
    old = np.zeros((0, 16), np.uint8)
    found = []
    for number in range(parts):
        new = chance.integers(0, 256, (NEW, 16), np.uint8)
        keys = np.concatenate([new, old])
        old = new
        files = PartFiles(folder, f"{number:05}", number, 1)
        body = keys.tobytes()
        offsets = pa.py_buffer(np.arange(0, len(body) + 1, 16, dtype=np.int32).tobytes())
        slim = {
            "key": pa.BinaryArray.from_buffers(
                pa.binary(), len(keys), [None, offsets, pa.py_buffer(body)]
            ),
            "count": np.full(len(keys), 3),
            "run": np.full(len(keys), number),
            "step": np.arange(len(keys)),
        }
        pq.write_table(pa.table(slim, schema=SLIM), _slim(files), compression="zstd")
        fixed = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), len(keys), [None, pa.py_buffer(body)]
        )
        rows = like.take(pa.array(np.arange(len(keys)) % len(like)))
        classes = rows.set_column(0, CLASSES.field("key"), fixed)
        pq.write_table(classes, files.classes, compression="zstd")
        found.append(files)
    return found


def _slim(files: PartFiles) -> Path:
    return files.out / f"{files.stem}.slim.parquet"


def accepted(groups: Iterator[Group], *_: Any) -> Iterator[tuple[Group, StepReport]]:
    """In the place of TLC."""
    for group in groups:
        steps = len(group.classes)
        yield group, StepReport([ACCEPTED] * steps, steps, 1, 0.0, 0.0, 0.0, [])


def cost(files: list[PartFiles]) -> Cost:
    vars(judging)["_reports"] = accepted
    begin = time.process_time()
    merged = merge_files([_slim(each) for each in files])
    between = time.process_time()
    judge(files, merged, files[0].out / "judged.parquet", CheckOptions(chunk=CHUNK))
    end = time.process_time()
    return Cost(len(merged), between - begin, end - between, peak_memory() / 1024)


def tlc(like: pa.Table) -> float:
    """CPU-seconds of a distinct step, in groups for one JVM each."""
    kept = {bench: [classes] for bench, classes in by_bench(like)}
    kind, classes = max(grouped(kept, CHUNK), key=lambda group: len(group.classes))
    options = CheckOptions(chunk=CHUNK, heap_mb=2048)
    report = report_of(kind, classes, options)
    return report.cpu_seconds / report.distinct


def main(arguments: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        like, meeting = met(Path(name))
        for millions in [int(word) for word in arguments] or MILLIONS:
            folder = Path(name) / str(millions)
            folder.mkdir()
            files = made(folder, like, millions * 1_000_000 // NEW)
            found = apart(cost, files)
            print(
                f"{found.distinct:,} distinct steps of {len(files)} parts: merged in "
                f"{found.merge:,.1f} s, grouped and entered in {found.judge:,.1f} s, "
                f"{found.memory:,.0f} MiB",
                flush=True,
            )
    judged, processors = tlc(like), os.cpu_count() or 1
    print(
        f"a new step: {1000 * meeting:.2f} ms of a worker while nearly all are new, "
        f"{1000 * judged:.3f} ms of TLC: with {processors} processors on the driver TLC is then "
        f"the limit from {processors * meeting / judged:,.1f} workers on"
    )
