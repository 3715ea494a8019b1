"""The network of a partition: links of brokers among each other, to the controller, to clients.

What travels to and from the controller, or a client, travels over one connection and in order: what
is held back holds back what comes behind it, and nothing comes twice. Kafka's controllers and
clients rely on that (messages.py: a response carries its request). Between brokers
anything may happen to fetches, which bear it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from kraftcheck.reference.partition.messages import (
    CLIENT_REQUESTS,
    CLIENTS,
    CONTROLLER,
    ClientResponse,
    ControllerRequest,
    ControllerResponse,
)
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.events import DELIVER, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.network import FATES, Fate, Network, fates

FETCHES = ("ReplicaFetchRequest", "ReplicaFetchResponse")
WITH_CONTROLLER = tuple(
    [each.__name__ for each in (*get_args(ControllerRequest), *get_args(ControllerResponse))]
)


class PartitionNetwork(Network):
    """The network of one run."""

    def __init__(
        self, brokers: Sequence[int], options: PartitionOptions, stream: Stream, queue: Queue
    ) -> None:
        super().__init__((*brokers, CONTROLLER, CLIENTS), options, stream, queue)
        in_order = fates(options.loss, 0, options.reordering, options.hold_ms)
        suffers = fates(100, 0, 400, options.hold_ms)
        for kind in WITH_CONTROLLER:
            self._fates_of[kind] = suffers if kind == options.suffering else in_order
        for of in CLIENT_REQUESTS:
            self._fates_of[of.__name__] = ()
        for of in get_args(ClientResponse):
            self._fates_of[of.__name__] = fates(options.answers_lost, 0, 0, 1)
        self._latest: dict[tuple[int, int], int] = {}
        """When the last message of an ordered link will arrive."""

    def send(self, now: int, source: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        latency, cuts, queue = self._latency[source], self._cuts[source], self._queue
        push = queue.push
        for destination, message in sent:
            if cuts[destination]:
                self.blocked += 1
                continue
            of = self._fates_of.get(message.kind, self._fates)
            fate: Fate = of[self._stream.below(FATES)] if of else None
            due = now + latency[destination]
            if fate is not None:
                self._count(fate)
            if source >= 0 and destination >= 0:
                if fate is None:
                    push(due, DELIVER, destination, message)
                else:
                    for delay in fate:
                        push(due + delay, DELIVER, destination, message)
            elif fate is None or fate:
                link = source, destination
                if fate:
                    due += fate[0]
                latest = self._latest.get(link, 0)
                if latest > due:
                    due = latest
                self._latest[link] = due
                push(due, DELIVER, destination, message)
