"""`shrink`: a failing run of a campaign made small, and kept as a schedule; `replay` of a schedule.

A run that an invariant stops, or that makes no progress, is shrunk over its choices
(reference/runner/shrink.py). The schedule is a file that says all about the run
(reference/sim/schedules.py), whoever replays it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kraftcheck import exits
from kraftcheck.exits import refusing
from kraftcheck.osutil.commands import command
from kraftcheck.osutil.files import SCHEDULE_MAX, read_text
from kraftcheck.picture import picture, write_page
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.reference.runner.shrink import (
    Shrunk,
    failure_of,
    replayed,
    shrink as shrink_schedule,
)
from kraftcheck.reference.sim.choices import RecordingChooser
from kraftcheck.reference.sim.schedules import Schedule, read, write
from kraftcheck.replay import as_json, as_said, part_of
from kraftcheck.screen import Screen
from kraftcheck.traces.jobs.guidance import genome_of
from kraftcheck.traces.store import read_manifest

SENTENCES = {
    each.name: each.sentence
    for protocol in PROTOCOLS
    for each in (*protocol.properties, *(protocol.world.properties if protocol.world else ()))
}


def shrink(folder: Path, number: int, *, out: Path | None, attempts: int, screen: Screen) -> int:
    """Raises BadInput: no such run, or one that violates nothing."""
    manifest = read_manifest(folder)
    part_of(manifest, number, folder)
    campaign = manifest.campaign
    genome = genome_of(folder, campaign, number)
    options = genome.options(campaign.options)
    recording = RecordingChooser(genome.chooser())
    run = simulate_run(
        campaign.scenario, campaign.seed, number, campaign.bug, options, chooser=recording
    )
    schedule = Schedule(
        scenario=campaign.scenario,
        bug=campaign.bug,
        violates=failure_of(run.result),
        options=options,
        choices=tuple(recording.choices),
    )
    with (
        refusing(ValueError, of=f"{folder}, run {number}"),
        screen.progress("shrinking", attempts) as meter,
    ):
        found = shrink_schedule(schedule, attempts, lambda done, _: meter.update(done))
    path = out or folder / f"run-{number}.schedule"
    with refusing(OSError, of=path):
        path.write_text(write(found.schedule), encoding="utf-8")
    _show(found, run, path, screen)
    return exits.VIOLATED


def _show(found: Shrunk, before: Run, path: Path, screen: Screen) -> None:
    violates = found.schedule.violates
    facts = [("violates", violates)]
    if violates in SENTENCES:
        facts.append(("", SENTENCES[violates]))
    facts += [("because", each.explanation) for each in found.run.result.violations[:1]]
    made = sum(choice.value > 0 for choice in found.schedule.choices)
    was, now = len(before.steps), len(found.run.steps)
    facts += [
        ("steps", f"{was:,}, now {now:,}" + (" of simpler choices" if now > was else "")),
        ("choices", f"{made:,} that are not the simplest, after {found.attempts:,} attempts"),
        ("schedule", str(path)),
        ("next", command("replay", path)),
    ]
    screen.facts(facts)
    screen.document(
        {
            "violates": violates,
            "steps_before": len(before.steps),
            "steps": len(found.run.steps),
            "choices": made,
            "attempts": found.attempts,
            "schedule": str(path),
        }
    )


def replay(path: Path, screen: Screen, page: Path | None = None) -> int:
    """Tell the run of a schedule.

    Exit code 1 if it violates what the file says, 0 if the file says nothing and neither does the
    run, 2 if they differ.

    Raises BadInput: no schedule, or of a scenario, option or bug that there is not.
    """
    with refusing(OSError, ValueError, of=path):
        schedule = read(read_text(path, SCHEDULE_MAX))
        run, chooser = replayed(schedule)
    found = failure_of(run.result)
    for line in narrate(run):
        screen.line(line)
    notes = _misfits(chooser.missing, chooser.misfits)
    for note in notes:
        screen.line(f"!! {note}")
    code = as_said(schedule.violates, found, screen, ": another version of the reference wrote it")
    agrees = code != exits.UNKNOWN
    if page is not None:
        write_page(page, picture(str(path), run, {}, [] if agrees else notes))
    document: dict[str, Any] = as_json(run, None, {})
    screen.document({**document, "violates": found, "as_said": agrees, "notes": notes})
    return code


def _misfits(missing: int, misfits: int) -> list[str]:
    notes = []
    if missing:
        notes.append(f"{missing:,} choices are not in the schedule: the simplest was made")
    if misfits:
        notes.append(f"{misfits:,} choices were among more or fewer than the schedule says")
    return notes
