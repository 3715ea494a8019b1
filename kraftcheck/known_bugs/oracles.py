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
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
import pyarrow.parquet as pq

from kraftcheck.checking.options import Options
from kraftcheck.checking.traces import judge_trace
from kraftcheck.known_bugs import violations
from kraftcheck.known_bugs.entries import models_of
from kraftcheck.known_bugs.violations import Counterexample
from kraftcheck.known_bugs.witnesses import UNWATCHED, WATCHED
from kraftcheck.traces.formats.trace import scenario_of
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import ConformOptions, conform
from kraftcheck.traces.jobs.promised import has_clients
from kraftcheck.traces.schema import PROGRESSED, STOPPED
from kraftcheck.traces.store import part_path, read_manifest as read_trace
from tla_utils import Manifest, Model, ModelResult, RunOptions, ToolError, check_model

Oracle: TypeAlias = Literal["tlc", "steps", "invariants", "histories", "progress"]
ORACLES: tuple[Oracle, ...] = ("tlc", "steps", "invariants", "histories", "progress")

STEPS, INVARIANTS, HISTORIES, PROGRESS = "steps", "invariants", "histories", "progress"
FOUND, NOTHING, UNKNOWN = "found", "nothing", "unknown"
EXPLAINED = 1


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What one oracle says.

    run, step: where, in the trace `folder`.
    """

    oracle: str
    verdict: str
    """Found, nothing or unknown."""
    said: str = ""
    """What was found, or why it is unknown, in a line."""
    folder: str | None = None
    run: int | None = None
    step: int | None = None
    found_runs: tuple[int, ...] = ()
    """Every run in which it was found."""
    seconds: float = 0.0
    figures: dict[str, Any] = {}
    """Of TLC, counts."""


# -- Of recorded runs


class Shown(NamedTuple):
    """One thing that an oracle found in recorded runs."""

    oracle: str
    what: str
    """In a few words."""
    said: dict[int, str]
    """Of each run what it says."""
    step: int | None = None
    """In the first of them."""
    runs: int = 0
    """In how many, where `said` leaves some out."""


Judged: TypeAlias = tuple[list[Shown], str]
"""All that was found, the first found first; and why something could not be judged, or nothing."""


def judge(oracle: Oracle, folder: Path, **how: Any) -> Opinion:
    """What an oracle other than TLC says of a trace. how: as its own function has it."""
    begin = perf_counter()
    shown, undecided = JUDGES[oracle](folder, **how)
    opinion = Opinion(oracle=oracle, verdict=UNKNOWN if undecided else NOTHING, said=undecided)
    if shown:
        first = shown[0]
        run = min(first.said)
        runs = _rejected_runs(folder) if oracle == STEPS else {n for e in shown for n in e.said}
        what = f"{first.what} is not allowed by the spec" if oracle == STEPS else first.what
        opinion = Opinion(
            oracle=oracle,
            verdict=FOUND,
            said=f"{what}: {first.said[run]}" if first.said[run] else what,
            run=run,
            step=first.step,
            found_runs=tuple(sorted(runs)),
        )
    seconds = round(perf_counter() - begin, 3)
    return msgspec.structs.replace(opinion, folder=str(folder), seconds=seconds)


def steps(folder: Path, explain: int = EXPLAINED) -> Judged:
    """What the step relation refuses: each kind of step with its first run.

    explain: of so many rejected steps TLC tells the difference, which takes it as long as judging
    them.
    """
    # Runs of the campaign that were not recorded are nobody's fault here.
    summary = conform(folder, ConformOptions(backend=Pool(1), explain=explain)).summary
    found = [
        Shown(
            STEPS,
            each["action"],
            {each["run"]: (each.get("differences") or [each.get("reason") or ""])[0]},
            each["step"],
            each["runs"],
        )
        for each in summary["rejections"]
    ]
    unjudged = [reason for reason in summary["reasons"] if "TLC" in reason]
    if count := summary["unknown_steps"]:
        unjudged.append(f"{count} could not be judged")
    return found, next(iter(unjudged), "")


def _rejected_runs(folder: Path) -> set[int]:
    rows = pq.read_table(folder / "conform" / "rejected.parquet", columns=["run"])
    return set(rows["run"].to_pylist())


def run_rows(folder: Path, columns: list[str]) -> list[dict[str, Any]]:
    """These columns of all recorded runs, in the order of their numbers."""
    rows: list[dict[str, Any]] = []
    for entry in read_trace(folder).parts:
        rows += pq.read_table(part_path(folder, entry, "runs"), columns=columns).to_pylist()
    return rows


def invariants(folder: Path) -> Judged:
    """Each invariant that some run violates."""
    found: dict[str, Shown] = {}
    for row in run_rows(folder, ["run", "violations"]):
        for each in row["violations"]:
            name = each["invariant"]
            shown = found.setdefault(name, Shown(INVARIANTS, name, {}, each["step"]))
            shown.said.setdefault(row["run"], each["explanation"])
    return [*found.values()], ""


def progress(folder: Path) -> Judged:
    """Runs in which a healed cluster does not come back to work."""
    rows = run_rows(folder, ["run", "verdict"])
    stuck = {e["run"]: e["verdict"] for e in rows if e["verdict"] not in (PROGRESSED, STOPPED)}
    if not stuck:
        return [], ""
    what = f"a healed cluster stays stuck: {next(iter(stuck.values()))}"
    return [Shown(PROGRESS, what, dict.fromkeys(stuck, ""))], ""


def histories(folder: Path, level: str | None = None, run: int | None = None) -> Judged:
    """Each pair of a level that was promised and one that was kept.

    level: what to judge by in place of what runs promised. run: this one alone, else all of the
    trace.
    """
    if not has_clients(scenario_of(folder)):
        return [], ""
    judged, _ = judge_trace(folder, Options(level=level, run=run))
    lost: dict[str, dict[int, str]] = {}
    # Of a whole trace, the first is the trace itself.
    for each in judged[run is None :]:
        if each.verdict == "violated":
            what = f"promised {each.promised}, kept {each.level or 'no level'}"
            said = each.certificate.sentence if each.certificate else each.reason or ""
            lost.setdefault(what, {})[int(each.file.rpartition("#")[2])] = said
    left = next((each for each in judged if each.verdict == "unknown"), None)
    undecided = (left.reason or "undecided") if left else ""
    return [Shown(HISTORIES, what, said) for what, said in lost.items()], undecided


JUDGES: Final[dict[str, Callable[..., Judged]]] = {
    STEPS: steps,
    INVARIANTS: invariants,
    HISTORIES: histories,
    PROGRESS: progress,
}
KINDS: Final[dict[str, str]] = {
    **dict.fromkeys((STEPS, INVARIANTS), WATCHED),
    **dict.fromkeys((HISTORIES, PROGRESS), UNWATCHED),
}
"""By oracle, the runs that it judges."""


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
