"""What no property speaks of: how runs go with one's own change, and without it.

A change may break nothing and still be worse: a vote that is given too easily deposes leaders that
work. So the same runs are taken under both protocols, and what they had is told side by side.

Law of this file: nothing is judged. What differs is for who makes the change to weigh.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kraftcheck.known_bugs.witnesses import UNWATCHED, Hunt
from kraftcheck.reference.runner.run import Run

RUNS_MAX = 60
LEADER = "Leader"
ANSWERS = "answers"


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A sum over the same runs of both protocols; seconds are virtual ones."""

    name: str
    correct: float
    changed: float

    def __str__(self) -> str:
        return f"{self.name} {self.correct:,g} -> {self.changed:,g}"


def measured(hunt: Hunt, runs: int) -> list[Measure]:
    """The first runs of the hunt, with its bug and without; what is nothing in both is left out."""
    twin = msgspec.structs.replace(hunt, bug=None)
    sums: list[dict[str, float]] = []
    for each in (twin, hunt):
        total: dict[str, float] = {}
        for number in range(min(runs, RUNS_MAX)):
            for name, value in _of(each.run(UNWATCHED, number)):
                total[name] = total.get(name, 0) + value
        sums.append(total)
    correct, changed = sums
    return [
        Measure(name=name, correct=round(correct.get(name, 0), 3), changed=round(value, 3))
        for name, value in sorted({**dict.fromkeys(correct, 0.0), **changed}.items(), key=_rank)
        if value or correct.get(name)
    ]


def _rank(named: tuple[str, float]) -> tuple[bool, str]:
    """Measures in their order, then errors by name."""
    return named[0].startswith(ANSWERS), named[0] if named[0].startswith(ANSWERS) else ""


def _of(run: Run) -> Iterator[tuple[str, float]]:
    statistics = run.result.statistics
    yield "seconds without a leader", _leaderless(run) / 1e6
    yield "changes of leader", statistics["leader_changes"]
    yield "inputs ignored", statistics["ignored"]
    yield "seconds until runs were over", statistics["duration"] / 1e6
    done = [o for o in run.result.history if o.completed is not None and o.outcome == "ok"]
    yield "operations of clients that succeeded", len(done)
    for step in run.steps:
        for message in step.sent:
            error = getattr(message, "error", "NONE")
            if error not in ("NONE", ""):
                yield f"{ANSWERS} {error}", 1


def _leaderless(run: Run) -> int:
    """Virtual microseconds, from the first leader on, in which a component had none."""
    leads: dict[int | None, set[int]] = {}
    since: dict[int | None, int] = {}
    total = 0
    for step in run.steps:
        own = leads.setdefault(step.component, set())
        before = bool(own)
        is_leader = getattr(step.after, "role", None) == LEADER
        (own.add if is_leader else own.discard)(step.node)
        if before and not own:
            since[step.component] = step.time
        elif own and not before:
            total += step.time - since.pop(step.component, step.time)
    return total + sum(run.steps[-1].time - begun for begun in since.values())
