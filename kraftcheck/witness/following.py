"""A schedule of moves, followed by Kafka as far as it goes.

A schedule was written of the reference or of TLC. Kafka may say other things on the way, so a move
that is not possible is replaced by one alike, as when a schedule is made small, or left out and
said to be. A flush is a part of Kafka's step; where the schedule has a crash in its place, Kafka is
made to crash inside the flush.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kraftcheck.retracing.moves import alike
from kraftcheck.witness.schedule import TEAR, WHOLE, Impossible, KafkaSchedule
from kraftcheck.witness.speech import Speech
from live.witness.host import Host
from reference.quorum.types import Constants
from reference.runner.narrate import render_input
from reference.steered.failures import Failure
from reference.steered.scripts import Script

_TORN = re.compile(rf"{TEAR} (\d+): (.*)")
_NODE = re.compile(r"(?:\d+ -> )?(\d+) ")
_CRASH = re.compile(r"(\d+) Crash keep=(\d+)")
_FLUSH = re.compile(r"\d+ Flush")


class Followed(NamedTuple):
    """made: how many moves Kafka made. left_out: the others, in words."""

    schedule: KafkaSchedule
    made: int
    left_out: list[str]
    failure: Failure | None


def follow(script: Script, constants: Constants, host: Host) -> Followed:
    """Makes the moves. Raises WitnessError: Kafka cannot be driven."""
    schedule = KafkaSchedule(constants, host, Speech(constants), watched=True)
    made, done = 0, False
    left_out: list[str] = []
    for at, words in enumerate(script.moves):
        if done:  # the crash that the move before it has made
            made, done = made + 1, False
            continue
        try:
            tear, plain = _tear(schedule, words, script.moves[at + 1 :])
            possible = _made(schedule, plain, tear)
        except Failure as failure:
            return Followed(schedule, made + 1, left_out, failure)
        made += possible
        if not possible:
            left_out.append(words)
        next_words = script.moves[at + 1] if at + 1 < len(script.moves) else ""
        crash = _CRASH.fullmatch(next_words)
        done = bool(crash and schedule.rows[int(crash[1])].role == "Down" and possible)
    return Followed(schedule, made, left_out, None)


def _tear(schedule: KafkaSchedule, words: str, later: Sequence[str]) -> tuple[int, str]:
    """How a move is to tear the log, and the move."""
    if torn := _TORN.fullmatch(words):
        return int(torn[1]), torn[2]
    mover = _NODE.match(words)
    crash = _CRASH.fullmatch(later[0]) if later else None
    if mover and crash and crash[1] == mover[1] and not _FLUSH.fullmatch(words):
        row = schedule.rows[int(mover[1])]
        kept = int(crash[2]) - row.flushed
        leads = row.role in ("Leader", "Candidate")
        if leads and kept >= 0:
            return kept, words
    return WHOLE, words


def _made(schedule: KafkaSchedule, words: str, tear: int) -> bool:
    if _FLUSH.fullmatch(words):
        return True  # a part of the step before
    move = alike(schedule, words)
    if move is None:
        return False
    try:
        with schedule.torn(tear):
            move.make()
    except Impossible:
        return False
    return True


def told(followed: Followed, script: Script) -> Iterator[str]:
    """The steps in words, then what was left out."""
    for number, step in enumerate(followed.schedule.taken):
        role = step.before.role
        if step.after.role != role:
            role = f"{role} > {step.after.role}"
        sent = "; ".join(render_input(m) for m in step.sent)
        said = f"  ({step.ignored})" if step.ignored else f"  => {sent}" if sent else ""
        what = render_input(step.input)
        yield f"{number:5} {step.node} {role}, epoch {step.after.epoch}: {what}{said}"
    for words in followed.left_out:
        yield f"!! left out, not possible on Kafka: {words}"
    for each in followed.schedule.thrown:
        yield f"!! {each}"
