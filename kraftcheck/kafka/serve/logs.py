"""Logs of the brokers' own: what is written to them, and what a leader knows of what they say.

Groups, offsets and transactions are records of partitions that are replicated like any other. Who
leads one is the coordinator: it appends, answers when all in-sync replicas have it, and after a
failover the next one knows what its log says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import msgspec

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import UNSET, Batch, single
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.requests import Request, Waiting
from kraftcheck.kafka.serve.world import ServedWorld
from kraftcheck.reference.partition.log import Record
from kraftcheck.reference.partition.messages import ProduceTimeout
from kraftcheck.reference.partition.types import UNDEFINED

WRITE_MS: Final = 5000
"""offsets.commit.timeout.ms: for so long a coordinator waits until its record is replicated."""
TOLD: Final = {
    "NONE": "NONE",
    "NOT_LEADER_OR_FOLLOWER": "NOT_COORDINATOR",
    "REQUEST_TIMED_OUT": "COORDINATOR_NOT_AVAILABLE",
}
"""What is told of what an append met; COORDINATOR_NOT_AVAILABLE else."""

State = TypeVar("State")


class Followed(Generic[State]):
    """What a log says to who leads it: made of its entries as they come, anew in each tenure."""

    def __init__(
        self,
        world: ServedWorld,
        log: ServedPartition,
        fresh: Callable[[], State],
        take: Callable[[State, Record, Batch], None],
        committed: bool,
    ) -> None:
        """committed: only what is below the high watermark counts."""
        self._world = world
        self._log = log
        self._fresh = fresh
        self._take = take
        self._committed = committed
        self._tenure = (UNDEFINED, UNDEFINED)
        self._at = 0
        self._state = fresh()

    def state_of(self, broker: int) -> State:
        row = self._log.row(broker)
        tenure = (broker, row.leader_epoch)
        if tenure != self._tenure:
            self._tenure, self._at, self._state = tenure, 0, self._fresh()
        end = row.high_watermark if self._committed else len(row.log)
        if end > self._at:
            for at in range(self._at, end):
                entry = self._world.entry(self._log, row, at)
                self._take(self._state, entry, self._world.batch(entry))
            self._at = end
        return self._state


class Appends:
    """The batches of one request, of which each is answered once (W8)."""

    def __init__(self, core: Core, broker: int) -> None:
        self._core = core
        self._broker = broker
        self._open: dict[int, ServedPartition] = {}
        self._held = 0

    def hold(self) -> Callable[[], None]:
        """A batch is to come that has to be let in first. Returns what says that it was."""
        self._held += 1

        def release() -> None:
            self._held -= 1

        return release

    def append(
        self,
        partition: ServedPartition,
        batch: Batch,
        acks: int,
        told: Callable[[str, int], None],
    ) -> str:
        """Gives a batch to the leader; `told` hears the error and the base offset, now or later.

        Returns why it was ignored, or "".
        """
        world = self._core.world
        at_once: list[Any] = []
        placed = False

        def answered(response: Any) -> None:
            if not placed:
                at_once.append(response)
                return
            del self._open[number]
            offset = UNDEFINED
            if response.error == "NONE":
                offset = world.offset_of(partition, partition.row(self._broker), response.offset)
            told(response.error, offset)

        number = self._core.number(answered)
        self._open[number] = partition
        ignored = world.append(partition, self._broker, batch, acks, number)
        # Only now it is known where the batch is.
        placed = True
        for response in at_once:
            answered(response)
        if acks == 0:
            self._core.forget(number)
            del self._open[number]
        return ignored

    def are_settled(self) -> bool:
        return not self._open and not self._held

    def expire(self) -> None:
        """P19. Who waits still is told so by the reference."""
        for number, partition in list(self._open.items()):
            for parked in partition.row(self._broker).parked:
                if parked.request.client == number:
                    timeout = ProduceTimeout(parked.request)
                    self._core.world.give(partition, self._broker, timeout)


def wrapped(record: Any, producer: int = UNSET, epoch: int = UNSET) -> Batch:
    """A record of a broker's own as a batch; of a transaction, if it has a producer."""
    batch = single(msgspec.json.encode(record), producer, epoch)
    batch.value = record
    return batch


def not_leading(log: ServedPartition, broker: int) -> str:
    """Why a broker coordinates nothing, as a client is told; NONE: it does."""
    error = log.handlers.rules.list_offsets_error(log.row(broker))
    if error == "NONE":
        return error
    return "COORDINATOR_LOAD_IN_PROGRESS" if error == "OFFSET_NOT_AVAILABLE" else "NOT_COORDINATOR"


class Leadership:
    """Of a log, by one broker in one epoch: for so long it coordinates what the log is about."""

    def __init__(self, core: Core, log: ServedPartition, broker: int) -> None:
        self.core = core
        self.log = log
        self.broker = broker
        self.epoch = log.row(broker).leader_epoch

    def is_active(self) -> bool:
        row = self.log.row(self.broker)
        leads = row.status == "Running" and row.role == "Leader"
        return leads and row.leader_epoch == self.epoch

    def write(self, record: Any, told: Callable[[str], None]) -> None:
        write(self.core, self.broker, self.log, wrapped(record), told)

    def after(self, real_ms: int, what: Callable[[], None]) -> None:
        """Unless another one leads by then."""
        self.core.after(real_ms, self.still(what))

    def still(self, heard: Callable[..., None]) -> Callable[..., None]:
        """What is heard only as long as nobody else leads."""
        return lambda *of: heard(*of) if self.is_active() else None


def write(
    core: Core, broker: int, log: ServedPartition, batch: Batch, told: Callable[[str], None]
) -> None:
    """A coordinator writes; `told` hears the error once, as a client is told of it, now or later.

    Of a broker that goes down nothing is heard any more.
    """
    appends = Appends(core, broker)
    appends.append(log, batch, -1, lambda error, _: told(TOLD.get(error, TOLD_ELSE)))
    if not appends.are_settled():
        core.after(WRITE_MS, appends.expire)


TOLD_ELSE: Final = "COORDINATOR_NOT_AVAILABLE"


class Appending(Waiting):
    """A request that waits until its batches are replicated."""

    def __init__(self, core: Core, request: Request) -> None:
        super().__init__(request)
        self.appends = Appends(core, request.broker)

    def is_ready(self) -> bool:
        return self.appends.are_settled()

    def expire(self) -> None:
        self.appends.expire()


class Promise(Waiting):
    """An answer that somebody else will give, who says so too when its time is over."""

    def __init__(self, request: Request, hurries: bool = False) -> None:
        super().__init__(request)
        self.hurries = hurries
        self._answer: Message | None = None

    def tell(self, answer: Message) -> None:
        """The first one counts."""
        if self._answer is None:
            self._answer = answer

    def refuse(self, error: str) -> None:
        self.tell({"error_code": ERRORS[error]})

    def is_ready(self) -> bool:
        return self._answer is not None

    def answer(self) -> Message | None:
        return self._answer
