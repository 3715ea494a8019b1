"""The network: which copies of a message arrive, and when.

Law of this file, the statement of specs/Network.tla: what arrives was sent, by the node that it
names as its source, to the node to which it is delivered, with this content; at any later time,
any number of times, in any order, or never. So loss, duplication, reordering, delay and partitions
are all allowed at any moment, and need no step of any node.

It holds by construction: a message travels as the interned value that the step produced, and is
queued here and nowhere else.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heappush
from typing import TypeAlias

from reference.sim.choices import Stream
from reference.sim.events import DELIVER, Queue
from reference.sim.faults import Options, Partition
from reference.sim.interning import KnownInput

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


def _fates_under(options: Options) -> tuple[Fate, ...]:
    return fates(options.loss, options.duplication, options.reordering, options.hold_ms)


class Network:
    """The network of one run."""

    def __init__(self, options: Options, stream: Stream, queue: Queue) -> None:
        nodes = range(options.voters)
        self._stream = stream
        self._queue = queue
        self._fates = fates(options.loss, options.duplication, options.reordering, options.hold_ms)
        self._suffering = options.suffering
        self._worse_fates = fates(0, 300, 400, options.hold_ms) if options.suffering else ()
        slow = stream.below(options.voters) if options.slow_node > 1 else None
        self._latency = [
            [self._link_latency(options, slow, source, to) for to in nodes] for source in nodes
        ]
        # A link may be cut by several partitions at once.
        self._cuts = [[0] * options.voters for _ in nodes]
        self.lost = self.blocked = self.duplicated = self.held = 0

    def _link_latency(self, options: Options, slow: int | None, source: int, to: int) -> int:
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
            of = self._fates if message.kind != self._suffering else self._worse_fates
            fate = of[self._stream.below(FATES)] if of else None
            if fate is None:
                queue.order = order = queue.order + 1
                due = now + latency[destination]
                heappush(heap, (due, order, DELIVER, destination, message))
                continue
            self._count(fate)
            for delay in fate:
                queue.push(now + latency[destination] + delay, DELIVER, destination, message)

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
        self._fates = self._worse_fates = ()
        nodes = range(len(self._cuts))
        self._cuts = [[0] * len(nodes) for _ in nodes]
        self._latency = [[1000] * len(nodes) for _ in nodes]
