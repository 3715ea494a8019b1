"""The composition of the quorum since 4.1: the twin of specs/quorum41/cover/Quorum41Cover.tla.

A graph begins with new voters, or behind an election. It takes Kafka's turns: a leader flushes in
the step that appends, and who learnt nothing from an answer asks again at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.cover import Result
from kraftcheck.reference.quorum.cover.composition import QuorumComposition, composition_with
from kraftcheck.reference.quorum.messages import (
    Append,
    Crash,
    ElectionTimeout,
    Input,
    Message,
    Restart,
    VoteResponse,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Outcome, Row
from kraftcheck.reference.quorum41.handlers import Quorum41Handlers, outcomes
from kraftcheck.reference.quorum41.messages import FetchMaxWait
from kraftcheck.reference.quorum41.rules import Quorum41Rules
from kraftcheck.reference.quorum41.types import Constants, initial_row


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
    wait = FetchMaxWait

    def __init__(self, constants: Constants, *about: Any) -> None:
        super().__init__(constants, *about)
        self.name = "quorum41"
        *_, rules = about
        self._turns = InTurns(constants, (rules or Quorum41Rules)(constants))
        self._rows = {node: initial_row(constants) for node in self.nodes}
        self._begun: list[tuple[int, Input]] = []

    def lead(self) -> None:
        """The graph begins behind these: the first of two voters is elected, and the other, which
        has voted for it, crashes. What else they have sent is lost.
        """
        one, other = self.nodes
        self._take(one, Restart())
        [asks] = self._take(one, ElectionTimeout())
        self._take(other, Restart())
        for _ in ("the pre-vote", "the vote"):
            sent = self._take(other, asks)
            [answer] = [message for message in sent if isinstance(message, VoteResponse)]
            asks, *_ = self._take(one, answer)
        self._take(other, Crash(0))

    def _take(self, node: int, input: Input) -> Sequence[Message]:
        self._begun.append((node, input))
        [made] = self.outcomes(node, self._rows[node], input)
        self._rows[node] = made.row
        return made.sent

    def begun(self) -> Sequence[tuple[int, Input]]:
        return self._begun

    def initial(self) -> Sequence[Row]:
        return [self._rows[node] for node in self.nodes]

    def outcomes(self, node: int, row: Row, input: Input) -> Sequence[Result]:
        found = outcomes(self._turns, node, row, input)
        return [Result(each.row, each.sent, each.ignored) for each in found]


def composition_of(
    constants: Mapping[str, str], rules: type[QuorumRules] | None = None
) -> Quorum41Composition:
    """As of the quorum."""
    made = composition_with(Quorum41Composition, Constants, constants, rules)
    if constants.get("Led") == "TRUE":
        made.lead()
    return made
