"""An idempotent producer under a schedule: what it sends, over which connection, and what it hears.

It is reference/clients/producer.py: sequence numbers, retries, a new epoch
after a gap. Law of this file: no choice is made here, and no time passes: a value is given up when
that is told, and a request is late when it is delivered late.

Requests keep the order of their connection, which breaks for all of them (T3): then the producer
takes none of them to be answered and may send each again, over the next connection. What was on its
way is lost with the connection, or still arrives: after the retry as well, so a broker may see a
request twice. An answer to such a request is heard if the same request is in flight again: it says
of the batch what the answer to the retry would say. What is sent again may be grouped anew: then
the broker sees numbers that it knows in a batch that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kraftcheck.reference.clients.producer import (
    MAX_IN_FLIGHT,
    Completion,
    Producer,
    ProducerConfig,
)
from kraftcheck.reference.partition.messages import NOBODY, ProduceRequest, ProduceResponse
from kraftcheck.reference.sim.operations import Operation

PRODUCER: Final = 1
"""Its id, and that of the only client that retries."""
NOW: Final = 0
"""What the producer's clock says, always but when a value is given up. All values are older."""
TIMEOUT: Final = 1_000_000
"""The delivery timeout: more than there are values in a schedule."""

Posted = tuple[int, ProduceRequest]
"""A connection's number, and a request on its way over it."""


class SteeredProducer:
    """One producer of one partition. Its values are operations of a history."""

    def __init__(self) -> None:
        config = ProducerConfig(
            client=PRODUCER,
            batch_records=1,
            linger=0,
            retry_backoff=0,
            delivery_timeout=TIMEOUT,
        )
        self._producer = Producer(config, PRODUCER)
        self._created: dict[int, int] = {}
        """When each value was given, by value, as far as nothing is known of it: each one tick
        after the one before.
        """
        self._given = NOW - TIMEOUT
        self._operations: dict[int, Operation] = {}
        self._connections: dict[int, int] = {}
        """By broker, the number of the connection that is open."""
        self._opened = 0
        self._flying: dict[ProduceRequest, int] = {}
        """Over which connection a request that waits for its answer was sent."""
        self.posted: dict[Posted, None] = {}
        """On their way to brokers, the oldest first."""

    # --- What it does

    def may_begin(self) -> bool:
        """Whether it takes one more value."""
        return len(self._created) < MAX_IN_FLIGHT

    def has_to_send(self) -> bool:
        """Whether a value waits for its turn, or for a retry."""
        return self._producer.has_to_send

    def append(self, value: int, operation: Operation, node: int) -> None:
        """A new value, and all that can be sent now goes to this broker."""
        self._given += 1
        self._created[value] = self._given
        self._operations[value] = operation
        self._producer.send(0, value, self._given)
        self.send(node, operation.invoked)

    def send(self, node: int, now: int) -> None:
        """All that can be sent goes to this broker. now: for the history, as in `answered`."""
        sends, done = self._producer.poll(NOW, lambda _: node)
        self._complete(done, now)
        for each in sends:
            for value in each.request.values:
                self._operations[value].node = node
            connection = self._connection(node)
            self._flying[each.request] = connection
            self.posted[connection, each.request] = None

    def regroup(self) -> None:
        """What waits for a retry is one batch from now on."""
        self._producer.regroup(0)

    def regroupable(self) -> list[int]:
        """The values that this is about; none, if they are one batch already."""
        return self._producer.regroupable(0)

    def give_up(self, now: int) -> None:
        """The delivery timeout of its oldest value has passed."""
        due = min(self._created.values()) + TIMEOUT
        _, done = self._producer.poll(due, lambda _: NOBODY)
        self._complete(done, now)

    @property
    def oldest(self) -> int | None:
        """The value that has waited longest."""
        return min(self._created, key=self._created.__getitem__, default=None)

    # --- What happens to it

    def answered(self, answer: ProduceResponse, now: int) -> None:
        self._flying.pop(answer.request, None)
        self._complete(self._producer.on_response(0, answer, NOW), now)

    def arrives(self, posted: Posted) -> None:
        """A request has reached its broker."""
        del self.posted[posted]

    def breaks(self, node: int, late: bool, now: int) -> None:
        """The connection to a broker. late: what is on its way still arrives."""
        connection = self._connections.pop(node)
        if not late:
            self.posted = {each: None for each in self.posted if each[0] != connection}
        for request in [r for r, over in self._flying.items() if over == connection]:
            del self._flying[request]
            self._complete(self._producer.on_timeout(0, request, NOW), now)

    def dies(self, node: int, now: int) -> None:
        """A broker has crashed, and nothing that was on its way to it arrives."""
        if node in self._connections:
            self.breaks(node, False, now)
        self.posted = {each: None for each in self.posted if each[1].destination != node}

    # --- What may happen

    def open_connections(self) -> Iterator[tuple[int, int]]:
        """Brokers and connections over which an answer is expected."""
        for node, connection in sorted(self._connections.items()):
            if connection in self._flying.values():
                yield node, connection

    def flight(self, value: int) -> tuple[int, int] | None:
        """To which broker and over which connection a value is that waits for its answer."""
        for request, connection in self._flying.items():
            if value in request.values:
                return request.destination, connection
        return None

    def is_open(self, node: int) -> bool:
        """Whether there is a connection to this broker."""
        return node in self._connections

    def is_on_its_way(self, connection: int) -> bool:
        """Whether a request is, over this connection."""
        return any(over == connection for over, _ in self.posted)

    def first(self) -> Iterator[Posted]:
        """Give the first request on its way over each connection, the latest connection first.

        What is sent in answer to a move can come at once.
        """
        heads: dict[int, Posted] = {}
        for posted in self.posted:
            heads.setdefault(posted[0], posted)
        yield from reversed(heads.values())

    def _connection(self, node: int) -> int:
        if node not in self._connections:
            self._opened += 1
            self._connections[node] = self._opened
        return self._connections[node]

    def _complete(self, done: list[Completion], now: int) -> None:
        for each in done:
            del self._created[each.value]
            operation = self._operations[each.value]
            operation.outcome = each.fate
            if each.fate == "ok":
                operation.offset = each.offset
            if each.fate != "indeterminate":
                operation.completed = now
