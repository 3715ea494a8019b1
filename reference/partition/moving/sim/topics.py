"""Topics and partitions that change, and unregistered brokers, while a cluster runs.

Which partitions a run may come to have is fixed when it begins: those that there are not yet are
spare. A topic that is made again has a new id, and with it partitions that were spare.

Law of this file: as that of administrator.py. Names of topics are here alone; controllers know
partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kraftcheck.reference.partition.moving.messages import RemoveTopic
from kraftcheck.reference.partition.moving.sim.administrator import (
    TRIES,
    Administrator,
    AdministratorEnvironment,
    Partition,
)
from kraftcheck.reference.partition.moving.types import is_there, was_deleted
from kraftcheck.reference.partition.reassignment.messages import (
    CreatePartition,
    PlacePartition,
    UnregisterBroker,
)
from kraftcheck.reference.partition.types import UNDEFINED, Registration
from kraftcheck.reference.sim.choices import Stream, pick

ADDED: Final = 3
"""One change of so many adds a partition; the others delete the topic."""


class Catalog:
    """Which partitions are those of which topic."""

    def __init__(self, topics: int, first: int, partitions: Sequence[Partition]) -> None:
        """first: so many partitions there are at first; topics have equally many."""
        self._partitions = partitions
        each = first // topics
        self._topic_of = {number: number // each for number in range(first)}
        self._last = {topic: [*range(each * topic, each * (topic + 1))] for topic in range(topics)}
        self.spare = range(first, len(partitions))

    def partitions_of(self, topic: int) -> Sequence[int]:
        """The partitions of a topic by what is committed; those that it had last, if it is gone."""
        named = [number for number, of in sorted(self._topic_of.items()) if of == topic]
        there = [number for number in named if self._partitions[number].replicas]
        if there:
            self._last[topic] = there
        return self._last[topic]

    def changing(self, topic: int, known: Callable[[int], Any]) -> tuple[list[int], list[int]]:
        """The partitions of a topic that there are, and the spare ones that it may have next.

        As many as it had, if it is gone, or one more. known: a partition, by its number.
        """
        last = self.partitions_of(topic)
        there = [number for number in last if is_there(known(number))]
        free = [n for n in self.spare if not is_there(known(n)) and not was_deleted(known(n))]
        return there, free[: 1 if there else len(last)]

    def registrations(self) -> tuple[Registration, ...]:
        """Of all brokers, by what is committed."""
        return self._partitions[0].controller.registrations

    def name(self, number: int, topic: int) -> None:
        """A spare partition is to be one of this topic."""
        self._topic_of[number] = topic


class Changes(Administrator[int]):
    """Deletes a topic and makes it again, or adds a partition."""

    def __init__(
        self,
        asked: int,
        replicas: int,
        topics: Sequence[int],
        catalog: Catalog,
        brokers: tuple[int, ...],
        placed: bool,
        stream: Stream,
        world: AdministratorEnvironment,
    ) -> None:
        """Changes of topics in a run.

        replicas: their number in a new topic. topics: those that change. placed: whether the
        controller places partitions; otherwise the request does.
        """
        super().__init__(asked, stream, world)
        self._placed = placed
        self._replicas, self._topics = replicas, topics
        self._catalog, self._brokers = catalog, brokers
        self._deletes = False
        """Whether the last request deletes."""

    def subject(self) -> int:
        return pick(self._stream, self._topics)

    def request(self, subject: int) -> Mapping[int, Any]:
        known = self._world.known
        if known(0) is None:
            return {}
        there, new = self._catalog.changing(subject, known)
        self._deletes = bool(there) and self._stream.below(ADDED) > 0
        if self._deletes:
            return dict.fromkeys(there, RemoveTopic())
        size = len(known(there[0]).replicas) if there else self._replicas
        for number in new:
            self._catalog.name(number, subject)
        if not self._placed:
            return {number: CreatePartition(self._listed(size)) for number in new}
        lists = self._world.placements(new[0], size) if new else ()
        if not lists:
            return {}
        return {number: PlacePartition(pick(self._stream, lists)) for number in new}

    def follow(self, subject: int) -> None:
        if self._deletes:
            self.again(subject, TRIES)

    def _listed(self, size: int) -> tuple[int, ...]:
        """Some brokers, in any order: those that are registered, if they are enough."""
        known = zip(self._brokers, self._catalog.registrations(), strict=True)
        brokers = [b for b, registration in known if registration.epoch != UNDEFINED]
        if len(brokers) < size:
            brokers = [*self._brokers]
        return tuple([brokers.pop(self._stream.below(len(brokers))) for _ in range(size)])


class Unregistering(Administrator[int]):
    """Has the controller forget a broker."""

    def __init__(
        self,
        asked: int,
        partitions: Sequence[Partition],
        brokers: tuple[int, ...],
        stream: Stream,
        world: AdministratorEnvironment,
    ) -> None:
        super().__init__(asked, stream, world)
        self._partitions, self._brokers = partitions, brokers

    def subject(self) -> int:
        return pick(self._stream, self._brokers)

    def request(self, subject: int) -> Mapping[int, Any]:
        return {each.number: UnregisterBroker(subject) for each in self._partitions}

    def follow(self, subject: int) -> None:
        """That is all."""
