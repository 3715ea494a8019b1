"""Foreign traces of a partition: walks of the reference, written as another program would."""

from __future__ import annotations

from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.traces.steps.symmetry import Step
from tests.reference.partition.walks import PartitionWalk
from tests.traces.foreign.lines import Line, lines_of

CONSTANTS = PartitionConstants(replicas=(1, 2, 3), min_insync_replicas=2, fetch_max_records=2)


def walk_lines(seed: int, steps: int, constants: PartitionConstants = CONSTANTS) -> list[Line]:
    """A walk of all brokers and the controller, as full lines."""
    taken = []
    for step in PartitionWalk(constants, seed).steps(steps):
        before, after = (
            world.controller if step.node == CONTROLLER else world.rows[step.node]
            for world in (step.before, step.after)
        )
        outcome = step.outcome
        action = f"Handle{type(step.input).__name__}"
        taken.append(
            Step(action, step.node, before, step.input, after, outcome.sent, outcome.ignored)
        )
    return lines_of(constants, taken)
