"""The quorum's composition: the twin of specs/cover/QuorumCover.tla.

Where the spec allows several outcomes (the successors of a leader that resigns may stand in either
order when they have fetched equally far), the reference takes one. So that every edge can be
driven, `Scripted` lets the schedule choose among exactly those that Q11 allows; the reference's own
choice comes first and is one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final

from reference.core import log
from reference.core.messages import (
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
from reference.core.quorum import QuorumHandlers, action_of
from reference.core.rules import QuorumRules
from reference.core.types import Constants, Row, initial_row
from tla_utils import StepFrame, ToolError, Value
from traces.cover.composition import LocalMove, Result
from traces.cover.mutation import mutants
from traces.jobs.abstraction import Abstraction, cfg_constants

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


class QuorumComposition:
    """The rule book of the quorum, for one set of constants, moves and budgets."""

    def __init__(
        self,
        constants: Constants,
        moves: Iterable[str],
        budgets: Mapping[str, int],
        max_epoch: int,
        rules: QuorumRules | None = None,
    ) -> None:
        self.name = "quorum"
        self.constants = constants
        self.nodes = constants.voters
        self.moves = frozenset(moves)
        self.budgets = {name: budgets.get(name, 0) for name in BUDGETS}
        self.max_epoch = max_epoch
        self._handlers = Scripted(constants, rules)
        self._abstraction = Abstraction(constants)

    def initial(self) -> Sequence[Row]:
        return [initial_row(self.constants) for _ in self.nodes]

    def action_of(self, input: Input) -> str:
        return action_of(input)

    def local_moves(self, node: int, row: Row, spent: Mapping[str, int]) -> Iterator[LocalMove]:
        for input in self.local_inputs(row, spent["records"] + 1):
            action = action_of(input)
            if action in self.moves and not (action == "HandleAppend" and row.role != "Leader"):
                yield LocalMove(action, input, BUDGET.get(action))

    def local_inputs(self, row: Row, value: int) -> Iterator[Input]:
        """Every input that is no message, whether or not the row has a use for it."""
        for m in row.parked:
            yield FetchMaxWait(m)
        yield Append(value)
        yield from _ALWAYS
        for peer in self.nodes:
            yield RequestTimeout(peer)
        for keep in range(log.end_offset(row.log) + 1):
            yield Crash(keep)

    def attempts(self, row: Row, incoming: Sequence[Message]) -> Iterator[Input]:
        yield from self.local_inputs(row, 1)
        yield Append(2)
        yield Crash(log.end_offset(row.log) + 1)
        yield from (FetchMaxWait(m) for m in incoming if isinstance(m, FetchRequest))

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

    def row_value(self, row: Row) -> Value:
        return self._abstraction.row(row)

    def input_value(self, input: Input) -> Value:
        return self._abstraction.input(input)

    def sent_value(self, sent: Iterable[Message]) -> Value:
        return self._abstraction.sent(sent)

    def frame(self) -> StepFrame:
        from traces.jobs.protocols import SPECS

        libraries = [SPECS, SPECS / "steps", SPECS / "cover"]
        return StepFrame("RefuseQuorum", libraries, cfg_constants(self.constants))

    def tell(self, input: Input) -> str:
        fields = ", ".join(
            f"{name}={self.tell(value) if name == 'request' else value}"
            for name in input.__struct_fields__
            for value in [getattr(input, name)]
        )
        return f"{type(input).__name__}({fields})"


def composition_of(
    constants: Mapping[str, str], rules: type[QuorumRules] = QuorumRules
) -> QuorumComposition:
    """The composition that a cfg describes; constants: name -> text, as the cfg gives them.

    Raises ToolError for a move that no handler has, and for a constant that is missing.
    """

    def number(name: str) -> int:
        text = constants.get(name, "")
        if not text.lstrip("-").isdigit():
            raise ToolError(f"the cfg gives {name} no number")
        return int(text)

    def members(name: str) -> list[str]:
        if name not in constants:
            raise ToolError(f"the cfg does not say {name}")
        listed = constants[name].strip("{} ").split(",")
        return [member.strip().strip('"') for member in listed if member.strip()]

    voters = tuple(sorted(int(voter) for voter in members("Voters")))
    quorum = Constants(voters, number("FetchMaxRecords"))
    limits = {name: number(f"Max{name.capitalize()}") for name in BUDGETS}
    return QuorumComposition(quorum, members("Moves"), limits, number("MaxEpoch"), rules(quorum))
