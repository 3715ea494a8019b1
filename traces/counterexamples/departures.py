"""The steps of a run that the correct protocol would not have taken from the same row.

The step relation is asked about these alone. Whatever else a run with a bug holds is a step of the
correct reference, whose conformance is judged elsewhere, in many more runs; a spec that refused
one would say nothing of the bug.

Law of this file: a step is a departure iff the correct handlers make another outcome (row,
messages, reason of being ignored) of its node, row and input, or none at all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from kraftcheck.reference.bugs.catalog import handlers_for
from kraftcheck.reference.kit.protocol import Handlers
from kraftcheck.reference.protocols import AnyConstants
from kraftcheck.reference.runner.run import Run, Taken
from kraftcheck.reference.steered.moves import NodeStep
from kraftcheck.traces.steps.symmetry import Step

KEPT: Final = 1000
"""Sets of constants under which the correct handlers are remembered."""


@lru_cache(KEPT)
def correct_handlers(constants: AnyConstants) -> Handlers:
    """What the correct protocol does under these constants."""
    return handlers_for(None, constants)


def departures(run: Run) -> list[Step]:
    """Each departure of a run of one protocol, once, in the order of first occurrences."""
    correct = correct_handlers(run.result.constants)
    # Handlers are functions, so the same input to the same row is the same step.
    seen: dict[tuple[int, Any, Any], Taken] = {}
    for step in run.steps:
        seen.setdefault((step.node, step.before, step.input), step)
    return [_as_step(step) for step in seen.values() if departs(step, correct)]


def departs(step: Taken | NodeStep, correct: Handlers) -> bool:
    """Whether the correct protocol takes another step from the same row, or none."""
    outcome = correct(step.node, step.before, step.input)
    if outcome is None:
        return True
    return bool(
        (outcome.row, outcome.sent, outcome.ignored) != (step.after, step.sent, step.ignored)
    )


def _as_step(step: Taken) -> Step:
    return Step(
        action=step.action,
        node=step.node,
        before=step.before,
        input=step.input,
        after=step.after,
        sent=step.sent,
        ignored=step.ignored,
    )
