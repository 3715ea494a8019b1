"""Partition logs: what the columnar checkers find, as a `Judged`.

The verdict is the level that holds (traces/checkers/levels.py) against the one that is promised. A
level that is only an upper bound, because the history leaves open who wrote what, is enough to
refuse a history and never to pass it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.exits import BadInput
from kraftcheck.judgement import Options, PageWriter, facts_of
from reference.core.promises import Level, level_named
from reference.sim.partition.options import promise_of
from traces.checkers import certificates, log
from traces.checkers.certificates import certificate_of
from traces.checkers.columns import from_history
from traces.checkers.levels import Levels, levels_of, staleness
from traces.checkers.recorded import from_arrow
from traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate
from traces.formats import trace
from traces.history import LOG_OPERATIONS, History, HistoryError
from traces.report.judged import Anomaly, Judged, Object, Staleness

PROMISED = Level.LINEARIZABLE
"""Of a history of which nothing is known: acks of all, reads from the leader, no failover."""
PROMISED_OF_TRACES = Level.DURABLE_PREFIX
"""Clients of a simulated quorum ask any of its nodes, each of which may lag behind."""
PAGES_MAX = 20
"""Of a trace, so many runs get a page."""


def name_of(level: Level) -> str:
    """A level as options and reports name it: ordered-sequential."""
    return level.name.lower().replace("_", "-")


def promised_level(options: Options, otherwise: Level = PROMISED) -> Level:
    """Raises BadInput for a level that is none."""
    if options.level is None:
        return otherwise
    try:
        return level_named(options.level)
    except KeyError as error:
        raise BadInput(str(error.args[0])) from None


def judge_log(history: History, facts: dict[str, Any], options: Options) -> Judged:
    """Each partition of a history. Raises BadInput: no such level, or no operation on a log."""
    promised = promised_level(options)
    if not any(each.f in LOG_OPERATIONS for each in history.operations):
        raise BadInput("no operation on a partition's log")
    at_least_once, gaps = _at_least_once(options), log.gaps_in(history)
    found = log.judge(from_history(history), at_least_once=at_least_once, gaps=gaps)
    levels = levels_of(found)
    segments = range(found.batch.segments)
    objects = tuple(_object(found, levels, segment, promised) for segment in segments)
    verdicts = {each.verdict for each in objects}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in verdicts), HOLDS)
    guilty = [each.certificate for each in objects if each.certificate is not None]
    exact = all(levels.exact[segment] for segment in segments)
    return Judged(
        **facts,
        verdict=verdict,
        level=name_of(min(levels.level(segment) for segment in segments)) if exact else None,
        promised=name_of(promised),
        certificate=min(guilty, key=lambda each: len(each.operations), default=None),
        reason=next((each.reason for each in objects if each.verdict == UNKNOWN), None),
        objects=objects,
        anomalies=tuple(_anomalies(found, levels, promised)),
        staleness=tuple(_staleness(found)),
        configuration={
            "producers": "at least once" if at_least_once else "idempotent",
            "offsets that nobody is known to have written": "control records" if gaps else "none",
        },
    )


def _at_least_once(options: Options) -> bool:
    return bool(options.configuration.get("at_least_once"))


def _verdict(level: Level, exact: bool, promised: Level) -> str:
    if level < promised:
        return VIOLATED
    return HOLDS if exact else UNKNOWN


def _object(found: log.Judgement, levels: Levels, segment: int, promised: Level) -> Object:
    level, exact = levels.level(segment), bool(levels.exact[segment])
    verdict = _verdict(level, exact, promised)
    undecided = found.reason(segment) or "who wrote what is open"
    return Object(
        key=found.batch.label(segment),
        verdict=verdict,
        level=name_of(level) if exact else None,
        operations=int(found.batch.operations[segment]),
        certificate=certificate_of(found, segment) if verdict == VIOLATED else None,
        reason=undecided if verdict == UNKNOWN else None,
    )


def _anomalies(found: log.Judgement, levels: Levels, promised: Level) -> Iterator[Anomaly]:
    """By kind, the certificates of all partitions; one of each kind for each partition."""
    kinds: dict[str, list[Certificate]] = {}
    allowed: dict[str, bool] = {}
    for segment in range(found.batch.segments):
        if found.verdicts[segment] != log.BROKEN:
            continue
        for each in certificates.evidence(found, segment):
            kinds.setdefault(each.kind, []).append(each)
            fine = levels.level(segment) >= promised
            allowed[each.kind] = allowed.get(each.kind, True) and fine
    for kind, listed in kinds.items():
        reason = "the promised level allows it" if allowed[kind] else "breaks the promised level"
        yield Anomaly(
            name=kind,
            count=len(listed),
            allowed=allowed[kind],
            reason=f"{reason}; the first in each partition is counted",
            certificates=tuple(listed),
        )


def _staleness(found: log.Judgement) -> Iterator[Staleness]:
    rows = staleness(found)
    # Rows are in the order of their segments.
    ends = np.searchsorted(rows.segment, np.arange(found.batch.segments + 1))
    for segment, (begin, end) in enumerate(pairwise(ends.tolist())):
        lag, missed = rows.lag[begin:end], rows.missed[begin:end]
        stale = missed > 0
        if stale.any():
            yield Staleness(
                key=found.batch.label(segment),
                reads=end - begin,
                delays=tuple(lag[stale].tolist()),
                missed=tuple(missed[stale].tolist()),
            )


# -- The runs of a trace


def judge_trace(
    directory: Path, options: Options, writer: PageWriter | None = None
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """The trace as a whole, then each of its runs that does not hold; with what was left out.

    Raises HistoryError: the trace is damaged, or has no such run. BadInput: no such level.
    """
    begin = perf_counter()
    key = trace.partition_of(directory)
    promised = promised_level(options, PROMISED_OF_TRACES)
    run = options.run
    if run is not None:
        options = _with_promise(directory, options, promised)
        judged = _one(trace.history(directory, run), options, writer)
        return (msgspec.structs.replace(judged, seconds=round(perf_counter() - begin, 4)),), ()
    whole = _Whole()
    bad: list[Judged] = []
    for table in trace.tables(directory):
        for number, recorded, level in _suspects(directory, table, options, promised, whole):
            own = options._replace(level=name_of(level))
            judged = _one(trace.history_of(directory, number, recorded, key), own, None)
            if judged.verdict == HOLDS:
                continue
            bad.append(judged)
            if writer is not None and len(bad) <= PAGES_MAX:
                _one(trace.history(directory, number), own, writer)
    found = _summary(directory, whole, bad, _promised_words(directory, options, promised))
    left = len(bad) - PAGES_MAX
    notes = (f"{directory}: {left:,} more runs get no page",) if writer and left > 0 else ()
    return (msgspec.structs.replace(found, seconds=round(perf_counter() - begin, 4)), *bad), notes


def _one(history: History, options: Options, writer: PageWriter | None) -> Judged:
    judged = judge_log(history, facts_of(history, trace.MODEL, options), options)
    if writer is not None:
        writer.write(history, judged)
    return judged


@dataclass
class _Whole:
    """A trace, as far as its parts have been looked at. held: the weakest level of its runs."""

    runs: int = 0
    operations: int = 0
    held: Level = Level.LINEARIZABLE
    exact: bool = True
    unpromised: int = 0
    """Runs to which nothing was promised."""


def _suspects(
    directory: Path, table: pa.Table, options: Options, promised: Level, whole: _Whole
) -> Iterator[tuple[int, list[dict[str, Any]], Level]]:
    """(run, its recorded operations, the level it promises) of the runs that one look at all of a
    part does not clear.
    """
    if not table.num_rows:
        return
    try:
        batch = from_arrow(table["history"])
    except ValueError as error:
        raise HistoryError(str(directory), 0, str(error)) from None
    gaps = _has_control_records(directory)
    found = log.judge(batch, at_least_once=_at_least_once(options), gaps=gaps)
    levels = levels_of(found)
    each = _levels_promised(directory, table, options, promised)
    # A run in which nobody asked anything promises nothing.
    asked = batch.operations > 0
    whole.runs += batch.segments
    whole.operations += int(batch.operations.sum())
    whole.exact = whole.exact and bool(levels.exact[asked].all())
    held = int(levels.held[asked].min(initial=int(Level.LINEARIZABLE)))
    whole.held = min(whole.held, Level(held))
    clear = ~asked | (each == Level.DIVERGENT) | ((levels.held >= each) & levels.exact)
    whole.unpromised += int((each == Level.DIVERGENT).sum())
    for row in np.flatnonzero(~clear).tolist():
        yield table["run"][row].as_py(), table["history"][row].as_py(), Level(int(each[row]))


def _has_control_records(directory: Path) -> bool:
    """Whether the log itself writes records, which no client knows of."""
    return trace.scenario_of(directory) == "quorum"


def _levels_promised(
    directory: Path, table: pa.Table, options: Options, otherwise: Level
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Per run: the level asked for, or what its configuration and its faults promise."""
    if options.level is not None or trace.scenario_of(directory) != "partition":
        return np.full(table.num_rows, int(otherwise), np.int64)
    recorded = zip(table["options"].to_pylist(), table["statistics"].to_pylist(), strict=True)
    return np.array([int(promise_of(*each).level) for each in recorded], np.int64)


