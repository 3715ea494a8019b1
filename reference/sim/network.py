"""The network: which copies of a message arrive, and when.

Law of this file, the statement of specs/common/Network.tla: what arrives was sent, by the node that
it names as its source, to the node to which it is delivered, with this content; at any later time,
any number of times, in any order, or never. So loss, duplication, reordering, delay and partitions
are all allowed at any moment, and need no step of any node.

It holds by construction: a message travels as the interned value that the step produced, and is
queued here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from heapq import heappush
from typing import NamedTuple, Protocol, TypeAlias

from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.events import DELIVER, Queue
from kraftcheck.reference.sim.interning import KnownInput

Fate: TypeAlias = tuple[int, ...] | None
"""Extra delays of the copies, in virtual microseconds; None is one copy without delay."""

FATES = 1000


@lru_cache(maxsize=1024)
def fates(loss: int, duplication: int, reordering: int, hold_ms: int) -> tuple[Fate, ...]:
    """What can become of a message, FATES cases of equal chance, the undisturbed ones first.

    One choice decides all about a message. Delays are spread evenly, the long ones last.
    """
    held = [(hold_ms * 1000 * (i + 1) // reordering,) for i in range(reordering)]
    twice = [(0, hold_ms * 1000 * (i + 1) // duplication) for i in range(duplication)]
    prompt = FATES - reordering - duplication - loss
    assert prompt >= 0, "shares of one whole"
    return (*[None] * prompt, *held, *twice, *[()] * loss)


class Disturbances(Protocol):
    """The options that a network reads (faults.Options says what they mean)."""

    @property
    def loss(self) -> int: ...
    @property
    def duplication(self) -> int: ...
    @property
    def reordering(self) -> int: ...
    @property
    def suffering(self) -> str: ...
    @property
    def hold_ms(self) -> int: ...
    @property
    def latency_ms(self) -> int: ...
    @property
    def slow_node(self) -> int: ...


class Partition(NamedTuple):
    """Loses messages from any of `sources` to any of `destinations`.

    Both ways unless `one_way`.
    """

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    one_way: bool
    lasts_ms: int


class Network:
    """The network of one run."""

    def __init__(
        self, nodes: Sequence[int], options: Disturbances, stream: Stream, queue: Queue
    ) -> None:
        self._stream = stream
        self._queue = queue
        self._fates = fates(options.loss, options.duplication, options.reordering, options.hold_ms)
        self._fates_of: dict[str, tuple[Fate, ...]] = {}
        """By type of message, where it is disturbed otherwise than the rest."""
        if options.suffering:
            self._fates_of[options.suffering] = fates(0, 300, 400, options.hold_ms)
        slow = nodes[stream.below(len(nodes))] if options.slow_node > 1 else None
        self._latency = {
            source: {to: self._link_latency(options, slow, source, to) for to in nodes}
            for source in nodes
        }
        # A link may be cut by several partitions at once.
        self._cuts = {source: dict.fromkeys(nodes, 0) for source in nodes}
        self.lost = self.blocked = self.duplicated = self.held = 0

    def _link_latency(self, options: Disturbances, slow: int | None, source: int, to: int) -> int:
        """Microseconds. One of four values, so that runs resemble each other."""
        spread = options.latency_ms - 1
        latency = 1000 + (1000 * spread * self._stream.below(4) // 3 if spread else 0)
        return latency * options.slow_node if slow in (source, to) else latency

    def send(self, now: int, source: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        """Queues the copies of messages that `source` sends now: (addressee, message) pairs."""
        queue = self._queue
        heap = queue.heap
        latency, cuts = self._latency[source], self._cuts[source]
        for destination, message in sent:
            if cuts[destination]:
                self.blocked += 1
                continue
            of = self._fates_of.get(message.kind, self._fates)
            fate = of[self._stream.below(FATES)] if of else None
            if fate is None:
                queue.order = order = queue.order + 1
                due = now + latency[destination]
                heappush(heap, (due, order, DELIVER, destination, message))
                continue
            self._count(fate)
            for delay in fate:
                queue.push(now + latency[destination] + delay, DELIVER, destination, message)

    def ask_nothing_in_vain(self) -> None:
        """Stop drawing what becomes of messages if all arrive.

        The stream is one that nobody else draws from.
        """
        if all(not of or of[-1] is None for of in (self._fates, *self._fates_of.values())):
            self._fates, self._fates_of = (), {}

    def _count(self, fate: tuple[int, ...]) -> None:
        if not fate:
            self.lost += 1
        elif len(fate) > 1:
            self.duplicated += 1
        else:
            self.held += 1

    def begin(self, partition: Partition) -> None:
        self._cut(partition, 1)

    def end(self, partition: Partition) -> None:
        self._cut(partition, -1)

    def _cut(self, partition: Partition, by: int) -> None:
        for source in partition.sources:
            for destination in partition.destinations:
                self._cuts[source][destination] += by
                if not partition.one_way:
                    self._cuts[destination][source] += by

    def heal(self) -> None:
        """From now on everything arrives once and promptly. What was held still comes late."""
        self._fates = ()
        self._fates_of = {}
        nodes = tuple(self._cuts)
        self._cuts = {source: dict.fromkeys(nodes, 0) for source in nodes}
        self._latency = {source: dict.fromkeys(nodes, 1000) for source in nodes}
