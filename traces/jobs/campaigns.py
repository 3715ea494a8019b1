"""A campaign from its plan to its findings: ranges, distinct steps, verdicts, and what they say.

    ranges of all configurations -> simulated, and asked everything       in workers (ranges.py)
    their distinct steps         -> merged                                (classes.py)
    those that nobody judged     -> TLC, each batch stored as it comes    (verdict_store.py)
    verdicts                     -> joined back to the runs               in workers (explain.py)
    everything                   -> findings.json                         (findings.py)

Killed at any moment and asked again, a campaign goes on: a range with a receipt is not worked on
again, a stored verdict is not asked for again. What it ends in does not depend on that: findings
hold no time, no memory and no count of what was done this time; those are in `timings.json`.

Ranges are finished by workers, perhaps on other machines; what they leave behind is all that the
driver sees of them while the campaign is under way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftcheck.osutil.files import read_bytes
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs import ranges
from kraftcheck.traces.jobs.backends import Backend, Pool, Spark
from kraftcheck.traces.jobs.conform import (
    DEFAULT_CHECK,
    SUMMARY,
    ConformOptions,
    Course,
    merged_on_spark,
    write_json,
)
from kraftcheck.traces.jobs.findings import Outcome, findings_of
from kraftcheck.traces.jobs.guidance import Corpus, made_or_read
from kraftcheck.traces.jobs.plan import Configuration, Plan, write_plan
from kraftcheck.traces.jobs.ranges import PROGRESS, Receipt, Work, receipt_path, work_on
from kraftcheck.traces.jobs.simulate import Range
from kraftcheck.traces.jobs.summary import AS_TEXT, replay_command
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.classes import SLIM, merge
from kraftcheck.traces.steps.judge import (
    ACCEPTED,
    REJECTED,
    UNJUDGED,
    Bench,
    Judgement,
    judge,
    specs_for,
)
from kraftcheck.traces.steps.record import Ints, Mask
from kraftcheck.traces.steps.slicing import action_of
from kraftcheck.traces.steps.verdict_store import VerdictStore, stamp
from kraftcheck.traces.store import (
    Manifest,
    PartEntry,
    begin_trace,
    damage_of,
    drop_parts,
    extend_trace,
    read_manifest,
)
from tla_utils import CheckOptions
from tla_utils.errors import ToolError

# --- What was found so far, from the receipts of finished ranges ---

EVERY_S: Final = 2.0
"""Nobody reads faster, and looking costs the driver a list of the folder."""
_RECEIPT: Final = ".range.json"


class SoFar:
    """Sums over the finished ranges of a campaign, those included that were finished before.

    A receipt is read once, when it is new.

    distinct is the number of distinct keys, first rows included, so that steps of two
    configurations count once if they are equal.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        self.steps = self.bad_runs = 0
        self._folders = [work.out for work in works]
        # A receipt of a range that has to be worked on (again) is one of other code.
        self._read = {
            each
            for work in works
            for entry in work.parts
            if entry is not None
            for each in _seen([receipt_path(work.trace, entry)])
        }
        self._keys: Ints = np.zeros(0, dtype=np.int64)
        self._next = 0.0

    @property
    def distinct(self) -> int:
        return len(self._keys)

    def look(self) -> None:
        """Takes in what has been finished since; seldom, however often it is called."""
        if time.monotonic() < self._next:
            return
        fresh = [self._keys]
        for folder in self._folders:
            for each in _seen(folder.glob(f"*{_RECEIPT}")) - self._read:
                self._read.add(each)
                fresh += self._taken_in(each[0])
        self._keys = np.unique(np.concatenate(fresh))
        self._next = time.monotonic() + EVERY_S

    def words(self) -> str:
        bad = f"{self.bad_runs:,} runs violate something" if self.bad_runs else "no violation"
        return f"{self.steps:,} steps, {self.distinct:,} distinct, {bad}"

    def _taken_in(self, path: Path) -> list[Ints]:
        """The keys of a range; none if it cannot be read, which others will say better."""
        slim = path.with_name(path.name.replace(_RECEIPT, ".slim.parquet"))
        try:
            receipt = msgspec.json.decode(read_bytes(path), type=Receipt)
            keys = pq.read_table(slim, columns=["key"])["key"].to_pylist()
        except (OSError, msgspec.MsgspecError, ValueError):
            return []
        self.steps += receipt.steps
        self.bad_runs += receipt.bad_runs
        # Half of a key's 128 bits is enough to count them.
        return [np.frombuffer(b"".join(key[:8] for key in keys), dtype=np.int64)]


def _seen(paths: Iterable[Path]) -> set[tuple[Path, int]]:
    """Of the files that are there, the time of their last change as well."""
    found = set()
    for path in paths:
        with suppress(OSError):
            found.add((path, path.stat().st_mtime_ns))
    return found


