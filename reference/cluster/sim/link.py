"""What travels between brokers and controllers: requests for several partitions, and answers.

A request is one message of a broker, and holds what the broker says for each partition that it
concerns; likewise the answer. As in reference/partition/sim/network.py, both go over a connection
that keeps their order: what is held back holds back what comes behind it.

Law of this file: it loses and delays whole messages, and changes nothing in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.sim.network import WITH_CONTROLLER
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.events import CALL, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.network import FATES, Network, fates

Messages: TypeAlias = Mapping[int, KnownInput]
"""By partition."""
Ends: TypeAlias = tuple[int, int]
"""Who sends, and who receives."""
Arrival: TypeAlias = Callable[[int], None]
"""What is to be done when messages are there, with the one that receives them."""


class Request(msgspec.Struct, eq=False):
    """A broker's request; compared by identity, as Kafka's correlation ids would be."""

    source: int
    slot: int
    """What it is about: a partition, or `COMMON`."""
    messages: Messages


COMMON = -1
"""The slot of registrations and heartbeats, of which a broker has one in flight."""


class Carrier(Protocol):
    """Whoever takes messages from one end to the other."""

    def carry(self, now: int, ends: Ends, messages: Messages, arrive: Arrival) -> None: ...


class Link(Network):
    """The connections of all brokers with whatever controller they talk to."""

    def __init__(
        self, brokers: Sequence[int], options: PartitionOptions, stream: Stream, queue: Queue
    ) -> None:
        super().__init__((*brokers, CONTROLLER), options, stream, queue)
        in_order = fates(options.loss, 0, options.reordering, options.hold_ms)
        suffers = fates(100, 0, 400, options.hold_ms)
        for kind in WITH_CONTROLLER:
            self._fates_of[kind] = suffers if kind == options.suffering else in_order
        self._latest: dict[tuple[int, int], int] = {}
        """When the last message of a link will arrive."""

    def carry(self, now: int, ends: Ends, messages: Messages, arrive: Arrival) -> None:
        """Has `arrive` called when the messages are there, if they ever are."""
        source, destination = ends
        if self._cuts[source][destination]:
            self.blocked += 1
            return
        of = self._fates_of.get(next(iter(messages.values())).kind, ())
        fate = of[self._stream.below(FATES)] if of else None
        if fate is not None:
            self._count(fate)
            if not fate:
                return
        due = now + self._latency[source][destination] + (fate[0] if fate else 0)
        due = max(due, self._latest.get((source, destination), 0))
        self._latest[source, destination] = due
        self._queue.push(due, CALL, destination, arrive)
