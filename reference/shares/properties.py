"""What a share partition promises, as named properties: the twin of ShareProperties.tla.

Law of this file: no rule is asked, or else replacing one would change the property with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.kit.properties import of_state
from kraftcheck.reference.shares.messages import (
    COORDINATOR,
    LEADER,
    NO_START,
    ReadShareGroupStateResponse,
    StoredState,
    WriteShareGroupStateResponse,
)
from kraftcheck.reference.shares.types import (
    NO_CELL,
    Cell,
    Constants,
    ShareConsumer,
    ShareCoordinator,
    ShareLeader,
)

TERMINAL: Final = ("Acknowledged", "Archived")


class State(msgspec.Struct):
    """All rows, by what they are."""

    constants: Constants
    coordinator: ShareCoordinator
    leader: ShareLeader
    members: Mapping[int, ShareConsumer]

    @property
    def is_active(self) -> bool:
        return self.leader.phase == "Active"

    @property
    def done(self) -> set[int]:
        """The offsets that were acknowledged without an error."""
        return {o for row in self.members.values() for o in row.done}


def state_of(constants: Constants, rows: Mapping[int, Any]) -> State:
    members = {n: rows[n] for n in constants.members}
    return State(constants, rows[COORDINATOR], rows[LEADER], members)


named = of_state(state_of)


# --- Words


def _in_window(row: ShareLeader, offset: int) -> bool:
    return row.gap != 0 and row.gap_end == row.end and offset >= row.gap


def _cells(row: ShareLeader) -> Iterator[tuple[int, Cell]]:
    return enumerate(row.cells, 1)


def _newest(coordinator: ShareCoordinator) -> StoredState:
    log = coordinator.log
    return log.leader[-1] if log.leader else log.committed


def _to_come(coordinator: ShareCoordinator) -> Iterator[StoredState]:
    """The newest state in the log of each replica that may lead."""
    for tail in coordinator.log.tails:
        yield tail.records[-1] if tail.records else coordinator.log.committed


def _finished(stored: StoredState, offset: int) -> bool:
    return offset < stored.start or stored.cells[offset - 1].state in TERMINAL


def _same_incarnation(old: State, new: State) -> bool:
    same = old.leader.incarnation == new.leader.incarnation
    return same and old.is_active and new.is_active


# --- Of states


def shares_type_inv(state: State) -> str | None:
    """Offsets in flight lie from start to end, and an acquired record has a holder.

    Misses: a wrong holder.
    """
    row = state.leader
    if not row.start <= row.end <= state.constants.records + 1:
        return f"the start is {row.start}, and the end {row.end}"
    for offset, cell in _cells(row):
        beyond = offset >= row.end or row.phase in ("Empty", "Initializing")
        if beyond and cell != NO_CELL:
            return f"offset {offset} is cached, and not in flight"
        if (cell.state == "Acquired") != (cell.member != NOBODY):
            return f"offset {offset} is {cell.state}, and its holder {cell.member}"
        if cell.state == "Acquired" and cell.moving:
            return f"offset {offset} is acquired and moves"
    return None


def single_acquirer(state: State) -> str | None:
    """No two members hold the same delivery of a record from one incarnation.

    Misses: two holders from two incarnations, which Kafka allows.
    """
    seen: dict[Any, int] = {}
    for n, row in state.members.items():
        for record in row.held:
            if record in seen:
                return f"members {seen[record]} and {n} hold delivery {record.count} of offset " + (
                    f"{record.offset}"
                )
            seen[record] = n
    return None


def acknowledged_never_redelivered(state: State) -> str | None:
    """A record whose acknowledgement succeeded is never delivered again.

    Misses: an acknowledgement whose response was lost.
    """
    if not state.is_active:
        return None
    done = state.done
    for offset, cell in _cells(state.leader):
        in_flight = offset >= state.leader.start and cell.state in ("Acquired", "Available")
        if offset in done and in_flight:
            return f"offset {offset} was acknowledged, and is {cell.state}"
    return None


def state_recoverable(state: State) -> str | None:
    """Every log that a next coordinator may have contains all successful acknowledgements.

    Misses: an acknowledgement whose response was lost.
    """
    for offset in sorted(state.done):
        there = offset >= state.leader.log_start
        if there and not all(_finished(each, offset) for each in _to_come(state.coordinator)):
            return f"offset {offset} was acknowledged, and a coordinator to come does not have it"
    return None


def delivery_count_bounded(state: State) -> str | None:
    """No record is delivered more often than the limit allows.

    Misses: deliveries of earlier incarnations that were not stored.
    """
    for offset, cell in _cells(state.leader):
        if cell.count > state.constants.max_delivery:
            return f"offset {offset} was delivered {cell.count} times"
    return None


def in_flight_bounded(state: State) -> str | None:
    """The offsets in flight exceed the limit by less than one batch.

    Misses: records in flight of earlier incarnations.
    """
    constants, row = state.constants, state.leader
    longest = max(constants.end_of_batch(base) - base + 1 for base in constants.bases)
    if row.end - row.start < constants.max_in_flight + longest:
        return None
    return f"{row.end - row.start} offsets are in flight"


def window_follows_start(state: State) -> str | None:
    """The window of gaps does not begin before the start offset.

    A read there would be out of range for ever if the log starts later.

    Misses: a wrong start offset.
    """
    row = state.leader
    if not state.is_active or not _in_window(row, row.end) or row.gap >= row.start:
        return None
    return f"the window begins with {row.gap}, and the start is {row.start}"


def gaps_are_fetched(state: State) -> str | None:
    """Every offset in flight that is not cached is in the window that will be fetched.

    Misses: a gap that compaction left.
    """
    row = state.leader
    for offset, cell in _cells(row):
        gap = row.start <= offset < row.end and cell.state == "None"
        if state.is_active and gap and not _in_window(row, offset):
            return f"offset {offset} is a gap, and no fetch reads it"
    return None


def acquired_has_lock(state: State) -> str | None:
    """An acquired record has a lock that can still time out.

    Misses: a timer that never fires.
    """
    for offset, cell in _cells(state.leader):
        if cell.state == "Acquired" and cell.expired:
            return f"offset {offset} is acquired, and its lock ran out"
    return None


def moving_is_pending(state: State) -> str | None:
    """A record in transition has a pending write of the current incarnation.

    Misses: a persister that stops retrying.
    """
    row = state.leader
    pending = {
        cell.offset
        for ack in row.pending
        if ack.write.incarnation == row.incarnation
        for cell in ack.write.cells
    }
    for offset, cell in _cells(row):
        if cell.moving and offset not in pending:
            return f"offset {offset} moves, and nothing is written"
    return None


def only_holder_ends(state: State) -> str | None:
    """A write that ends an acquisition comes from its holder's acknowledgement or from the end of
    the holder's session.

    Misses: lock timeouts.
    """
    row = state.leader
    for ack in row.pending:
        if ack.source == NOBODY or ack.write.incarnation != row.incarnation:
            continue
        for written in ack.write.cells:
            cell = row.cells[written.offset - 1]
            if cell.moving and cell.previous != ack.source:
                return f"member {ack.source} ends what {cell.previous} holds"
    return None


def held_is_of_its_leader(state: State) -> str | None:
    """A consumer holds only records from the leader that it knows.

    Misses: a leader that the consumer does not know yet.
    """
    for n, row in state.members.items():
        for record in row.held:
            if record.leader_epoch != row.leader_epoch:
                return f"member {n} holds offset {record.offset} of epoch {record.leader_epoch}"
    return None


def start_is_stored(state: State) -> str | None:
    """Every log that a next coordinator may have contains the start offset.

    Misses: a start offset that was resolved too late.
    """
    if state.is_active and any(each.start == NO_START for each in _to_come(state.coordinator)):
        return f"the start {state.leader.start} is not stored"
    return None


def delivered_is_there(state: State) -> str | None:
    """No record above the high watermark is delivered.

    Misses: records before the log start.
    """
    row = state.leader
    for offset, cell in _cells(row):
        if state.is_active and cell.state == "Acquired" and offset > row.high_watermark:
            return f"offset {offset} is handed out, and the high watermark is {row.high_watermark}"
    return None


# --- Of steps


def start_offset_monotonic(old: State, new: State) -> str | None:
    """The start offset of an incarnation never decreases.

    Misses: the start offset of the next incarnation.
    """
    if _same_incarnation(old, new) and new.leader.start < old.leader.start:
        return f"the start goes back from {old.leader.start} to {new.leader.start}"
    return None


def start_passes_finished(old: State, new: State) -> str | None:
    """The start offset passes only records that are done, were never there, or were deleted.

    Misses: a record that is wrongly done.
    """
    if not _same_incarnation(old, new):
        return None
    row = old.leader
    for offset in range(row.start, min(new.leader.start, row.end)):
        cell = row.cells[offset - 1]
        settles = not cell.moving or row.pending != new.leader.pending
        is_natural = cell.state == "None" and not _in_window(row, offset)
        is_done = cell.state in TERMINAL and settles
        if offset >= row.log_start and not is_natural and not is_done:
            return f"the start passes offset {offset}, which is {cell.state}"
    return None


def done_stays_done(old: State, new: State) -> str | None:
    """A lock, an acknowledgement or a new log start never makes a done record available again.

    Misses: what a new incarnation loads.
    """
    if not _same_incarnation(old, new):
        return None
    for (offset, cell), after in zip(_cells(old.leader), new.leader.cells, strict=True):
        is_done = cell.state in TERMINAL and (not cell.moving or cell.final)
        if is_done and after.state not in (*TERMINAL, "None"):
            return f"offset {offset} was {cell.state}, and is {after.state}"
    return None


def acquires_from_start(old: State, new: State) -> str | None:
    """No record before the start offset is acquired.

    Misses: a wrong start offset.
    """
    if not _same_incarnation(old, new):
        return None
    for (offset, cell), after in zip(_cells(old.leader), new.leader.cells, strict=True):
        is_new = after.state == "Acquired" and cell.state in ("None", "Available")
        if is_new and offset < old.leader.start:
            return f"offset {offset} is handed out, and the start is {old.leader.start}"
    return None


def session_releases_all(old: State, new: State) -> str | None:
    """The end of a session releases every record that the member holds.

    Misses: a session whose end releases nothing at all.
    """
    row = new.leader
    for ack in {*row.pending} - {*old.leader.pending}:
        if ack.source == NOBODY:
            members = {row.cells[each.offset - 1].previous for each in ack.write.cells}
            for offset, cell in _cells(row):
                if cell.state == "Acquired" and cell.member in members:
                    return f"the session of member {cell.member} ended, and it holds {offset}"
    return None


def stored_start_monotonic(old: State, new: State) -> str | None:
    """The committed start offset never decreases.

    Misses: an uncommitted start offset.
    """
    before, after = old.coordinator.log.committed.start, new.coordinator.log.committed.start
    return f"the stored start goes back from {before} to {after}" if after < before else None


def stale_write_refused(old: State, new: State) -> str | None:
    """After a read is appended, no write of an earlier incarnation succeeds.

    Misses: writes of the same incarnation.
    """
    newest = _newest(old.coordinator).incarnation
    for answer in {*new.coordinator.waiting} - {*old.coordinator.waiting}:
        if not isinstance(answer, WriteShareGroupStateResponse) or answer.error != "NONE":
            continue
        if answer.write.incarnation < newest:
            return f"a write of incarnation {answer.write.incarnation} is accepted after {newest}"
    return None


def read_fences(old: State, new: State) -> str | None:
    """A successful read fences all earlier incarnations.

    Misses: a coordinator that responds before the read is appended.
    """
    newest = _newest(new.coordinator).incarnation
    for answer in {*new.coordinator.waiting} - {*old.coordinator.waiting}:
        if not isinstance(answer, ReadShareGroupStateResponse) or answer.error != "NONE":
            continue
        if newest < answer.incarnation:
            return f"incarnation {answer.incarnation} reads, and the log has {newest}"
    return None


PROPERTIES: Final = (
    named("SharesTypeInv", shares_type_inv, "leader"),
    named("SingleAcquirer", single_acquirer, "members"),
    named("AcknowledgedNeverRedelivered", acknowledged_never_redelivered, "leader", "members"),
    named("StateRecoverable", state_recoverable, "coordinator", "leader", "members"),
    named("DeliveryCountBounded", delivery_count_bounded, "leader"),
    named("InFlightBounded", in_flight_bounded, "leader"),
    named("WindowFollowsStart", window_follows_start, "leader"),
    named("GapsAreFetched", gaps_are_fetched, "leader"),
    named("AcquiredHasLock", acquired_has_lock, "leader"),
    named("MovingIsPending", moving_is_pending, "leader"),
    named("OnlyHolderEnds", only_holder_ends, "leader"),
    named("HeldIsOfItsLeader", held_is_of_its_leader, "members"),
    named("StartIsStored", start_is_stored, "leader", "coordinator"),
    named("DeliveredIsThere", delivered_is_there, "leader"),
    named("StartOffsetMonotonic", start_offset_monotonic, "leader"),
    named("StartPassesFinished", start_passes_finished, "leader"),
    named("DoneStaysDone", done_stays_done, "leader"),
    named("AcquiresFromStart", acquires_from_start, "leader"),
    named("SessionReleasesAll", session_releases_all, "leader"),
    named("StoredStartMonotonic", stored_start_monotonic, "coordinator"),
    named("StaleWriteRefused", stale_write_refused, "coordinator"),
    named("ReadFences", read_fences, "coordinator"),
)
