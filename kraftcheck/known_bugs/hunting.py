"""Hunts: the first run in which each oracle finds a bug, in the order of their numbers.

Law of this file: every run up to the limit is looked at by every oracle asked, so that a witness is
the first there is, and none is a statement about all of them. The step relation is asked of runs in
which the bug answered otherwise than the correct rule; no other run can differ from the spec by it.
What an oracle finds counts only where it is the bug's doing: where the run is another than the one
that the same seed makes of the correct protocol, and the same oracle finds nothing in that one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from kraftcheck.known_bugs import oracles
from kraftcheck.known_bugs.oracles import FOUND, Oracle
from kraftcheck.known_bugs.runs import consult, differs, record_batch, record_numbers
from kraftcheck.known_bugs.witnesses import UNWATCHED, WATCHED, Hunt, Witness
from kraftcheck.reference.runner.run import forget
from kraftcheck.traces.jobs.backends import Pool

BATCH = 100
"""So many runs are judged at once."""
JUDGED_AT_ONCE = 4
"""Of runs in which the bug made a difference, so many go to TLC at once."""


def hunt_down(
    hunt: Hunt,
    wanted: Collection[str],
    limit: int,
    told: Callable[[int], None] | None = None,
) -> dict[str, Witness]:
    """The witnesses that the first `limit` runs hold, by oracle. told: how many runs are done."""
    found: dict[str, Witness] = {}
    suspects: list[int] = []
    for first in range(0, limit, BATCH):
        missing = [oracle for oracle in wanted if oracle not in found]
        if not missing:
            break
        numbers = range(first, min(first + BATCH, limit))
        if "invariants" in missing or "steps" in missing:
            _watched(hunt, numbers, missing, found, suspects)
        if "histories" in missing or "progress" in missing:
            _unwatched(hunt, numbers, missing, found)
        if told:
            told(numbers[-1] + 1)
        forget()
    return found


def _watched(
    hunt: Hunt,
    numbers: range,
    missing: Collection[str],
    found: dict[str, Witness],
    suspects: list[int],
) -> None:
    for number in numbers:
        open_now = set(missing) - set(found)
        if (
            "invariants" in open_now
            and hunt.run(WATCHED, number).result.violations
            and is_the_bugs(hunt, "invariants", number)
        ):
            found["invariants"] = Witness(seed=hunt.seed, run=number)
        if "steps" in open_now:
            if consult(hunt, [number]).effective:
                suspects.append(number)
            if len(suspects) == JUDGED_AT_ONCE or (suspects and number == numbers[-1]):
                _ask_steps(hunt, suspects, found)
                suspects.clear()
        if not {"invariants", "steps"} & set(missing) - set(found):
            return


def _ask_steps(hunt: Hunt, suspects: list[int], found: dict[str, Witness]) -> None:
    with TemporaryDirectory(prefix="hunt-") as folder:
        place = record_numbers(Path(folder), hunt, WATCHED, suspects)
        # Nobody reads here how they differ.
        opinion = oracles.steps(place, Pool(1), explain=0)
        if opinion.verdict == FOUND:
            found["steps"] = Witness(seed=hunt.seed, run=min(opinion.found_runs))


def _unwatched(
    hunt: Hunt, numbers: range, missing: Collection[str], found: dict[str, Witness]
) -> None:
    with TemporaryDirectory(prefix="hunt-") as folder:
        place = record_batch(Path(folder) / UNWATCHED, hunt, UNWATCHED, numbers[0], len(numbers))
        both: tuple[Oracle, ...] = ("histories", "progress")
        for oracle in both:
            if oracle not in missing:
                continue
            opinion = oracles.judge(oracle, place)
            own = (n for n in sorted(opinion.found_runs) if is_the_bugs(hunt, oracle, n))
            number = next(own, None)
            if number is not None:
                found[oracle] = Witness(seed=hunt.seed, run=number)


def is_the_bugs(hunt: Hunt, oracle: Oracle, number: int) -> bool:
    """Whether what an oracle finds in a run comes from the bug: see the law above."""
    if not differs(hunt, number):
        return False
    twin = msgspec.structs.replace(hunt, bug=None)
    if oracle == "invariants":
        return not twin.run(WATCHED, number).result.violations
    with TemporaryDirectory(prefix="hunt-") as folder:
        place = record_numbers(Path(folder), twin, UNWATCHED, [number])
        return oracles.judge(oracle, place).verdict != FOUND
