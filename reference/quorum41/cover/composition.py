"""The composition of the quorum since 4.1: the twin of specs/quorum41/cover/Quorum41Cover.tla.

It takes Kafka's turns: a leader flushes in the step that appends, and who learnt nothing from an
answer asks again at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from reference.kit import log
from reference.kit.cover import Result
from reference.quorum.cover.composition import QuorumComposition, composition_with
from reference.quorum.messages import Append, Input
from reference.quorum.rules import QuorumRules
from reference.quorum.types import Outcome, Row
from reference.quorum41.handlers import Quorum41Handlers, outcomes
from reference.quorum41.rules import Quorum41Rules
from reference.quorum41.types import Constants, initial_row


class InTurns(Quorum41Handlers):
    """The handlers in Kafka's turns."""

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


class Quorum41Composition(QuorumComposition):
    """The rule book of the quorum since 4.1."""

    in_turns = True

    def __init__(self, constants: Constants, *about: Any) -> None:
        super().__init__(constants, *about)
        self.name = "quorum41"
        *_, rules = about
        self._turns = InTurns(constants, (rules or Quorum41Rules)(constants))

    def initial(self) -> Sequence[Row]:
        return [initial_row(self.constants) for _ in self.nodes]

    def outcomes(self, node: int, row: Row, input: Input) -> Sequence[Result]:
        found = outcomes(self._turns, node, row, input)
        return [Result(each.row, each.sent, each.ignored) for each in found]


def composition_of(
    constants: Mapping[str, str], rules: type[QuorumRules] | None = None
) -> QuorumComposition:
    """As of the quorum."""
    return composition_with(Quorum41Composition, Constants, constants, rules)
