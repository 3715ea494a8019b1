"""`bugs run` on a screen: a line for each bug and oracle, and what it comes to.

With `--replay` a run in which a bug was found is taken again from its seed or its schedule, as
`kraftcheck replay` does, told, and drawn as a page with a timeline of what its clients saw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from kraftcheck import artifacts, exits, replay, schedules
from kraftcheck.checking.options import Options, PageWriter
from kraftcheck.checking.traces import judge_trace
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.detecting import Asked, Detection, detect, expected, wanted_of
from kraftcheck.known_bugs.entries import selected
from kraftcheck.known_bugs.oracles import Oracle
from kraftcheck.known_bugs.witnesses import stored
from kraftcheck.osutil.commands import command
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.reference.runner.scripted import recorded
from kraftcheck.screen import Columns, Screen
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.jobs.guidance import genome_of
from kraftcheck.traces.store import read_manifest
from tla_utils import RunOptions, find_jar, find_java

HEAD = ("bug", "oracle", "verdict", ">seconds", "what")
FOUND_FILE = "found.json"
TOLD = 5
"""Of so many bugs the command that tells a run is shown."""


def run(
    ids: Sequence[str],
    *,
    oracles: Sequence[Oracle] = (),
    runs: int | None = None,
    seed: int = 1,
    scenario: str | None = None,
    out: Path,
    full: bool = False,
    only_stored: bool = False,
    replay: bool = False,
    jar: str | None = None,
    java: str | None = None,
    screen: Screen,
) -> int:
    """Have bugs found again; returns the worst of 0 as expected, 1 missed, 2 unknown.

    replay: tell a run of each bug that was found in one, and draw it.
    Raises UnknownBug, OutOfScope; BadInput for a scenario that there is none of, and where nobody
    is left to ask.
    """
    entries = selected(ids)
    asked = Asked(
        oracles=tuple(oracles),
        runs=runs,
        seed=seed,
        scenario=None if scenario is None else _known(scenario),
        full=full,
        only_stored=only_stored,
        out=artifacts.claim(out),
    )
    options = RunOptions(jar=find_jar(jar), java=find_java(java))
    known = stored()
    total = sum(len(wanted_of(entry, asked, known)) for entry in entries)
    if not total:
        what = "has a stored run of them" if only_stored else "can tell such a control"
        raise exits.BadInput(f"nobody who is asked {what}; see `{command('bugs', 'matrix')}`")
    columns = Columns(HEAD, [("Z00-xx", "invariants", "surprise", 9999.9, "")])
    screen.line(columns.head)
    begin, done = monotonic(), 0
    with screen.progress("detections", total) as meter:

        def report(detection: Detection) -> None:
            nonlocal done
            done += 1
            screen.line(columns.row(_cells(detection)))
            meter.update(min(done, total), f"{detection.bug} {detection.oracle}")

        found = detect(entries, asked, known, options, report)
    if replay:
        for each in chosen(found):
            for line in told_again(each, out):
                screen.line(line)
    document = [msgspec.to_builtins(each) for each in found]
    artifacts.write_json(out / FOUND_FILE, document)
    _conclude(found, monotonic() - begin, screen)
    left = sum(len(asked.oracles or expected(entry)) for entry in entries) - total
    if left:
        screen.line(
            f"{left} are not asked: no run is stored, or it cannot tell a control; see "
            f"`{command('bugs', 'matrix')}`"
        )
    screen.document({"verdict": exits.VERDICTS[exit_code(found)], "detections": document})
    return exit_code(found)


def _known(scenario: str) -> str:
    try:
        return str(family(scenario).scenario.name)
    except ValueError as error:
        raise exits.BadInput(str(error)) from None


def exit_code(found: Sequence[Detection]) -> int:
    return exits.worst(each.code for each in found)


def _cells(detection: Detection) -> list[Any]:
    seconds = detection.opinion.seconds if detection.opinion else 0.0
    return [detection.bug, detection.oracle, detection.verdict, seconds, detection.said]


def _conclude(found: Sequence[Detection], seconds: float, screen: Screen) -> None:
    for each in chosen(found)[:TOLD]:
        screen.line(f"tell {each.bug}   {each.replay}")
    counts = Counter(each.verdict for each in found)
    said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    screen.line(f"{len(found)} detections: {said}; {seconds:.1f} s")


# -- A run in which a bug was found, told and drawn

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


def told_again(detection: Detection, out: Path) -> Iterator[str]:
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
