"""Known bugs of reassignments, by the numbers of bugs.toml."""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules
from kraftcheck.reference.partition.reassignment.types import (
    LeaderNotes,
    MovingPartition,
    TopicRow,
    Why,
)


class Z47NoFetchBeforeJoining(ReassignmentRules):
    def keeps_end_offsets(self, known: LeaderNotes, partition: MovingPartition) -> bool:
        return True


class Z130KeepsAdding(ReassignmentRules):
    def adding_after(self, partition: MovingPartition, target: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({*target} - {*partition.replicas})) or partition.adding


class Z131KeepsRemoving(ReassignmentRules):
    def removing_after(
        self, partition: MovingPartition, target: tuple[int, ...]
    ) -> tuple[int, ...]:
        return super().removing_after(partition, target) or partition.removing


class Z132EndsBelowMinIsr(ReassignmentRules):
    def keeps_min_isr(
        self, partition: MovingPartition, kept: tuple[int, ...], min_isr: int
    ) -> bool:
        return True


class Z133EligibleWithoutReplica(ReassignmentRules):
    def eligible_after(
        self,
        partition: MovingPartition,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        unclean: Collection[int],
        min_isr: int,
    ) -> tuple[int, ...]:
        everybody = self.constants.brokers
        return super().eligible_after(partition, everybody, isr, unclean, min_isr)

    def last_known_after(self, old: MovingPartition, new: MovingPartition) -> int:
        return self.last_leader(old, new)


class Z134SameEpochWithoutReplica(ReassignmentRules):
    def leader_epoch_bumped(self, old: MovingPartition, new: MovingPartition) -> bool:
        return new.leader != old.leader


class Z135CancelEmptiesIsr(ReassignmentRules):
    def cancel_refused(self, partition: MovingPartition) -> Why:
        running = partition.adding or partition.removing
        return "" if running else "NO_REASSIGNMENT_IN_PROGRESS"


class Z160TwoChangesOfOneBase(ReassignmentRules):
    def base_of_second(self, before: TopicRow, first: TopicRow) -> TopicRow:
        return before


class Z193RacksIgnored(ReassignmentRules):
    def takes_turns(
        self, active: tuple[int, ...], usable: tuple[int, ...], taken: tuple[int, ...], b: int
    ) -> bool:
        return True


class Z305ElrOutlivesMinIsr(ReassignmentRules):
    def clears_eligible(self, partition: MovingPartition) -> bool:
        return False
