"""Batch mode: full rows. Every step is judged by TLC as a step of the spec, thousands in one run.

Beside the steps themselves: each node's first row is initial (a step "Init", which TLC judges too),
each node enters a step in the row in which it left its last one, messages were sent before they
were received as far as the trace tells, and none is received by a node that is down. With that, an
accepted trace of all nodes is a behaviour of the spec (docs/conformance.md); of some nodes, each is
a behaviour of that node among any others.

Law of this file: a step is accepted only if TLC said so. tla_utils/steps.py counts that it did, and
the canaries (traces/steps/judge.py) show that it rejects what no spec allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kraftcheck.reference.protocols import kind_named
from kraftcheck.traces.foreign.profiles import Profile, less_one, part_for, under
from kraftcheck.traces.foreign.provenance import (
    Senders,
    chained,
    metadata_read,
    not_asked,
    nothing_when_down,
    provenanced,
    sent_once,
)
from kraftcheck.traces.foreign.reading import ForeignStep, ForeignTrace
from kraftcheck.traces.foreign.verdicts import Doubt, ForeignVerdict, Rejection
from kraftcheck.traces.steps.judge import planted_among, report_among, spoiled
from kraftcheck.traces.steps.translation import INIT, INIT_INPUT, shared_frame, step_frame
from tla_utils import CheckOptions, Record, StepFrame, StepReport, StepTable, Value, diagnose
from tla_utils.steptable import Batch

CHECK = CheckOptions(heap_mb=2048)
MOST_EXPLAINED = 50


def judge_batch(
    trace: ForeignTrace,
    profile: Profile | None = None,
    asked: Sequence[ForeignStep] | None = None,
) -> ForeignVerdict:
    """Judges a trace of full rows.

    profile: what is allowed besides. asked: the steps of which TLC is asked, where something else
    has judged the others.

    Raises ToolError as report_among does: a TLC that cannot be used, whose report does not add up,
    or that accepts a canary.
    """
    assert trace.full, "partial rows are for chain.py"
    senders = Senders(trace)
    steps = trace.steps if asked is None else asked
    judged = judge_steps(trace, steps, profile)
    rejections = [each for bench, refused in judged.refused for each in _explained(refused, bench)]
    return ForeignVerdict(
        mode="batch",
        producer=trace.producer,
        profile=profile.name if profile else "",
        steps=len(trace.steps),
        nodes=len({(step.run, step.node) for step in trace.steps}),
        distinct=judged.distinct,
        rejections=sorted(rejections),
        findings=sorted(
            [
                *provenanced(trace, senders),
                *nothing_when_down(trace),
                *sent_once(trace),
                *chained(trace),
                *metadata_read(trace, senders),
            ]
        ),
        doubts=sorted(judged.doubts),
        chains=[],
        not_asked=not_asked(trace, senders),
        runs_of_tlc=judged.runs,
        cpu_seconds=round(judged.cpu_seconds, 3),
        as_text=judged.as_text,
    )


class JudgedSteps(NamedTuple):
    """What TLC says of some steps, each on its own."""

    refused: list[tuple[StepFrame, list[tuple[ForeignStep, dict[str, Value]]]]]
    """By the frame that judged them."""
    doubts: list[Doubt]
    distinct: int
    runs: int
    cpu_seconds: float
    as_text: str = ""

    def lines(self) -> set[int]:
        """The lines of steps that are refused."""
        return {step.line for _, refused in self.refused for step, _ in refused}


def judge_steps(
    trace: ForeignTrace, steps: Sequence[ForeignStep], profile: Profile | None = None
) -> JudgedSteps:
    """Judges some steps of a trace; a node's first step with the row that it begins in.

    Raises as judge_batch.
    """
    begun = _first_lines(trace)
    by_kind: dict[str, list[tuple[ForeignStep, dict[str, Value]]]] = defaultdict(list)
    for step in steps:
        kind = trace.kind(step).name
        if step.line in begun:
            by_kind[kind].append((step, _first_row(step)))
        by_kind[kind].append((step, as_columns(step)))
    found = JudgedSteps([], [], 0, 0, 0.0)
    for name, judged in sorted(by_kind.items()):
        bench = under(profile, step_frame(kind_named(name), trace.constants))
        report = _report(bench, [columns for _, columns in judged])
        doubts = [
            Doubt(judged[n][0].line, report.verdicts[n].reason) for n in report.numbers("unknown")
        ]
        found = JudgedSteps(
            [*found.refused, (bench, [judged[n] for n in report.numbers("rejected")])],
            [*found.doubts, *doubts],
            found.distinct + report.distinct,
            found.runs + report.runs,
            found.cpu_seconds + report.cpu_seconds,
            found.as_text or report.as_text,
        )
    return found


def needed_entries(
    trace: ForeignTrace, steps: Sequence[ForeignStep], profile: Profile
) -> dict[str, set[int]]:
    """Of each entry of a profile, the lines of these steps that are refused without it.

    Raises as judge_batch.
    """
    needed: dict[str, set[int]] = {entry.name: set() for entry in profile.entries}
    by_kind: dict[str, list[ForeignStep]] = defaultdict(list)
    for step in steps:
        by_kind[trace.kind(step).name].append(step)
    for name, judged in sorted(by_kind.items()):
        kind = kind_named(name)
        part = part_for(profile, step_frame(kind, trace.constants))
        if part is None or not part.entries:
            continue
        # One more than entries: with a single one, `shared_frame` has no `given`.
        frame = shared_frame(kind, [trace.constants] * (len(part.entries) + 1))
        asked = [
            (entry.name, step, {**as_columns(step), "given": number})
            for number, entry in enumerate(part.entries, 1)
            for step in judged
        ]
        report = _report(less_one(part, frame), [each[2] for each in asked])
        for number in report.numbers("rejected"):
            entry, step, _ = asked[number]
            needed[entry].add(step.line)
    return needed


def _first_lines(trace: ForeignTrace) -> set[int]:
    """The first line of each node, where that is to be its initial row."""
    first: dict[tuple[int, int], int] = {}
    for step in trace.steps if trace.from_initial else ():
        first.setdefault((step.run, step.node), step.line)
    return {*first.values()}


def _report(bench: StepFrame, steps: Sequence[dict[str, Value]]) -> StepReport:
    """TLC's report on steps, after canaries were planted among those that differ."""
    rows = Batch(StepTable.from_steps(steps)).row_of_step
    differing = dict(zip(rows, steps, strict=True))
    asked, canary = planted_among([*differing.values()], spoiled)
    report = report_among(bench, StepTable.from_steps(asked), canary, CHECK)
    verdicts = dict(zip(differing, report.verdicts, strict=True))
    return replace(report, verdicts=[verdicts[row] for row in rows], distinct=len(differing))


