"""The decisions of a share partition that have a name: the twin of ShareRules.tla.

Law of this file: nothing but arguments and constants is looked at. A bug overrides a method.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kraftcheck.reference.shares.messages import (
    AckError,
    CellState,
    DeliveredRecord,
    ShareAcknowledge,
    StoredCell,
    StoredState,
    WriteShareGroupState,
    WrittenCell,
)
from kraftcheck.reference.shares.types import Cell, Constants, ShareConsumer, ShareLeader

TERMINAL: Final = ("Acknowledged", "Archived")
RANK: Final = {"None": 1, "Acquired": 1, "Available": 0, "Acknowledged": 2, "Archived": 4}
"""The numbers of stored states, by which equal counts are compared."""


class ShareRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- The share coordinator

    def write_accepted(self, stored: StoredState, write: WriteShareGroupState) -> bool:
        """Refuse a write after a later incarnation has read; Kafka compares epochs alone (SH36)."""
        return (
            write.state_epoch >= stored.state_epoch
            and write.leader_epoch >= stored.leader_epoch
            and write.incarnation >= stored.incarnation
        )

    def written_epoch(self, stored: StoredState, write: WriteShareGroupState) -> int:
        """A write raises no epoch (SH36)."""
        return stored.state_epoch

    def stored_start(self, stored: StoredState, write: WriteShareGroupState) -> int:
        """The start offset that a write leaves: it never decreases (SH38)."""
        return max(stored.start, write.start)

    def wins(self, written: WrittenCell, stored: StoredCell) -> bool:
        """Whether a written cell replaces the stored one (SH39)."""
        if written.count != stored.count:
            return written.count > stored.count
        return RANK[written.state] >= RANK[stored.state]

    def read_is_recorded(self, stored: StoredState, incarnation: int) -> bool:
        """A read of a new incarnation is a record (SH40)."""
        return incarnation > stored.incarnation

    # --- The share partition's start and end

    def stores_resolved_start(self, row: ShareLeader) -> bool:
        """A resolved start is stored before records are handed out (SH4)."""
        return True

    def loaded_gap(self, row: ShareLeader, holes: Collection[int]) -> int:
        """Where the gap window of a load begins; 0: there is none (SH6)."""
        return min(holes, default=0)

    def moved_gap(self, row: ShareLeader, start: int) -> int:
        """The log start raises the window with the start offset (SH6)."""
        return max(row.gap, start)

    def acquirable_from(self, row: ShareLeader, base: int) -> int:
        """The first offset of a fetched batch that may be acquired (SH11)."""
        return max(base, row.start)

    def may_acquire(self, row: ShareLeader, offset: int) -> bool:
        """At the limit, only offsets before the end are acquired (SH10)."""
        return row.end - row.start < self.constants.max_in_flight or offset < row.end

    def may_pass(self, cell: Cell) -> bool:
        """The start offset passes a cell that is done (SH25)."""
        return cell.state in TERMINAL and not cell.moving

    def advanced_start(self, row: ShareLeader, passed: int) -> int:
        """The start offset never decreases (SH25)."""
        return max(row.start, passed)

    # --- Acknowledgements and locks

    def may_acknowledge(self, cell: Cell, member: int) -> bool:
        """Only the holder may acknowledge (SH15)."""
        return cell.state == "Acquired" and not cell.moving and cell.member == member

    def skips(self, row: ShareLeader, offset: int) -> bool:
        """Skip records that the log no longer has.

        Kafka skips all before the start offset (SH15).
        """
        return offset < row.start and offset < row.log_start

    def refused_as(self, row: ShareLeader, m: ShareAcknowledge) -> AckError:
        """The error of an acknowledgement that is refused (SH15)."""
        return "INVALID_REQUEST" if m.last >= row.end else "INVALID_RECORD_STATE"

    def answer_waits(self, row: ShareLeader) -> bool:
        """An acknowledgement is answered after its write (SH19)."""
        return True

    def released(self, count: int) -> CellState:
        """The state of a released record (SH18)."""
        return "Archived" if count >= self.constants.max_delivery else "Available"

    def final_stays(self, cell: Cell) -> bool:
        """What the log start archived stays so when its write fails (SH20)."""
        return cell.final

    def releases_expired(self, cell: Cell) -> bool:
        """A write fails, and the lock ran out meanwhile (SH21)."""
        return cell.expired

    def rolled_back(self, count: int) -> CellState:
        """The state of that record (SH21)."""
        return "Archived" if count >= self.constants.max_delivery else "Available"

    def lock_releases(self, cell: Cell) -> bool:
        """A lock's timer looks at acquired records only (SH22)."""
        return cell.state == "Acquired" and not cell.moving

    def session_releases(self, row: ShareLeader, member: int) -> tuple[int, ...]:
        """The offsets that the end of a member's session releases (SH24)."""
        return tuple(
            [
                offset
                for offset, cell in enumerate(row.cells, 1)
                if cell.state == "Acquired" and not cell.moving and cell.member == member
            ]
        )

    def fencing_removes(self, row: ShareLeader, write: WriteShareGroupState) -> bool:
        """A fencing error removes the incarnation whose write it is (SH34)."""
        return write.incarnation == row.incarnation

    # --- Consumers

    def forgets_held(self, row: ShareConsumer, record: DeliveredRecord, leader_epoch: int) -> bool:
        """Acknowledge records only to the leader that delivered them (SH56)."""
        return record.leader_epoch < leader_epoch
