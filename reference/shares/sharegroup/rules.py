"""The decisions about a share group's state that have a name: the twin of ShareGroupRules.tla.

Law of this file: nothing but arguments and constants is looked at. A bug overrides a method.
"""

from __future__ import annotations

from kraftcheck.reference.shares.sharegroup.messages import NO_START, WriteState
from kraftcheck.reference.shares.sharegroup.types import Constants, ShareGroup, ShareStore


class ShareGroupRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- The group coordinator

    def first_epoch(self, row: ShareGroup) -> int:
        """Epochs grow, also over the deletion of the group (SH46, SH49)."""
        return row.epoch + 1

    def first_start(self, row: ShareGroup) -> int:
        """Begin a partition that was added to a known topic with its first record (SH46)."""
        return 1 if self.constants.added else NO_START

    def altered_epoch(self, row: ShareGroup) -> int:
        """Altered offsets have an epoch of their own, so that older writes are fenced (SH48)."""
        return row.epoch + 1

    def retries_initialize(self, row: ShareGroup) -> bool:
        """An initialization without an answer is requested again (SH46)."""
        return True

    def deletes_state(self, row: ShareGroup) -> bool:
        """The stored state is deleted with the group, whoever subscribes to its topics (SH49)."""
        return True

    # --- The share coordinator

    def initializes(self, stored: ShareStore, epoch: int) -> bool:
        """Initialize once for each epoch.

        Kafka does so again for an equal epoch (SH35).
        """
        return epoch > stored.state_epoch

    def epoch_after_delete(self, stored: ShareStore) -> int:
        """A deleted key keeps its state epoch, so that late requests are fenced (SH41)."""
        return stored.state_epoch

    def write_accepted(self, stored: ShareStore, write: WriteState) -> bool:
        """A write of an older state is refused (SH36)."""
        return write.state_epoch >= stored.state_epoch