def as_columns(step: ForeignStep) -> dict[str, Value]:
    """A step of full rows as the frame's record."""
    assert step.input is not None and step.sent is not None and step.ignored is not None
    return {
        "action": step.action,
        "node": step.node,
        "before": Record(dict(step.before)),
        "input": Record(dict(step.input)),
        "after": Record(dict(step.after)),
        "sent": frozenset(Record(dict(message)) for message in step.sent),
        "ignored": step.ignored,
    }


def _first_row(step: ForeignStep) -> dict[str, Value]:
    """The step that puts the node into the row in which it begins."""
    columns = as_columns(step)
    made: dict[str, Value] = {"action": INIT, "input": INIT_INPUT, "after": columns["before"]}
    return columns | made | {"sent": frozenset[Value](), "ignored": ""}


def _explained(
    rejected: Sequence[tuple[ForeignStep, dict[str, Value]]], bench: StepFrame
) -> list[Rejection]:
    """The rejected steps, those that come first with what the spec would have allowed."""
    asked = [columns for _, columns in rejected[:MOST_EXPLAINED]]
    told = diagnose(bench, asked, options=CHECK) if asked else []
    lines = [list(diagnosis.lines) for diagnosis in told]
    lines += [["not explained: too many others were rejected"]] * (len(rejected) - len(lines))
    return [
        Rejection(step.line, step.run, step.node, str(columns["action"]), said)
        for (step, columns), said in zip(rejected, lines, strict=True)
    ]
