"""Conformance of a trace: is every recorded run a behaviour of the specification?

    parts -> checks on runs, canonical steps        in workers, by part (classes.py, check.py)
          -> distinct classes, each with a count and its smallest witness    (pool or Spark)
          -> a verdict for each class               TLC, thousands in one JVM (judge.py)
          -> joined back to every run that took it  in workers (explain.py)
          -> summary.json                           (summary.py)

What TLC must judge grows with the number of distinct steps and not with the number of runs.

Three-valued (docs/architecture.md, docs/conformance.md): *violated* when a step was rejected, a
check found something, an invariant was violated, or a healed core made no progress; else *unknown*
when TLC could not judge a step or runs of the campaign are missing; else *holds*. A trace without
runs or without steps is no evidence and an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from kraftcheck.osutil.files import read_bytes
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.backends import Backend, Pool, Progress, Spark
from kraftcheck.traces.jobs.summary import Evidence, summarise
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.sealed import Unsealed, digest, sealed, unsealed
from kraftcheck.traces.steps.classes import (
    SLIM,
    Facts,
    PartFiles,
    examine_part,
    merge,
)
from kraftcheck.traces.steps.explain import JOINED, Explanation, explain, join_part
from kraftcheck.traces.steps.judge import CHUNK, REJECTED, UNKNOWN, Judgement, judge, specs_for
from kraftcheck.traces.steps.translation import Under, as_it_is
from kraftcheck.traces.store import Manifest, read_manifest, write_file
from tla_utils import CheckOptions
from tla_utils.errors import ToolError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SUMMARY = "summary.json"
FOLDER = "conform"
JUDGED_STEPS = "steps.parquet"
JOINED_RUNS = "rejected.parquet"
# Twice the memory that a full batch of three voters was seen to take, since rows grow with voters.
DEFAULT_CHECK = CheckOptions(chunk=CHUNK, heap_mb=2048)


@dataclass(frozen=True)
class ConformOptions:
    """How to judge a trace."""

    backend: Backend = field(default_factory=Pool)
    """Where parts are worked on."""
    check: CheckOptions = DEFAULT_CHECK
    """How TLC is run."""
    explain: int = 1000
    """How many rejected classes are explained, those with the earliest witnesses first (the others
    are counted, and listed in rejected.parquet).
    """
    out: Path | None = None
    """Where tables go, `<trace>/conform` by default."""
    specs: Path = SPECS
    """The modules."""
    under: Under = as_it_is
    """What to make of them first."""


@dataclass(frozen=True)
class Conformance:
    """The result. `verdict` is holds, violated or unknown; `reasons` say why it is not holds."""

    verdict: str
    reasons: list[str]
    summary: dict[str, Any]
    """What `<trace>/summary.json` holds, in JSON's types."""


def conform(
    directory: Path, options: ConformOptions | None = None, progress: Progress | None = None
) -> Conformance:
    """Judges a trace and writes `summary.json` into it, and tables into its folder `conform`.

    progress is called with (stage, done, total); stages are "read" (parts), "judge" (classes),
    "join" (parts).
    Raises TraceError for a trace that cannot be read, ToolError for one without runs or steps, and
    for a TLC that cannot be used or believed.
    """
    return _Conform(directory, options or ConformOptions(), progress).run()


@dataclass(frozen=True)
class Course:
    """What a trace goes through after its distinct steps are known: of `conform` and campaigns."""

    directory: Path
    """Of the trace, as it was named."""
    manifest: Manifest
    out: Path
    """Where what is known of parts lies."""
    options: ConformOptions
    stage: Callable[[str], AbstractContextManager[None]]
    """Runs around each stage."""
    tell: Progress = lambda *_: None
    """As the progress of `conform`."""

    @property
    def files(self) -> list[PartFiles]:
        return [PartFiles.from_entry(self.out, entry) for entry in self.manifest.parts]

    def facts(self) -> list[Facts]:
        return [_read_facts(part) for part in self.files]

    def summary(
        self,
        facts: Sequence[Facts],
        merged: pa.Table,
        judgement: Judgement,
        seconds: Mapping[str, float],
    ) -> dict[str, Any]:
        """Explains what was not accepted, joins it back to the runs, and sums everything up."""
        with self.stage("explain"):
            explained = self._explain(merged, judgement)
        with self.stage("join"):
            joined = self._join(merged, judgement)
        evidence = Evidence(
            directory=self.directory,
            manifest=self.manifest,
            facts=facts,
            files=self.files,
            merged=merged,
            judgement=judgement,
            explained=explained,
            joined=joined,
            seconds=seconds,
            backend=self.options.backend.name,
            specs=self.options.specs,
        )
        return summarise(evidence)

    def _explain(self, merged: pa.Table, judgement: Judgement) -> dict[int, Explanation]:
        """The rejected classes with the earliest witnesses, explained."""
        runs, steps = merged["run"].to_pylist(), merged["step"].to_pylist()
        rejected = judgement.numbers(REJECTED)
        witnesses = sorted((runs[number], steps[number], number) for number in rejected)
        asked = [(number, run, step) for run, step, number in witnesses[: self.options.explain]]
        options = self.options
        return explain(
            *(self.directory, self.manifest.parts, judgement, asked),
            *(options.check, options.specs, options.under),
        )

    def _join(self, merged: pa.Table, judgement: Judgement) -> pa.Table:
        """(class, run) for every class that was not accepted and every run that took it."""
        numbers = sorted(judgement.numbers(REJECTED) + judgement.numbers(UNKNOWN))
        keys = [merged["key"][number].as_py() for number in numbers]
        joined = JOINED.empty_table()
        if keys:
            entries = self.manifest.parts
            task = partial(join_part, self.directory.absolute(), self.out, entries, keys)
            parts = len(entries)
            joined = self.options.backend.run(
                task, parts, JOINED, lambda done: self.tell("join", done, parts)
            ).sort_by([("run", "ascending"), ("step", "ascending"), ("key", "ascending")])
        pq.write_table(joined, self.out / JOINED_RUNS, compression="zstd")
        return joined


