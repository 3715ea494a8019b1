"""The share coordinator's part: the twin of ShareGroupHandlers.tla.

Law of this file: as of group.py. The coordinator's log is in `reference/shares`: here each record
is committed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.shares.sharegroup.messages import (
    GROUP,
    LEADER,
    NO_START,
    STORE,
    STORE_INPUTS,
    DeleteState,
    DeleteStateResponse,
    InitializeState,
    InitializeStateResponse,
    ReadState,
    ReadStateResponse,
    StoreError,
    WriteState,
    WriteStateResponse,
)
from kraftcheck.reference.shares.sharegroup.rules import ShareGroupRules
from kraftcheck.reference.shares.sharegroup.types import ShareStore


class ShareStoreHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ShareGroupRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[ShareStore, Any], Outcome | None]] = handlers_of(
            self, STORE_INPUTS
        )

    def step(self, row: ShareStore, input: Any) -> Outcome | None:
        """One step of the share coordinator; None: the input is disabled."""
        return self._handlers[type(input)](row, input)

    def handle_initialize_state(self, row: ShareStore, m: InitializeState) -> Outcome:
        """SH35. A request that comes again is answered, and changes nothing."""
        after = row
        error: StoreError = "NONE"
        if self.rules.initializes(row, m.epoch):
            leader = row.leader_epoch
            after = ShareStore(True, m.start, m.epoch, leader, m.intent, 0)
        elif m.epoch < row.state_epoch or not row.known:
            error = "FENCED_STATE_EPOCH"
        return Outcome(after, (InitializeStateResponse(STORE, GROUP, error, m.epoch),))

    def handle_delete_state(self, row: ShareStore, m: DeleteState) -> Outcome:
        """SH41. A late request deletes nothing; Kafka's has no epoch, and does."""
        after = row
        if m.epoch >= row.state_epoch:
            kept = self.rules.epoch_after_delete(row)
            after = replace(row, known=False, start=NO_START, state_epoch=kept)
        return Outcome(after, (DeleteStateResponse(STORE, GROUP, m.epoch),))

    def handle_read_state(self, row: ShareStore, m: ReadState) -> Outcome:
        """SH40."""
        error: StoreError = "NONE"
        if not row.known:
            error = "INVALID_REQUEST"
        elif m.leader_epoch < row.leader_epoch:
            error = "FENCED_LEADER_EPOCH"
        answer = ReadStateResponse(
            *(STORE, LEADER, error, m.leader_epoch, row.state_epoch, row.start, row.intent)
        )
        if error != "NONE":
            return Outcome(row, (answer,))
        return Outcome(replace(row, leader_epoch=m.leader_epoch), (answer,))

    def handle_write_state(self, row: ShareStore, m: WriteState) -> Outcome:
        """SH36, SH38."""
        error: StoreError = "NONE"
        if not row.known:
            error = "INVALID_REQUEST"
        elif m.leader_epoch < row.leader_epoch:
            error = "FENCED_LEADER_EPOCH"
        elif not self.rules.write_accepted(row, m):
            error = "FENCED_STATE_EPOCH"
        after = replace(row, start=max(row.start, m.start), written=m.intent)
        answer = WriteStateResponse(STORE, LEADER, error, m)
        return Outcome(after if error == "NONE" else row, (answer,))
