"""Steps of brokers and controller where replicas move, as a partition's scheduler knows them."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.bugs.catalog import substitution
from kraftcheck.reference.moving.handlers import MovingBrokers, MovingController
from kraftcheck.reference.moving.properties import INVARIANTS, holds_what_it_may
from kraftcheck.reference.moving.protocol import handlers_of
from kraftcheck.reference.moving.types import (
    initial_moving_controller,
    initial_moving_row,
)
from kraftcheck.reference.partition.invariants import PartitionChecker
from kraftcheck.reference.partition.sim.machine import CONTROLLERS, PartitionMachine


class MovingChecker(PartitionChecker):
    invariants = INVARIANTS


class MovingMachine(PartitionMachine):
    """A partition whose replicas move."""

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
