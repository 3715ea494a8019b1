"""What clients saw: of each log of each run the level that held, and each anomaly by its name.

Two questions to table `runs`, answered by one look of the columnar checker at all runs of a part
(traces/checkers): `VERDICTS` has a row for each log on which anything was asked, `ANOMALIES` one
for each kind of anomaly that happened in it. A run of a cluster has a log for each partition.

Law of this file: the rows of a run depend on that run alone, and not on the runs beside it; so a
campaign may be cut into parts anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kraftcheck.reference.clients.promises import Level, Promise
from kraftcheck.traces.checkers.arrow import from_arrow, partitions
from kraftcheck.traces.checkers.assessment import NAMES, Assessment, assess
from kraftcheck.traces.checkers.levels import staleness
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import UNKNOWN, VIOLATED
from kraftcheck.traces.formats.trace import objects_of
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.jobs.promised import (
    has_control_records,
    judge_runs,
    objects_seen,
    promises_of,
)
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.record import Ints, ints

READS: Final = ("run", "options", "statistics", "history")
"""The columns of table `runs` that are asked."""

VERDICTS: Final = pa.schema(
    [
        ("run", pa.int64()),
        ("partition", pa.int32()),
        ("operations", pa.int64()),
        ("promised", pa.string()),
        ("held", pa.string()),
        ("exact", pa.bool_()),
        ("verdict", pa.string()),
        ("reads", pa.int64()),
        ("stale_reads", pa.int64()),
        ("worst_lag", pa.int64()),
        ("worst_missed", pa.int64()),
    ]
)
"""A log of a run. promised: the level, or `nothing`. held: the strongest level that the history
allows; exact: whether that is known to hold. reads: that could have missed a record; worst_lag: for
how long (virtual us) the first record that the stalest read missed had been there; worst_missed:
records."""

ANOMALIES: Final = pa.schema(
    [
        ("run", pa.int64()),
        ("partition", pa.int32()),
        ("name", pa.string()),
        ("count", pa.int64()),
        ("forbidden", pa.bool_()),
    ]
)
"""An anomaly that happened in a log of a run: Jepsen's name or ours, how often, and whether the
run's promise excludes it."""


class HistoryTables(NamedTuple):
    """verdicts, anomalies: tables as declared above, by run and partition."""

    verdicts: pa.Table
    anomalies: pa.Table


def judge_histories(scenario: str, runs: pa.Table) -> HistoryTables:
    """Both answers for some rows of table `runs`. Raises TraceError: a history that is none."""
    seen = objects_seen(scenario)
    if seen is not None:
        return HistoryTables(_of_objects(scenario, seen, runs), ANOMALIES.empty_table())
    verdicts: list[pa.Table] = []
    anomalies: list[pa.Table] = []
    promises = promises_of(scenario, runs)
    # The checker would judge all logs beside one that may have copies more loosely.
    assert all(p.exactly_once or p.nothing for p in promises), "who retries is idempotent"
    numbers = ints(runs["run"])
    for number, histories in enumerate(partitions(runs["history"]) if promises else ()):
        found = _assessed(scenario, histories, promises)
        verdicts.append(_verdicts(found, numbers, number))
        anomalies += _anomalies(found, numbers, number)
    return HistoryTables(
        _table(verdicts, VERDICTS, ("run", "partition")),
        _table(anomalies, ANOMALIES, ("run", "partition", "name")),
    )


def _of_objects(scenario: str, seen: list[Model | None], runs: pa.Table) -> pa.Table:
    """The verdict on each object of each run; what is held of it is all or nothing."""
    rows: list[dict[str, Any]] = []
    columns = runs["run"].to_pylist(), runs["history"].to_pylist()
    asked = [(run, recorded) for run, recorded in zip(*columns, strict=True) if recorded]
    histories = [objects_of(Path(scenario), run, recorded, "") for run, recorded in asked]
    try:
        found = judge_runs(histories, seen)
    except HistoryError as error:
        raise TraceError(f"histories of scenario {scenario}: {error}") from None
    for (run, _), history, verdicts in zip(asked, histories, found, strict=True):
        for each in verdicts:
            held = Level.DIVERGENT if each.verdict == VIOLATED else Level.LINEARIZABLE
            rows.append(
                {
                    "run": run,
                    "partition": int(each.key or 0),
                    "operations": sum(op.key == each.key for op in history.operations),
                    "promised": NAMES[Level.LINEARIZABLE],
                    "held": NAMES[held],
                    "exact": each.verdict != UNKNOWN,
                    "verdict": each.verdict,
                    **dict.fromkeys(("reads", "stale_reads", "worst_lag", "worst_missed"), 0),
                }
            )
    return pa.Table.from_pylist(rows, schema=VERDICTS)


def _assessed(scenario: str, histories: pa.ListArray, promises: list[Promise]) -> Assessment:
    try:
        return assess(
            from_arrow(histories), promises, gaps=has_control_records(scenario), complete=False
        )
    except ValueError as error:
        raise TraceError(f"histories of scenario {scenario}: {error}") from None


def _verdicts(found: Assessment, runs: Ints, partition: int) -> pa.Table:
    operations = found.found.batch.operations
    asked = np.flatnonzero(operations > 0)
    columns = {
        "run": runs,
        "partition": np.full(len(runs), partition),
        "operations": operations,
        "promised": found.promises_made,
        "held": NAMES[found.levels.held],
        "exact": found.levels.exact,
        "verdict": found.verdicts,
        **_stale(found),
    }
    return pa.table({name: column[asked] for name, column in columns.items()}, schema=VERDICTS)


def _stale(found: Assessment) -> dict[str, Any]:
    """Per segment, how stale its reads were."""
    rows = staleness(found.found)
    segments = found.found.batch.segments
    reads = np.bincount(rows.segment, minlength=segments)
    missing = rows.missed > 0
    lag, missed = np.zeros(segments, np.int64), np.zeros(segments, np.int64)
    np.maximum.at(lag, rows.segment[missing], rows.lag[missing])
    np.maximum.at(missed, rows.segment[missing], rows.missed[missing])
    stale = np.bincount(rows.segment[missing], minlength=segments)
    return {"reads": reads, "stale_reads": stale, "worst_lag": lag, "worst_missed": missed}


def _anomalies(found: Assessment, runs: Ints, partition: int) -> Iterator[pa.Table]:
    for name in found.anomalies.names:
        counts = found.anomalies.counts(name)
        happened = np.flatnonzero(counts > 0)
        columns = {
            "run": runs[happened],
            "partition": np.full(len(happened), partition),
            "name": np.full(len(happened), name),
            "count": counts[happened],
            "forbidden": found.forbidden[name][happened],
        }
        yield pa.table(columns, schema=ANOMALIES)


def _table(parts: list[pa.Table], schema: pa.Schema, order: tuple[str, ...]) -> pa.Table:
    table = pa.concat_tables([schema.empty_table(), *parts])
    return table.sort_by([(name, "ascending") for name in order]).combine_chunks()
