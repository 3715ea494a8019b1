"""Known bugs of share partitions, by the numbers of bugs.toml."""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.shares.messages import (
    CellState,
    DeliveredRecord,
    StoredCell,
    StoredState,
    WriteShareGroupState,
    WrittenCell,
)
from kraftcheck.reference.shares.rules import TERMINAL, ShareRules
from kraftcheck.reference.shares.types import Cell, ShareConsumer, ShareLeader


class Z410WindowStaysBehind(ShareRules):
    __slots__ = ()

    def moved_gap(self, row: ShareLeader, start: int) -> int:
        return row.gap


class Z411ResolvedStartIsForgotten(ShareRules):
    __slots__ = ()

    def stores_resolved_start(self, row: ShareLeader) -> bool:
        return False


class Z412StartGoesBack(ShareRules):
    __slots__ = ()

    def stored_start(self, stored: StoredState, write: WriteShareGroupState) -> int:
        return write.start or stored.start


class Z413EpochsAloneFence(ShareRules):
    __slots__ = ()

    def write_accepted(self, stored: StoredState, write: WriteShareGroupState) -> bool:
        of_epochs = write.state_epoch, write.leader_epoch
        return of_epochs[0] >= stored.state_epoch and of_epochs[1] >= stored.leader_epoch


class Z414SuccessorIsRemoved(ShareRules):
    __slots__ = ()

    def fencing_removes(self, row: ShareLeader, write: WriteShareGroupState) -> bool:
        return True


class Z415BatchBeforeTheStart(ShareRules):
    __slots__ = ()

    def acquirable_from(self, row: ShareLeader, base: int) -> int:
        return base


class Z416OldAckIsSkipped(ShareRules):
    __slots__ = ()

    def skips(self, row: ShareLeader, offset: int) -> bool:
        return offset < row.start


class Z420GapsAreNotFetched(ShareRules):
    __slots__ = ()

    def loaded_gap(self, row: ShareLeader, holes: Collection[int]) -> int:
        return 0


class Z421ExpiredIsForgotten(ShareRules):
    __slots__ = ()

    def releases_expired(self, cell: Cell) -> bool:
        return False


class Z422FinalIsRolledBack(ShareRules):
    __slots__ = ()

    def final_stays(self, cell: Cell) -> bool:
        return False


class Z423LateTimerReleases(ShareRules):
    __slots__ = ()

    def lock_releases(self, cell: Cell) -> bool:
        return cell.state in ("Acquired", "Acknowledged") and not cell.moving


class Z424RollbackIgnoresLimit(ShareRules):
    __slots__ = ()

    def rolled_back(self, count: int) -> CellState:
        return "Available"


class Z425SessionStopsAtOthers(ShareRules):
    __slots__ = ()

    def session_releases(self, row: ShareLeader, member: int) -> tuple[int, ...]:
        found = []
        for offset, cell in enumerate(row.cells, 1):
            if cell.state != "Acquired":
                continue
            if cell.moving or cell.member != member:
                break
            found.append(offset)
        return tuple(found)


class Z426StartFollowsTheLast(ShareRules):
    __slots__ = ()

    def advanced_start(self, row: ShareLeader, passed: int) -> int:
        done = [
            offset
            for offset, cell in enumerate(row.cells[: row.start - 1], 1)
            if cell.state in TERMINAL and not cell.moving and not cell.final
        ]
        return max(done) + 1 if done else passed


class Z427LimitIsIgnored(ShareRules):
    __slots__ = ()

    def may_acquire(self, row: ShareLeader, offset: int) -> bool:
        return True


class Z428ReadIsNotRecorded(ShareRules):
    __slots__ = ()

    def read_is_recorded(self, stored: StoredState, incarnation: int) -> bool:
        return False


class Z430AcksGoToTheNextLeader(ShareRules):
    __slots__ = ()

    def forgets_held(self, row: ShareConsumer, record: DeliveredRecord, leader_epoch: int) -> bool:
        return False


class Z431AnsweredAtOnce(ShareRules):
    __slots__ = ()

    def answer_waits(self, row: ShareLeader) -> bool:
        return False


class Z432AnyoneMayAcknowledge(ShareRules):
    __slots__ = ()

    def may_acknowledge(self, cell: Cell, member: int) -> bool:
        return cell.state == "Acquired" and not cell.moving


class Z433NeverArchived(ShareRules):
    __slots__ = ()

    def released(self, count: int) -> CellState:
        return "Available"


class Z434PassesMoving(ShareRules):
    __slots__ = ()

    def may_pass(self, cell: Cell) -> bool:
        return cell.state in TERMINAL


class Z435LastWriteWins(ShareRules):
    __slots__ = ()

    def wins(self, written: WrittenCell, stored: StoredCell) -> bool:
        return True
