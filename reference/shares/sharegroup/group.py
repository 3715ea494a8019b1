"""The group coordinator's part: the twin of ShareGroupHandlers.tla.

Law of this file: every decision is asked of the rules; nothing changes its arguments. Records of
the group are committed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.shares.sharegroup.messages import (
    GROUP,
    GROUP_INPUTS,
    STORE,
    AlterOffsets,
    DeleteOffsets,
    DeleteState,
    DeleteStateResponse,
    InitializeState,
    InitializeStateResponse,
    RetryGroup,
    SubscribeTopic,
)
from kraftcheck.reference.shares.sharegroup.rules import ShareGroupRules
from kraftcheck.reference.shares.sharegroup.types import ShareGroup


class ShareGroupHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ShareGroupRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[ShareGroup, Any], Outcome | None]] = handlers_of(
            self, GROUP_INPUTS
        )

    def step(self, row: ShareGroup, input: Any) -> Outcome | None:
        """One step of the group coordinator; None: the input is disabled."""
        return self._handlers[type(input)](row, input)

    def _initializes(self, row: ShareGroup, epoch: int, start: int, altered: bool) -> Outcome:
        after = ShareGroup(epoch, "Initializing", start, row.intent + 1, altered)
        return Outcome(after, (InitializeState(GROUP, STORE, epoch, start, after.intent),))

    def _may_initialize(self, row: ShareGroup) -> bool:
        return row.intent < self.rules.constants.max_intents

    def handle_subscribe_topic(self, row: ShareGroup, input: SubscribeTopic) -> Outcome | None:
        """SH46."""
        if row.state != "None" or not self._may_initialize(row):
            return None
        epoch, start = self.rules.first_epoch(row), self.rules.first_start(row)
        return self._initializes(row, epoch, start, row.altered)

    def handle_alter_offsets(self, row: ShareGroup, input: AlterOffsets) -> Outcome | None:
        """SH48."""
        if row.state != "Initialized" or not self._may_initialize(row):
            return None
        return self._initializes(row, self.rules.altered_epoch(row), input.start, True)

    def handle_delete_offsets(self, row: ShareGroup, input: DeleteOffsets) -> Outcome | None:
        """SH49."""
        if row.state != "Initialized":
            return None
        if not self.rules.deletes_state(row):
            return Outcome(replace(row, state="None"))
        return Outcome(replace(row, state="Deleting"), (DeleteState(GROUP, STORE, row.epoch),))

    def handle_retry_group(self, row: ShareGroup, input: RetryGroup) -> Outcome | None:
        """SH32, SH46."""
        if row.state == "Initializing" and self.rules.retries_initialize(row):
            again = InitializeState(GROUP, STORE, row.epoch, row.requested, row.intent)
            return Outcome(row, (again,))
        if row.state == "Deleting":
            return Outcome(row, (DeleteState(GROUP, STORE, row.epoch),))
        return None

    def handle_initialize_state_response(
        self, row: ShareGroup, m: InitializeStateResponse
    ) -> Outcome:
        """An error is reported, and the next heartbeat begins again (SH46)."""
        if row.state != "Initializing" or m.epoch != row.epoch:
            return Outcome(row, ignored="Late")
        return Outcome(replace(row, state="Initialized" if m.error == "NONE" else "None"))

    def handle_delete_state_response(self, row: ShareGroup, m: DeleteStateResponse) -> Outcome:
        """SH49."""
        if row.state != "Deleting" or m.epoch != row.epoch:
            return Outcome(row, ignored="Late")
        return Outcome(replace(row, state="None"))
