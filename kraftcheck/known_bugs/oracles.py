"""What each of the detectors says of a bug: TLC of its models, the others of recorded runs.

    tlc         a property of the spec with the overlay in it, violated as the manifest says
    steps       the relation of the correct spec, which rejects a recorded step
    invariants  the run's own, evaluated after every step
    histories   the checker of what clients saw, against what their run promised
    progress    a healed cluster that does not come back to work (the second of a run's phases)

Their oracles differ, so they count as independent. What generates the runs (a campaign, a stored
run, a search by Hypothesis) is another matter.

Law of this file: an oracle that could not judge says so. "Nothing found" is said of complete
judgements only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeAlias

import msgspec
import pyarrow.parquet as pq

from kraftcheck.checking.options import Options
from kraftcheck.checking.traces import judge_trace
from kraftcheck.known_bugs import violations
from kraftcheck.known_bugs.entries import models_of
from kraftcheck.known_bugs.violations import Counterexample
from kraftcheck.traces.formats.trace import scenario_of
from kraftcheck.traces.jobs.backends import Backend, Pool
from kraftcheck.traces.jobs.conform import ConformOptions, conform
from kraftcheck.traces.jobs.promised import has_clients
from kraftcheck.traces.schema import PROGRESSED, STOPPED
from kraftcheck.traces.store import part_path, read_manifest as read_trace
from tla_utils import Manifest, Model, ModelResult, RunOptions, ToolError, check_model

Oracle: TypeAlias = Literal["tlc", "steps", "invariants", "histories", "progress"]
ORACLES: tuple[Oracle, ...] = ("tlc", "steps", "invariants", "histories", "progress")

FOUND, NOTHING, UNKNOWN = "found", "nothing", "unknown"
EXPLAINED = 1


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What one oracle says.

    verdict: found, nothing or unknown. said: what was found, or why it is unknown, in a line.
    run, step: where, in the trace `folder`. found_runs: every run in which it was found.
    figures: of TLC, counts.
    """

    oracle: str
    verdict: str
    said: str = ""
    folder: str | None = None
    run: int | None = None
    step: int | None = None
    found_runs: tuple[int, ...] = ()
    seconds: float = 0.0
    figures: dict[str, Any] = {}


# -- Of recorded runs


def judge(oracle: Oracle, folder: Path, backend: Backend | None = None) -> Opinion:
    """What an oracle other than TLC says of a trace."""
    begin = perf_counter()
    found = _JUDGES[oracle](folder, backend or Pool(1))
    return msgspec.structs.replace(
        found, folder=str(folder), seconds=round(perf_counter() - begin, 3)
    )


def _steps(folder: Path, backend: Backend) -> Opinion:
    return steps(folder, backend)


def steps(folder: Path, backend: Backend, explain: int = EXPLAINED) -> Opinion:
    """What the step relation says. explain: of so many rejected steps TLC tells the difference,
    which takes it as long as judging them.
    """
    # Runs of the campaign that were not recorded are nobody's fault here.
    summary = conform(folder, ConformOptions(backend=backend, explain=explain)).summary
    rejections = summary["rejections"]
    if rejections:
        first = rejections[0]
        runs = _rejected_runs(folder)
        differences = first.get("differences") or [first.get("reason", "")]
        said = f"{first['action']} is not allowed by the spec: {differences[0]}"
        return Opinion(
            oracle="steps",
            verdict=FOUND,
            said=said,
            run=first["run"],
            step=first["step"],
            found_runs=runs,
        )
    unjudged = [reason for reason in summary["reasons"] if "TLC" in reason]
    if unjudged:
        return Opinion(oracle="steps", verdict=UNKNOWN, said=unjudged[0])
    return Opinion(oracle="steps", verdict=NOTHING)


def _rejected_runs(folder: Path) -> tuple[int, ...]:
    rows = pq.read_table(folder / "conform" / "rejected.parquet", columns=["run"])
    return tuple(sorted(set(rows["run"].to_pylist())))


def run_rows(folder: Path, columns: list[str]) -> list[dict[str, Any]]:
    """These columns of all recorded runs, in the order of their numbers."""
    rows: list[dict[str, Any]] = []
    for entry in read_trace(folder).parts:
        rows += pq.read_table(part_path(folder, entry, "runs"), columns=columns).to_pylist()
    return rows


def _invariants(folder: Path, backend: Backend) -> Opinion:
    rows = [row for row in run_rows(folder, ["run", "violations"]) if row["violations"]]
    if not rows:
        return Opinion(oracle="invariants", verdict=NOTHING)
    first = rows[0]["violations"][0]
    return Opinion(
        oracle="invariants",
        verdict=FOUND,
        said=f"{first['invariant']}: {first['explanation']}",
        run=rows[0]["run"],
        step=first["step"],
        found_runs=tuple(row["run"] for row in rows),
    )


