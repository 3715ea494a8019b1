"""A share consumer: the twin of ShareHandlers.tla. Law of this file: as of leader.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.shares.messages import (
    CONSUMER_INPUTS,
    LEADER,
    AcknowledgeRecords,
    AcknowledgeTimeout,
    ForgetRecord,
    PollRecords,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
)
from kraftcheck.reference.shares.rules import ShareRules
from kraftcheck.reference.shares.types import AskedAck, ShareConsumer


class ShareConsumerHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: ShareRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[int, ShareConsumer, Any], Outcome | None]] = (
            handlers_of(self, CONSUMER_INPUTS)
        )

    def step(self, n: int, row: ShareConsumer, input: Any) -> Outcome | None:
        """One step of a consumer; None: the input is disabled."""
        return self._handlers[type(input)](n, row, input)

    def handle_poll_records(self, n: int, row: ShareConsumer, input: PollRecords) -> Outcome:
        return Outcome(row, (ShareFetch(n, LEADER),))

    def handle_share_fetch_response(
        self, n: int, row: ShareConsumer, m: ShareFetchResponse
    ) -> Outcome:
        """What another leader handed out is forgotten (SH56)."""
        epoch, offsets = m.leader_epoch, {each.offset for each in m.records}
        if epoch < row.leader_epoch:
            return Outcome(row, ignored="Late")
        kept = [
            each
            for each in row.held
            if each.offset not in offsets and not self.rules.forgets_held(row, each, epoch)
        ]
        held = tuple(sorted((*kept, *m.records)))
        return Outcome(replace(row, leader_epoch=epoch, held=held))

    def handle_acknowledge_records(
        self, n: int, row: ShareConsumer, input: AcknowledgeRecords
    ) -> Outcome | None:
        """The application acknowledges records that it holds (SH51)."""
        offsets = range(input.first, input.last + 1)
        if not {*offsets} <= {each.offset for each in row.held}:
            return None
        asked = AskedAck(input.first, input.last, input.kind)
        after = replace(
            row,
            held=tuple([each for each in row.held if each.offset not in offsets]),
            asked=tuple(sorted({*row.asked, asked})),
        )
        return Outcome(after, (ShareAcknowledge(n, LEADER, input.first, input.last, input.kind),))

    def handle_share_acknowledge_response(
        self, n: int, row: ShareConsumer, m: ShareAcknowledgeResponse
    ) -> Outcome:
        asked = AskedAck(m.first, m.last, m.kind)
        if asked not in row.asked:
            return Outcome(row, ignored="Late")
        done = {*row.done}
        if m.error == "NONE" and m.kind != "RELEASE":
            done |= {*range(m.first, m.last + 1)}
        rest = tuple([each for each in row.asked if each != asked])
        return Outcome(replace(row, asked=rest, done=tuple(sorted(done))))

    def handle_acknowledge_timeout(
        self, n: int, row: ShareConsumer, input: AcknowledgeTimeout
    ) -> Outcome | None:
        """No answer in time: the outcome is unknown (SH53)."""
        return Outcome(replace(row, asked=())) if row.asked else None

    def handle_forget_record(
        self, n: int, row: ShareConsumer, input: ForgetRecord
    ) -> Outcome | None:
        """The application does nothing with a record: its lock will run out."""
        rest = tuple([each for each in row.held if each.offset != input.offset])
        return Outcome(replace(row, held=rest)) if rest != row.held else None
