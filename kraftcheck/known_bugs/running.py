"""`bugs run` on a screen: a line for each bug and oracle, and what it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs.detecting import Asked, Detection, detect, expected, wanted_of
from kraftcheck.known_bugs.entries import selected
from kraftcheck.known_bugs.oracles import Oracle
from kraftcheck.known_bugs.retelling import chosen, told as told_again
from kraftcheck.known_bugs.witnesses import stored
from kraftcheck.osutil.commands import command
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.screen import Columns, Screen
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

        def told(detection: Detection) -> None:
            nonlocal done
            done += 1
            screen.line(columns.row(_cells(detection)))
            meter.update(min(done, total), f"{detection.bug} {detection.oracle}")

        found = detect(entries, asked, known, options, told)
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
