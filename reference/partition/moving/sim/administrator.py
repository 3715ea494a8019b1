"""Who asks for other replicas while a cluster runs; and how anybody asks its controller.

Law of this file: it asks the active controller for what an administrator may ask, and any for what
may be read; when, is drawn before the run, and it asks nothing any more when the faults have ended.
What it asks for may come over what is under way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from kraftcheck.reference.partition.messages import ElectLeaders
from kraftcheck.reference.partition.moving.messages import GiveUpReassignment, ReassignReplicas
from kraftcheck.reference.partition.types import ControllerRow
from kraftcheck.reference.sim.choices import Stream, chance, pick

FIRST_US: Final = 1_800_000
"""By then most clusters have a controller, and leaders."""
AGAIN_US: Final = 400_000
TRIES: Final = 8
"""So often it asks where nobody controls."""
CLOSE_US: Final = 600_000
"""So soon another request for the same may follow."""

S = TypeVar("S")


class Partition(Protocol):
    number: int
    brokers: tuple[int, ...]

    @property
    def replicas(self) -> tuple[int, ...]: ...
    @property
    def controller(self) -> ControllerRow: ...


class AdministratorEnvironment(Protocol):
    def ask(self, inputs: Mapping[int, Any]) -> bool:
        """Asks for one thing of these partitions. Whether a controller heard it."""
        ...

    def known(self, partition: int) -> Any:
        """The partition as the active controller knows it; None: nobody controls."""
        ...

    def placements(self, partition: int, replicas: int) -> Sequence[tuple[int, ...]]:
        """Where the placer may put a partition of so many replicas."""
        ...

    def read(self, node: int) -> bool:
        """Asks a controller, active or not, what is under way. Whether it runs."""
        ...

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None: ...


class Asker(ABC, Generic[S]):
    """Of one run. Each request is about a subject."""

    def __init__(self, asked: int, stream: Stream, world: AdministratorEnvironment) -> None:
        """asked: so many times."""
        self._asked, self._stream, self._world = asked, stream, world
        self._over = False
        self.asked = 0
        """So many requests were heard."""

    @abstractmethod
    def subject(self) -> S:
        """Of a request, drawn before the run."""

    @abstractmethod
    def heard(self, subject: S) -> bool:
        """Asks. Whether a controller heard it."""

    @abstractmethod
    def follow(self, subject: S) -> None:
        """A request was heard."""

    def start(self, lasts: int) -> None:
        """lasts: so many microseconds there are faults."""
        for _ in range(self._asked):
            at = FIRST_US + self._stream.below(max(1, lasts - FIRST_US))
            self._world.call(at, self._begin(self.subject()), TRIES)

    def end(self) -> None:
        self._over = True

    def again(self, subject: S, tries: int = 1) -> None:
        """Another request about it, soon."""
        self._world.call(self._stream.below(CLOSE_US), self._begin(subject), tries)

    def _begin(self, subject: S) -> Callable[[int], None]:
        def ask(tries: int) -> None:
            if self._over or tries == 0:
                return
            if not self.heard(subject):
                self._world.call(AGAIN_US, ask, tries - 1)
                return
            self.asked += 1
            self.follow(subject)

        return ask


class Administrator(Asker[S]):
    """Asks the active controller for a change."""

    @abstractmethod
    def request(self, subject: S) -> Mapping[int, Any]:
        """What is asked for, by partition; nothing: there is nothing to ask."""

    def heard(self, subject: S) -> bool:
        return self._world.ask(self.request(subject))


class Mover(Administrator[Partition]):
    """Asks for other replicas of a partition, gives that up, or asks for the preferred leader."""

    def __init__(
        self,
        asked: int,
        least: int,
        partitions: Sequence[Partition],
        stream: Stream,
        world: AdministratorEnvironment,
    ) -> None:
        """least: so many replicas a list has at least."""
        super().__init__(asked, stream, world)
        self._least, self._partitions = least, partitions

    def subject(self) -> Partition:
        return pick(self._stream, self._partitions)

    def request(self, subject: Partition) -> Mapping[int, Any]:
        there = [each for each in self._partitions if each.replicas]
        if not subject.replicas and there:
            subject = pick(self._stream, there)
        return {subject.number: self._request(subject)}

    def follow(self, subject: Partition) -> None:
        if chance(self._stream, 400):
            self.again(subject)

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


class Reader(Asker[int]):
    """Asks a controller, active or not, which reassignments are under way."""

    def __init__(
        self,
        asked: int,
        controllers: Sequence[int],
        stream: Stream,
        world: AdministratorEnvironment,
    ) -> None:
        """controllers: all of them."""
        super().__init__(asked, stream, world)
        self._controllers = controllers

    def subject(self) -> int:
        return pick(self._stream, self._controllers)

    def heard(self, subject: int) -> bool:
        return self._world.read(subject)

    def follow(self, subject: int) -> None:
        """Nobody acts on what is read."""
