"""`bugs hunt`: the first run in which each oracle finds a bug, in the order of their numbers.

Law of this file: every run up to the limit is looked at by every oracle asked, so that a witness is
the first there is, and none is a statement about all of them. The step relation is asked of runs in
which the bug answered otherwise than the correct rule; no other run can differ from the spec by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from kraftcheck.zoo import oracles
from kraftcheck.zoo.oracles import FOUND
from kraftcheck.zoo.runs import UNWATCHED, WATCHED, Hunt, consult, record_batch, record_numbers
from kraftcheck.zoo.witnesses import Witness
from reference.sim.run import forget

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
        if "invariants" in open_now and hunt.run(WATCHED, number).result.violations:
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
        opinion = oracles.judge("steps", place)
        if opinion.verdict == FOUND:
            found["steps"] = Witness(seed=hunt.seed, run=min(opinion.found_runs))


def _unwatched(
    hunt: Hunt, numbers: range, missing: Collection[str], found: dict[str, Witness]
) -> None:
    with TemporaryDirectory(prefix="hunt-") as folder:
        place = record_batch(Path(folder) / UNWATCHED, hunt, UNWATCHED, numbers[0], len(numbers))
        for oracle in ("histories", "progress"):
            if oracle not in missing:
                continue
            opinion = oracles.judge(oracle, place)
            if opinion.verdict == FOUND:
                found[oracle] = Witness(seed=hunt.seed, run=min(opinion.found_runs))
