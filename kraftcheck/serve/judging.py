"""What is said of a served cluster when it ends: its tape is played again, and judged.

Played again, every invariant of the reference is asked after every step, every answer has to be
the one that was given, and the healed cluster has to make progress. For TLC, the steps of each
partition are recorded as those of a campaign are (`conform`), up to a bound: rows hold whole logs.
Of a session that is longer, every step is judged in its window (windows.py).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.serve.last_client import read_all
from kraftcheck.serve.tape import Replayed, replayed
from kraftcheck.serve.windows import Windows
from kraftcheck.serve.wire_history import WireHistory
from kraftcheck.serve.world import INTERNAL
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED
from kraftcheck.traces.schema import PROGRESSED, STOPPED
from kraftcheck.traces.store import Campaign, begin_trace, write_part

if TYPE_CHECKING:
    from kraftcheck.traces.jobs.conform import ConformOptions


SHOWN: Final = 5


class ServedVerdict(msgspec.Struct, frozen=True):
    verdict: str
    """Holds, violated or unknown; reasons say why it is not holds."""
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


def judged(tape: Path) -> ServedVerdict:
    """Without TLC. Raises BadInput: it is no tape."""
    seen = WireHistory()
    return _said(tape, replayed(tape, witness=seen), seen)


def _said(tape: Path, played: Replayed, seen: WireHistory) -> ServedVerdict:
    reasons: list[str] = []
    steps = played.steps
    for partition in played.violated:
        where = f"{partition.topic.name}-{partition.index}"
        for found in partition.violations:
            reasons.append(f"{found.invariant} is violated in {where}: {found.explanation}")
    for each in played.core.world.broken:
        reasons.append(f"{each.invariant} is violated in {each.where}: {each.why}")
    if played.difference is not None:
        reasons.append(f"the tape played again gives another answer: {played.difference}")
    unknown: list[str] = []
    if not reasons:
        # Not needed to serve, and long to load.
        from kraftcheck.serve.wire_judged import findings

        world = played.core.world
        if played.is_whole and all(each.over for each in world.live_partitions):
            read_all(played.core, seen)
        internal = [world.topics[name].partitions[0] for name in INTERNAL if name in world.topics]
        for part in findings(seen, internal):
            told = reasons if part.verdict == VIOLATED else unknown
            told += [] if part.verdict == HOLDS else [f"of {part.where}, {part.why}"]
    if not reasons:
        for partition in played.core.world.live_partitions:
            where = f"{partition.topic.name}-{partition.index}"
            if not partition.over:
                unknown.append("the tape ends before the cluster was healed")
                break
            if partition.verdict not in (PROGRESSED, STOPPED):
                reasons.append(f"{where} made no progress when it was healed: {partition.verdict}")
    code = exits.VIOLATED if reasons else exits.UNKNOWN if unknown else exits.HOLDS
    return ServedVerdict(
        verdict=exits.VERDICTS[code],
        reasons=reasons or unknown,
        tape=str(tape),
        arrivals=played.arrivals,
        answers=played.answers,
        steps=steps,
        invented=played.core.faults.invented,
        command=command_of(tape),
    )


class Conformed(msgspec.Struct, frozen=True):
    """What TLC says of the steps of a tape."""

    verdict: str
    reasons: list[str]
    judged: int
    """Steps."""
    windows: int
    """How many distinct ones were judged in their windows; 0: all were judged as they are."""
    folder: str


def recorded(tape: Path, folder: Path, steps: int) -> tuple[int, bool]:
    """Plays about so many distinct steps of a tape into a trace.

    Returns how many were taken, and whether that was all.

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


def conformed(
    tape: Path,
    folder: Path,
    steps: int,
    options: ConformOptions,
    told: Callable[[int], None] = lambda steps: None,
) -> Conformed:
    """Has TLC judge a tape. told: now and then, how many steps of a long one were looked at.

    Raises BadInput, TraceError, ToolError.
    """
    # Not needed to serve, and long to load.
    from kraftcheck.traces.jobs.conform import conform

    judged, is_all = recorded(tape, folder, steps)
    if not judged:
        raise BadInput(f"{tape}: no step was taken")
    if is_all:
        found = conform(folder, options)
        return Conformed(found.verdict, list(found.reasons), judged, 0, str(folder))
    windows = Windows(steps, told)
    replayed(tape, watched=False, observer=windows.take)
    refused = windows.refused(folder / "verdicts")
    reasons = [str(each) for each in refused[:SHOWN]]
    codes = [exits.VIOLATED if refused else exits.HOLDS]
    if len(refused) > SHOWN:
        reasons.append(f"and {len(refused) - SHOWN} distinct steps more")
    for why, count in windows.unjudged.items():
        codes.append(exits.UNKNOWN)
        reasons.append(f"TLC has not judged {count:,} of {windows.steps:,} steps: {why}")
    judged = windows.steps - sum(windows.unjudged.values())
    verdict = exits.VERDICTS[exits.worst(codes)]
    return Conformed(verdict, reasons, judged, windows.distinct, str(folder))
