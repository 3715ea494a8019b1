"""Known bugs of share groups' state, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.shares.sharegroup.messages import NO_START
from kraftcheck.reference.shares.sharegroup.rules import ShareGroupRules
from kraftcheck.reference.shares.sharegroup.types import ShareGroup, ShareStore


class Z450AddedPartitionBeginsAtTheEnd(ShareGroupRules):
    __slots__ = ()

    def first_start(self, row: ShareGroup) -> int:
        return NO_START


class Z451AlteredEpochStays(ShareGroupRules):
    __slots__ = ()

    def altered_epoch(self, row: ShareGroup) -> int:
        return row.epoch


class Z452EqualEpochInitializesAgain(ShareGroupRules):
    __slots__ = ()

    def initializes(self, stored: ShareStore, epoch: int) -> bool:
        return epoch >= stored.state_epoch


class Z453EpochsBeginAnew(ShareGroupRules):
    __slots__ = ()

    def first_epoch(self, row: ShareGroup) -> int:
        return 1

    def epoch_after_delete(self, stored: ShareStore) -> int:
        return 0


class Z454InitializationIsNotRetried(ShareGroupRules):
    __slots__ = ()

    def retries_initialize(self, row: ShareGroup) -> bool:
        return False


class Z455StateOutlivesItsGroup(ShareGroupRules):
    __slots__ = ()

    def deletes_state(self, row: ShareGroup) -> bool:
        return False
