"""TLC where the workers are: groups of distinct steps in files, judged by whoever takes one.

On the driver TLC judges as many groups at a time as that has processors, however many workers there
are. So where a cluster has met more steps than a driver judges while workers wait (ON_DRIVER), each
group that one JVM would take is written beside the trace, and a worker answers with TLC's report on
it. A group is judged in the same way wherever that is.

A worker needs a Java, as Spark does, and TLC's jar, which its Python packages bring. The modules of
the specs come to it as the trace does, in a folder that all of them see.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kraftcheck.traces.jobs.backends import Backend, Spark
from kraftcheck.traces.jobs.distinct import CLASSES
from tla_utils import StepReport

ON_DRIVER: Final = 400_000
"""So many distinct steps are judged on the driver: half a minute of two processors. What it takes
to hand them over was not measured."""
AHEAD: Final = 4
"""Groups for each task that workers run at a time: they are on disk at once, and a worker that is
ready early takes another."""
REPORTS: Final = pa.schema([("group", pa.int32()), ("report", pa.binary())])
SPECS_OF_WORKERS: Final = ".specs"

Judged: TypeAlias = Callable[[str, pa.Table], StepReport]
"""TLC's report on steps of one kind of node, by its name."""


def specs_for(backend: Backend, specs: Path, folder: Path) -> Path:
    """The specs where workers find them: as they are, or copied into a folder that a cluster
    shares with the driver."""
    if not (isinstance(backend, Spark) and backend.is_remote):
        return specs.absolute()
    copied = folder.absolute() / SPECS_OF_WORKERS
    shutil.rmtree(copied, ignore_errors=True)
    for module in sorted(specs.rglob("*.tla")):
        place = copied / module.relative_to(specs)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, place)
    return copied


def reports_of(
    groups: Iterator[tuple[str, pa.Table]], folder: Path, backend: Spark, judged: Judged
) -> Iterator[StepReport]:
    """TLC's report on each group, in their order; few groups are ahead of what was asked for.

    groups: the kind of node, and steps with the columns CLASSES. folder: one that workers see; it
    is made, and removed. judged: what a worker calls; it must be picklable, and its errors come
    back.
    """
    folder = folder.absolute()
    try:
        while wave := list(islice(groups, AHEAD * backend.slots)):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for number, (_, steps) in enumerate(wave):
                pq.write_table(steps.select(CLASSES.names), _file(folder, number))
            kinds = tuple(kind for kind, _ in wave)
            task = partial(_reported, folder, kinds, judged)
            rows = backend.run(task, len(wave), REPORTS).sort_by("group")
            for report in rows["report"].to_pylist():
                yield msgspec.msgpack.decode(report, type=StepReport)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reported(folder: Path, kinds: tuple[str, ...], judged: Judged, number: int) -> pa.Table:
    """In a worker."""
    steps = pq.read_table(_file(folder, number), schema=CLASSES)
    report = judged(kinds[number], steps)
    columns = {"group": [number], "report": [msgspec.msgpack.encode(report)]}
    return pa.table(columns, schema=REPORTS)


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.parquet"
