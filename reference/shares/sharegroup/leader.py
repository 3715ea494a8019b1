"""The share leader's part: the twin of ShareGroupHandlers.tla.

Law of this file: as of group.py. `reference/shares` has the whole leader: here the start offset is
all of its state, and records are acknowledged one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.shares.sharegroup.messages import (
    LEADER,
    LEADER_INPUTS,
    NO_START,
    STORE,
    AcknowledgeNext,
    LoadState,
    MoveStateLeader,
    ProduceRecord,
    ReadState,
    ReadStateResponse,
    RetryState,
    WriteState,
    WriteStateResponse,
)
from kraftcheck.reference.shares.sharegroup.rules import ShareGroupRules
from kraftcheck.reference.shares.sharegroup.types import StateLeader


def _fresh(row: StateLeader) -> StateLeader:
    return replace(row, phase="Empty", state_epoch=0, intent=0, start=NO_START, pending=())


class StateLeaderHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ShareGroupRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[StateLeader, Any], Outcome | None]] = handlers_of(
            self, LEADER_INPUTS
        )

    def step(self, row: StateLeader, input: Any) -> Outcome | None:
        """One step of the leader; None: the input is disabled."""
        return self._handlers[type(input)](row, input)

    def handle_load_state(self, row: StateLeader, input: LoadState) -> Outcome | None:
        """SH2."""
        if row.phase != "Empty":
            return None
        asked = ReadState(LEADER, STORE, row.leader_epoch)
        return Outcome(replace(row, phase="Initializing"), (asked,))

    def handle_read_state_response(self, row: StateLeader, m: ReadStateResponse) -> Outcome:
        """Without a stored start offset, begin after the high watermark (SH2, SH4)."""
        if row.phase != "Initializing" or m.leader_epoch != row.leader_epoch:
            return Outcome(row, ignored="Late")
        if m.error != "NONE":
            return Outcome(_fresh(row))
        start = row.high_watermark + 1 if m.start == NO_START else m.start
        return Outcome(
            replace(row, phase="Active", state_epoch=m.state_epoch, intent=m.intent, start=start)
        )

    def handle_acknowledge_next(self, row: StateLeader, input: AcknowledgeNext) -> Outcome | None:
        """SH26."""
        if row.phase != "Active" or row.pending or row.start > row.high_watermark:
            return None
        write = WriteState(
            *(LEADER, STORE, row.leader_epoch, row.state_epoch, row.start + 1, row.intent)
        )
        reached = max(row.reached, write.start)
        return Outcome(replace(row, pending=(write,), reached=reached), (write,))

    def handle_write_state_response(self, row: StateLeader, m: WriteStateResponse) -> Outcome:
        """SH20, SH34."""
        if m.write not in row.pending:
            return Outcome(row, ignored="Late")
        if m.error != "NONE":
            return Outcome(_fresh(row))
        start, intent = m.write.start, m.write.intent
        return Outcome(replace(row, pending=(), start=start, told=start, told_intent=intent))

    def handle_retry_state(self, row: StateLeader, input: RetryState) -> Outcome | None:
        """SH32."""
        if row.phase == "Initializing":
            return Outcome(row, (ReadState(LEADER, STORE, row.leader_epoch),))
        return Outcome(row, row.pending) if row.pending else None

    def handle_move_state_leader(self, row: StateLeader, input: MoveStateLeader) -> Outcome | None:
        if row.leader_epoch == self.rules.constants.max_leaders:
            return None
        return Outcome(replace(_fresh(row), leader_epoch=row.leader_epoch + 1))

    def handle_produce_record(self, row: StateLeader, input: ProduceRecord) -> Outcome | None:
        if row.high_watermark == self.rules.constants.records:
            return None
        return Outcome(replace(row, high_watermark=row.high_watermark + 1))
