"""What went wrong with a partition so far, as far as promises ask for it (promises.py).

Law of this file: it observes and never steers.

A broker *has lost* when a crash took records from its log, or made them unreadable, until it is in
the ISR again: it then holds what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kraftcheck.reference.clients.promises import Envelope
from kraftcheck.reference.partition.types import BrokerRow, ControllerRow


class Losses:
    """The losses of one partition. `row` gives a broker's row as it is now."""

    def __init__(self, brokers: Sequence[int], row: Callable[[int], BrokerRow]) -> None:
        self._brokers = brokers
        self._row = row
        self._has_lost: set[int] = set()
        self._most_lost = self._unclean_moves = self._moves = 0
        self._zombie = False
        self.cuts = 0
        """Network partitions that began."""

    def at_once_with(self, node: int) -> int:
        """How many brokers would have lost at once, if this one did."""
        return len(self._has_lost | {node})

    def has_lost(self, node: int) -> None:
        self._has_lost.add(node)
        self._most_lost = max(self._most_lost, len(self._has_lost))

    def two_leaders(self) -> None:
        """Two brokers believe that they lead."""
        self._zombie = True

    def controller_stepped(self, before: ControllerRow, after: ControllerRow) -> None:
        """Notes elections, and who is in the ISR again after a loss."""
        old, new = before.partition, after.partition
        if new.leader_epoch > old.leader_epoch and new.leader >= 0 and old.leader_epoch > 0:
            clean = new.leader in old.isr or new.leader in old.elr
            self._moves += clean
            self._unclean_moves += not clean
        if self._has_lost:
            for node in [n for n in self._has_lost if n in new.isr]:
                # The registration that it crashed under may be in the ISR still.
                known = after.registrations[self._brokers.index(node)]
                if self._row(node).broker_epoch == known.epoch and not known.fenced:
                    self._has_lost.discard(node)

    def envelope(self) -> Envelope:
        return Envelope(
            leader_moves=self._moves,
            unclean_moves=self._unclean_moves,
            lossy=self._most_lost,
            network_partitions=self.cuts,
            zombie=self._zombie,
        )
