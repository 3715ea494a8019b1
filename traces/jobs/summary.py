"""What a judged trace comes to: the content of `summary.json`, which reports are made of.

Law of this file: the summary is a function of the evidence, in JSON's types; apart from `seconds`
and what `tlc` says of time and memory, the same trace gives the same summary on every backend.
Nothing is judged here but the verdict on the whole, in `verdict_of`.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftcheck.osutil.commands import command
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import KINDS, components_of, kind_of, nodes_of
from kraftcheck.reference.runner.scenarios import FAMILIES
from kraftcheck.traces.schema import PROGRESSED, STOPPED
from kraftcheck.traces.steps.check import CHECKS, Finding
from kraftcheck.traces.steps.classes import (
    FIRST_ROW,
    KEYS,
    Facts,
    PartFiles,
    RunNote,
    demand_all_classed,
    demand_all_joined,
    most,
)
from kraftcheck.traces.steps.explain import Explanation
from kraftcheck.traces.steps.judge import REJECTED, UNKNOWN, Judgement
from kraftcheck.traces.steps.record import Ints, actions_of, decode_constants
from kraftcheck.traces.steps.translation import frame_digest
from kraftcheck.traces.store import Manifest, version
from tla_utils import find_jar, find_java

SUMMARY_VERSION: Final = 1
LISTED: Final = 100
"""How many findings of one kind are listed; all are counted."""
CURVE_POINTS: Final = 60
AS_TEXT: Final = "steps_as_text"
"""In what is said of TLC, where it did not take values: why."""


@dataclass(frozen=True)
class Evidence:
    """Everything that the stages of `conform` have found."""

    directory: Path
    manifest: Manifest
    facts: Sequence[Facts]
    files: Sequence[PartFiles]
    merged: pa.Table
    judgement: Judgement
    explained: Mapping[int, Explanation]
    joined: pa.Table
    seconds: Mapping[str, float]
    backend: str
    specs: Path


def summarise(evidence: Evidence) -> dict[str, Any]:
    """Raises ToolError: what the stages found does not add up."""
    facts = evidence.facts
    demand_all_classed(facts, evidence.merged)
    not_accepted = evidence.judgement.numbers(REJECTED) + evidence.judgement.numbers(UNKNOWN)
    demand_all_joined(evidence.merged, not_accepted, evidence.joined)
    summary: dict[str, Any] = {
        "summary_version": SUMMARY_VERSION,
        "verdict": "",
        "reasons": [],
        "trace": _trace(evidence),
        "runs": sum(f.runs for f in facts),
        "steps": sum(f.steps for f in facts),
        "first_rows": sum(f.first_rows for f in facts),
        "distinct_steps": _distinct(evidence),
        "rejected_steps": len(evidence.judgement.numbers(REJECTED)),
        "unknown_steps": len(evidence.judgement.numbers(UNKNOWN)),
        "runs_with_rejected_steps": _runs_with(evidence, REJECTED),
        "runs_with_unknown_steps": _runs_with(evidence, UNKNOWN),
        "rejections": _rejections(evidence, REJECTED),
        "unknowns": _rejections(evidence, UNKNOWN),
        "findings": _findings(evidence),
        "invariant_violations": _invariants(evidence),
        "progress": _progress(evidence),
        "actions": _counted(
            actions_of(sorted({text for f in facts for text in f.constants})),
            (f.actions for f in facts),
        ),
        "ignored": _counted((), (f.ignored for f in facts)),
        "constants": sorted({text for f in facts for text in f.constants}),
        "faults": _faults(facts),
        "longest": _notes(evidence, [note for f in facts for note in f.longest]),
        "slowest": _notes(evidence, [note for f in facts for note in f.slowest]),
        "tlc": _tlc(evidence),
        "seconds": dict(evidence.seconds),
        "versions": _versions(evidence),
    }
    summary["verdict"], summary["reasons"] = verdict_of(summary)
    return summary


def verdict_of(summary: Mapping[str, Any]) -> tuple[str, list[str]]:
    """holds, violated or unknown; and why, unless it holds."""
    violated, unknown = [], []
    if summary["rejected_steps"]:
        violated.append(
            f"{summary['rejected_steps']} distinct steps are not allowed by the spec; "
            f"{summary['runs_with_rejected_steps']} runs took one"
        )
    for check, runs in summary["findings"]["by_check"].items():
        if runs:
            violated.append(f"check {check} failed in {runs} runs")
    for invariant, runs in summary["invariant_violations"]["by_name"].items():
        violated.append(f"invariant {invariant} was violated in {runs} run{'s' * (runs != 1)}")
    if summary["progress"]["unprogressed"]:
        violated.append(f"{summary['progress']['unprogressed']} healed runs made no progress")
    if summary["unknown_steps"]:
        unknown.append(
            f"{summary['unknown_steps']} distinct steps could not be judged; "
            f"{summary['runs_with_unknown_steps']} runs took one"
        )
    asked = summary["trace"]["runs_asked"]
    if summary["runs"] < asked:
        unknown.append(f"the trace is incomplete: {summary['runs']} of {asked} runs are recorded")
    verdict = "violated" if violated else "unknown" if unknown else "holds"
    return verdict, violated + unknown


def replay_command(directory: Path, run: int) -> str:
    return command("replay", directory, "--run", run)


def _trace(evidence: Evidence) -> dict[str, Any]:
    campaign = evidence.manifest.campaign
    return {
        "scenario": campaign.scenario,
        "seed": campaign.seed,
        "bug": campaign.bug,
        "options": dict(campaign.options),
        "runs_asked": campaign.runs,
        "parts": len(evidence.manifest.parts),
    }


def _distinct(evidence: Evidence) -> dict[str, Any]:
    """How many steps differ, as recorded and up to renaming; first rows are counted apart."""
    recorded: list[pa.ChunkedArray] = []
    first_rows: list[pa.ChunkedArray] = []
    for part in evidence.files:
        keys = pq.read_table(part.keys, schema=KEYS)
        is_first = pc.equal(keys["id"], FIRST_ROW)
        recorded.append(pc.unique(keys.filter(pc.invert(is_first))["recorded"]))
        first_rows.append(pc.unique(keys.filter(is_first)["key"]))
    distinct = pc.count_distinct(pa.chunked_array(recorded)).as_py()
    first = pc.unique(pa.chunked_array(first_rows)).cast(evidence.merged["key"].type)
    is_step = ~pc.is_in(evidence.merged["key"], value_set=first).to_numpy()
    canonical = int(is_step.sum())
    steps = sum(f.steps for f in evidence.facts)
    return {
        "recorded": distinct,
        "canonical": canonical,
        "first_rows": len(first),
        "deduplication": round(steps / canonical, 3) if canonical else None,
        "by_renaming": round(distinct / canonical, 3) if canonical else None,
        "curve": _curve(evidence.merged["run"].to_numpy()[is_step], evidence),
    }


def _curve(witnesses: Ints, evidence: Evidence) -> list[list[int]]:
    """[runs, distinct canonical steps among the first so many runs], at growing distances.

    A class is there from its witness on, which is the smallest run that took it.
    """
    runs = sum(f.runs for f in evidence.facts)
    ends = np.sort(
        np.concatenate([np.arange(f.first_run, f.first_run + f.runs) for f in evidence.facts])
    )
    points = sorted({min(runs, round(runs ** (i / CURVE_POINTS))) for i in range(CURVE_POINTS + 1)})
    ordered = np.sort(witnesses)
    return [
        [count, int(np.searchsorted(ordered, ends[count - 1], side="right"))] for count in points
    ]


def _runs_with(evidence: Evidence, code: int) -> int:
    keys = _keys(evidence, evidence.judgement.numbers(code))
    rows = evidence.joined.filter(pc.is_in(evidence.joined["key"], value_set=keys))
    return int(pc.count_distinct(rows["run"]).as_py())


def _keys(evidence: Evidence, numbers: Sequence[int]) -> pa.Array:
    column = evidence.merged["key"].combine_chunks()
    return column.take(pa.array(numbers, pa.int64())).cast(pa.binary())


def _rejections(evidence: Evidence, code: int) -> list[dict[str, Any]]:
    """The classes with this verdict, those with the earliest witnesses first.

    Listed are those that were explained, and at most LISTED others.
    """
    judgement, merged = evidence.judgement, evidence.merged
    taken_by = Counter(evidence.joined["key"].to_pylist())
    found = []
    for number in judgement.numbers(code):
        row = {name: merged[name][number].as_py() for name in merged.column_names}
        bench, action = judgement.kinds[number]
        entry = {
            "action": action,
            "run": row["run"],
            "step": row["step"],
            "key": row["key"].hex(),
            "constants": bench.text,
            "count": row["count"],
            "runs": taken_by[row["key"]],
            "reason": judgement.reasons[number],
            "replay": replay_command(evidence.directory, row["run"]),
        }
        told = evidence.explained.get(number)
        if told is not None:
            entry |= msgspec.to_builtins(told)
        found.append(entry)
    found.sort(key=lambda entry: (entry["run"], entry["step"], entry["key"]))
    explained = [entry for entry in found if "differences" in entry]
    return explained + [entry for entry in found if "differences" not in entry][:LISTED]


def _clause(sentence: str) -> str:
    """Write the sentence as a part of another one."""
    return f"{sentence[:1].lower()}{sentence[1:]}".removesuffix(".")


def _findings(evidence: Evidence) -> dict[str, Any]:
    """What the checks on runs found: per check how many runs, and the first of them."""
    findings = sorted(finding for f in evidence.facts for finding in f.findings)
    by_check = {check: len({f.run for f in findings if f.check == check}) for check in CHECKS}
    listed = [f for check in CHECKS for f in findings if f.check == check]
    return {
        "by_check": by_check,
        "meaning": {check: _clause(function.__doc__ or "") for check, function in CHECKS.items()},
        "listed": [
            {**msgspec.to_builtins(f), "replay": replay_command(evidence.directory, f.run)}
            for f in _first_of_each(listed)
        ],
    }


def _first_of_each(findings: Iterable[Finding]) -> list[Finding]:
    kept: Counter[str] = Counter()
    first = []
    for finding in findings:
        kept[finding.check] += 1
        if kept[finding.check] <= LISTED:
            first.append(finding)
    return first


def _invariants(evidence: Evidence) -> dict[str, Any]:
    broken = sorted(each for f in evidence.facts for each in f.invariants)
    by_name: dict[str, set[int]] = {}
    for each in broken:
        by_name.setdefault(each.invariant, set()).add(each.run)
    return {
        "runs": len({each.run for each in broken}),
        "by_name": {name: len(runs) for name, runs in sorted(by_name.items())},
        "listed": [
            {**msgspec.to_builtins(each), "replay": replay_command(evidence.directory, each.run)}
            for each in broken[:LISTED]
        ],
    }


def _progress(evidence: Evidence) -> dict[str, Any]:
    # None: runs that were made by hand.
    of = FAMILIES.get(evidence.manifest.campaign.scenario)
    verdicts = _counted((PROGRESSED, STOPPED), (f.verdicts for f in evidence.facts))
    unprogressed = [note for f in evidence.facts for note in f.unprogressed]
    return {
        "asked": of is None or of.manner.heals,
        "progressed": verdicts[PROGRESSED],
        "stopped": verdicts[STOPPED],
        "unprogressed": len(unprogressed),
        "listed": [
            {
                "run": note.run,
                "missing": note.what,
                "replay": replay_command(evidence.directory, note.run),
            }
            for note in sorted(unprogressed, key=lambda note: note.run)[:LISTED]
        ],
    }


def _faults(facts: Sequence[Facts]) -> dict[str, dict[str, int]]:
    """Per statistic of a run: the sum over all runs, and in how many runs it is not zero."""
    total = _counted((), (f.statistics for f in facts))
    runs_with = _counted((), (f.runs_with for f in facts))
    return {name: {"total": total[name], "runs": runs_with[name]} for name in total}


def _notes(evidence: Evidence, notes: Iterable[RunNote]) -> list[dict[str, Any]]:
    return [
        {
            "run": note.run,
            "number": note.number,
            "replay": replay_command(evidence.directory, note.run),
        }
        for note in most(notes)
    ]


def _counted(names: Iterable[str], counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum per name: the given names first, in their order, then others by name."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    ordered = list(names)
    ordered += sorted(name for name in total if name not in ordered)
    return {name: total[name] for name in ordered}


def _tlc(evidence: Evidence) -> dict[str, Any]:
    judgement = evidence.judgement
    judged = len(evidence.merged)
    return {
        "judged": judged,
        "jvms": judgement.jvms,
        "cpu_seconds": round(judgement.cpu_seconds, 2),
        "steps_per_cpu_second": round(judged / max(judgement.cpu_seconds, 0.01)),
        "peak_rss_mb": round(judgement.peak_rss_mb),
        **({AS_TEXT: judgement.as_text} if judgement.as_text else {}),
    }


def _kinds(evidence: Evidence) -> list[NodeKind]:
    """The kinds of the runs' nodes."""
    texts = sorted({text for fact in evidence.facts for text in fact.constants})
    constants = [each for text in texts for each in components_of(decode_constants(text))]
    found = {kind_of(each, node).name for each in constants for node in nodes_of(each)}
    return [kind for kind in KINDS if kind.name in found]


def _versions(evidence: Evidence) -> dict[str, str]:
    java, jar = find_java(), find_jar()
    return {
        "kraftcheck": version(),
        "recorded with": evidence.manifest.kraftcheck_version,
        "schema": str(evidence.manifest.schema_version),
        "specs (sha256)": frame_digest(_kinds(evidence), evidence.specs),
        "TLC": jar.version,
        "Java": str(java.version),
        "Python": platform.python_version(),
        "NumPy": metadata.version("numpy"),
        "pyarrow": metadata.version("pyarrow"),
        "pyspark": metadata.version("pyspark"),
        "backend": evidence.backend,
    }
