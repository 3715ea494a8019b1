"""The quorum of release 4.1 in Kafka's turns: steps that Kafka takes at once are one step.

A leader flushes in the step that appends, and who learnt nothing from an answer asks again at once.
Graphs that Kafka's classes are taken through whole are of these handlers (`turns` in covers.toml);
specs/quorum/cover/Quorum41Turns.tla is their twin.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit import log
from kraftcheck.reference.quorum.messages import Append
from kraftcheck.reference.quorum.quorum41 import Quorum41Handlers
from kraftcheck.reference.quorum.types import Outcome

REPLACES: Final = {
    "BackOff": "[QuorumHandlers] Turn_BackOff",
    "BecomeLeader": "[QuorumHandlers] Turn_BecomeLeader",
    "Step_HandleAppend": "[QuorumHandlers] Turn_HandleAppend",
}
"""Operators of the specification, each with what stands in its place."""


class InTurns(Quorum41Handlers):
    """The handlers in these turns."""

    def back_off(self, row: Any, m: Any) -> Any:
        return self.answered(row, m)

    def become_leader(self, n: int, row: Any) -> Any:
        leader = super().become_leader(n, row)
        return replace(leader, flushed=log.end_offset(leader.log))

    def handle_append(self, n: int, row: Any, input: Append) -> Outcome | None:
        appended = super().handle_append(n, row, input)
        if appended is None or appended.ignored:
            return appended
        flushed = replace(appended.row, flushed=log.end_offset(appended.row.log))
        after, replies = self._telling(row, self.advance_high_watermark(n, flushed))
        return self.finish(n, row, after, *replies)
