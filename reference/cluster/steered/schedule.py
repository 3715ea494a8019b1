"""A cluster under a schedule: a quorum, brokers, partitions and clients, and no choice.

As in reference/quorum/steered and reference/partition/steered: one of the possible moves is made.

What brokers and controllers say to each other comes once and in order, or is lost with all behind
it that waits for it; fetches and votes may come late, again, in any order or never.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

from kraftcheck.reference.cluster.steered.moves import ClusterMoves
from kraftcheck.reference.cluster.steered.moving import (
    bereft,
    directory_failures,
    forgotten,
    reads,
    reassignments,
    shutdowns,
    topic_changes,
    unregistrations,
)
from kraftcheck.reference.partition.steered.told import (
    DISK,
    FAILED,
    LATE,
    PROMPT,
)
from kraftcheck.reference.steered.moves import Move


class ClusterSchedule(ClusterMoves):
    """One run. `partitions` and `voters` are its parts."""

    besides = 1

    # --- All moves

    def possible(self) -> Iterator[Move]:
        voters = self.voters
        yield from (*self.between(), *self.data(), *self.data(True))
        yield from (*voters.arrivals(), *voters.arrivals(again=True))
        yield from (*self.drops(), *self.readings(), *self.wants(*PROMPT, *LATE, *FAILED, *DISK))
        yield from (*voters.flushes(), *voters.expiries(), *self.endings(), *self.elections())
        yield from (*reassignments(self), *topic_changes(self), *unregistrations(self))
        yield from (*shutdowns(self), *directory_failures(self), *reads(self), *self.changes())
        yield from (*self.posts(), *self.sends(), *self.breakages(), *self.asks(), *self.probes())
        yield from (*self.crashes(), *self.restarts(), *voters.crashes(), *voters.resignations())
        yield from (*self.cuts(), *voters.cuts(), *self.heals(), *self.slownesses())
        yield from (*voters.clocks(), *voters.stalls(), voters.well())

    def named_rows(self) -> dict[str, Any]:
        rows = self.voters.named_rows()
        for each in self.partitions:
            own = each.named_rows()
            rows |= {f"partition {each.number}, {name}": row for name, row in own.items()}
        return rows

    # --- Time passes

    def to_controllers(self) -> Sequence[Move]:
        return self.between(held=False)

    def of_voters(self) -> Iterator[Move]:
        yield from self.voters.arrivals(held=False)[::-1]
        yield from self.voters.flushes()

    def expiries(self) -> Iterator[Move]:
        if not self._is_settled():
            yield from self.voters.expiries()

    def _is_settled(self) -> bool:
        """Whether somebody controls, and all that was decided is committed."""
        active = self.controllers.active()
        if active is None:
            return False
        row = self.voters.row(active)
        latest = max(other.row.epoch for other in self.voters.at.states)
        return row.epoch == latest and row.high_watermark == len(row.log)

    def endings_of(self, brokers: Set[int]) -> Iterator[Move]:
        active = self.controllers.active()
        for voter, epoch, broker in self.sessions:
            if voter == active and broker in brokers:
                yield self.ending(voter, epoch, broker)

    def recover(self) -> None:
        super().recover()
        self.voters.well().make()

    def killed(self) -> Iterator[Move]:
        yield from (*bereft(self), *forgotten(self))

    def controls(self) -> bool:
        return self.controllers.active() is not None