def _with_promise(directory: Path, options: Options, otherwise: Level) -> Options:
    """The options for one run, with the level that it promises."""
    for table in trace.tables(directory):
        found = table.filter(pc.equal(table["run"], options.run))
        if found.num_rows:
            level = Level(int(_levels_promised(directory, found, options, otherwise)[0]))
            return options._replace(level=name_of(level))
    return options


def _because(directory: Path, whole: _Whole) -> str:
    if _has_control_records(directory):
        return "clients ask any node of the quorum, each of which may lag behind"
    return f"nothing was promised to {whole.unpromised:,} runs, which lost more than they bear"


def _promised_words(directory: Path, options: Options, promised: Level) -> str:
    if options.level is None and trace.scenario_of(directory) == "partition":
        return "to each run what its configuration and faults allow"
    return name_of(promised)


def _summary(directory: Path, whole: _Whole, bad: Sequence[Judged], promised: str) -> Judged:
    verdicts = {each.verdict for each in bad}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in verdicts), HOLDS)
    first = next((each for each in bad if each.verdict == verdict), None)
    reason = None
    if first is not None:
        reason = f"{len(bad):,} of {whole.runs:,} runs, the first of them {first.file}"
    return Judged(
        file=str(directory),
        format=trace.NAME,
        model=trace.MODEL,
        verdict=verdict,
        level=name_of(whole.held) if whole.exact else None,
        promised=promised,
        because=_because(directory, whole),
        reason=reason,
        operations=whole.operations,
        runs=whole.runs,
    )
