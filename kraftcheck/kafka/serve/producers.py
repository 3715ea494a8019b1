"""Transactions where their records are: batches that are let in, markers, and what readers may see.

What a transactional batch meets is decided by `reference/transactions` (X11, X13, X14), a row for
each producer and partition. Of that row the log says the producer's part, in each tenure of a
leader anew; guards and those who wait are in memory, as in Kafka's UnifiedLog. Behind it the
partition's own handlers append, as for any batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kraftcheck.kafka.serve.batches import UNSET, Batch, Ended, marker
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.logs import Appends, Followed
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.reference.partition.log import Record
from kraftcheck.reference.partition.types import BrokerRow
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    AddPartitions,
    Allowed,
    Ask,
    Produce,
    Produced,
    Verification,
    Verified,
    Verify,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.partition import PartitionHandlers
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import (
    INITIAL_PARTITION,
    UNKNOWN,
    Constants,
    PartitionLeader,
    Producer,
)

NODE: Final = 1
"""The partition, in a row of its own."""
AGAIN_MS: Final = 20
AGAIN_TIMES: Final = 5
"""A leader asks so often, where a transaction is just ending (version 2)."""
RULES: Final = {
    version: TransactionRules(
        Constants(partitions=(NODE,), version=version, clients=(NODE,), max_coordinators=1)
    )
    for version in (1, 2)
}
_HANDLERS: Final = {version: PartitionHandlers(rules) for version, rules in RULES.items()}


class Transactional(NamedTuple):
    """Whose transaction a batch belongs to."""

    id: str
    version: int
    """Of the client's protocol (KIP-890)."""
    aborts: bool
    """Whether it knows of errors after which it is to abort (KIP-1050)."""


class _Place(NamedTuple):
    """A batch, and the partition and its leader that it comes to."""

    partition: ServedPartition
    broker: int
    batch: Batch

    @property
    def key(self) -> tuple[int, int, int, int]:
        """Of its producer's row, in a tenure of the leader."""
        epoch = self.partition.row(self.broker).leader_epoch
        return self.partition.number, self.broker, epoch, self.batch.producer


class Aborted(NamedTuple):
    """A transaction that was aborted: its first offset, and that of its marker."""

    producer: int
    first: int
    last: int


class Ongoing(NamedTuple):
    """What a log says of transactions."""

    producers: dict[int, Producer]
    first: dict[int, int]
    """Of those that are open, by producer."""
    ended: list[tuple[int, int]]
    """Of others the first offset, and that of the marker."""
    aborted: list[Aborted]

    def take(self, entry: Record, batch: Batch) -> None:
        id, known = batch.producer, self.producers.get(batch.producer)
        if id == UNSET:
            return
        if isinstance(batch.value, Ended):
            same = known is not None and known.epoch == batch.producer_epoch
            sequence = known.sequence if known is not None and same else UNKNOWN
            epoch, of = batch.producer_epoch, batch.value.coordinator_epoch
            self.producers[id] = Producer(epoch, of, sequence, False)
            if id in self.first:
                first = self.first.pop(id)
                self.ended.append((first, batch.base))
                if batch.value.decision == "Abort":
                    self.aborted.append(Aborted(id, first, batch.base))
            return
        of = known.coordinator_epoch if known is not None else 0
        if batch.sequence != UNSET:
            sequence = entry.last + 1
        elif known is not None and known.epoch == batch.producer_epoch:
            sequence = known.sequence
        else:
            sequence = UNKNOWN
        is_open = batch.is_transactional
        self.producers[id] = Producer(batch.producer_epoch, of, sequence, is_open)
        if is_open:
            self.first.setdefault(id, batch.base)

    def stable(self, watermark: int) -> int:
        """The last stable offset, below a high watermark (X17)."""
        found = min([watermark, *self.first.values()])
        for first, end in reversed(self.ended):
            if end < watermark:
                break
            found = min(found, first)
        return found


