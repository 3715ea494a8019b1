"""Schedules of moves (reference/steered): `replay`, and what `conform` and `check` are given.

A schedule is replayed in the reference, and its steps are recorded as a trace of one run, which
every other verb takes as it takes any trace.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput, refusing
from kraftcheck.given import is_choices, is_schedule
from kraftcheck.osutil.files import SCHEDULE_MAX, read_text
from kraftcheck.picture import picture, write_page
from kraftcheck.reference.bugs.catalog import UnknownBug
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run
from kraftcheck.reference.runner.scripted import ImpossibleMove, Replayed, recorded
from kraftcheck.reference.sim.schedules import Schedule, read as read_choices
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.scripts import Script, read
from kraftcheck.replay import Notes, annotated, as_json, as_said, rejected_steps
from kraftcheck.screen import Screen
from kraftcheck.traces.counterexamples.relation import replayed as replayed_by
from kraftcheck.traces.counterexamples.retold import retold
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.jobs.steered import SCRIPT, write_trace
from kraftcheck.traces.report.run import Picture

TRACES = Path("runs") / "moves"
"""Where the traces of schedules are written."""
VERDICTS = "verdicts"
"""In this folder: what TLC has said of their steps."""


class Loaded(NamedTuple):
    script: Script
    lines: list[int]
    """At which each move stands."""
    text: str


def schedule_of(path: Path) -> Path | None:
    """The schedule that a path names: the file itself, or the one that a trace was made from."""
    inside = path / SCRIPT
    if path.is_dir() and is_schedule(inside):
        return inside
    return path if is_schedule(path) else None


def load(path: Path) -> Loaded:
    """Raises BadInput: it cannot be read, or is no schedule."""
    try:
        with refusing(OSError, of=path):
            text = read_text(path, SCHEDULE_MAX)
    except UnicodeDecodeError:
        raise BadInput(f"{path}: no text in UTF-8") from None
    with refusing(ValueError, of=path):
        script, lines = read(text)
    return Loaded(script, lines, text)


def either(path: Path) -> Script | Schedule:
    """A schedule of moves, or one of choices. Raises BadInput: it is neither."""
    with refusing(OSError, ValueError, of=path):
        chosen = is_choices(path)
        return read_choices(read_text(path, SCHEDULE_MAX)) if chosen else load(path).script


def as_moves(
    path: Path, schedule: Script | Schedule, tell: Callable[[Schedule], Script] = retold
) -> Script:
    """A schedule from this file as one of moves. tell: how choices are retold.

    Raises BadInput: they are no moves.
    """
    if isinstance(schedule, Script):
        return schedule
    with refusing(UnknownBug, ValueError, of=path):
        return tell(schedule)


def made(path: Path, loaded: Loaded, skip: bool) -> Replayed:
    """Make the moves.

    Raises BadInput: a move is not possible, or there is no such bug or option; ToolError, where the
    schedule says that it holds a rejected step: TLC cannot be used.
    """
    with refusing(UnknownBug, ValueError, of=path):
        try:
            return replayed_by(loaded.script, lambda: Allowed(TRACES / VERDICTS), skip)
        except ImpossibleMove as error:
            raise ValueError(f"line {loaded.lines[error.index]}: {error}") from None


def replay(path: Path, screen: Screen, skip: bool = False, page: Path | None = None) -> int:
    """Tells a schedule: its moves, then each step.

    Exit code 1 if it violates what the file says, 0 if the file says nothing and neither does the
    run, 2 if they differ.

    skip: moves that are not possible are left out, shown and counted. page: a file for a page that
    draws the run. Raises BadInput as `load` and `made` do.
    """
    loaded = load(path)
    replayed = made(path, loaded, skip)
    run, _ = recorded(replayed)
    left_out = {each.index: each for each in replayed.skipped}
    for index, words in enumerate(loaded.script.moves):
        mark = "!! left out: not possible" if index in left_out else ""
        screen.line(f"{index + 1:5} {words}  {mark}".rstrip())
    screen.line()
    notes = rejected_steps(path.parent, 0) if path.name == SCRIPT else {}
    for line in annotated(narrate(run), notes):
        screen.line(line)
    failure = replayed.failure
    found = failure.name if failure else ""
    if failure:
        screen.line(f"!! {failure.name}: {failure.what}")
        screen.line(f"   {failure.sentence}")
    if left_out:
        screen.line(f"!! {len(left_out)} of {len(loaded.script.moves)} moves were not possible")
    code = as_said(loaded.script.violates, found, screen)
    if page is not None:
        write_page(page, _picture(path, run, failure, notes))
    document = as_json(run, None, notes)
    screen.document(
        {
            **document,
            "violates": found,
            "as_said": code != exits.UNKNOWN,
            "moves_made": len(replayed.made),
            "moves_left_out": [str(each) for each in replayed.skipped],
        }
    )
    return code


def drawn(path: Path) -> Picture:
    """The run of a schedule, as its page draws it. Raises as `load` and `made` do."""
    replayed = made(path, load(path), skip=False)
    return _picture(path, recorded(replayed)[0], replayed.failure, {})


def _picture(path: Path, run: Run, failure: Failure | None, notes: Notes) -> Picture:
    # What the run itself says is at the head of the page without this.
    shown = {f"{each.invariant}: {each.explanation}" for each in run.result.violations}
    lines = [f"{failure.name}: {failure.what}", failure.sentence] if failure else []
    return picture(str(path), run, notes, [line for line in lines if line not in shown])


def trace_of(path: Path) -> Path:
    """The folder of the trace that a schedule makes, which is written anew.

    Raises BadInput as `load` and `made` do; TraceError: the folder cannot be written.
    """
    loaded = load(path)
    replayed = made(path, loaded, skip=False)
    _, recorder = recorded(replayed)
    short = sha256(loaded.text.encode()).hexdigest()[:8]
    folder = TRACES / f"{path.stem}-{short}"
    with refusing(OSError, msgspec.ValidationError, of=folder):
        write_trace(folder, loaded.script, loaded.text, recorder)
    return folder
