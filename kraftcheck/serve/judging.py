"""What is said of a served cluster when it ends: its tape is played again, and judged.

Played again, every invariant of the reference is asked after every step, every answer has to be
the one that was given, and the healed cluster has to make progress. For TLC, the steps of each
partition are recorded as those of a campaign are (`conform`), up to a bound: rows hold whole logs.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.serve.tape import Replayed, replayed
from traces.schema import PROGRESSED, STOPPED, Campaign, begin_trace, write_part

if TYPE_CHECKING:
    from traces.jobs.conform import ConformOptions


class Judged(msgspec.Struct, frozen=True):
    """verdict: holds, violated or unknown; reasons say why it is not holds."""

    verdict: str
    reasons: list[str]
    tape: str
    arrivals: int
    answers: int
    steps: int
    invented: int
    """Answers that no rule knows of, because a fault asked for them."""
    command: str
    """What plays the tape again."""


def command_of(tape: Path) -> str:
    return f"kraftcheck serve --replay {tape}"


def judged(tape: Path) -> Judged:
    """Without TLC. Raises BadInput: it is no tape."""
    return _said(tape, replayed(tape))


def _said(tape: Path, played: Replayed) -> Judged:
    reasons = []
    for partition in played.violated:
        where = f"{partition.topic.name}-{partition.index}"
        for found in partition.violations:
            reasons.append(f"{found.invariant} is violated in {where}: {found.explanation}")
    for each in played.core.world.broken:
        reasons.append(f"{each.invariant} is violated in {each.where}: {each.why}")
    if played.difference is not None:
        reasons.append(f"the tape played again gives another answer: {played.difference}")
    unknown = []
    if not reasons:
        for partition in played.core.world.live_partitions:
            where = f"{partition.topic.name}-{partition.index}"
            if not partition.over:
                unknown.append("the tape ends before the cluster was healed")
                break
            if partition.verdict not in (PROGRESSED, STOPPED):
                reasons.append(f"{where} made no progress when it was healed: {partition.verdict}")
    code = exits.VIOLATED if reasons else exits.UNKNOWN if unknown else exits.HOLDS
    return Judged(
        verdict=exits.VERDICTS[code],
        reasons=reasons or unknown,
        tape=str(tape),
        arrivals=played.arrivals,
        answers=played.answers,
        steps=played.steps,
        invented=played.core.faults.invented,
        command=command_of(tape),
    )


class Conformed(msgspec.Struct, frozen=True):
    """What TLC says of the first steps of a tape."""

    verdict: str
    reasons: list[str]
    judged: int
    """Steps."""
    folder: str


def recorded(tape: Path, folder: Path, steps: int) -> tuple[int, bool]:
    """Plays about so many distinct steps of a tape into a trace. Returns how many were taken, and
    whether that was all.

    Raises BadInput: no tape. TraceError: the folder cannot be written.
    """
    played = replayed(tape, watched=True, recorded=True, steps=steps)
    partitions = played.core.world.all
    shutil.rmtree(folder, ignore_errors=True)
    campaign = Campaign(
        scenario="partition",
        seed=played.core.setup.seed,
        runs=len(partitions),
        bug=played.core.setup.bug,
    )
    begin_trace(folder, campaign)
    for partition in partitions:
        result = partition.result()
        if not result.verdict:
            # Not to its end: what it did is judged, that it was to come is not.
            result = result._replace(verdict=PROGRESSED)
        partition.recorder.close_run(result)
        write_part(folder, partition.recorder.tables())
    return played.steps, played.is_whole


def conformed(tape: Path, folder: Path, steps: int, options: ConformOptions) -> Conformed:
    """Has TLC judge a tape. Raises BadInput, TraceError, ToolError."""
    # Not needed to serve, and long to load.
    from traces.jobs.conform import conform

    judged, is_all = recorded(tape, folder, steps)
    if not judged:
        raise BadInput(f"{tape}: no step was taken")
    found = conform(folder, options)
    reasons = list(found.reasons)
    verdict = found.verdict
    if not is_all and verdict == exits.VERDICTS[exits.HOLDS]:
        verdict = exits.VERDICTS[exits.UNKNOWN]
        reasons.append(f"TLC has judged {judged} steps, and not the rest of the tape")
    return Conformed(verdict, reasons, judged, str(folder))
