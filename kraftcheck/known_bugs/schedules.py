"""Schedules of moves in which bugs were found: where it takes more luck than seeds have.

schedules/ beside this file holds them, one for each bug, in the form of reference/steered. Most
tell the story of the bug's model, and then let clients come to harm: a *watched* replay ends where
an invariant is violated, an *unwatched* one goes on, and is healed at its end.

Law of this file: nobody judges here. A schedule is replayed in the reference with its bug, and
recorded as any run is; a move that is not possible is an error.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from kraftcheck import artifacts
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.witnesses import SCHEDULES, UNWATCHED, WATCHED
from kraftcheck.osutil.files import SCHEDULE_MAX, read_text
from kraftcheck.reference.protocols import CLUSTER
from kraftcheck.reference.runner.run import Run
from kraftcheck.reference.runner.scripted import (
    ImpossibleMove,
    Replayed,
    recorded,
    replay as replay_script,
)
from kraftcheck.reference.steered.scripts import Script, read, write
from kraftcheck.traces.jobs.steered import broken_promise, write_trace
from kraftcheck.traces.store import Campaign, begin_trace, write_part

FOLDER = SCHEDULES


def stored(name: str, folder: Path = FOLDER) -> Script:
    """The schedule of this name, with its file's ending. Raises BadInput: none, or damaged."""
    path = folder / name
    try:
        return read(read_text(path, SCHEDULE_MAX))[0]
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None


def every(machine: str, folder: Path = FOLDER) -> list[tuple[str, Script]]:
    """All schedules of a machine with the names of their files, in order. Raises BadInput."""
    found = [(path.name, stored(path.name, folder)) for path in sorted(folder.glob("*.moves"))]
    return [(name, script) for name, script in found if script.machine == machine]


def made(script: Script, kind: str, bug: str | None) -> Replayed:
    """A replay with this bug, or none: `kind` is WATCHED or UNWATCHED.

    The correct protocol, and any other bug than the schedule's, is given the moves that it has, and
    the others are left out. Raises BadInput: a move is not possible with the schedule's own bug.
    """
    asked = replace(script, bug=bug, options=_options(script, kind))
    try:
        return replay_script(asked, broken_promise, skip=bug is None or bug != script.bug)
    except ImpossibleMove as error:
        raise BadInput(f"move {error.index + 1}: {error}") from None


def _options(script: Script, kind: str) -> dict[str, object]:
    # What a cluster is made of has options of its own, of which none is stored.
    assert script.machine != CLUSTER, script.machine
    return {**script.options, "watched": kind == WATCHED}


def record(folder: Path, script: Script, kind: str, bug: str | None) -> Path:
    """The run of a schedule with this bug, or none, as a new trace below `folder`.

    Raises BadInput: a move is not possible; TraceError: the folder cannot be written.
    """
    replayed = made(script, kind, bug)
    failure = replayed.failure
    said = replace(
        script,
        bug=bug,
        violates=failure.name if failure else "",
        options=_options(script, kind),
        moves=replayed.made,
    )
    _, recorder = recorded(replayed)
    place = artifacts.claim(artifacts.claim(folder) / kind)
    shutil.rmtree(place)
    write_trace(place, said, write(said), recorder)
    return place


def record_all(folder: Path, scripts: Mapping[int, Script], kind: str, bug: str | None) -> Path:
    """Record several schedules of one machine with this bug, or none, as a new trace.

    The trace is below `folder`; each run is a part of it, by its number. Raises as `record`.
    """
    machine = scripts[min(scripts)].machine
    place = artifacts.claim(artifacts.claim(folder) / kind)
    shutil.rmtree(place)
    begin_trace(place, Campaign(scenario=machine, seed=0, runs=max(scripts) + 1, bug=bug))
    for number, script in sorted(scripts.items()):
        _, recorder = recorded(made(script, kind, bug), number)
        write_part(place, recorder.tables())
    return place


def run(script: Script, kind: str, bug: str | None) -> Run:
    """The run of a schedule with this bug, or none. Raises BadInput: a move is not possible."""
    return recorded(made(script, kind, bug))[0]


def differs(script: Script, bug: str | None) -> bool:
    """Say whether the moves come to something else than in the correct protocol.

    They are compared as far as the correct protocol has them.
    """
    return run(script, UNWATCHED, bug).steps != run(script, UNWATCHED, None).steps
