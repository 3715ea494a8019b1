"""The brokers' processes: what a broker does once for all its partitions.

It registers, sends heartbeats, reads metadata, starts and crashes; each of these is one step in
every partition that it holds. A request carries what the broker says in each of them, and only the
answer to the request in flight counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from kraftcheck.reference.cluster.sim.link import COMMON, Carrier, Messages, Request
from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.partition.directories.messages import LogDirFailure
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    BrokerCrash,
    BrokerRestart,
    ControlledShutdown,
    MetadataRecord,
)
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.sim.choices import Stream, chance
from kraftcheck.reference.sim.events import CALL, Queue
from kraftcheck.reference.sim.interning import KnownInput


class Heard(NamedTuple):
    """What a broker's observer of the quorum has.

    Up to where it knows the log to be committed, and where what it has record by record begins.
    """

    end: int
    start: int


class BrokersEnvironment(Protocol):
    now: int

    def has_heard(self, broker: int) -> Heard | None:
        """None: brokers read all that anybody knows to be committed."""
        ...

    def ask_controller(self, request: Request) -> None:
        """Hands a request to the controller that its source believes to be active."""
        ...

    def forget_controller(self, node: int) -> None:
        """A broker has not been answered, and looks for another controller."""
        ...


class Brokers:
    """All broker processes of one run."""

    def __init__(
        self,
        partitions: Sequence[ClusterPartition],
        options: PartitionOptions,
        clock: Stream,
        link: Carrier,
        queue: Queue,
        world: BrokersEnvironment,
    ) -> None:
        self._partitions = partitions
        self._options = options
        self._clock = clock
        self._link = link
        self._queue = queue
        self._world = world
        self.all = tuple(sorted({b for each in partitions for b in each.brokers}))
        self.partitions_of = {
            b: tuple([each for each in partitions if b in each.brokers]) for b in self.all
        }
        self._in_flight: dict[tuple[int, int], Request] = {}
        """By broker and slot."""
        self._said: dict[int, KnownInput] = {}
        """What a broker is about to say to the controller, by partition."""
        self.metadata: list[dict[int, tuple[MetadataRecord, ...]]] = []
        """Committed batches: what each says of each partition."""
        self._ends: list[int] = []
        """Where each ends in the quorum's log."""
        self._position = dict.fromkeys(self.all, 0)
        """How many of them a broker has applied."""
        self._reading = dict.fromkeys(self.all, False)
        self._stale_until = dict.fromkeys(self.all, 0)

    def is_running(self, node: int) -> bool:
        return self.partitions_of[node][0].is_running(node)

    def start(self) -> None:
        for node in self.all:
            for partition in self.partitions_of[node]:
                partition.pace.look(node, partition.state(node))

    # --- Requests

    def leads(self, node: int, partition: int) -> bool:
        return self.partitions_of[node][0].number == partition

    def act(self, node: int, want: KnownInput) -> None:
        """The same activity in all partitions, and one request of what they say."""
        assert not self._said, "one thing after the other"
        gives_up = want.kind == "ControllerRequestTimeout"
        for partition in self.partitions_of[node]:
            own = partition.common_want(node, want.kind)
            assert own is not None, f"{want.kind} is common to the partitions of broker {node}"
            partition.take(node, own)
        if gives_up:
            self._give_up(node, COMMON)
        if self._said:
            said, self._said = self._said, {}
            self._ask(Request(node, COMMON, said))

    def to_controller(self, node: int, partition: int, message: KnownInput) -> None:
        if message.kind == "AlterPartitionRequest":
            self._ask(Request(node, partition, {partition: message}))
        elif message.kind == "AssignReplicasToDirs":
            # Nobody answers, so nothing is in flight.
            self._world.ask_controller(Request(node, partition, {partition: message}))
        else:
            self._said[partition] = message

    def _ask(self, request: Request) -> None:
        self._in_flight[request.source, request.slot] = request
        self._world.ask_controller(request)

    def gave_up(self, node: int, partition: int) -> None:
        self._give_up(node, partition)

    def _give_up(self, node: int, slot: int) -> None:
        self._in_flight.pop((node, slot), None)
        self._world.forget_controller(node)

    def answer(self, request: Request, messages: Messages) -> None:
        """A controller answers."""

        def arrive(node: int) -> None:
            if self._in_flight.get((node, request.slot)) is request:
                del self._in_flight[node, request.slot]
                for partition, message in messages.items():
                    self._partitions[partition].take(node, message)
                if not self.is_running(node):
                    self._ended(node)

        self._link.carry(self._world.now, (CONTROLLER, request.source), messages, arrive)

    # --- Metadata

    def committed(self, batch: dict[int, tuple[MetadataRecord, ...]], end: int) -> None:
        """The controllers' log has grown, and ends there."""
        self.metadata.append(batch)
        self._ends.append(end)
        for node in self.all:
            self.read_soon(node)

    def heard(self) -> None:
        """Somebody knows more of the quorum's log to be committed."""
        for node in self.all:
            if self._world.has_heard(node) is not None and self._position[node] < self._known(node):
                self.read_soon(node)

    def _known(self, node: int) -> int:
        """So many committed batches have come to a broker."""
        heard = self._world.has_heard(node)
        return len(self.metadata) if heard is None else bisect_right(self._ends, heard.end)

    def read_soon(self, node: int) -> None:
        if not self._reading[node] and self.is_running(node):
            self._reading[node] = True
            least = 1000 * (1 + self._clock.below(self._options.metadata_ms))
            due = max(self._world.now + least, self._stale_until[node])
            self._queue.push(due, CALL, node, self._read)

    def _read(self, node: int) -> None:
        """A broker reads committed metadata: all there is, or one batch."""
        self._reading[node] = False
        if not self.is_running(node):
            return
        if self._stale_until[node] > self._world.now:
            self.read_soon(node)
            return
        start, there = self._position[node], self._known(node)
        if start >= there:
            return
        all_of_it = chance(self._clock, self._options.folding)
        end = there if all_of_it else start + 1
        if heard := self._world.has_heard(node):
            # V27: what came as a snapshot is one update.
            end = max(end, bisect_right(self._ends, heard.start))
        self.read(node, end)
        if end < there:
            self.read_soon(node)

    def unread(self, node: int) -> range:
        """The committed batches that a broker has not applied yet."""
        return range(self._position[node], len(self.metadata))

    def read(self, node: int, end: int) -> None:
        """A broker applies what it has not applied of the first `end` batches."""
        start = self._position[node]
        self._position[node] = end
        batches = self.metadata[start:end]
        for partition in self.partitions_of[node]:
            records = tuple([r for batch in batches for r in batch.get(partition.number, ())])
            if records:
                offset = partition.row(node).image.offset
                partition.give(node, partition.machine.brokers.update_type(offset, records))

    # --- What happens to processes

    def stop(self, node: int, crash: Callable[[ClusterPartition], None]) -> None:
        """A process ends. `crash` does it in one partition."""
        for partition in self.partitions_of[node]:
            crash(partition)
        self._ended(node)

    def shut_down(self, node: int) -> bool:
        """A process is to stop cleanly, which it does when the controller lets it.

        Whether it is one that may be asked to.
        """
        found = [each.give(node, ControlledShutdown()) for each in self.partitions_of[node]]
        return None not in found

    def online(self, node: int) -> tuple[int, ...]:
        """The directories of a broker that have not failed, where it has several."""
        row: Any = self.partitions_of[node][0].row(node)
        online: tuple[int, ...] = row.online
        return online

    def fail(self, node: int, directory: int) -> None:
        """R18. One of a broker's log directories fails."""
        failed: Any = LogDirFailure(directory)
        for partition in self.partitions_of[node]:
            partition.give(node, failed)

    def kill(self, node: int) -> None:
        """A process ends, and its disks have all that was written."""

        def crash(partition: ClusterPartition) -> None:
            partition.give(node, BrokerCrash(len(partition.row(node).log), UNDEFINED))

        self.stop(node, crash)

    def start_again(self, node: int) -> None:
        """A process that is down."""
        if not self.is_running(node):
            for partition in self.partitions_of[node]:
                partition.give(node, BrokerRestart())

    def _ended(self, node: int) -> None:
        """A process that starts again knows nothing of the metadata, and awaits nothing."""
        self._position[node] = 0
        self._in_flight = {k: v for k, v in self._in_flight.items() if k[0] != node}

    def stand_still(self, node: int, what: str, lasts: int) -> None:
        if what == "stale":
            self._stale_until[node] = max(self._stale_until[node], self._world.now + lasts)
        else:
            for partition in self.partitions_of[node]:
                partition.pace.stand_still(node, what, lasts)

    def heal(self) -> None:
        self._stale_until = dict.fromkeys(self.all, 0)
        for partition in self._partitions:
            partition.pace.heal()
        for node in self.all:
            self._reading[node] = False
            self.read_soon(node)
