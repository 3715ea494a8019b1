"""The share coordinator: the twin of ShareHandlers.tla.

Law of this file: as of leader.py. An operation works on the newest state, whether or not it is
committed, and is answered when its record is committed; without a record, when those before it are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.kit.tail_log import last_of, with_appended, with_committed, with_leader
from kraftcheck.reference.shares.messages import (
    COORDINATOR,
    COORDINATOR_INPUTS,
    LEADER,
    Answer,
    MoveShareCoordinator,
    ReadShareGroupState,
    ReadShareGroupStateResponse,
    StateCommit,
    StateError,
    StoredCell,
    StoredState,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
)
from kraftcheck.reference.shares.rules import ShareRules
from kraftcheck.reference.shares.types import NO_STORED, ShareCoordinator, initial_stored


def latest_records(stored: StoredState) -> Mapping[str, Any]:
    """What the log says of the share partition, by key: one snapshot."""
    return {"share partition": stored}


def _answers_read(
    stored: StoredState, m: ReadShareGroupState, error: StateError
) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        *(COORDINATOR, LEADER, error, m.incarnation),
        *(stored.state_epoch, stored.start, stored.cells),
    )


def _waits_or_tells(row: ShareCoordinator, answer: Answer) -> Outcome:
    """An operation without a record waits for those before it."""
    return _waits(row, answer) if row.log.leader else Outcome(row, (answer,))


def _waits(row: ShareCoordinator, answer: Answer) -> Outcome:
    waiting = sorted({*row.waiting, answer}, key=lambda each: (type(each).__name__, each))
    return Outcome(replace(row, waiting=tuple(waiting)))


class ShareCoordinatorHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ShareRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[ShareCoordinator, Any], Outcome | None]] = handlers_of(
            self, COORDINATOR_INPUTS
        )

    def step(self, row: ShareCoordinator, input: Any) -> Outcome | None:
        """One step of the coordinator; None: the input is disabled."""
        return self._handlers[type(input)](row, input)

    def _with_record(self, row: ShareCoordinator, stored: StoredState, answer: Answer) -> Outcome:
        return _waits(replace(row, log=with_appended(row.log, (stored,))), answer)

    def handle_read_share_group_state(
        self, row: ShareCoordinator, m: ReadShareGroupState
    ) -> Outcome:
        """SH40."""
        stored: StoredState = last_of(row.log)
        if m.leader_epoch < stored.leader_epoch or m.incarnation < stored.incarnation:
            first = initial_stored(self.rules.constants)
            return Outcome(row, (_answers_read(first, m, "FENCED_LEADER_EPOCH"),))
        answer = _answers_read(stored, m, "NONE")
        if not self.rules.read_is_recorded(stored, m.incarnation):
            return _waits_or_tells(row, answer)
        after = replace(stored, leader_epoch=m.leader_epoch, incarnation=m.incarnation)
        return self._with_record(row, after, answer)

    def _merged(self, stored: StoredState, m: WriteShareGroupState) -> StoredState:
        """SH38, SH39."""
        start, written = self.rules.stored_start(stored, m), {each.offset: each for each in m.cells}

        def cell(offset: int, known: StoredCell) -> StoredCell:
            new = written.get(offset)
            if offset < start:
                return NO_STORED
            if new is None or (known.state != "None" and not self.rules.wins(new, known)):
                return known
            return StoredCell(new.state, new.count)

        return replace(
            stored,
            start=start,
            state_epoch=self.rules.written_epoch(stored, m),
            cells=tuple([cell(o, known) for o, known in enumerate(stored.cells, 1)]),
        )

    def handle_write_share_group_state(
        self, row: ShareCoordinator, m: WriteShareGroupState
    ) -> Outcome:
        """SH36."""
        stored: StoredState = last_of(row.log)
        if self.rules.write_accepted(stored, m):
            answer = WriteShareGroupStateResponse(COORDINATOR, LEADER, "NONE", m)
            return self._with_record(row, self._merged(stored, m), answer)
        error: StateError = "FENCED_LEADER_EPOCH"
        if m.state_epoch < stored.state_epoch:
            error = "FENCED_STATE_EPOCH"
        return Outcome(row, (WriteShareGroupStateResponse(COORDINATOR, LEADER, error, m),))

    def handle_state_commit(self, row: ShareCoordinator, input: StateCommit) -> Outcome | None:
        if not row.log.leader:
            return None
        return Outcome(replace(row, log=with_committed(row.log), waiting=()), row.waiting)

    def handle_move_share_coordinator(
        self, row: ShareCoordinator, input: MoveShareCoordinator
    ) -> Outcome | None:
        """SH44."""
        last = self.rules.constants.max_coordinators
        if row.leader_epoch == last or input.tail not in row.log.tails:
            return None
        log = with_leader(row.log, input.tail)
        return Outcome(replace(row, leader_epoch=row.leader_epoch + 1, log=log, waiting=()))
