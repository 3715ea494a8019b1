"""Where the work on parts is done: a pool of processes, or Spark.

A campaign is a number of parts, and every job on it a function from a part's number to an Arrow
table. Both backends run that function once for each number and hand back all rows; which one did it
cannot be seen from the result. The pool is for a machine and small campaigns (Spark's JVM costs
about four CPU-seconds before it does anything), Spark for clusters and long ones.

Laws of this file: nothing here knows what a job does; a TraceError or ToolError raised in a worker
arrives as itself, in one line; a worker that dies is an error, never a missing part.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeAlias
from uuid import uuid4
from zipimport import zipimporter

import pyarrow as pa

from kraftcheck.osutil.children import WORKERS, end_with_parent
from kraftcheck.traces.schema import TraceError
from tla_utils.errors import ToolError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Task: TypeAlias = Callable[[int], pa.Table]
"""A job on one part, by the part's number. It must be picklable: a module's function, or a
`functools.partial` of one."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with (stage, done, total), from one thread at a time, `done` never falling."""

POLL_S = 0.2
HERE_S = 2.0
"""To start two processes takes about two processor seconds."""


class WorkerDied(ToolError):
    """A task was given up because the processes that worked on it died."""

    def __init__(self, said: str = "") -> None:
        what = "a worker process died (out of memory, or killed); finished parts are kept"
        super().__init__(f"{what}; {said}" if said else what)


class Backend(Protocol):
    """What a job needs of the place where it runs."""

    @property
    def name(self) -> str:
        """Say "pool" or "spark", with its size."""

    def run(
        self, task: Task, items: int, schema: pa.Schema, done: Callable[[int], None] | None = None
    ) -> pa.Table:
        """The rows of task(0), ..., task(items - 1), in no promised order.

        `done` is told, now and then, how many of the items are finished.
        """


