"""The searches themselves: with the correct reference, as hard as the profile says.

A search of many examples goes in batches, each with a seed of its own: Hypothesis remembers every
choice of the examples that it has tried, which comes to a megabyte for each of the profile `chaos`.
TLC judges the steps of 500 examples at once, each class of them once, and what is left at
the end (traces/counterexamples/relation.py).

CHAOS_MINUTES bounds the whole command by time instead of by examples: what comes before the first
search counts, each machine gets an equal share of what is left, and batches follow each other until
so much of it is over that the rest does for TLC, which judges as many classes of steps as fit into
it; the others are counted as not judged. Only shrinking what was found, and what TLC has begun, go
on beyond it. The first examples are short, so that a minute has many; a machine that got to fewer
than LEAST has not been searched, and says how many minutes do.
`--hypothesis-seed` gives the first seed; without it each run begins with another one, which a
failure names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from math import ceil
from random import SystemRandom
from time import monotonic
from typing import Final, NamedTuple

import pytest
from hypothesis import HealthCheck, core, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from kraftcheck.osutil import age
from kraftcheck.reference.steered.failures import Failure, StepRejected
from kraftcheck.traces.counterexamples.relation import Refused, Relation
from kraftcheck.traces.jobs.allowed import Allowed
from tests.stateful import reached
from tests.stateful.gifts import KEPT, SteeredMachine, give, keeping, last, shorten

# The steps of one example take long where many messages wait. And Hypothesis switches rules off for
# a whole run: where nothing else is possible the run ends early, which costs little.
LENIENT: Final = [
    *(HealthCheck.too_slow, HealthCheck.filter_too_much),
    *(HealthCheck.data_too_large, HealthCheck.large_base_example),
]
MINUTES: Final = "CHAOS_MINUTES"
MACHINES: Final = 5
"""Of which one stands for all protocols that have no simulation of their own; they share its time.
"""


BEGUN: Final = monotonic() - age.seconds()
"""When the command began: what is imported and collected before a search is a part of it."""
CORPUS: Final = 0.3
"""The part of all the time within which schedules that were found before are played."""


class Turn(NamedTuple):
    """The time of one machine: when its last batch begins at the latest, and when TLC has to be
    done. share: of a machine's time."""

    until: float
    ends: float
    share: float


_turns: list[Turn] = []
"""Of the machines that have searched in this process."""
SEARCHED: Final = 0.6
"""The part of a share of time in which examples are made."""
EXAMPLES_ASKED: Final = 500
"""TLC is asked about so many examples at once: between batches, since Hypothesis would take what
goes wrong then for a failure of the example.
"""
LEAST: Final = 100
"""Fewer examples than this are no search. So many are short where time is bounded."""
SHORT: Final = 40
"""Steps of a short example."""
NEVER: Final = 10**9
UNJUDGED: Final = "classes not judged"
"""What is counted where there was no time for TLC."""
VERDICTS: Final = "verdicts"
"""In the folder of failures: what TLC has said of steps."""
START_S: Final = 2.0
CLASS_S: Final = 0.002
"""What TLC is thought to take for a start and for a class of steps, until it has been seen."""
_asked: list[float] = [CLASS_S]
"""What a class took TLC, each time that it was asked."""
FIRST, MOST = 1, 100
"""Examples of the first batch under a bound of time, and of any. Another one has as many as half of
the time that is left allows for, so that the bound holds on a slow machine.
"""


class BadMinutes(ValueError):
    """CHAOS_MINUTES is no number of minutes."""


def minutes() -> float | None:
    """The bound by time, if there is one. Raises BadMinutes."""
    text = os.environ.get(MINUTES, "")
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise BadMinutes(f"{MINUTES}={text!r}: not a number of minutes above 0")
    return found


def is_corpus_over() -> bool:
    """Whether the time for what was found before is over."""
    bound = minutes()
    return bound is not None and monotonic() - BEGUN > CORPUS * 60 * bound


