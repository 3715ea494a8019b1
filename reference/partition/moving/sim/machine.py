"""Steps of brokers and controller where replicas move, as a partition's scheduler knows them."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.partition.moving.properties import holds_what_it_may
from kraftcheck.reference.partition.sim.machine import PartitionMachine


class MovingMachine(PartitionMachine):
    """A partition whose replicas move."""

    def is_suspicious(self, node: int, old: Any, new: Any) -> bool:
        return super().is_suspicious(node, old, new) or not holds_what_it_may(node, new)