@dataclass(frozen=True)
class Pool:
    """Processes on this machine; with one, no other process than this."""

    processes: int = 0
    """0: one for each processor."""
    here_s: float = HERE_S
    """For so long items are done in this process; most work is over before others have begun."""
    held: ProcessPoolExecutor | None = None
    """Processes that outlive a job."""

    @property
    def size(self) -> int:
        return self.processes or os.cpu_count() or 1

    @property
    def name(self) -> str:
        return f"pool of {self.size}"

    @contextmanager
    def hold(self) -> Iterator[Pool]:
        """A pool whose processes do several jobs, and remember steps from one to the next."""
        if self.size == 1 or self.held:
            yield self
            return
        with self._executor(self.size) as held:
            yield replace(self, held=held)

    @contextmanager
    def started(self, most: int) -> Iterator[ProcessPoolExecutor]:
        """Those that outlive a job, or else new ones, at most so many.

        Raises ToolError: one of them died.
        """
        try:
            with nullcontext(self.held) if self.held else self._executor(most) as pool:
                yield pool
        except BrokenProcessPool:
            raise WorkerDied from None

    def _executor(self, most: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(min(self.size, most), WORKERS, end_with_parent)

    def run(
        self, task: Task, items: int, schema: pa.Schema, done: Callable[[int], None] | None = None
    ) -> pa.Table:
        tables: dict[int, pa.Table] = {}
        for item, table in self._results(task, items):
            tables[item] = table
            if done:
                done(len(tables))
        return pa.concat_tables([tables[item] for item in range(items)] or [schema.empty_table()])

    def _results(self, task: Task, items: int) -> Iterator[tuple[int, pa.Table]]:
        begin, left = monotonic(), list(range(items))
        while left and self.held is None and (self.size == 1 or monotonic() - begin < self.here_s):
            item = left.pop(0)
            yield item, task(item)
        if not left:
            return
        with self.started(len(left)) as pool:
            running = {pool.submit(task, item): item for item in left}
            try:
                for future in as_completed(running):
                    yield running[future], future.result()
            finally:
                for future in running:
                    future.cancel()


@dataclass(frozen=True)
class Spark:
    """One Spark task for each part, on whatever the session's master is.

    The parts come from `spark.range`, never from a groupBy: adaptive execution sees a few bytes of
    seeds, merges their partitions into one, and a single core does all the work.
    """

    session: SparkSession

    @property
    def name(self) -> str:
        return f"spark on {self.session.sparkContext.master}"

    @property
    def is_remote(self) -> bool:
        """Whether its workers may be on other machines."""
        return not str(self.session.sparkContext.master).startswith("local")

    @property
    def slots(self) -> int:
        """How many tasks it does at a time."""
        return int(self.session.sparkContext.defaultParallelism)

    def run(
        self, task: Task, items: int, schema: pa.Schema, done: Callable[[int], None] | None = None
    ) -> pa.Table:
        return self.collect(self.frame(task, items, schema), items, schema, done)

    def frame(self, task: Task, items: int, schema: pa.Schema) -> DataFrame:
        """The rows of all items, one partition for each item; nothing is computed yet."""
        from pyspark.sql.pandas.types import from_arrow_schema

        parts = self.session.range(0, items, 1, numPartitions=max(items, 1))
        return parts.mapInArrow(partial(_run_items, task), from_arrow_schema(schema))

    def collect(
        self,
        frame: DataFrame,
        items: int,
        schema: pa.Schema,
        done: Callable[[int], None] | None = None,
    ) -> pa.Table:
        """All rows of the frame, with exactly this schema."""
        with _Watch(self.session, items, done):
            table = self.rows(frame)
        return table.select(schema.names).cast(schema)

    def rows(self, frame: DataFrame) -> pa.Table:
        """All rows of the frame, in no promised order."""
        try:
            return frame.toArrow()
        except Exception as error:
            raise own_error(error) from None

    def files(self, paths: Sequence[Path], schema: pa.Schema) -> DataFrame:
        """The rows of files of Parquet; nothing is read yet."""
        from pyspark.sql.pandas.types import from_arrow_schema

        reader = self.session.read.schema(from_arrow_schema(schema))
        return reader.parquet(*[str(path.absolute()) for path in paths])


def _run_items(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for item in batch.column(0).to_pylist():
            yield from task(item).to_batches()
    forget_archives()


def forget_archives() -> None:
    """In a worker of Spark, at the end of a task: the next one begins a tenth of a second sooner.

    Before each task Spark tells Python that files may have changed. Every importer of an archive,
    one for each folder in it, then reads the archive's whole directory again. One that is not
    remembered is made when something is imported, from a directory that is.
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimporter):
            del sys.path_importer_cache[path]


class _Watch:
    """While a Spark job runs, tells `done` how many of its tasks over parts are finished."""

    def __init__(
        self, session: SparkSession, items: int, done: Callable[[int], None] | None
    ) -> None:
        self._context = session.sparkContext
        self._items = items
        self._done = done
        self._group = f"kraftcheck-{uuid4()}"
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> None:
        self._context.setJobGroup(self._group, "kraftcheck")
        if self._done:
            self._thread.start()

    def __exit__(self, kind: object, *_: object) -> None:
        self._finished.set()
        if self._done:
            self._thread.join()
            if kind is None:
                self._done(self._items)

    def _poll(self) -> None:
        assert self._done is not None
        tracker, most = self._context.statusTracker(), 0
        while not self._finished.wait(POLL_S):
            for job in tracker.getJobIdsForGroup(self._group):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    state = tracker.getStageInfo(stage)
                    # The last part is told when the whole job is done.
                    finished = state.numCompletedTasks if state else 0
                    if state and state.numTasks == self._items and most < finished < self._items:
                        most = finished
                        self._done(most)


_OWN = re.compile(r"^(?:[\w.]*\.)?(TraceError|ToolError): (.*)$", re.MULTILINE)
_RAISED = re.compile(r"^((?!java\.|org\.|py4j\.)[\w.]*(?:Error|Exception): .+)$", re.MULTILINE)
"""The last line of a traceback of Python."""
_LOST = re.compile(r"most recent failure: (?:Lost task [^:]*: )?(.+)")
"""What the last of several attempts ended with, of a task that Spark gave up."""

_DIED = re.compile(
    "Python worker exited unexpectedly|ExecutorLostFailure|Master removed our application"
)


def own_error(error: Exception) -> Exception:
    """The error that a worker raised, which Spark wraps in tracebacks of two languages."""
    text = str(error)
    found = _OWN.search(text)
    if found is not None:
        return (TraceError if found[1] == "TraceError" else ToolError)(found[2])
    lines = [line for line in text.splitlines() if line.strip()] or [repr(error)]
    said = [*_RAISED.findall(text)[-1:], *_LOST.findall(text), lines[0].strip()]
    why = said[0].partition(" Consider setting ")[0]
    kind = WorkerDied if _DIED.search(why) else ToolError
    return kind(f"Spark failed: {why[:300]}")
