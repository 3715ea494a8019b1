"""The runs of a trace, each held against what its own options and faults promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.checking.logs import judge_log, level_asked
from kraftcheck.checking.objects import (
    LINEARIZABLE,
    NOTHING_SEEN,
    combined,
    one_line,
    refuse_level,
)
from kraftcheck.checking.options import PAGES_MAX, Options, PageWriter, facts_of, given_words
from kraftcheck.checking.terms import Terms, in_words
from kraftcheck.exits import BadInput
from kraftcheck.reference.clients.promises import Level, Promise
from kraftcheck.traces.checkers.arrow import from_arrow, partitions
from kraftcheck.traces.checkers.assessment import (
    NEVER_READ,
    STOPPED,
    Assessment,
    assess,
    name_of,
)
from kraftcheck.traces.checkers.columns import DID
from kraftcheck.traces.checkers.search import Limits
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, INCONCLUSIVE, UNKNOWN, VIOLATED, Anomaly
from kraftcheck.traces.formats import trace
from kraftcheck.traces.history import History, HistoryError
from kraftcheck.traces.jobs.promised import (
    fixed_promise,
    has_control_records,
    judge_objects,
    objects_seen,
    promises_of,
    recorded_configuration,
)
from kraftcheck.traces.report.judged import JudgedHistory


def judge_trace(
    directory: Path, options: Options, writer: PageWriter | None = None
) -> tuple[tuple[JudgedHistory, ...], tuple[str, ...]]:
    """The trace as a whole, then each of its runs that does not hold; with what was left out.

    Raises HistoryError: the trace is damaged, or has no such run. BadInput: no such level, or
    options that say what the trace says itself.
    """
    begin = perf_counter()
    scenario = trace.scenario_of(directory)
    seen = objects_seen(scenario)
    if seen is not None:
        return _judge_objects(directory, scenario, seen, options, writer)
    key = trace.partition_of(directory)
    level = level_asked(options)
    if given_words(options.configuration):
        raise BadInput("a trace says itself what was promised to its runs: only --level goes here")
    run = options.run
    if run is not None:
        judged = _one(trace.history(directory, run), options, _terms(directory, run), writer)
        return (msgspec.structs.replace(judged, seconds=round(perf_counter() - begin, 4)),), ()
    whole = _Whole()
    bad: list[JudgedHistory] = []
    for table in trace.tables(directory):
        for suspect in _suspects(directory, table, level, whole):
            own = options._replace(run=suspect.run)
            recorded = trace.history_of(directory, suspect.run, suspect.recorded, key)
            judged = _one(recorded, own, suspect.terms, None)
            if judged.verdict == HOLDS:
                continue
            bad.append(judged)
            if writer is not None and len(bad) <= PAGES_MAX:
                _one(trace.history(directory, suspect.run), own, suspect.terms, writer)
    if not whole.operations:
        # Also where a campaign kept no run: nothing was looked at, so nothing holds.
        raise BadInput("no client asked anything in these runs: there is nothing to judge")
    found = _summary(directory, whole, bad, level)
    left = len(bad) - PAGES_MAX
    notes = (f"{directory}: {left:,} more runs get no page",) if writer and left > 0 else ()
    return (msgspec.structs.replace(found, seconds=round(perf_counter() - begin, 4)), *bad), notes


def _one(
    history: History, options: Options, terms: Terms, writer: PageWriter | None
) -> JudgedHistory:
    begin = perf_counter()
    judged = judge_log(history, facts_of(history, trace.MODEL, options), options, terms)
    judged = msgspec.structs.replace(judged, seconds=round(perf_counter() - begin, 4))
    if writer is not None:
        writer.write(history, judged)
    return judged


class _Suspect(NamedTuple):
    """A run that one look at all of a part does not clear: its recorded operations, its terms."""

    run: int
    recorded: list[dict[str, Any]]
    terms: Terms


@dataclass
class _Whole:
    """A trace, as far as its parts have been looked at.

    happened, forbidden: of each anomaly, in how many logs it happened, and in how many of them it
    was not allowed;
    """

    runs: int = 0
    """In which somebody asked anything; `silent`: in which nobody did."""
    silent: int = 0
    answered: bool = False
    """Whether anybody was told anything."""
    operations: int = 0
    held: Level = Level.LINEARIZABLE
    """The weakest level of its logs, of which a run of a cluster has several."""
    exact: bool = True
    unpromised: int = 0
    """Logs to which nothing was promised."""
    happened: Counter[str] = field(default_factory=Counter)
    forbidden: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    """How often it did."""

    def add(self, found: Assessment) -> None:
        batch, levels = found.found.batch, found.levels
        # A run in which nobody asked anything promises nothing.
        asked = batch.operations > 0
        self.operations += int(batch.operations.sum())
        told = (batch.appends.outcome == DID).any() or (batch.reads.outcome == DID).any()
        self.answered = self.answered or bool(told)
        self.exact = self.exact and bool(levels.exact[asked].all())
        held = int(levels.held[asked].min(initial=int(Level.LINEARIZABLE)))
        self.held = min(self.held, Level(held))
        self.unpromised += sum(found.promises[each].nothing for each in found.segments)
        for name in found.anomalies.names:
            counts = found.anomalies.counts(name)
            self.counted[name] += int(counts.sum())
            self.happened[name] += int((counts > 0).sum())
            self.forbidden[name] += int(found.forbidden[name].sum())

    def anomalies(self) -> Iterator[Anomaly]:
        for name, runs in sorted(self.happened.items(), key=lambda each: -self.forbidden[each[0]]):
            bad = self.forbidden[name]
            said = f"in {runs:,} runs, to all of which it was allowed"
            if name in NEVER_READ and not bad:
                # What the runs' own logs hold, invariants have looked at.
                said = f"in {runs:,} runs: {INCONCLUSIVE}{STOPPED}"
            if bad:
                said = f"in {runs:,} runs, to {bad:,} of which it was not allowed"
            yield Anomaly(name=name, count=self.counted[name], allowed=not bad, reason=said)


def _suspects(
    directory: Path, table: pa.Table, level: Level | None, whole: _Whole
) -> Iterator[_Suspect]:
    if not table.num_rows:
        return
    scenario = trace.scenario_of(directory)
    promises = promises_of(scenario, table)
    gaps = has_control_records(scenario)
    suspects: set[int] = set()
    silent = int(pc.sum(pc.equal(pc.list_value_length(table["history"]), 0)).as_py())
    whole.runs, whole.silent = whole.runs + table.num_rows - silent, whole.silent + silent
    for history in partitions(table["history"]):
        try:
            batch = from_arrow(history)
        except ValueError as error:
            raise HistoryError(str(directory), 0, str(error)) from None
        found = assess(batch, promises, level=level, gaps=gaps, complete=False)
        whole.add(found)
        asked = np.flatnonzero(batch.operations > 0).tolist()
        suspects.update(row for row in asked if found.verdict(row) != HOLDS)
    for row in sorted(suspects):
        run = table["run"][row].as_py()
        terms = _run_terms(directory, table.slice(row, 1), promises[row])
        yield _Suspect(run, table["history"][row].as_py(), terms)


def _terms(directory: Path, run: int) -> Terms:
    """Of one run."""
    for table in trace.tables(directory):
        found = table.filter(pc.equal(table["run"], run))
        if found.num_rows:
            promise = promises_of(trace.scenario_of(directory), found)[0]
            return _run_terms(directory, found, promise)
    raise HistoryError(str(directory), 0, f"no run {run}")


def _run_terms(directory: Path, run: pa.Table, promise: Promise) -> Terms:
    """run: a table of one row."""
    scenario = trace.scenario_of(directory)
    assumed = in_words(recorded_configuration(scenario, run["options"][0].as_py()))
    assumed["what weakens the promise"] = ", ".join(promise.rows)
    assumed["known from"] = "the run's own options and faults"
    return Terms(promise, has_control_records(scenario), False, assumed)


def _because(directory: Path, whole: _Whole) -> str:
    if has_control_records(trace.scenario_of(directory)):
        return "clients ask any node of the quorum, each of which may lag behind"
    if not whole.unpromised:
        return "no run lost more than it bears"
    return f"nothing was promised to {whole.unpromised:,} runs, which lost more than they bear"


def _promised_words(directory: Path, level: Level | None) -> str:
    if level is not None:
        return name_of(level)
    fixed = fixed_promise(trace.scenario_of(directory))
    if fixed is None:
        return "to each run what its configuration and faults allow"
    return name_of(fixed.level)


def _summary(
    directory: Path, whole: _Whole, bad: Sequence[JudgedHistory], level: Level | None
) -> JudgedHistory:
    verdicts = {each.verdict for each in bad}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in verdicts), HOLDS)
    first = next((each for each in bad if each.verdict == verdict), None)
    reason = None
    if first is not None:
        reason = f"{len(bad):,} of {whole.runs:,} runs, the first of them {first.file}"
    elif not whole.answered:
        verdict, reason = UNKNOWN, NOTHING_SEEN
    return JudgedHistory(
        file=str(directory),
        format=trace.NAME,
        model=trace.MODEL,
        verdict=verdict,
        level=name_of(whole.held) if whole.exact else None,
        promised=_promised_words(directory, level),
        because=_because(directory, whole),
        reason=reason,
        operations=whole.operations,
        runs=whole.runs,
        anomalies=tuple(whole.anomalies()),
        note=_silent_words(whole.silent),
    )


# -- Runs whose clients see objects


def _judge_objects(
    directory: Path,
    scenario: str,
    seen: Sequence[Model | None],
    options: Options,
    writer: PageWriter | None,
) -> tuple[tuple[JudgedHistory, ...], tuple[str, ...]]:
    """A trace whose clients see objects: as a whole, then each run that does not hold; or one run.

    Raises HistoryError: damaged, or no such run. BadInput: nothing is promised, or nobody asked
    anything.
    """
    if not any(seen):
        raise BadInput(f"nothing is promised to clients of {scenario}: there is nothing to judge")
    begin = perf_counter()
    names = ", ".join(dict.fromkeys(each.name for each in seen if each is not None))
    refuse_level(names, options)
    found, runs, silent, operations = list[JudgedHistory](), 0, 0, 0
    for run, recorded in _recorded(directory, options.run):
        runs, operations = runs + 1, operations + len(recorded)
        if not recorded:
            silent += 1
            continue
        history = trace.objects_of(directory, run, recorded, names)
        judged = _of_run(history, names, seen, options._replace(run=run))
        if options.run is not None or judged.verdict != HOLDS:
            found.append(judged)
            if writer is not None and len(found) <= PAGES_MAX:
                writer.write(history, judged)
    if options.run is not None and not runs:
        raise HistoryError(str(directory), 0, f"has no run {options.run}")
    if not operations:
        raise BadInput("no client asked anything in these runs: there is nothing to judge")
    if options.run is not None:
        return tuple(found), ()
    whole = _of_trace(directory, names, found, runs - silent, operations)
    left = len(found) - PAGES_MAX
    notes = list[str]()
    if writer and left > 0:
        notes.append(f"{directory}: {left:,} more runs get no page")
    seconds = round(perf_counter() - begin, 4)
    judged = msgspec.structs.replace(whole, note=_silent_words(silent), seconds=seconds)
    return (judged, *found), tuple(notes)


def _silent_words(runs: int) -> str:
    if not runs:
        return ""
    return f"{runs:,} more {'runs have' if runs > 1 else 'run has'} no history: nobody was recorded"


def _recorded(directory: Path, wanted: int | None) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    for table in trace.tables(directory):
        rows = zip(table["run"].to_pylist(), table["history"].to_pylist(), strict=True)
        yield from ((run, recorded) for run, recorded in rows if wanted in (None, run))


def _of_run(
    history: History, names: str, seen: Sequence[Model | None], options: Options
) -> JudgedHistory:
    facts = facts_of(history, names, options)
    try:
        verdicts = judge_objects(history, seen, Limits(seconds=options.budget))
    except HistoryError:
        raise
    except Exception as error:  # What others wrote may raise anything.
        raise BadInput(f"the model {names} failed: {one_line(error)}") from error
    return combined(history, facts, verdicts)


def _of_trace(
    directory: Path, names: str, bad: Sequence[JudgedHistory], runs: int, operations: int
) -> JudgedHistory:
    verdicts = {each.verdict for each in bad}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in verdicts), HOLDS)
    first = next((each for each in bad if each.verdict == verdict), None)
    told = None
    if first is not None:
        told = f"{len(bad):,} of {runs:,} runs, the first of them {first.file}"
    return JudgedHistory(
        file=str(directory),
        format=trace.NAME,
        model=names,
        verdict=verdict,
        level=LINEARIZABLE if verdict == HOLDS else None,
        promised=LINEARIZABLE,
        reason=told,
        operations=operations,
        runs=runs,
    )