def merged_on_spark(
    backend: Spark, slim: DataFrame, parts: int, done: Callable[[int], None] | None = None
) -> pa.Table:
    """The distinct steps of so many parts, by key; their slim rows are a frame."""
    merged = backend.collect(merge(slim), parts, SLIM, done)
    return merged.sort_by("key").combine_chunks()


class _Conform:
    def __init__(self, directory: Path, options: ConformOptions, progress: Progress | None) -> None:
        self.directory = directory
        self.options = options
        self.progress = progress
        # Absolute, since a worker may have another working directory.
        self.out = (options.out or directory / FOLDER).absolute()
        self.specs = options.specs
        self.seconds: dict[str, float] = {}
        self.manifest: Manifest = read_manifest(directory)
        self.course = Course(directory, self.manifest, self.out, options, self._stage, self._tell)

    def run(self) -> Conformance:
        if not any(entry.runs for entry in self.manifest.parts):
            raise ToolError(
                f"{self.directory}: no runs are recorded: an empty trace is no evidence"
            )
        self._begin()
        with self._stage("read"):
            merged = self._distinct()
            facts = self.course.facts()
        if not sum(fact.steps for fact in facts):
            raise ToolError(f"{self.directory}: its runs have no steps: that is no evidence")
        with self._stage("judge"):
            judgement = judge(
                self.course.files,
                merged,
                self.out / JUDGED_STEPS,
                self.options.check,
                self.specs,
                lambda done: self._tell("judge", done, len(merged)),
                under=self.options.under,
                workers=self.options.backend,
            )
        summary = self.course.summary(facts, merged, judgement, self.seconds)
        tables = {name: digest(read_bytes(self.out / name)) for name in (JUDGED_STEPS, JOINED_RUNS)}
        summary = {**summary, "tables": tables}
        write_json(self.directory / SUMMARY, summary)
        return Conformance(summary["verdict"], summary["reasons"], summary)

    def _begin(self) -> None:
        """A summary of an earlier judgement must not stand beside half of a new one."""
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            (self.directory / SUMMARY).unlink(missing_ok=True)
        except OSError as error:
            raise TraceError(f"{error.filename or self.out}: {error.strerror}") from None
        self.specs = specs_for(self.options.backend, self.options.specs, self.out)

    def _distinct(self) -> pa.Table:
        out, entries = self.out, self.manifest.parts
        directory, as_recorded = self.directory.absolute(), self.options.under is not as_it_is
        task = partial(examine_part, directory, out, entries, self.specs, as_recorded=as_recorded)
        backend, parts = self.options.backend, len(entries)

        def done(number: int) -> None:
            self._tell("read", number, parts)

        if isinstance(backend, Spark):
            return merged_on_spark(backend, backend.frame(task, parts, SLIM), parts, done)
        return merge(backend.run(task, parts, SLIM, done)).combine_chunks()

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self.progress:
            self.progress(stage, done, total)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - begin, 3)


def read_judged(directory: Path, name: str) -> pa.Table | None:
    """A table that `conform` left beside a trace: JUDGED_STEPS or JOINED_RUNS.

    None where the trace was not judged. Raises TraceError: it is not as `summary.json` says, or
    that is damaged.
    """
    summary, path = directory / SUMMARY, directory / FOLDER / name
    try:
        said = msgspec.json.decode(unsealed(read_bytes(summary)), type=_TableDigests).tables.get(
            name
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"{summary}: {error.strerror}") from None
    except (Unsealed, msgspec.MsgspecError) as error:
        raise TraceError(f"{summary}: {error}") from None
    if said is None:
        return None
    try:
        data = read_bytes(path)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    if digest(data) != said:
        raise TraceError(f"{path}: damaged: it is not as {SUMMARY} says: judge the trace again")
    return pq.read_table(pa.BufferReader(data))


class _TableDigests(msgspec.Struct):
    """Of a summary, the digests of the tables in the folder `conform`, by name."""

    tables: dict[str, str] = {}


def _read_facts(part: PartFiles) -> Facts:
    try:
        return msgspec.json.decode(read_bytes(part.facts), type=Facts)
    except (OSError, msgspec.MsgspecError) as error:
        raise TraceError(f"{part.facts}: {error}") from None


def write_json(path: Path, value: object) -> None:
    """Sealed, whole or not at all, the same bytes for equal values."""
    write_file(path, sealed(msgspec.json.format(msgspec.json.encode(value), indent=1)))
