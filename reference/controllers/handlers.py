"""The metadata log, controllers and clients: the twin of ControllerHandlers.tla.

Law of this file: every decision is asked of the rules; nothing changes its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.controllers.messages import (
    CLIENT_INPUTS,
    CLIENTS,
    CONTROLLER_INPUTS,
    LOG_INPUTS,
    METADATA_LOG,
    AdvanceHighWatermark,
    BatchCommitted,
    ControllerError,
    ControllerResponse,
    ElectVoter,
    LeaderAndEpoch,
    ScheduleAppend,
    WriteEvent,
)
from kraftcheck.reference.controllers.rules import ControllerRules
from kraftcheck.reference.controllers.types import (
    Answer,
    Clients,
    Controller,
    Deferred,
    LogRecord,
    MetadataLog,
)
from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.kit.protocol import Outcome


class MetadataLogHandlers:
    """The handlers of the log, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ControllerRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[MetadataLog, Any], Outcome | None]] = handlers_of(
            self, LOG_INPUTS
        )

    def step(self, row: MetadataLog, input: Any) -> Outcome | None:
        """One step of the log; None: the input is disabled."""
        return self._handlers[type(input)](row, input)

    def _to_all(self, of: Callable[[int], Any]) -> tuple[Any, ...]:
        return canonical(map(of, self.rules.constants.controllers))

    def handle_schedule_append(self, row: MetadataLog, m: ScheduleAppend) -> Outcome:
        if not self.rules.accepts_append(row, m.epoch):
            return Outcome(row, ignored="NotLeader")
        record = LogRecord(m.epoch, m.source, m.operation, m.end)
        return Outcome(replace(row, records=(*row.records, record)))

    def handle_elect_voter(self, row: MetadataLog, input: ElectVoter) -> Outcome | None:
        """Its log has what is committed, and perhaps more; a leader that stays has all."""
        end, all_there = input.end, len(row.records)
        if row.epoch == self.rules.constants.max_epochs or not row.committed <= end <= all_there:
            return None
        if input.voter == row.leader and end != all_there:
            return None
        epoch = row.epoch + 1
        records = (*row.records[:end], LogRecord(epoch, NOBODY, 0, end + 1))
        return Outcome(
            replace(row, epoch=epoch, leader=input.voter, records=records),
            self._to_all(lambda n: LeaderAndEpoch(METADATA_LOG, n, NOBODY, epoch, 0)),
        )

    def handle_advance_high_watermark(
        self, row: MetadataLog, input: AdvanceHighWatermark
    ) -> Outcome | None:
        """With the beginning of the epoch the leader's controller becomes active."""
        if row.committed == len(row.records):
            return None
        record, end = row.records[row.committed], row.committed + 1
        claims = record.controller == NOBODY and record.epoch == row.epoch

        def told(n: int) -> BatchCommitted | LeaderAndEpoch:
            if claims and n == row.leader:
                return LeaderAndEpoch(METADATA_LOG, n, n, row.epoch, end)
            return BatchCommitted(METADATA_LOG, n, end, record.epoch)

        return Outcome(replace(row, committed=end), self._to_all(told))


class ControllerHandlers:
    """The handlers of controllers and clients, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ControllerRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[int, Any, Any], Outcome | None]] = handlers_of(
            self, (*CONTROLLER_INPUTS, *CLIENT_INPUTS)
        )

    def step(self, n: int, row: Any, input: Any) -> Outcome | None:
        """One step of a node; None: the input is disabled."""
        return self._handlers[type(input)](n, row, input)

    def handle_write_event(self, n: int, row: Controller, input: WriteEvent) -> Outcome | None:
        """An active controller decides on its own state; the answer waits."""
        if row.asked == self.rules.constants.max_operations:
            return None
        operation, writes = row.asked + 1, input.writes
        after = replace(row, asked=operation)
        if row.epoch == 0:
            return Outcome(after, (_response(n, operation, writes, "NOT_CONTROLLER", 0, 0),))
        end = self.rules.waits_for(row)
        sent: tuple[ScheduleAppend, ...] = ()
        defers = end != 0
        if writes:
            end, defers = row.end + 1, self.rules.defers_records(row)
            after = replace(after, end=end, last=row.epoch)
            sent = (ScheduleAppend(n, METADATA_LOG, row.epoch, operation, end),)
        if defers:
            waits = Deferred(operation, writes, end)
            return Outcome(replace(after, deferred=(*row.deferred, waits)), sent)
        answer = _response(n, operation, writes, "NONE", row.epoch, after.end)
        return Outcome(after, canonical((*sent, answer)))

    def handle_batch_committed(self, n: int, row: Controller, m: BatchCommitted) -> Outcome:
        """A standby replays; the state of an active controller has it already."""
        after = replace(row, committed=m.end, committed_epoch=m.epoch)
        if row.epoch == 0:
            return Outcome(replace(after, end=m.end, last=m.epoch))
        done = [each for each in row.deferred if self.rules.is_complete(each, m.end)]
        answers = [
            _response(n, each.operation, each.writes, "NONE", row.epoch, each.end) for each in done
        ]
        return Outcome(replace(after, deferred=_without(row.deferred, done)), canonical(answers))

    def handle_leader_and_epoch(self, n: int, row: Controller, m: LeaderAndEpoch) -> Outcome:
        """Become active, or be active no more."""
        if m.leader == n:
            return Outcome(
                replace(
                    row,
                    epoch=m.epoch,
                    end=m.end,
                    last=m.epoch,
                    committed=m.end,
                    committed_epoch=m.epoch,
                )
            )
        if row.epoch == 0:
            return Outcome(row, ignored="Standby")
        failed = row.deferred if self.rules.fails_on_renounce(row) else ()
        answers = [
            _response(n, each.operation, each.writes, "NOT_CONTROLLER", 0, 0) for each in failed
        ]
        after = replace(row, epoch=0, deferred=_without(row.deferred, failed))
        if self.rules.reverts_on_renounce(row):
            after = replace(after, end=row.committed, last=row.committed_epoch)
        return Outcome(after, canonical(answers))

    def handle_controller_response(self, n: int, row: Clients, m: ControllerResponse) -> Outcome:
        answer = Answer(m.source, m.operation, m.writes, m.error, m.epoch, m.end)
        answers = tuple(sorted({*row.answers, answer}))
        return Outcome(replace(row, heard=row.heard + 1, answers=answers))


def _response(
    n: int, operation: int, writes: bool, error: ControllerError, epoch: int, end: int
) -> ControllerResponse:
    return ControllerResponse(n, CLIENTS, operation, writes, error, epoch, end)


def _without(deferred: Iterable[Deferred], done: Iterable[Deferred]) -> tuple[Deferred, ...]:
    gone = {*done}
    return tuple([each for each in deferred if each not in gone])
