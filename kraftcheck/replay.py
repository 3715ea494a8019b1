"""`replay`: one recorded run again, told step by step.

A run is its seed: it is executed anew, and compared with what was recorded. If the two part, the
trace was recorded by another version of the reference, which is said at the top, and is "unknown".
Steps that `conform` has rejected are marked, with the differences it found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput, refusing
from kraftcheck.picture import picture, write_page
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.screen import Screen
from kraftcheck.traces.jobs.conform import JOINED_RUNS, read_judged
from kraftcheck.traces.jobs.guidance import genome_of
from kraftcheck.traces.report.evidence import places_of
from kraftcheck.traces.schema import digest
from kraftcheck.traces.store import Manifest, PartEntry, read_manifest, read_part

Notes = dict[int, list[str]]
CAUSES = 8
"""So many of them are named by their first steps."""
NOT_ALLOWED = "not allowed by the spec"
_encode = msgspec.msgpack.Encoder().encode


def replay(folder: Path, number: int, screen: Screen, page: Path | None = None) -> int:
    """Tell a run; exit code 2 if it is not, step by step, the run that was recorded.

    page: a file for a page that draws it.
    """
    manifest = read_manifest(folder)
    entry = part_of(manifest, number, folder)
    campaign = manifest.campaign
    with refusing(ValueError, of=folder):
        genome = genome_of(folder, campaign, number)
        run = simulate_run(
            campaign.scenario,
            campaign.seed,
            number,
            campaign.bug,
            genome.options(campaign.options),
            chooser=genome.chooser(),
        )
    parted = first_difference(run, recorded_steps(folder, entry, number))
    notes = rejected_steps(folder, number)
    strange: list[str] = []
    if parted is not None:
        notes = {}
        strange.append(f"from step {parted} on this is not what was recorded (by another version)")
        screen.line(f"!! {strange[0]}")
    for line in annotated(narrate(run), notes):
        screen.line(line)
    for line in conclusion(run, notes):
        screen.line(line)
    if page is not None:
        write_page(page, picture(f"run {number} of {folder}", run, notes, strange))
    screen.document(as_json(run, parted, notes))
    return exits.HOLDS if parted is None else exits.UNKNOWN


def part_of(manifest: Manifest, number: int, folder: Path) -> PartEntry:
    """The part that holds a run. Raises BadInput when none does."""
    for entry in manifest.parts:
        if entry.first_run <= number < entry.first_run + entry.runs:
            return entry
    asked = manifest.campaign.runs
    if 0 <= number < asked:
        raise BadInput(f"{folder}: run {number} was not recorded yet: simulate it first")
    raise BadInput(f"{folder}: there is no run {number}; its runs are 0 to {asked - 1}")


Content = tuple[int, str, bytes, bytes]


def recorded_steps(folder: Path, entry: PartEntry, number: int) -> list[Content]:
    """The recorded run by content: time, action, digests of input and row after."""
    tables = read_part(folder, entry).tables
    run = tables["runs"].slice(number - entry.first_run, 1)
    steps = tables["steps"].take(run["steps"][0].values)
    digests = {name: tables[name]["digest"].to_pylist() for name in ("rows", "inputs")}
    return [
        (time, action, digests["inputs"][taken], digests["rows"][after])
        for time, action, taken, after in zip(
            run["times"][0].as_py(),
            steps["action"].to_pylist(),
            steps["input"].to_pylist(),
            steps["after"].to_pylist(),
            strict=True,
        )
    ]


def first_difference(run: Run, recorded: list[Content]) -> int | None:
    """The first step that is not as recorded, or None."""
    taken = [
        (step.time, step.action, _digest_of(step.input), _digest_of(step.after))
        for step in run.steps
    ]
    for number, (now, then) in enumerate(zip_longest(taken, recorded)):
        if now != then:
            return number
    return None


def _digest_of(value: object) -> bytes:
    return digest(_encode(value))


def rejected_steps(folder: Path, number: int) -> Notes:
    """What `conform` found against steps of this run; the first of each cause, with differences."""
    found = read_judged(folder, JOINED_RUNS)
    if found is None:
        return {}
    rows = found.filter(pc.equal(found["run"], number)).to_pylist()
    summary = artifacts.read_json(folder / artifacts.SUMMARY)
    known = {each["key"]: each for each in summary.get("rejections", [])}
    first: dict[tuple[str, ...], int] = {}
    notes: Notes = {}
    for row in sorted(rows, key=lambda row: row["step"]):
        told = known.get(row["key"].hex(), {})
        places = places_of(told.get("differences", ()))
        if places and first.setdefault(places, row["step"]) != row["step"]:
            notes[row["step"]] = [f"{NOT_ALLOWED}, for the cause of step {first[places]}"]
        else:
            notes[row["step"]] = rejection(told, row)
    return notes


def rejection(told: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """What to say of a rejected step. Nodes and values of an explanation are its witness's."""
    said = NOT_ALLOWED
    if told and (told["run"], told["step"]) != (row["run"], row["step"]):
        said += f", like step {told['step']} of run {told['run']}, where"
    return [said, *(told.get("differences") or [told.get("reason", "")])]


def annotated(lines: Iterable[str], notes: Notes) -> Iterator[str]:
    """The lines, each followed by what there is to say of the step that it begins with."""
    left = dict(notes)
    for line in lines:
        yield line
        index = line[:5].strip()
        if index.isdigit() and (said := left.pop(int(index), None)):
            yield f"{'':>5} !! {said[0]}"
            yield from (f"{'':>8} {each}" for each in said[1:] if each)


def conclusion(run: Run, notes: Notes) -> Iterator[str]:
    """What is wrong with the run, where, one line each."""
    for each in run.result.violations:
        yield f"VIOLATED {each.invariant} in step {each.step}: {each.explanation}"
    causes = [step for step, said in notes.items() if len(said) > 1]
    if notes:
        steps = ", ".join(str(step) for step in causes[:CAUSES]) or str(min(notes))
        many = "one cause" if len(causes) == 1 else f"{len(causes)} causes"
        more = " and others" if len(causes) > CAUSES else ""
        of = "step" if len(notes) == 1 else "steps"
        yield f"REJECTED {len(notes):,} {of}, for {many}, first in step {steps}{more}"


def as_said(said: str, found: str, screen: Screen, why: str = "") -> int:
    """Give the exit code of a schedule.

    1 if the run violates what its file says, 0 if both say nothing, 2 if they differ, which is
    printed. why: why they may differ.
    """
    if found != said:
        does = f"{said or 'nothing'}, and it violates {found or 'nothing'}"
        screen.line(f"!! the schedule says that it violates {does}{why}")
        return exits.UNKNOWN
    return exits.VIOLATED if found else exits.HOLDS


def as_json(run: Run, parted: int | None, notes: Notes) -> dict[str, Any]:
    result = run.result
    return {
        "run": result.run,
        "seed": result.seed,
        "as_recorded": parted is None,
        "differs_from_step": parted,
        "verdict": result.verdict,
        "options": msgspec.to_builtins(result.options),
        "violations": [
            {"invariant": each.invariant, "step": each.step, "explanation": each.explanation}
            for each in result.violations
        ],
        "steps": [
            {
                "step": number,
                "time_us": step.time,
                "node": step.node,
                "action": step.action,
                "input": msgspec.to_builtins(step.input),
                "after": msgspec.to_builtins(step.after),
                "sent": msgspec.to_builtins(step.sent),
                "ignored": step.ignored,
                "rejected": notes.get(number, []),
            }
            for number, step in enumerate(run.steps)
        ],
    }
