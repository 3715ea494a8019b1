"""The quorum's composition: the twin of specs/quorum/cover/QuorumCover.tla.

Where the spec allows several outcomes (the successors of a leader that resigns may stand in either
order when they have fetched equally far), the reference takes one. So that every edge can be
driven, `Scripted` lets the schedule choose among exactly those that Q11 allows; the reference's own
choice comes first and is one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final, TypeVar

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
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants, Row, initial_row
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


class Scripted(QuorumHandlers):
    """The handlers with the one free choice that the spec leaves them made from outside."""

    choice = 0

    def successor_lists(self, n: int, row: Row) -> list[tuple[int, ...]]:
        """Q11: every order of the others by descending end offset, the reference's own first."""
        own = super().successor_list(n, row)
        offsets = [row.end_offsets[self.constants.voters.index(v)] for v in own]
        far = dict(zip(own, offsets, strict=True))
        orders = [p for p in permutations(own) if [far[v] for v in p] == offsets]
        return [own, *(order for order in orders if order != own)]

    def successor_list(self, n: int, row: Row) -> tuple[int, ...]:
        return self.successor_lists(n, row)[self.choice]


class QuorumComposition(Composition):
    """The rule book of the quorum, for one set of constants, moves and budgets. wait: the end of a
    parked fetch's wait.
    """

    wait: type[FetchMaxWait] = FetchMaxWait

    def __init__(
        self,
        constants: Constants,
        moves: Iterable[str],
        budgets: Mapping[str, int],
        max_epoch: int,
        replacement: type[QuorumRules] | None = None,
    ) -> None:
        self.name = "quorum"
        self.constants = constants
        self.nodes = constants.voters
        self.places = (("rows", constants.voters),)
        self.messages = MESSAGES
        self.moves = frozenset(moves)
        self.budgets = {name: budgets.get(name, 0) for name in BUDGETS}
        self.max_epoch = max_epoch
        self._handlers = Scripted(constants, (replacement or QuorumRules)(constants))

    def initial(self) -> Sequence[Row]:
        return [initial_row(self.constants) for _ in self.nodes]

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
        choices = 1
        if isinstance(input, Resign | CheckQuorumTimeout) and row.role == "Leader":
            choices = len(self._handlers.successor_lists(node, row))
        results = []
        for choice in range(choices):
            self._handlers.choice = choice
            outcome = self._handlers.step(node, row, input)
            if outcome is not None:
                results.append(Result(outcome.row, outcome.sent, outcome.ignored))
        self._handlers.choice = 0
        return results


C = TypeVar("C", bound=QuorumComposition)


def composition_of(
    constants: Mapping[str, str], rules: type[QuorumRules] | None = None
) -> QuorumComposition:
    """The composition that a cfg describes; constants: name -> text, as the cfg gives them.

    Raises ToolError for a move that no handler has, and for a constant that is missing.
    """
    return composition_with(QuorumComposition, Constants, constants, rules)


def composition_with(
    composition: type[C],
    of: type[Constants],
    constants: Mapping[str, str],
    rules: type[QuorumRules] | None,
) -> C:
    """A composition with constants of this type. Raises as `composition_of`."""
    cfg = Settings(constants)
    moves = cfg.members("Moves")
    for move in moves:
        if move not in HANDLERS.values():
            raise ToolError(f"the cfg names the move {move}, which no handler has")
    voters = tuple(sorted(int(voter) for voter in cfg.members("Voters")))
    quorum = of(voters, cfg.number("FetchMaxRecords"))
    limits = {name: cfg.number(f"Max{name.capitalize()}") for name in BUDGETS}
    return composition(quorum, moves, limits, cfg.number("MaxEpoch"), rules)
