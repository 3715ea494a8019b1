"""What a healed partition must do that may be deleted, or never come to be."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.reference.partition.sim.progress import HealedEnvironment, Progress
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.traces.schema import PROGRESSED


class MovingProgress(Progress):
    """Of a partition that is there, that of any; of one that is not, nobody holds anything."""

    def __init__(self, probe: Callable[[], Operation], world: HealedEnvironment) -> None:
        self._seen = world
        super().__init__(probe, world)

    def is_complete(self) -> bool:
        if self._seen.replicas:
            return super().is_complete()
        return self.verdict() == PROGRESSED

    def verdict(self) -> str:
        if self._seen.replicas:
            return super().verdict()
        for node in self._seen.brokers:
            row = self._seen.row(node)
            if row.log or row.role != "None":
                return f"broker {node} holds a partition that there is not"
        return PROGRESSED
