"""Who asks for other replicas while a cluster runs.

Law of this file: it asks the active controller for what an administrator may ask; when, is drawn
before the run, and it asks nothing any more when the faults have ended. What it asks for may come
over what is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from reference.moving.messages import GiveUpReassignment, ReassignReplicas
from reference.partition.messages import ElectLeaders, Input
from reference.sim.choices import Stream, chance, pick

FIRST_US: Final = 1_800_000
"""By then most clusters have a controller, and leaders."""
AGAIN_US: Final = 400_000
TRIES: Final = 8
"""So often it asks where nobody controls."""
CLOSE_US: Final = 600_000
"""So soon another request for the same partition may follow."""


class Partition(Protocol):
    number: int
    brokers: tuple[int, ...]

    @property
    def replicas(self) -> tuple[int, ...]: ...


class World(Protocol):
    def ask(self, partition: int, input: Input) -> bool:
        """Whether a controller heard it."""
        ...

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None: ...


class Mover:
    """Of one run."""

    def __init__(
        self,
        asked: int,
        least: int,
        partitions: Sequence[Partition],
        stream: Stream,
        world: World,
    ) -> None:
        """asked: so many times. least: so many replicas a list has at least."""
        self._asked, self._least = asked, least
        self._partitions, self._stream, self._world = partitions, stream, world
        self._over = False
        self.asked = 0
        """So many requests were heard."""

    def start(self, lasts: int) -> None:
        """lasts: so many microseconds there are faults."""
        for _ in range(self._asked):
            at = FIRST_US + self._stream.below(max(1, lasts - FIRST_US))
            partition = pick(self._stream, self._partitions)
            self._world.call(at, self._begin(partition), TRIES)

    def end(self) -> None:
        self._over = True

    def _begin(self, partition: Partition) -> Callable[[int], None]:
        def ask(tries: int) -> None:
            if self._over or tries == 0:
                return
            if not self._world.ask(partition.number, self._request(partition)):
                self._world.call(AGAIN_US, ask, tries - 1)
                return
            self.asked += 1
            if chance(self._stream, 400):
                self._world.call(self._stream.below(CLOSE_US), self._begin(partition), 1)

        return ask

    def _request(self, partition: Partition) -> Any:
        at = self._stream.below(10)
        if at == 0:
            return ElectLeaders("PREFERRED")
        if at <= 2:
            return GiveUpReassignment()
        return ReassignReplicas(self._target(partition))

    def _target(self, partition: Partition) -> tuple[int, ...]:
        """Some brokers, in any order: as many as are replicas, or one more or less."""
        brokers = list(partition.brokers)
        most = min(len(brokers), len(partition.replicas) + 1)
        size = self._least + self._stream.below(max(1, most - self._least + 1))
        return tuple([brokers.pop(self._stream.below(len(brokers))) for _ in range(size)])
