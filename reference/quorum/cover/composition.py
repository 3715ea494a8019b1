"""The quorum's composition: the twin of specs/quorum/cover/QuorumCover.tla."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.cover import Composition, LocalMove, Result
from kraftcheck.reference.quorum.cover.mutants import mutants
from kraftcheck.reference.quorum.handlers import HANDLERS, QuorumHandlers, action_of
from kraftcheck.reference.quorum.messages import (
    MESSAGES,
    Append,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    FetchMaxWait,
    FetchRequest,
    FetchTimeout,
    Flush,
    Input,
    Message,
    RequestTimeout,
    Resign,
    Restart,
    VoteResponse,
)
from kraftcheck.reference.quorum.quorum41 import (
    Constants as Constants41,
    FetchMaxWait as FetchMaxWait41,
    Quorum41Handlers,
    Quorum41Rules,
    initial_row as initial_row_41,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants, Outcome, Row, initial_row
from tla_utils import ToolError
from tla_utils.settings import Settings

# What a move that is no delivery spends; the others are free.
BUDGET: Final[Mapping[str, str]] = {
    "HandleFetchMaxWait": "waits",
    "HandleAppend": "records",
    "HandleElectionTimeout": "timeouts",
    "HandleFetchTimeout": "timeouts",
    "HandleBeginQuorumEpochTimeout": "retries",
    "HandleCheckQuorumTimeout": "resignations",
    "HandleResign": "resignations",
    "HandleRequestTimeout": "retries",
    "HandleCrash": "crashes",
}
BUDGETS: Final = ("records", "crashes", "timeouts", "retries", "resignations", "waits")
_ALWAYS: Final[tuple[Input, ...]] = (
    Flush(),
    ElectionTimeout(),
    FetchTimeout(),
    BeginQuorumEpochTimeout(),
    CheckQuorumTimeout(),
    Resign(),
    Restart(),
)


class QuorumComposition(Composition):
    """The rule book of the quorum, for one set of constants, moves and budgets.

    handlers, rules: those of the release.
    """

    name = "quorum"
    wait: type[FetchMaxWait] = FetchMaxWait
    """The end of a parked fetch's wait."""
    handlers: ClassVar[type[Any]] = QuorumHandlers
    rules: ClassVar[type[QuorumRules]] = QuorumRules

    def __init__(
        self,
        constants: Constants,
        moves: Iterable[str],
        budgets: Mapping[str, int],
        max_epoch: int,
        replacement: type[QuorumRules] | None = None,
    ) -> None:
        self.constants = constants
        self.nodes = constants.voters
        self.places = (("rows", constants.voters),)
        self.messages = MESSAGES
        self.moves = frozenset(moves)
        self.budgets = {name: budgets.get(name, 0) for name in BUDGETS}
        self.max_epoch = max_epoch
        self._handlers = self.handlers(constants, (replacement or self.rules)(constants))
        self._rows = {node: self.first_row() for node in self.nodes}
        self._begun: list[tuple[int, Input]] = []

    def first_row(self) -> Any:
        return initial_row(self.constants)

    def begun(self) -> Sequence[tuple[int, Input]]:
        return self._begun

    def initial(self) -> Sequence[Row]:
        return [self._rows[node] for node in self.nodes]

    def local_moves(
        self, node: int, row: Row, spent: Mapping[str, int], shared: tuple[Any, ...]
    ) -> Iterator[LocalMove]:
        for input in self.local_inputs(row, spent["records"] + 1):
            action = action_of(input)
            if action in self.moves and not (action == "HandleAppend" and row.role != "Leader"):
                yield LocalMove(action, input, BUDGET.get(action))

    def local_inputs(self, row: Row, value: int) -> Iterator[Input]:
        """Every input that is no message, whether or not the row has a use for it."""
        for m in row.parked:
            yield self.wait(m)
        yield Append(value)
        yield from _ALWAYS
        for peer in self.nodes:
            yield RequestTimeout(peer)
        for keep in range(log.end_offset(row.log) + 1):
            yield Crash(keep)

    def attempts(
        self, node: int, row: Row, incoming: Sequence[Message], shared: tuple[Any, ...]
    ) -> Iterator[Input]:
        yield from self.local_inputs(row, 1)
        yield Append(2)
        yield Crash(log.end_offset(row.log) + 1)
        yield from (self.wait(m) for m in incoming if isinstance(m, FetchRequest))

    def mutants(self, message: Message) -> Iterator[Message]:
        return mutants(message, self.nodes)

    def within(self, row: Row) -> bool:
        return row.epoch <= self.max_epoch

    def outcomes(self, node: int, row: Row, input: Input) -> Sequence[Result]:
        found = self._handlers.outcomes(node, row, input)
        return [Result(each.row, each.sent, each.ignored) for each in found]


class InTurns(Quorum41Handlers):
    """The handlers of release 4.1 in Kafka's turns."""

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
    """The rule book of release 4.1: the twin of Quorum41Cover.

    A graph begins with new voters, or after an election. It takes Kafka's turns: a leader flushes
    in the step that appends, and who learnt nothing from an answer asks again at once.
    """

    name = "quorum41"
    in_turns = True
    wait = FetchMaxWait41
    handlers = InTurns
    rules = Quorum41Rules

    def first_row(self) -> Any:
        return initial_row_41(self.constants)

    def lead(self) -> None:
        """Make the steps after which the graph begins.

        The first of two voters is elected, and the other, which has voted for it, crashes. What
        else they have sent is lost.
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


def composition_of(
    constants: Mapping[str, str], rules: type[QuorumRules] | None = None
) -> QuorumComposition:
    """The composition that a cfg describes; constants: name -> text, as the cfg gives them.

    Those of release 4.1 say whether a voter is `Led`.

    Raises ToolError for a move that no handler has, and for a constant that is missing.
    """
    cfg = Settings(constants)
    moves = cfg.members("Moves")
    for move in moves:
        if move not in HANDLERS.values():
            raise ToolError(f"the cfg names the move {move}, which no handler has")
    voters = tuple(sorted(int(voter) for voter in cfg.members("Voters")))
    records, limits = cfg.number("FetchMaxRecords"), {}
    for name in BUDGETS:
        limits[name] = cfg.number(f"Max{name.capitalize()}")
    if "Led" not in constants:
        own = Constants(voters, records)
        return QuorumComposition(own, moves, limits, cfg.number("MaxEpoch"), rules)
    since_41 = Constants41(voters, records)
    made = Quorum41Composition(since_41, moves, limits, cfg.number("MaxEpoch"), rules)
    if constants["Led"] == "TRUE":
        made.lead()
    return made
