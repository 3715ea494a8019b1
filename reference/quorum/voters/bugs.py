"""Known bugs of changes of the voters, by the numbers of bugs.toml."""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum.voters.rules import Read, VoterRules
from kraftcheck.reference.quorum.voters.types import Refusal, VoterRow, VotersAt


class Z11CountsItself(VoterRules):
    def counts_itself(self, n: int, row: VoterRow) -> bool:
        return True


class Z17DiskReplaced(VoterRules):
    def may_return_empty(self, row: VoterRow) -> bool:
        return True


class Z19TwoChangesInFlight(VoterRules):
    def change_refused(self, row: VoterRow) -> Refusal:
        return "" if self.own_epoch_committed(row) else "REQUEST_TIMED_OUT"


class Z110NotReadAgain(VoterRules):
    def history_after_truncation(self, row: VoterRow, offset: int) -> Read:
        return replace(super().history_after_truncation(row, offset), history_end=row.history_end)


def last_seen(row: VoterRow) -> VotersAt:
    """The last set whose record does not wait."""
    return [each for each in row.history if each.offset < row.flushed][-1]


class Z112SecondFromOneBase(VoterRules):
    def change_refused(self, row: VoterRow) -> Refusal:
        waits = row.change != UNDEFINED or not self.own_epoch_committed(row)
        if waits or last_seen(row).offset >= max(row.high_watermark, 0):
            return "REQUEST_TIMED_OUT"
        return ""

    def changed_voters(self, row: VoterRow, node: int) -> tuple[int, ...]:
        return tuple(sorted({*last_seen(row).voters} ^ {node}))


class Z113RemovedLeaderLeadsOn(VoterRules):
    def leaves_after_removal(self, n: int, row: VoterRow) -> bool:
        return row.change != UNDEFINED and super().leaves_after_removal(n, row)


class Z114ChangeBeforeOwnEpoch(VoterRules):
    def change_refused(self, row: VoterRow) -> Refusal:
        last = row.history[-1].offset
        if row.change != UNDEFINED or UNDEFINED != last >= row.high_watermark:
            return "REQUEST_TIMED_OUT"
        return ""


class Z115InForceWhenCommitted(VoterRules):
    def voters_of(self, row: VoterRow) -> tuple[int, ...]:
        known = max(row.high_watermark, 0)
        return [each.voters for each in row.history if each.offset < known][-1]


class Z116ObserversDoNotFlush(VoterRules):
    def flushes_as_observer(self, row: VoterRow) -> bool:
        return False


class Z117SoleVoterElsewhere(VoterRules):
    def check_quorum_binds(self, n: int, row: VoterRow) -> bool:
        return len(self.voters_of(row)) != 1


class Z123RemovedJoinsAgain(VoterRules):
    def joins_by_itself(self, n: int, row: VoterRow) -> bool:
        return self.kraft_version_of(row) == 1 and n not in self.voters_of(row)


class Z190ForgetsListeners(VoterRules):
    def moved_after(
        self, row: VoterRow, voters: tuple[int, ...], told: tuple[int, ...]
    ) -> tuple[int, ...]:
        return tuple(sorted({*told} & {*voters}))


class Z191UpgradeUnheard(VoterRules):
    def every_voter_heard(self, n: int, row: VoterRow) -> bool:
        return True


class Z192ChangesConfigured(VoterRules):
    def changes_voters(self, row: VoterRow) -> bool:
        return True


class Z201BootstrapSetNotWritten(VoterRules):
    def writes_bootstrap_set(self, row: VoterRow) -> bool:
        return False
