"""Known bugs of controllers, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.controllers.rules import ControllerRules
from kraftcheck.reference.controllers.types import Controller, Deferred, MetadataLog


class Z460DeposedControllerAppends(ControllerRules):
    __slots__ = ()

    def accepts_append(self, row: MetadataLog, epoch: int) -> bool:
        return True


class Z461RequestWithoutRecordsDoesNotWait(ControllerRules):
    __slots__ = ()

    def waits_for(self, row: Controller) -> int:
        return 0


class Z462AnswersBeforeCommit(ControllerRules):
    __slots__ = ()

    def defers_records(self, row: Controller) -> bool:
        return False


class Z463AnswersOneRecordEarly(ControllerRules):
    __slots__ = ()

    def is_complete(self, deferred: Deferred, committed: int) -> bool:
        return deferred.end <= committed + 1


class Z464KeepsUncommitted(ControllerRules):
    __slots__ = ()

    def reverts_on_renounce(self, row: Controller) -> bool:
        return False


class Z465KeepsDeferred(ControllerRules):
    __slots__ = ()

    def fails_on_renounce(self, row: Controller) -> bool:
        return False