def _progress(folder: Path, backend: Backend) -> Opinion:
    rows = run_rows(folder, ["run", "verdict"])
    stuck = [row for row in rows if row["verdict"] not in (PROGRESSED, STOPPED)]
    if not stuck:
        return Opinion(oracle="progress", verdict=NOTHING)
    return Opinion(
        oracle="progress",
        verdict=FOUND,
        said=stuck[0]["verdict"],
        run=stuck[0]["run"],
        found_runs=tuple(row["run"] for row in stuck),
    )


def _histories(folder: Path, backend: Backend) -> Opinion:
    return histories(folder, None)


def histories(folder: Path, level: str | None, run: int | None = None) -> Opinion:
    """What clients saw, against this level, or against what their runs promised.

    run: this one alone, else all of the trace.
    """
    if not has_clients(scenario_of(folder)):
        return Opinion(oracle="histories", verdict=NOTHING)
    judged, _ = judge_trace(folder, Options(level=level, run=run))
    # Of a whole trace, the first is the trace itself.
    bad = [each for each in judged[run is None :] if each.verdict == "violated"]
    if bad:
        first = bad[0]
        said = first.certificate.sentence if first.certificate else first.reason or ""
        return Opinion(
            oracle="histories",
            verdict=FOUND,
            said=f"{first.level or 'no level'}, promised {first.promised}: {said}",
            run=_number(first.file),
            found_runs=tuple(_number(each.file) for each in bad),
        )
    if judged[0].verdict == "unknown":
        return Opinion(oracle="histories", verdict=UNKNOWN, said=judged[0].reason or "undecided")
    return Opinion(oracle="histories", verdict=NOTHING)


def _number(source: str) -> int:
    return int(source.rpartition("#")[2])


_JUDGES: dict[str, Callable[[Path, Backend], Opinion]] = {
    "steps": _steps,
    "invariants": _invariants,
    "histories": _histories,
    "progress": _progress,
}


# -- Of models


def tlc(
    bugs: Sequence[str], manifest: Manifest, options: RunOptions, full: bool
) -> Iterator[tuple[str, Opinion]]:
    """TLC's verdicts on the models of these bugs, as (bug, opinion), one model after the other.

    full: search from the beginning, and not from the stored state. A bug without a model has no
    opinion.
    """
    for bug in bugs:
        for model in models_of(manifest, bug):
            stored = None if full else violations.load(manifest, model)
            if stored is None or not stored.prefix:
                yield bug, _of_model(check_model(manifest, model, options))
            else:
                yield bug, _from_stored(manifest, model, stored, options)


def _of_model(result: ModelResult) -> Opinion:
    model = result.model
    figures = {
        "model": model.name,
        "property": result.property,
        "length": result.length,
        "distinct": result.distinct,
        "seconds": round(result.seconds, 1),
    }
    opinion = partial(Opinion, oracle="tlc", seconds=round(result.seconds, 3), figures=figures)
    if result.matches and result.verdict == "violated":
        said = f"model {model.name} violates {result.property} in {result.length} states"
        return opinion(verdict=FOUND, said=said)
    if result.verdict == "unknown":
        return opinion(verdict=UNKNOWN, said=f"model {model.name}: {result.reason}")
    return opinion(verdict=NOTHING, said=f"model {model.name}: {result.reason}")


def _from_stored(
    manifest: Manifest, model: Model, stored: Counterexample, options: RunOptions
) -> Opinion:
    where = f"model {model.name}, from stored state {stored.at} of {stored.length}"
    try:
        result = violations.search_on(manifest, model, stored, options)
    except ToolError as error:
        said = f"{where}: does not fit the spec any more, search with --full: {error}"
        return Opinion(oracle="tlc", verdict=UNKNOWN, said=said)
    figures = {
        "model": model.name,
        "property": stored.property,
        "length": stored.length,
        "distinct": stored.distinct,
        "seconds": stored.seconds,
    }
    opinion = partial(Opinion, oracle="tlc", seconds=round(result.seconds, 3), figures=figures)
    if result.verdict == "violated" and result.property == stored.property:
        steps = len(result.counterexample) - 1
        said = f"{where}: violates {result.property} {steps} steps on"
        return opinion(verdict=FOUND, said=said)
    if result.verdict == "holds":
        return opinion(verdict=NOTHING, said=f"{where}: nothing is violated")
    said = result.reason or f"violates {result.property}, not {stored.property}"
    return opinion(verdict=UNKNOWN, said=f"{where}: {said}")
