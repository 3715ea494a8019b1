"""A cluster under a schedule: a quorum, brokers, partitions and clients, and no choice.

As in quorum.py and partition.py: whoever steers makes one of the moves that there are now.

What brokers and controllers say to each other comes once and in order, or is lost with all behind
it that waits for it; fetches and votes may come late, again, in any order or never.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kraftcheck.reference.cluster.steered import calm as cluster_calm
from kraftcheck.reference.cluster.steered.moves import ClusterMoves
from kraftcheck.reference.cluster.steered.moving import (
    directory_failures,
    reads,
    reassignments,
    shutdowns,
    topic_changes,
    unregistrations,
)
from kraftcheck.reference.partition.steered.world import DISK, FAILED, LATE, PROMPT
from kraftcheck.reference.steered.moves import Move, NodeStep, recorded_steps


class ClusterSchedule(ClusterMoves):
    """One run. `partitions` and `voters` are its parts."""

    # --- All moves

    def possible(self) -> Iterator[Move]:
        yield from (*self.between(), *self.data(), *self.data(True))
        yield from (*self.votes(), *self.votes(True), *self.drops(), *self.readings())
        yield from self.wants(*PROMPT, *LATE, *FAILED, *DISK)
        yield from (*self.flushes(), *self.timers(), *self.endings(), *self.elections())
        yield from (*reassignments(self), *topic_changes(self))
        yield from (*unregistrations(self), *shutdowns(self), *directory_failures(self))
        yield from reads(self)
        yield from self.changes()
        yield from (*self.posts(), *self.sends(), *self.breakages())
        yield from (
            *self.asks(),
            *self.probes(),
            *self.crashes(),
            *self.restarts(),
            *self.voter_crashes(),
        )
        yield from (*self.resignations(), *self.cuts(), *self.heals(), *self.slownesses())
        yield from (*self.clocks(), *self.stalls(), self.well())

    def named_rows(self) -> dict[str, Any]:
        rows = self.voters.named_rows()
        for each in self.partitions:
            own = each.named_rows()
            rows |= {f"partition {each.number}, {name}": row for name, row in own.items()}
        return rows

    def steps(self) -> Iterator[NodeStep]:
        return recorded_steps(self.recorder)

    def setting(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self.options)
        return found

    # --- Time passes

    def calm(self) -> bool:
        """The move that a cluster without faults makes next; False when there is none."""
        move = cluster_calm.next_move(self)
        if move is None:
            return False
        move.make()
        return True

    def progress(self) -> str:
        """As cluster_calm.heal."""
        return cluster_calm.heal(self)
