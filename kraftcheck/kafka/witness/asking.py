"""What a graph does not have, asked of Kafka: refusals, from any row.

A node that can be brought to a row (`walking.Walker.loads`) is brought to each that the graph has,
and is given there what `kraftcheck cover` attempts of the reference (traces/cover/refusals.py):
every input that is no message, every message to it that occurs anywhere, and mutants of those. What
Kafka makes of it is held against the reference; where they differ, TLC is asked about Kafka's step.

Law of this file: an attempt says something only if Kafka's row before it is the one that was meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from kraftcheck.kafka.live.witness.host import REFUSED, THROWN, Host
from kraftcheck.kafka.witness.departures import ALLOWED, BEYOND, STOPS, reasons_of
from kraftcheck.kafka.witness.speech import Outcome, Speech, Unspoken
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.refusals import attempts_of, sort_of
from kraftcheck.traces.cover.rulebook import Result
from kraftcheck.traces.foreign.profiles import Profile

NOT_THERE: Final = "Kafka cannot be brought to that row"
HOST: Final = "the host refuses it: "
Same: TypeAlias = Callable[[Result, Outcome], bool]
"""Whether the reference and Kafka make the same, in all that is compared."""
TOGETHER: Final = 500
"""Attempts that are told before the answers are read."""


@dataclass
class Asked:
    attempts: int = 0
    """So many rows and inputs."""
    alike: Counter[str] = field(default_factory=Counter)
    """In how many Kafka does what the reference does, by what came of it ("disabled", "error",
    ...).
    """
    reasons: Counter[str] = field(default_factory=Counter)
    """Of the others, by reason; an entry of a profile by its name."""
    differing: list[str] = field(default_factory=list)
    """Kafka's steps of which TLC is to say the reason, as lines of a trace."""
    wrong: list[str] = field(default_factory=list)
    """What no entry allows, in words."""


def attempts(matcher: Matcher, loads: Collection[int], limit: int) -> list[tuple[int, Any, Any]]:
    """Node, row and input of each attempt.

    loads: the nodes that can be brought to any row. limit: of mutants; below 0: there is no
    attempt.
    """
    if limit < 0 or not loads:
        return []
    return [each for each in attempts_of(matcher, limit)[0] if each[0] in loads]


def ask(
    attempts: Sequence[tuple[int, Any, Any]],
    matcher: Matcher,
    host: Host,
    speech: Speech,
    same: Same,
    told: Callable[[int], None] = lambda done: None,
) -> Asked:
    """Makes these attempts. same: as walking.Walker has it. Raises WitnessError."""
    found = Asked()
    for at in range(0, len(attempts), TOGETHER):
        some = attempts[at : at + TOGETHER]
        lines = [line for each in some for line in _lines(speech, *each)]
        # A run of its own, so that nothing that was sent before counts as what is asked.
        said = iter(host.ask(["new", *lines])[1:])
        for node, row, input in some:
            found.attempts += 1
            brought, answer = next(said), next(said)
            if not (brought and speech.leads_to(brought, row)):
                found.reasons[NOT_THERE] += 1
                continue
            reference = next(iter(matcher.book.outcomes(node, row, input)), None)
            if not answer and reference is not None:
                # What Kafka makes of it is nothing, which the specs may allow as a step.
                answer = speech.line(node, row, input, Result(row, (), ""))
            why = _differs(reference, answer, speech, same)
            if why is None:
                found.alike[sort_of(row, reference)] += 1
            elif why:
                found.reasons[why] += 1
                if why in (STOPS, BEYOND):
                    found.wrong.append(f"{type(input).__name__}: {why}: {answer}")
            else:
                found.differing.append(answer)
        told(found.attempts)
    if found.attempts and found.reasons[NOT_THERE] == found.attempts:
        found.wrong.append(f"none of {found.attempts:,} attempts was made: {NOT_THERE}")
    return found


def _lines(speech: Speech, node: int, row: Any, input: Any) -> tuple[str, str]:
    there = speech.step_text(input, Result(row, (), ""))
    return f"{node} follow {there}", f"{node} {speech.text(input)}"


def _differs(reference: Result | None, answer: str, speech: Speech, same: Same) -> str | None:
    """None: Kafka does what the reference does; a reason why it does not; "": TLC is to say it."""
    if not answer or answer.startswith(REFUSED):
        return None if reference is None else answer.replace(REFUSED, HOST, 1)
    if answer.split("\t")[-1].startswith(THROWN):
        return STOPS
    try:
        kafka = speech.taken(answer).outcome
    except Unspoken:
        return BEYOND
    return None if reference is not None and same(reference, kafka) else ""


def explain(found: Asked, constants: Any, profile: Profile | None, by: str) -> None:
    """Says of the steps that differ why. by: who took them. Raises ToolError as witnessed."""
    if found.differing:
        reasons, wrong = reasons_of(found.differing, constants, profile, by)
        found.wrong += wrong
        found.reasons.update(why or ALLOWED for why in reasons)
