"""Partition logs: whatever the columnar checker finds, as a `Judged`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kraftcheck.judgement import Options, PageWriter
from traces.formats import trace
from traces.history import History
from traces.report.judged import Judged

NOT_YET = "partition logs are not judged yet"


def judge_log(history: History, facts: dict[str, Any], options: Options) -> Judged:
    return Judged(**facts, verdict="unknown", reason=NOT_YET)


def judge_trace(
    directory: Path, options: Options, writer: PageWriter | None = None
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """Raises HistoryError."""
    runs = sum(1 for _ in trace.histories(directory))
    found = Judged(
        file=str(directory),
        format=trace.NAME,
        model=trace.MODEL,
        verdict="unknown",
        reason=NOT_YET,
        runs=runs,
    )
    return (found,), ()