def search(machine: type[SteeredMachine], share: float = 1.0) -> None:
    """Raises a Failure when something is found; what it leaves behind is in gifts.py. share: of a
    machine's examples, or of its time, where minutes bound it.
    """
    last.clear()
    before = reached.of(machine.name)["examples"]
    relation = Relation(Allowed(KEPT / VERDICTS), machine.bug, first=NEVER)
    try:
        _search(keeping(machine, relation), relation, share)
        if refused := _ask(relation, _most()):
            failure = refused.failure
            give(failure, refused.violating, KEPT)
            raise failure
    except StepRejected as failure:
        shorten(failure, relation)
        raise
    except Failure as failure:
        shorten(failure)
        raise
    reached.finished(machine.name, before)
    judged = relation.judged()
    reached.of(machine.name)["classes"] += judged
    reached.of(machine.name)[UNJUDGED] += len(relation.classes) - judged


def refuse_few(names: Sequence[str]) -> None:
    """Skips the test, which is no pass, where these machines together had too few examples."""
    bound = minutes()
    examples = sum(reached.of(name)["examples"] for name in names)
    if bound is not None and examples < LEAST:
        wanted = max(bound + 1, ceil(bound * LEAST / max(1, examples)))
        pytest.skip(
            f"{', '.join(names[:1])}{' and others' * (len(names) > 1)}: {examples} examples, fewer "
            f"than {LEAST}: {MINUTES}={bound:g} is too short on this machine, try {wanted:g}"
        )


def _most() -> int | None:
    """How many classes of steps TLC can judge before the machine's time is over; None: all."""
    bound = minutes()
    if bound is None:
        return None
    ends = _turns[-1].ends if _turns else BEGUN + 60 * bound
    return max(0, int((ends - monotonic() - START_S) / max(_asked)))


def _ask(relation: Relation, most: int | None = None) -> Refused | None:
    begun, before = monotonic(), relation.judged()
    refused = relation.ask(most)
    _asked.append((monotonic() - begun) / max(1000, relation.judged() - before))
    return refused


def _search(machine: type[SteeredMachine], relation: Relation, share: float) -> None:
    profile = settings()
    budget = settings(
        profile,
        suppress_health_check=sorted({*profile.suppress_health_check, *LENIENT}, key=str),
        # One failure is enough to tell of.
        report_multiple_bugs=False,
        max_examples=max(1, int(share * profile.max_examples)),
    )
    if minutes() is None and budget.max_examples <= MOST:
        run_state_machine_as_test(machine, settings=budget)
        return
    forced = core.global_force_seed
    first = SystemRandom().getrandbits(32) if forced is None else int(forced)
    batch = 0
    core.global_force_seed = None
    try:
        for batch, examples in enumerate(_batches(budget.max_examples, share)):
            if relation.found or (relation.waits >= EXAMPLES_ASKED and _ask(relation)):
                return
            short = minutes() is not None and reached.of(machine.name)["examples"] < LEAST
            steps = SHORT if short else profile.stateful_step_count
            again = type(machine.__name__, (machine,), {"__module__": machine.__module__})
            each = settings(budget, max_examples=examples, stateful_step_count=steps)
            run_state_machine_as_test(seed(first + batch)(again), settings=each)
    except BaseException as error:
        error.add_note(f"seed      {first + batch} (batch {batch} from --hypothesis-seed={first})")
        raise
    finally:
        core.global_force_seed = forced


def _batches(wanted: int, share: float = 1.0) -> Iterator[int]:
    """How many examples each batch has: until there are as many as wanted, or the time is over."""
    bound = minutes()
    if bound is None:
        for done in range(0, wanted, MOST):
            yield min(MOST, wanted - done)
        return
    left = max(0.0, BEGUN + 60 * bound - monotonic())
    machines = max(share, MACHINES - sum(each.share for each in _turns))
    own = left * share / machines
    until = monotonic() + SEARCHED * own
    _turns.append(Turn(until, monotonic() + own, share))
    examples = FIRST
    while (begun := monotonic()) < until:
        yield examples
        pace = (monotonic() - begun) / examples
        examples = max(1, min(MOST, int((until - monotonic()) / 2 / pace)))
