"""A schedule of moves, followed by Kafka as far as it goes.

A schedule was written of the reference or of TLC. Kafka may say other things on the way, so a move
that is not possible is replaced by one alike, as when a schedule is made small, or left out and
said to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kraftcheck.reference.protocols import kind_of_row
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.steered.failures import Failure, StepUnsaid
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.witness.comparing import Differing
from kraftcheck.witness.speech import Unspoken


class Impossible(Exception):
    """Kafka cannot be given this input. The text is one line."""


class Taken(Protocol):
    """The steps of one part: see Schedule."""

    lines: list[tuple[str, int]]
    differing: list[Differing]


class Schedule(Protocol):
    """A run of which nodes are Kafka's. moves: in words, so far. lines: its steps as lines of a
    trace, each with how many moves had been made by then. thrown: what ended processes, in Kafka's
    words. differing: if they are compared, the steps that the reference would not have taken so;
    their lines are counted from 1, of this run.
    """

    moves: list[str]
    lines: list[tuple[str, int]]
    thrown: list[str]
    differing: list[Differing]

    @property
    def parts(self) -> Sequence[Taken]:
        """Itself, or of a composition the parts, each with its lines and what of them differs."""

    def attempt(self, words: str, later: Sequence[str]) -> int:
        """Makes a move, or one alike. later: what the schedule has behind it. How many moves of
        the schedule that were; 0: it is not possible. Raises Failure.
        """

    def steps(self) -> Iterator[Any]:
        """As reference/steered/moves.py has them."""

    def setting(self) -> dict[str, Any]:
        """The options of a script."""


class Followed(NamedTuple):
    """made: how many moves Kafka made. left_out: the others, in words. parts_at: the number of the
    first of these, from 1; 0: there is none.
    """

    schedule: Schedule
    made: int
    left_out: list[str]
    failure: Failure | None
    parts_at: int = 0


def follow(script: Script, schedule: Schedule) -> Followed:
    """Makes the moves. Raises WitnessError: Kafka cannot be driven."""
    made = at = parts_at = 0
    left_out: list[str] = []
    while at < len(script.moves):
        words = script.moves[at]
        try:
            done = schedule.attempt(words, script.moves[at + 1 :])
        except Failure as failure:
            return Followed(schedule, made + 1, left_out, failure, parts_at)
        except Unspoken as error:
            unsaid = StepUnsaid(str(error), [*schedule.moves])
            return Followed(schedule, made + 1, left_out, unsaid, parts_at)
        made += done
        if not done:
            left_out.append(words)
            parts_at = parts_at or at + 1
        at += max(1, done)
    return Followed(schedule, made, left_out, None, parts_at)


def told(followed: Followed) -> Iterator[str]:
    """The steps in words, then what was left out."""
    for number, step in enumerate(followed.schedule.steps()):
        kind = kind_of_row(step.after)
        before, role = kind.role(step.before), kind.role(step.after)
        roles = role if role == before else f"{before} > {role}"
        sent = "; ".join(render_input(m) for m in step.sent)
        said = f"  ({step.ignored})" if step.ignored else f"  => {sent}" if sent else ""
        yield f"{number:5} {step.node} {roles}: {render_input(step.input)}{said}"
    for words in followed.left_out:
        yield f"!! left out, not possible on Kafka: {words}"
    for each in followed.schedule.thrown:
        yield f"!! {each}"