# --- The campaign ---

FINDINGS: Final = "findings.json"
TIMINGS: Final = "timings.json"
ALARM: Final = ".alarm"
STORE: Final = ".verdicts"
FOLD: Final = 16
"""So many ranges are merged at once: memory holds what is distinct, and little more."""


@dataclass(frozen=True)
class Announced:
    """The first violation that somebody found, told at once."""

    configuration: str
    run: int
    what: str
    replay: str


@dataclass(frozen=True)
class Listener:
    """Who listens."""

    progress: Callable[[str, int, int, str, str], None] = lambda *_: None
    """(stage, done, total, of what, what was found so far)."""
    violation: Callable[[Announced], None] = lambda _: None
    """Called once at most."""


@dataclass(frozen=True)
class Options:
    backend: Backend = field(default_factory=Pool)
    """Where ranges are worked on."""
    check: CheckOptions = DEFAULT_CHECK
    store: Path | None = None
    """The folder of TLC's verdicts; beside the campaign's by default."""
    specs: Path = SPECS
    fail_fast: bool = False
    """The first violation ends the campaign, which can be taken up again."""
    redo: bool = False
    """Damaged or missing parts are simulated again."""


def run_campaign(
    directory: Path, plan: Plan, options: Options | None = None, told: Listener | None = None
) -> dict[str, Any] | None:
    """Does what is missing of a campaign, and writes its findings; None if a violation ended it.

    Raises TraceError: a damaged part, or no space left; ToolError: a worker or TLC failed. What
    was finished stays.
    """
    return _Run(directory, plan, options or Options(), told or Listener()).run()


