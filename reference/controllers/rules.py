"""The decisions of controllers that have a name: the twin of ControllerRules.tla.

Law of this file: nothing but arguments and constants is looked at. A bug overrides a method.
"""

from __future__ import annotations

from kraftcheck.reference.controllers.types import Constants, Controller, Deferred, MetadataLog


class ControllerRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- The metadata log

    def accepts_append(self, row: MetadataLog, epoch: int) -> bool:
        """Only the leader of the epoch appends (C0; KafkaRaftClient.prepareAppend)."""
        return epoch == row.epoch

    # --- Controllers

    def waits_for(self, row: Controller) -> int:
        """Where the log has to be committed to for a request without records; 0: answer at once.

        That of the last deferred one (C0; DeferredEventQueue.highestPendingOffset).
        """
        return row.deferred[-1].end if row.deferred else 0

    def defers_records(self, row: Controller) -> bool:
        """Answer a request with records when they are committed (C0; ControllerWriteEvent.run)."""
        return True

    def is_complete(self, deferred: Deferred, committed: int) -> bool:
        """Answer a deferred request when all before its end is committed.

        C0; DeferredEventQueue.completeUpTo.
        """
        return deferred.end <= committed

    def reverts_on_renounce(self, row: Controller) -> bool:
        """Return to what is committed (C0; OffsetControlManager.deactivate)."""
        return True

    def fails_on_renounce(self, row: Controller) -> bool:
        """Fail all deferred requests (C0; DeferredEventQueue.failAll)."""
        return True
