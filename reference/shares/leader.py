"""The leader of the share partition: the twin of ShareHandlers.tla.

Law of this file: a handler sees the leader's row and one input, and returns the one outcome that
the spec allows, or None where the spec allows none (the input is disabled). Every decision is asked
of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import NOBODY, put
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.shares.cells import (
    acquirable,
    acquired,
    advanced,
    changed,
    completed,
    fresh,
    loaded_row,
    moved_start,
    next_fetch,
    write_of,
)
from kraftcheck.reference.shares.messages import (
    COORDINATOR,
    LEADER,
    LEADER_INPUTS,
    NO_START,
    AckError,
    AckKind,
    CellState,
    DeliveredRecord,
    GiveUpWrite,
    LockTimeout,
    MoveLeader,
    MoveLogStart,
    ProduceBatch,
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    Recreate,
    RetryPersister,
    SessionEnd,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
)
from kraftcheck.reference.shares.rules import ShareRules
from kraftcheck.reference.shares.types import Cell, PendingAck, ShareLeader


def _delivers(row: ShareLeader, offsets: Iterable[int], n: int) -> ShareFetchResponse:
    epoch = row.leader_epoch
    records = [DeliveredRecord(o, row.cells[o - 1].count, epoch, row.incarnation) for o in offsets]
    return ShareFetchResponse(LEADER, n, epoch, tuple(records))


def _answers(
    ack: ShareAcknowledge | PendingAck, error: AckError
) -> tuple[ShareAcknowledgeResponse, ...]:
    """The answer to an acknowledgement; none where a session has ended."""
    if ack.source == NOBODY:
        return ()
    told = ShareAcknowledgeResponse(LEADER, ack.source, error, ack.first, ack.last, ack.kind)
    return (told,)


def _reads(row: ShareLeader) -> ReadShareGroupState:
    return ReadShareGroupState(LEADER, COORDINATOR, row.leader_epoch, row.incarnation)


def _with_pending(row: ShareLeader, ack: PendingAck) -> ShareLeader:
    return replace(row, pending=tuple(sorted({*row.pending, ack})))


def _parted(
    row: ShareLeader, write: WriteShareGroupState
) -> tuple[tuple[PendingAck, ...], ShareLeader]:
    """The acknowledgements that wait for a write, and the row without them."""
    acks = tuple([ack for ack in row.pending if ack.write == write])
    return acks, replace(row, pending=tuple([ack for ack in row.pending if ack not in acks]))


class ShareLeaderHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ShareRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[ShareLeader, Any], Outcome | None]] = handlers_of(
            self, LEADER_INPUTS
        )

    def step(self, row: ShareLeader, input: Any) -> Outcome | None:
        """One step of the leader; None: the input is disabled."""
        return self._handlers[type(input)](row, input)

    def _fresh(self, row: ShareLeader) -> ShareLeader:
        return fresh(self.rules.constants, row)

    # --- Consumers' requests

    def handle_share_fetch(self, row: ShareLeader, m: ShareFetch) -> Outcome:
        """The first fetch loads the state (SH2).

        A read that is out of range moves the start offset (SH7).
        """
        if row.phase == "Empty":
            return Outcome(replace(row, phase="Initializing"), (_reads(row),))
        if row.phase != "Active":
            return Outcome(row, ignored="Initializing")
        next = next_fetch(row)
        if next < row.log_start:
            return Outcome(moved_start(self.rules, row), (_delivers(row, (), m.source),))
        if next > row.high_watermark:
            return Outcome(row, ignored="NoRecords")
        offsets = acquirable(self.rules, row, next)
        if not offsets:
            return Outcome(row, ignored="AtLimit")
        after = acquired(row, offsets, m.source)
        return Outcome(after, (_delivers(after, offsets, m.source),))

    def _acked_as(self, kind: AckKind, count: int) -> CellState:
        """SH17."""
        if kind == "ACCEPT":
            return "Acknowledged"
        return self.rules.released(count) if kind == "RELEASE" else "Archived"

    def handle_share_acknowledge(self, row: ShareLeader, m: ShareAcknowledge) -> Outcome:
        """SH15, SH16, SH19."""
        if row.phase != "Active":
            return Outcome(row, _answers(m, "NOT_LEADER_OR_FOLLOWER"))
        asked = range(m.first, m.last + 1)
        within = [o for o in asked if not self.rules.skips(row, o)]
        if not within:
            return Outcome(row, _answers(m, "NONE"))
        if m.last >= row.end or not all(
            self.rules.may_acknowledge(row.cells[o - 1], m.source) for o in within
        ):
            return Outcome(row, _answers(m, self.rules.refused_as(row, m)))
        states = {o: self._acked_as(m.kind, row.cells[o - 1].count) for o in within}
        after, write = self._moving(row, states, m.source, m.first, m.last, m.kind)
        at_once = () if self.rules.answer_waits(row) else _answers(m, "NONE")
        return Outcome(after, (write, *at_once))

    def _moving(
        self,
        row: ShareLeader,
        states: dict[int, CellState],
        source: int,
        first: int,
        last: int,
        kind: AckKind,
    ) -> tuple[ShareLeader, WriteShareGroupState]:
        """The row while the write of these states is under way, and that write."""

        def moving(offset: int, cell: Cell) -> Cell:
            return replace(
                cell, state=states[offset], member=NOBODY, moving=True, previous=cell.member
            )

        after = replace(row, cells=changed(row.cells, states, moving))
        write = write_of(row, states, after)
        return _with_pending(after, PendingAck(source, first, last, kind, write)), write

    def handle_lock_timeout(self, row: ShareLeader, input: LockTimeout) -> Outcome | None:
        """The timer of one offset. Nobody waits for the write (SH22)."""
        if row.phase != "Active":
            return None
        at = input.offset - 1
        cell = row.cells[at]
        if cell.moving and not cell.expired and cell.previous != NOBODY:
            return Outcome(replace(row, cells=put(row.cells, at, replace(cell, expired=True))))
        if not self.rules.lock_releases(cell) or cell.expired:
            return None
        to = "Archived" if input.offset < row.start else self.rules.released(cell.count)
        free = replace(cell, state=to, member=NOBODY)
        after = replace(row, cells=put(row.cells, at, free))
        return Outcome(after, (write_of(row, (input.offset,), after),))

    def handle_session_end(self, row: ShareLeader, input: SessionEnd) -> Outcome | None:
        """The session of a member ends: its connection is closed (SH24)."""
        if row.phase != "Active":
            return None
        released = self.rules.session_releases(row, input.member)
        if not released:
            return None
        states: dict[int, CellState] = {
            o: "Archived" if o < row.start else self.rules.released(row.cells[o - 1].count)
            for o in released
        }
        after, write = self._moving(row, states, NOBODY, 0, 0, "RELEASE")
        return Outcome(after, (write,))

    # --- The persister's answers

    def handle_read_share_group_state_response(
        self, row: ShareLeader, m: ReadShareGroupStateResponse
    ) -> Outcome:
        """SH2, SH4."""
        if row.phase != "Initializing" or m.incarnation != row.incarnation:
            return Outcome(row, ignored="Late")
        if m.error != "NONE":
            return Outcome(self._fresh(row))
        if m.start != NO_START:
            return Outcome(loaded_row(self.rules, row, m, m.start))
        start = row.high_watermark + 1
        if not self.rules.stores_resolved_start(row):
            return Outcome(loaded_row(self.rules, row, m, start))
        waits = replace(row, phase="Resolving", state_epoch=m.state_epoch, start=start, end=start)
        return Outcome(waits, (write_of(waits, (), waits),))

    def handle_write_share_group_state_response(
        self, row: ShareLeader, m: WriteShareGroupStateResponse
    ) -> Outcome:
        """SH20, SH21, SH25, SH34. The error of a lock's write changes nothing (SH22)."""
        acks, rest = _parted(row, m.write)
        ok = m.error == "NONE"
        told = _told(acks, "NONE" if ok else "NOT_LEADER_OR_FOLLOWER")
        waits = bool(acks and row.phase != "Empty") or row.phase == "Resolving"
        if not ok and waits and self.rules.fencing_removes(row, m.write):
            return Outcome(self._fresh(rest), told)
        if row.phase in ("Active", "Resolving") and m.write.incarnation == row.incarnation:
            if row.phase == "Resolving":
                after = replace(rest, phase="Active")
            else:
                after = completed(self.rules, rest, m.write, ok) if acks else rest
            return Outcome(advanced(self.rules, after) if ok else after, told)
        return Outcome(rest, told) if acks else Outcome(row, ignored="Late")

    def handle_retry_persister(self, row: ShareLeader, input: RetryPersister) -> Outcome | None:
        """An attempt had no answer, and is made again (SH32)."""
        sent: list[Any] = list(dict.fromkeys(ack.write for ack in row.pending))
        if row.phase == "Initializing":
            sent.append(_reads(row))
        elif row.phase == "Resolving":
            sent.append(write_of(row, (), row))
        return Outcome(row, tuple(sent)) if sent else None

    def handle_give_up_write(self, row: ShareLeader, input: GiveUpWrite) -> Outcome | None:
        """The persister gives up after its attempts (SH32, SH34)."""
        acks, rest = _parted(row, input.write)
        if not acks:
            return None
        if row.phase == "Active" and input.write.incarnation == row.incarnation:
            rest = completed(self.rules, rest, input.write, ok=False)
        return Outcome(rest, _told(acks, "COORDINATOR_NOT_AVAILABLE"))

    # --- The leader by itself

    def handle_move_leader(self, row: ShareLeader, input: MoveLeader) -> Outcome | None:
        if row.leader_epoch == self.rules.constants.max_leaders:
            return None
        return Outcome(replace(self._fresh(row), leader_epoch=row.leader_epoch + 1))

    def handle_recreate(self, row: ShareLeader, input: Recreate) -> Outcome | None:
        """The broker drops its share partition, and makes it anew (SH1)."""
        if row.phase == "Empty" or row.incarnation >= self.rules.constants.max_incarnations:
            return None
        return Outcome(self._fresh(row))

    def handle_produce_batch(self, row: ShareLeader, input: ProduceBatch) -> Outcome | None:
        constants = self.rules.constants
        if row.high_watermark == constants.records:
            return None
        end = constants.end_of_batch(row.high_watermark + 1)
        return Outcome(replace(row, high_watermark=end))

    def handle_move_log_start(self, row: ShareLeader, input: MoveLogStart) -> Outcome | None:
        if not row.log_start < input.to <= row.high_watermark:
            return None
        return Outcome(replace(row, log_start=input.to))


def _told(acks: Collection[PendingAck], error: AckError) -> tuple[ShareAcknowledgeResponse, ...]:
    return tuple([answer for ack in acks for answer in _answers(ack, error)])