class _Run:
    def __init__(self, directory: Path, plan: Plan, options: Options, told: Listener) -> None:
        self.directory, self.plan, self.options, self.told = directory, plan, options, told
        self.code = ranges.code_digest(options.specs)
        self.store = options.store or directory.absolute().parent / STORE
        self.specs = specs_for(options.backend, options.specs, directory)
        self.alarm = directory.absolute() / ALARM
        self.announced = False
        self.seconds: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.tlc: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any] | None:
        with self._stage("ranges"):
            if self.plan.guided:
                self._work_on_generations()
            else:
                self._work_on_ranges([self._work(each) for each in self.plan.configurations])
        if self.options.fail_fast and self.announced:
            return None
        outcomes: list[Outcome] = []
        for configuration in self.plan.configurations:
            outcomes.append(self._outcome(configuration))
            if self.options.fail_fast and self.announced:
                return None
        with self._stage("findings"):
            found = findings_of(self.directory, self.plan, outcomes, self.options.backend)
            write_json(self.directory / FINDINGS, found)
        self._write_timings()
        if self.plan.reported != self.plan.runs:
            write_plan(self.directory, msgspec.structs.replace(self.plan, reported=self.plan.runs))
        return found

    # -- Ranges

    def _work_on_generations(self) -> None:
        """Work on generations one after the other, those of all configurations together.

        Each is made of what earlier ones have met.
        """
        works = [self._work(configuration) for configuration in self.plan.configurations]
        recorded_with = self.plan.recorded_with
        corpora = [Corpus(work.campaign, recorded_with) for work in works]
        backend = self.options.backend
        with backend.hold() if isinstance(backend, Pool) else nullcontext(backend) as held:
            for first in range(0, self.plan.runs, self.plan.guided):
                last = min(first + self.plan.guided, self.plan.runs)
                generations = [
                    made_or_read(work.trace, corpus, work.campaign, first, recorded_with)
                    for work, corpus in zip(works, corpora, strict=True)
                ]
                own = [work.between(first, last) for work in works]
                self._work_on_ranges(own, self.plan.runs - last, held)
                if self.options.fail_fast and self.announced:
                    return
                for work, corpus, generation in zip(works, corpora, generations, strict=True):
                    parts = read_manifest(work.trace).parts
                    of = [entry for entry in parts if first <= entry.first_run < last]
                    corpus.take(generation, *ranges.learned(work.trace, of))

    def _work_on_ranges(
        self, works: Sequence[Work], later: int = 0, backend: Backend | None = None
    ) -> None:
        """later: so many runs of each configuration are to be worked on after these."""
        tasks = [(at, number) for at, work in enumerate(works) for number in range(len(work.parts))]
        total = self.plan.runs * len(works)
        done_before = (
            total - later * len(works) - sum(each.runs for work in works for each in work.ranges)
        )
        self._announce()
        so_far = SoFar(works)

        def done(count: int) -> None:
            ended = sum(works[at].ranges[number].runs for at, number in tasks[:count])
            self._announce()
            so_far.look()
            self.told.progress("ranges", done_before + ended, total, "runs", so_far.words())

        done(0)
        if tasks:
            task = partial(_work_on_one, tuple(works), tuple(tasks))
            rows = (backend or self.options.backend).run(task, len(tasks), PROGRESS, done)
            for stage in PROGRESS.names[2:]:
                spent = self.cpu.get(stage, 0.0) + (pc.sum(rows[stage]).as_py() or 0.0)
                self.cpu[stage] = round(spent, 2)
        self._announce()

    def _work(self, configuration: Configuration) -> Work:
        trace = self.directory / configuration.name
        campaign = self.plan.campaign(configuration)
        if (trace / "manifest.json").exists():
            extend_trace(trace, self.plan.runs)
        manifest = begin_trace(trace, campaign)
        manifest = self._without_damage(trace, manifest)
        missing = ranges.to_do(trace, manifest, self.plan.range_runs, self.code)
        # Absolute, since a worker may have another working directory.
        return Work(
            trace=trace.absolute(),
            campaign=campaign,
            ranges=tuple(Range(*each) for each, _ in missing),
            parts=tuple(entry for _, entry in missing),
            specs=self.specs,
            code=self.code,
            alarm=self.alarm,
            stop_at_violation=self.options.fail_fast,
        )

    def _without_damage(self, trace: Path, manifest: Manifest) -> Manifest:
        """The manifest without parts that have to be simulated again, where that is asked for."""
        found = {part.stem: why for part in manifest.parts if (why := damage_of(trace, part))}
        if not found:
            return manifest
        if not self.options.redo:
            raise TraceError(f"{next(iter(found.values()))}; --redo simulates its runs again")
        drop_parts(trace, list(found))
        return read_manifest(trace)

    def _announce(self) -> None:
        """The first violation that a worker found; later ones are in the findings."""
        alarm = None if self.announced else ranges.read_alarm(self.alarm, self.code)
        if alarm is not None:
            found = alarm.violation
            self._tell(alarm.configuration, found.run, f"{found.kind}: {found.what}")

    def _tell(self, name: str, run: int, what: str) -> None:
        self.announced = True
        replay = replay_command(self.directory / name, run)
        self.told.violation(Announced(name, run, what, replay))

    # -- Conformance of one configuration

    def _outcome(self, configuration: Configuration) -> Outcome:
        trace, name = self.directory / configuration.name, configuration.name
        manifest = read_manifest(trace)
        receipts = [self._receipt(trace, entry) for entry in manifest.parts]
        own = self.options
        how = ConformOptions(own.backend, own.check, explain=EXPLAINED, specs=own.specs)
        out = trace.absolute() / ranges.JUDGED
        course = Course(trace, manifest, out, how, self._stage)
        with self._stage("distinct"):
            merged, facts = self._merged(trace, manifest.parts), course.facts()
        with self._stage("TLC"):
            judgement, stored = self._judge(configuration, merged, course.files)
        summary = course.summary(facts, merged, judgement, {})
        write_json(trace / SUMMARY, _as_verb(summary))
        self.told.progress("judged", 1, 1, name, summary["verdict"])
        return Outcome(configuration, manifest, tuple(receipts), merged, stored, summary)

    def _receipt(self, trace: Path, entry: PartEntry) -> Receipt:
        # What it names was looked at before, or has just been made.
        receipt = ranges.read_receipt(trace, entry, self.code, files=False)
        if receipt is None:
            raise ToolError(
                f"{trace}: runs from {entry.first_run} on were not judged; run it again"
            )
        return receipt

    def _merged(self, trace: Path, entries: Sequence[PartEntry]) -> pa.Table:
        paths = [ranges.answer_path(trace, entry, "slim") for entry in entries]
        backend = self.options.backend
        if isinstance(backend, Spark):
            return merged_on_spark(backend, backend.files(paths, SLIM), len(paths))
        return merge_files(paths)

    def _judge(
        self, configuration: Configuration, merged: pa.Table, files: Sequence[Any]
    ) -> tuple[Judgement, pa.Table]:
        """TLC's verdicts on all classes: those that are stored, and those it is asked for now."""
        store = VerdictStore(self.store, stamp(self.options.specs))
        keys = merged["key"].combine_chunks()
        known = store.known(keys)
        told = pc.is_in(keys.cast(pa.binary(16)), value_set=known["key"].combine_chunks())
        new = ~told.to_numpy(zero_copy_only=False)
        fresh = merged.filter(pa.array(new))
        self.told.progress("TLC", 0, len(fresh), "steps", "")
        scratch = self.directory / f".{configuration.name}.batches"
        asked = Judgement(np.zeros(0, dtype=np.int8))
        if len(fresh):
            try:
                asked = judge(
                    files,
                    fresh,
                    scratch,
                    self.options.check,
                    self.specs,
                    lambda done: self.told.progress("TLC", done, len(fresh), "steps", ""),
                    lambda kind, judged: self._keep(configuration, store, kind, judged),
                    workers=self.options.backend,
                )
            finally:
                scratch.unlink(missing_ok=True)
        if asked.as_text:
            note = f"given as text, which is slower: {asked.as_text}"
            self.told.progress("TLC", len(fresh), len(fresh), "steps", note)
        self.tlc.append(
            {
                "configuration": configuration.name,
                "classes": len(merged),
                "judged_before": len(merged) - len(fresh),
                "jvms": asked.jvms,
                "cpu_seconds": round(asked.cpu_seconds, 2),
                "peak_rss_mb": round(asked.peak_rss_mb),
            }
        )
        stored = store.known(keys)
        return _together(merged, stored, new, asked), stored

    def _keep(
        self, configuration: Configuration, store: VerdictStore, kind: str, judged: pa.Table
    ) -> None:
        store.add(kind, judged)
        rejected = judged.filter(pc.equal(judged["verdict"], "rejected"))
        if len(rejected) and not self.announced:
            first = rejected.sort_by([("run", "ascending"), ("step", "ascending")]).slice(0, 1)
            row = first.to_pylist()[0]
            what = f"step {row['step']}, {row['action']}, is not allowed by the spec"
            self._tell(configuration.name, row["run"], what)

    # -- Times

    def _write_timings(self) -> None:
        timings = {
            "seconds": {stage: round(spent, 2) for stage, spent in self.seconds.items()},
            "cpu_seconds_of_ranges": self.cpu,
            "tlc": self.tlc,
            "backend": self.options.backend.name,
        }
        write_json(self.directory / TIMINGS, timings)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - begin


