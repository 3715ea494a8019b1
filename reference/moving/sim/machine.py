"""Steps of brokers and controller where replicas move, as a partition's scheduler knows them."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.bugs.catalog import substitution
from kraftcheck.reference.moving.handlers import MovingBrokers, MovingController
from kraftcheck.reference.moving.properties import INVARIANTS, holds_what_it_may
from kraftcheck.reference.moving.protocol import handlers_of
from kraftcheck.reference.moving.types import (
    Constants,
    initial_moving_controller,
    initial_moving_row,
)
from kraftcheck.reference.partition.invariants import PartitionChecker
from kraftcheck.reference.partition.sim.machine import CONTROLLERS, PartitionMachine, PartitionMemo


class MovingChecker(PartitionChecker):
    invariants = INVARIANTS


class MovingMachine(PartitionMachine):
    """A partition whose replicas move."""

    stands_by_rows = False  # WeakIsr asks the metadata who has left since.

    def make_handlers(self, bug: str | None) -> tuple[MovingBrokers, MovingController]:
        return handlers_of(self.constants, substitution(bug, self.constants))

    def new_checker(self) -> MovingChecker:
        return MovingChecker(self.brokers)

    def is_suspicious(self, node: int, old: Any, new: Any) -> bool:
        return super().is_suspicious(node, old, new) or not holds_what_it_may(node, new)

    def first_row(self, node: int) -> Any:
        constants = self.constants
        in_controllers = node in CONTROLLERS
        return (initial_moving_controller if in_controllers else initial_moving_row)(constants)


class OfMoving(PartitionMemo):
    """Of partitions whose replicas move. Its steps are counted with those of the whole."""

    def __init__(self, whole: MovingMemo) -> None:
        self._whole, counted = whole, whole.steps
        super().__init__(whole.bug, whole.enabled)
        whole.steps = counted

    @property
    def steps(self) -> int:
        return self._whole.steps

    @steps.setter
    def steps(self, steps: int) -> None:
        self._whole.steps = steps

    @property
    def told(self) -> set[str] | None:
        return self._whole.told

    @told.setter
    def told(self, told: set[str] | None) -> None:
        self._whole.told = told

    def new_machine(self, constants: Any) -> PartitionMachine:
        return MovingMachine(self, constants)


class MovingMemo(PartitionMemo):
    """Of partitions whose replicas move, and of others. What both say in the same words is of types
    of their own, so what is known of each stands apart.
    """

    def __init__(self, bug: str | None, enabled: bool = True) -> None:
        super().__init__(bug, enabled)
        self._moving = OfMoving(self)

    def under(self, constants: Any) -> PartitionMemo:
        return self._moving if isinstance(constants, Constants) else self

    def forget(self) -> None:
        super().forget()
        self._moving.forget()
