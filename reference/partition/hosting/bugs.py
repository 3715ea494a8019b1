"""Known bugs of a broker that follows metadata, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.partition.hosting.rules import HostingRules
from kraftcheck.reference.partition.hosting.types import HostRow, Image, Log


class Z125LeftNotSeenInSnapshot(HostingRules):
    def has_left(self, row: HostRow, by_snapshot: bool) -> bool:
        return not by_snapshot and super().has_left(row, by_snapshot)


class Z126SnapshotClearsPending(HostingRules):
    def clears_pending(self, row: HostRow, by_snapshot: bool) -> bool:
        return by_snapshot or super().clears_pending(row, by_snapshot)


class Z127DeletedTopicLivesOn(HostingRules):
    def is_of_deleted_topic(self, row: HostRow, by_snapshot: bool) -> bool:
        return not by_snapshot and super().is_of_deleted_topic(row, by_snapshot)


class Z129AbortedIsApplied(HostingRules):
    def reads_aborted(self, row: HostRow, by_snapshot: bool) -> bool:
        followed = row.aborted != UNDEFINED and row.image.partition_epoch > row.aborted
        return followed and not by_snapshot


class Z136OldLogTakenForNew(HostingRules):
    def is_stray(self, log: Log, image: Image) -> bool:
        return not image.assigned


class Z137CreatedBesideFailed(HostingRules):
    def may_create(self, row: HostRow) -> bool:
        return True


class Z138AssignmentNotTakenBack(HostingRules):
    def takes_back_assignment(self, row: HostRow) -> bool:
        return False


class Z139OfflineNotForgotten(HostingRules):
    def forgets_offline(self, row: HostRow) -> bool:
        return False


class Z300PromotedOnceCaughtUp(HostingRules):
    def promotes_future(self, row: HostRow) -> bool:
        return row.future_assigned


class Z301FutureRecoveredShort(HostingRules):
    def recovers_future(self, row: HostRow) -> bool:
        return row.future == row.image.directory