EXPLAINED: Final = 20
"""Rejected classes that are explained, those with the earliest witnesses."""


def _work_on_one(
    works: tuple[Work, ...], tasks: tuple[tuple[int, int], ...], number: int
) -> pa.Table:
    work, own = tasks[number]
    return work_on(works[work], own)


def _together(merged: pa.Table, stored: pa.Table, fresh: Mask, asked: Judgement) -> Judgement:
    """The verdicts on all classes. fresh: those that TLC was asked about now, in their order."""
    whole = Judgement(np.full(len(merged), UNJUDGED, dtype=np.int8))
    whole.verdicts[fresh] = asked.verdicts
    numbers = np.flatnonzero(fresh)
    for number, reason in asked.reasons.items():
        whole.reasons[int(numbers[number])] = reason
        whole.kinds[int(numbers[number])] = asked.kinds[number]
    keys = merged["key"].combine_chunks().cast(pa.binary(16))
    place = pc.index_in(keys, value_set=stored["key"].combine_chunks())
    at = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
    rows = stored.take(place.drop_null())
    rejected = pc.equal(rows["verdict"], "rejected").to_numpy()
    whole.verdicts[at] = np.where(rejected, REJECTED, ACCEPTED)
    for number, row in zip(at[rejected].tolist(), rows.filter(rejected).to_pylist(), strict=True):
        whole.reasons[number] = row["reason"]
        whole.kinds[number] = (Bench(row["kind"], row["constants"]), action_of(row["action"]))
    lost = whole.numbers(UNJUDGED)
    if lost:
        raise ToolError(f"{len(lost)} distinct steps have no verdict")
    return whole


def _as_verb(summary: dict[str, Any]) -> dict[str, Any]:
    """Give the summary as `conform` would leave it, for `report` and `replay`.

    What was spent is left out: it depends on what was judged before.
    """
    part = {"verdict": summary["verdict"], "reasons": summary["reasons"]}
    spent = {name: None for name in summary["tlc"] if name != AS_TEXT}
    spent |= {"judged": summary["tlc"]["judged"]}
    versions = {name: text for name, text in summary["versions"].items() if name != "backend"}
    own = {"tlc": spent, "versions": versions, "seconds": {}}
    return {**summary, **own, "parts": {"conform": {**part, "seconds": None, "stages": {}}}}


def merge_files(paths: Sequence[Path]) -> pa.Table:
    """The distinct steps of all ranges, by key. Raises TraceError: a file cannot be read.

    Tables of like size are merged, so that each row is looked at a logarithmic number of times.
    """
    merged: list[pa.Table] = []
    for at in range(0, len(paths), FOLD):
        own = merge(
            pa.concat_tables([ranges.read_rows(path, SLIM) for path in paths[at : at + FOLD]])
        )
        while merged and len(merged[-1]) <= 2 * len(own):
            own = merge(pa.concat_tables([merged.pop(), own]))
        merged.append(own)
    return merge(pa.concat_tables([SLIM.empty_table(), *merged])).combine_chunks()
