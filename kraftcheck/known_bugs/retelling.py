"""`bugs run --replay`: a run in which a bug was found, told step by step, and drawn as a page.

The run is taken again from its seed or its schedule, as `kraftcheck replay` does; the page is that
of its history, with a timeline of what its clients asked and were told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kraftcheck import artifacts, replay, schedules
from kraftcheck.checking.options import Options, PageWriter
from kraftcheck.checking.traces import judge_trace
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.detecting import Detection
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.reference.runner.scripted import recorded
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.jobs.guidance import genome_of
from kraftcheck.traces.store import read_manifest

PAGES = "pages"
FIRST = ("histories", "invariants", "progress", "steps")
"""Which oracle's run is told, where several found a bug: what clients saw says most."""


def chosen(found: Sequence[Detection]) -> list[Detection]:
    """Of each bug that was found in a run, the detection whose run is told, in their order."""
    best: dict[str, Detection] = {}
    for each in sorted(
        (each for each in found if each.replay), key=lambda each: FIRST.index(each.oracle)
    ):
        best.setdefault(each.bug, each)
    order = dict.fromkeys(each.bug for each in found)
    return [best[bug] for bug in order if bug in best]


def _again(folder: Path, number: int) -> Run:
    """The run that was recorded there, from its seed or from its schedule."""
    schedule = schedules.schedule_of(folder)
    if schedule is not None:
        return recorded(schedules.made(schedule, schedules.load(schedule), skip=False))[0]
    campaign = read_manifest(folder).campaign
    genome = genome_of(folder, campaign, number)
    options = genome.options(campaign.options)
    return simulate_run(
        campaign.scenario, campaign.seed, number, campaign.bug, options, chooser=genome.chooser()
    )


def told(detection: Detection, out: Path) -> Iterator[str]:
    """The run in lines, and last the path of its page, in a folder below `out`.

    Raises TraceError: the recorded run is not there any more.
    """
    opinion = detection.opinion
    assert opinion is not None and opinion.folder is not None and opinion.run is not None
    folder, number = Path(opinion.folder), opinion.run
    run = _again(folder, number)
    yield f"{detection.bug}, found by {detection.oracle}: {detection.said}"
    yield from replay.annotated(narrate(run), replay.rejected_steps(folder, number))
    writer = PageWriter(artifacts.claim(out / PAGES))
    try:
        judge_trace(folder, Options(run=number), writer)
    except (HistoryError, BadInput) as error:
        yield f"no timeline: {error}"
    yield from (f"timeline   {path}" for path in writer.written)