class Producers:
    """Those of all partitions."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._world = core.world
        self.ask: Callable[[int, Transactional, int, Any, Any, Callable[[str], None]], None]
        """Asks the coordinator of a transaction (transactions.py): the broker that asks, whose it
        is, its producer id, the partition, the message, and who hears the error."""
        self._known: dict[int, Followed[Ongoing]] = {}
        self._rows: dict[tuple[int, int, int, int], PartitionLeader] = {}
        self._numbers = 0

    def ongoing(self, partition: ServedPartition, broker: int) -> Ongoing:
        known = self._known.get(partition.number)
        if known is None:
            fresh: Callable[[], Ongoing] = lambda: Ongoing({}, {}, [], [])  # noqa: E731
            known = Followed(self._world, partition, fresh, Ongoing.take, committed=False)
            self._known[partition.number] = known
        return known.state_of(broker)

    def stable(self, partition: ServedPartition, broker: int, row: BrokerRow) -> int:
        """The last stable offset, as this leader knows it."""
        watermark = self._world.offset_of(partition, row, row.high_watermark)
        return self.ongoing(partition, broker).stable(watermark)

    # --- Batches: X11, X13

    def append(
        self,
        partition: ServedPartition,
        broker: int,
        batch: Batch,
        of: Transactional,
        appends: Appends,
        told: Callable[[str, int], None],
    ) -> None:
        """Lets a batch in when its coordinator does; `told` hears the error and the base offset."""
        at = _Place(partition, broker, batch)
        row = self._row(at)
        self._numbers += 1
        count = max(row.producer.sequence, 0)
        if batch.producer_epoch != row.producer.epoch:
            count = 0
        if batch.sequence != UNSET:
            count = self._world.sequence_of(partition, partition.row(broker), batch)
        m = Produce(NODE, NODE, NODE, NODE, batch.producer_epoch, self._numbers, count)
        outcome = _HANDLERS[of.version].step(NODE, row, m)
        assert outcome is not None, "no two requests are one"
        self._keep(at, outcome.row)
        release = appends.hold()

        def settle(error: str) -> None:
            release()
            if error == "NONE":
                appends.append(partition, batch, -1, told)
            else:
                told(error, UNSET)

        waiting = next((v for v in outcome.row.verifying if v.request == m), None)
        if waiting is not None:
            self._ask(at, of, waiting, settle, AGAIN_TIMES)
        elif any(isinstance(each, Produced) for each in outcome.sent):
            settle("NONE")
        else:
            settle(outcome.ignored or RULES[of.version].batch_error(row.producer, m, False))

    def _ask(
        self,
        at: _Place,
        of: Transactional,
        waiting: Verification,
        settle: Callable[[str], None],
        times: int,
    ) -> None:
        outcome = _HANDLERS[of.version].step(NODE, self._row(at), Ask(waiting, 0))
        if outcome is None:
            # A marker has come meanwhile, and made the batch one of the past.
            settle("INVALID_PRODUCER_EPOCH")
            return
        (asked,) = outcome.sent
        assert isinstance(asked, AddPartitions | Verify), "what a leader asks"

        def heard(error: str) -> None:
            if error == "CONCURRENT_TRANSACTIONS" and of.version == 2 and times > 1:
                self._core.after(AGAIN_MS, lambda: self._ask(at, of, waiting, settle, times - 1))
            elif error == "NONE":
                settle(self._verified(at, of, waiting))
            else:
                self._forget(at, waiting)
                settle(_told(error, of))

        self.ask(at.broker, of, at.batch.producer, at.partition, asked, heard)

    def _verified(self, at: _Place, of: Transactional, waiting: Verification) -> str:
        """The coordinator lets the batch in; and this partition?"""
        handlers, rules = _HANDLERS[of.version], RULES[of.version]
        allowed = Allowed(COORDINATOR, NODE, waiting.request.epoch)
        outcome = handlers.step(NODE, self._row(at), allowed)
        assert outcome is not None, "any answer is taken"
        row = outcome.row
        found = next((v for v in row.verifying if v.request == waiting.request), None)
        if found is None:
            return "INVALID_PRODUCER_EPOCH"
        outcome = handlers.step(NODE, row, Verified(found))
        assert outcome is not None, "it has been answered"
        self._keep(at, outcome.row)
        if any(isinstance(each, Produced) for each in outcome.sent):
            return "NONE"
        return rules.batch_error(row.producer, found.request, rules.is_guarded(row.guard, found))

    def _forget(self, at: _Place, waiting: Verification) -> None:
        row = self._row(at)
        left = tuple([v for v in row.verifying if v.request != waiting.request])
        self._keep(at, replace(row, verifying=left))

    # --- Markers: X14, X23

    def mark(
        self,
        partition: ServedPartition,
        broker: int,
        producer: int,
        m: WriteTxnMarkers,
        version: int,
        told: Callable[[str], None],
    ) -> None:
        """Ends a producer's transaction here; `told` hears the error when it is replicated."""
        batch = marker(producer, m.epoch, Ended(m.decision, m.coordinator_epoch))
        at = _Place(partition, broker, batch)
        row = self._row(at)
        outcome = _HANDLERS[version].step(NODE, row, m)
        assert outcome is not None, "a marker is taken or refused"
        if not outcome.sent:
            told(RULES[version].marker_error(row.producer, m))
            return
        self._keep(at, outcome.row)
        appends = Appends(self._core, broker)
        appends.append(partition, batch, -1, lambda error, _: told(error))

    # --- Rows

    def _row(self, at: _Place) -> PartitionLeader:
        """The row, with what the log says of the producer.

        Its own log is not looked at: a marker that comes again is appended again, as in Kafka.
        """
        row = self._rows.get(at.key, INITIAL_PARTITION)
        known = self.ongoing(at.partition, at.broker).producers.get(at.batch.producer)
        return replace(row, log=(), producer=known or INITIAL_PARTITION.producer)

    def _keep(self, at: _Place, row: PartitionLeader) -> None:
        if row.guard == UNKNOWN and not row.verifying:
            self._rows.pop(at.key, None)
        else:
            self._rows[at.key] = row


def _told(error: str, of: Transactional) -> str:
    """What a client is told of what a leader was told (X11)."""
    if error == "PRODUCER_FENCED":
        return "INVALID_PRODUCER_EPOCH"
    if error == "TRANSACTION_ABORTABLE" and not of.aborts:
        return "INVALID_TXN_STATE"
    if error in _COORDINATOR or (error == "CONCURRENT_TRANSACTIONS" and of.version == 1):
        return "NOT_ENOUGH_REPLICAS"
    return error


_COORDINATOR: Final = (
    *("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"),
)
