"""What a partition's lists promise, in a run: asked after every step of its controller.

Law of this file: it observes and never steers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.reference.kit.protocol import Property
from kraftcheck.reference.partition.moving.properties import (
    OF_LISTS,
    target_after,
    wrong_with_lists,
)
from kraftcheck.reference.partition.moving.types import Constants
from kraftcheck.reference.partition.reassignment.types import Target
from kraftcheck.reference.sim.memo import Step


class Lists:
    """Of one partition."""

    promises: Sequence[Property] = OF_LISTS

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._target = Target(constants.first_replicas)

    def wrong(self, step: Step) -> tuple[str, str] | None:
        """Name and explanation of the promise that a step of the controller breaks, if any."""
        before, after, known = step.before.row, step.after.row, self._target
        self._target = target_after(known, before, step.input.value, step.ignored)
        if self._target is known and self.stays(before, after):
            return None
        targets = (known, self._target)
        return wrong_with_lists(self._constants, before, after, targets, self.promises)

    def stays(self, before: Any, after: Any) -> bool:
        """Whether nothing is different that promises look at, in these rows of the controller."""
        return after.partition is before.partition
