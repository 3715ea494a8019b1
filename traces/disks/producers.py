"""What a broker remembers of the producers of a partition, replayed from the log.

(org.apache.kafka.storage.internals.log.ProducerStateManager, ProducerAppendInfo.) Batch by batch,
as a leader appends them; so a follower that applied several at once and came to something else is
found out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from kraftcheck.traces.disks.batches import Batch
from kraftcheck.traces.disks.files import Aborted, Remembered

SEQUENCES: Final = 1 << 31
"""After the last one comes 0."""
NOBODY: Final = -1
REMEMBERED: Final = 5
"""So many batches of a producer a broker knows again (ProducerStateEntry.NUM_BATCHES_TO_RETAIN)."""
DELIVERY_MS: Final = 2 * 60 * 1000
"""delivery.timeout.ms, as it is without a setting: nothing older is sent again."""


class Open(NamedTuple):
    """A transaction without a marker."""

    producer: int
    first: int
    latest: int
    """Timestamp of its last batch."""


class Forgotten(NamedTuple):
    """Batches that a running broker knows again, and a starting one does not.

    They are of a producer without transactions.
    """

    producer: int
    first: int
    """Offset of the first."""
    batches: int


class Producers:
    """The state after the batches so far. known: by producer."""

    def __init__(self) -> None:
        self.known: dict[int, Remembered] = {}
        self.open: dict[int, Open] = {}
        self._recent: dict[int, deque[tuple[int, int]]] = {}

    def append(self, batch: Batch) -> Aborted | None:
        """What the batch adds to the transaction index, if anything."""
        if batch.producer == NOBODY or batch.marker == "other":
            return None
        if batch.marker:
            return self._end(batch)
        self._data(batch)
        return None

    def _data(self, batch: Batch) -> None:
        if batch.is_transactional:
            first = self.open[batch.producer].first if batch.producer in self.open else batch.base
            self.open[batch.producer] = Open(batch.producer, first, batch.max_timestamp)
        else:
            recent = self._recent.get(batch.producer)
            if recent is None:
                recent = self._recent[batch.producer] = deque(maxlen=REMEMBERED)
            recent.append((batch.base, batch.max_timestamp))
        sequence = (batch.sequence + batch.last - batch.base) % SEQUENCES
        self.known[batch.producer] = Remembered(
            batch.producer_epoch, sequence, batch.last, self._first(batch.producer)
        )

    def _end(self, batch: Batch) -> Aborted | None:
        ended = self.open.pop(batch.producer, None)
        known = self.known.get(batch.producer)
        if known is None or known.epoch != batch.producer_epoch:
            # A marker of a new epoch: of the epoch before no batch is remembered.
            known = Remembered(batch.producer_epoch, -1, -1, -1)
        self.known[batch.producer] = known._replace(transaction=-1)
        if ended is None or batch.marker != "ABORT":
            return None
        stable = min((each.first for each in self.open.values()), default=batch.last + 1)
        return Aborted(batch.producer, ended.first, batch.last, stable)

    def _first(self, producer: int) -> int:
        found = self.open.get(producer)
        return -1 if found is None else found.first

    def forgotten(self, latest: int) -> list[Forgotten]:
        """Give what may be sent again without being recognised.

        latest: the log's last time. A snapshot knows a producer's last batch only
        (ProducerStateManager.writeSnapshot).
        """
        found = []
        for producer, recent in sorted(self._recent.items()):
            bases = [base for base, time in list(recent)[:-1] if time >= latest - DELIVERY_MS]
            if bases:
                found.append(Forgotten(producer, bases[0], len(bases)))
        return found

    def differing(self, told: dict[int, Remembered]) -> Iterator[str]:
        """What a snapshot says of producers otherwise.

        One that is not in it has expired; one that the log no longer has cannot be compared.
        """
        for producer, said in sorted(told.items()):
            replayed = self.known.get(producer)
            if replayed is not None and said != replayed:
                for name, one, other in zip(said._fields, said, replayed, strict=True):
                    if one != other:
                        yield f"producer {producer}: {name} {one}, by the log {other}"
