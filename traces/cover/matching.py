"""TLC's graph against the reference's: the same moves from every state, to the same states.

TLC's edges carry an action and no arguments. They are recovered so: at each state of the dump every
move that the rule book offers (a node, an input, a choice where the spec leaves one) is made with
the reference, and leads to a state. TLC writes one edge for each node, input and outcome of the
model. So, for each state, the moves' (action, target) must be TLC's (label, target) as multisets,
and then each move is paired with an edge of its own. Where two edges have the same ends and label,
which is paired with which makes no difference.

That is a comparison in both directions: an edge that no move makes is something that the model can
do and the reference cannot; a move that no edge matches is something that the reference does and
the model forbids. Either is a mismatch.

States are compared by content: a row, a message or the budgets of the reference is looked up among
the pieces of the dump by the text of its abstraction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.fields import put
from kraftcheck.traces.cover.rulebook import InputLike, RecordLike, Result, RowLike, RuleBook, tell
from kraftcheck.traces.steps.translation import Abstraction
from tla_utils import Record, ToolError, render
from tla_utils.dump import LOOK_EVERY, Dump, Split

LABEL: Final = "Move_"
"""What the disjuncts of a cover module put before the name of an action."""
ABSENT: Final = -1
"""In place of a piece or a state that the dump does not have."""

State: TypeAlias = tuple[tuple[int, ...], int, int, tuple[int, ...]]
"""Rows by piece, the network as a set of bits, the budgets by piece, the shared log by piece."""


class _Local(NamedTuple):
    """A local step by its number, and what it does to a state."""

    step: int
    row: int
    sent: int
    """ABSENT if the dump never has it."""
    appended: tuple[int, ...]


class Step(NamedTuple):
    """A distinct local step: what node, row and input make, by the choice that was taken."""

    action: str
    node: int
    before: RowLike
    input: InputLike
    choice: int
    result: Result


@dataclass
class Moves:
    """Every move from every state, by column; a move is paired with one edge of the dump.

    source, target: states.
    """

    steps: list[Step] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    """Into `steps`. spends: the budgets after it are those of `target`."""


class Mismatch(NamedTuple):
    kind: str
    """"not done" (the model's edge, no move of the reference makes it), "not allowed" (the
    reference's move, no edge of the model is it) or "differs" (while driving).
    """
    state: int
    """where."""
    action: str
    told: str
    """One line."""


class Matcher:
    """Makes every move of the rule book at every state of the dump."""

    def __init__(self, dump: Dump, book: RuleBook) -> None:
        self.dump, self.book = dump, book
        self._form = Abstraction(book.constants)
        self.moves = Moves()
        self.mismatches: list[Mismatch] = []
        self.rows: dict[int, RowLike] = {}  # piece -> the reference's row
        self.messages: list[InputLike] = []  # bit -> message
        self.records: dict[int, RecordLike] = {}  # piece -> record of the shared log
        self._bit_of_piece: dict[int, int] = {}
        self._bits: dict[InputLike, int] = {}
        self._pieces: dict[RowLike, int] = {}
        self._record_pieces: dict[RecordLike, int] = {}
        self._spent_pieces: dict[tuple[int, ...], int] = {}
        self._number: dict[State, int] = {}
        self._steps: dict[tuple[int, int, InputLike], list[_Local]] = {}
        self._deliveries: dict[int, tuple[int, str]] = {}
        self._actions = [self._action(label) for label in dump.labels]
        self.states = [self._state(number) for number in range(len(dump.states))]
        for number, state in enumerate(self.states):
            if self._number.setdefault(state, number) != number:
                raise ToolError("the dump has two states of the same content")

    def _action(self, label: str) -> str:
        action = label.removeprefix(LABEL)
        if not label.startswith(LABEL) or action not in self.book.moves:
            raise ToolError(f"the edge label {label!r} is the name of no move of the graph")
        return action

    def _state(self, number: int) -> State:
        dump, book = self.dump, self.book
        rows = self._of_nodes(dump.split_of(number, "rows"), book.nodes)
        mask = 0
        for piece in dump.split_of(number, "network").pieces:
            mask |= 1 << self._bit_of_piece.setdefault(piece, len(self._bit_of_piece))
        log = dump.split_of(number, "log").pieces if book.protocol.shared else ()
        return tuple(rows), mask, dump.split_of(number, "spent").pieces[0], log

    def _of_nodes(self, rows: Split, nodes: tuple[int, ...]) -> tuple[int, ...]:
        """Give the pieces of the rows of these nodes, in their order."""
        keys = tuple([str(node) for node in nodes])
        if rows.kind == "function":
            of = dict(zip(rows.keys, rows.pieces, strict=True))
            if of.keys() != {*keys}:
                raise ToolError(f"the rows are those of {', '.join(of)}, not of {', '.join(keys)}")
            return tuple([of[key] for key in keys])
        if len(rows.pieces) != len(keys):
            raise ToolError(f"a state has {len(rows.pieces)} rows for {len(keys)} nodes")
        return rows.pieces

    # --- The reference's values as pieces of the dump.

    def row_piece(self, row: RowLike) -> int:
        piece = self._pieces.get(row)
        if piece is None:
            text = render(self._form.row(row))
            piece = self._pieces[row] = self.dump.canonical.get(text, ABSENT)
            if piece != ABSENT:
                self.rows[piece] = row
        return piece

    def message_bit(self, message: InputLike) -> int:
        bit = self._bits.get(message)
        if bit is None:
            text = render(self._form.input(message))
            piece = self.dump.canonical.get(text, ABSENT)
            bit = self._bit_of_piece.get(piece, ABSENT)
            self._bits[message] = bit
            if bit != ABSENT:
                while len(self.messages) <= bit:
                    self.messages.append(None)
                self.messages[bit] = message
                receiver = self.book.receiver(message)
                if receiver is not None:
                    self._deliveries[bit] = (receiver, action_name(type(message)))
        return bit

    def record_piece(self, record: RecordLike) -> int:
        piece = self._record_pieces.get(record)
        if piece is None:
            text = render(self._form.input(record))
            piece = self._record_pieces[record] = self.dump.canonical.get(text, ABSENT)
            if piece != ABSENT:
                self.records[piece] = record
        return piece

    def longest_log(self) -> tuple[RecordLike, ...]:
        """A longest one of the shared logs of states that the reference reaches."""
        known = self.records
        logs = [log for _, _, _, log in self.states if all(piece in known for piece in log)]
        return tuple([known[piece] for piece in max(logs, key=len, default=())])

    def _spent_piece(self, spent: tuple[int, ...]) -> int:
        piece = self._spent_pieces.get(spent)
        if piece is None:
            record = Record(dict(zip(self.book.budgets, spent, strict=True)))
            piece = self._spent_pieces[spent] = self.dump.canonical.get(render(record), ABSENT)
        return piece

    # --- Making every move.

    def explore(self, look: Callable[[int, int], None] = lambda states, edges: None) -> None:
        """Fills `moves`, and notes every difference from the dump.

        look: called now and then with how many states were left and how many moves made; what it
        raises ends this.
        """
        first: State = (
            tuple([self.row_piece(row) for row in self.book.initial()]),
            0,
            self._spent_piece((0,) * len(self.book.budgets)),
            tuple([self.record_piece(record) for record in self.book.log]),
        )
        start = self._number.get(first, ABSENT)
        if [start] != self.dump.initial:
            raise ToolError("the reference does not begin in the model's one initial state")
        spent_of = {piece: spent for spent, piece in self._spent_pieces.items()}
        front, seen = [start], {start, ABSENT}
        for at, number in enumerate(front):
            if at % LOOK_EVERY == 0:
                look(at, len(self.moves.source))
            made = list(self._from(number, spent_of[self.states[number][2]]))
            for target, step, spent in made:
                self.moves.source.append(number)
                self.moves.target.append(target)
                self.moves.step.append(step)
                if target not in seen:
                    seen.add(target)
                    front.append(target)
                    spent_of[self.states[target][2]] = spent
        self._compare()

    def _from(
        self, number: int, spent: tuple[int, ...]
    ) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """(target, step, budgets after) for every move at a state."""
        state = self.states[number]
        rows, mask, budgets, pieces = state
        book = self.book
        log = tuple([self.records[piece] for piece in pieces])
        left = mask
        while left:
            bit = (left & -left).bit_length() - 1
            left &= left - 1
            delivery = self._deliveries.get(bit)
            if delivery is not None and delivery[1] in book.moves:
                at = book.nodes.index(delivery[0])
                for step in self._step(at, rows[at], delivery[1], self.messages[bit]):
                    yield self._to(state, at, step, budgets), step.step, spent
        used = dict(zip(book.budgets, spent, strict=True))
        for at, node in enumerate(book.nodes):
            for move in book.local_moves(node, self.rows[rows[at]], log):
                after, piece = spent, budgets
                if move.budget is not None:
                    if used[move.budget] >= book.budgets[move.budget]:
                        continue
                    after = tuple([n + (name == move.budget) for name, n in used.items()])
                    piece = self._spent_piece(after)
                for step in self._step(at, rows[at], move.action, move.input):
                    yield self._to(state, at, step, piece), step.step, after

    def _to(self, state: State, at: int, step: _Local, spent: int) -> int:
        rows, mask, _, log = state
        if step.sent < 0:
            return ABSENT
        after = put(rows, at, step.row)
        return self._number.get((after, mask | step.sent, spent, log + step.appended), ABSENT)

    def _step(self, at: int, row: int, action: str, input: InputLike) -> list[_Local]:
        """One local step for each outcome."""
        key = (at, row, input)
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = []
            node, before = self.book.nodes[at], self.rows[row]
            for choice, result in enumerate(self.book.outcomes(node, before, input)):
                if not self.book.within(node, result.row):
                    continue
                sent = 0
                messages, records = self.book.split(result.sent)
                for message in messages:
                    bit = self.message_bit(message)
                    sent = ABSENT if bit == ABSENT or sent == ABSENT else sent | 1 << bit
                appended = tuple([self.record_piece(record) for record in records])
                number = len(self.moves.steps)
                known.append(_Local(number, self.row_piece(result.row), sent, appended))
                self.moves.steps.append(Step(action, node, before, input, choice, result))
        return known

    # --- Comparing.

    def _compare(self) -> None:
        """Pairs moves and edges state by state; what stays single is a mismatch."""
        dump, moves = self.dump, self.moves
        offered: Counter[tuple[int, str, int]] = Counter(
            zip(
                moves.source,
                [moves.steps[step].action for step in moves.step],
                moves.target,
                strict=True,
            )
        )
        wanted: Counter[tuple[int, str, int]] = Counter(
            zip(
                dump.source,
                [self._actions[label] for label in dump.label],
                dump.target,
                strict=True,
            )
        )
        if offered == wanted:
            return
        surplus = offered - wanted
        for source, target, step in zip(moves.source, moves.target, moves.step, strict=True):
            key = (source, moves.steps[step].action, target)
            if surplus[key] > 0:
                surplus[key] -= 1
                told = f"no edge of the model is {self._told(moves.steps[step])}"
                self.mismatches.append(Mismatch("not allowed", source, key[1], told))
        reached = {*moves.source, *moves.target}
        never: Counter[str] = Counter()
        for (source, action, target), count in sorted((wanted - offered).items()):
            if source in reached:
                told = f"no move makes {count} edges of the model to state {target}"
                self.mismatches.append(Mismatch("not done", source, action, told))
            else:
                never[action] += count
        for action, count in sorted(never.items()):
            told = f"{count} edges of the model leave states that the reference never reaches"
            self.mismatches.append(Mismatch("not done", ABSENT, action, told))

    def _told(self, step: Step) -> str:
        row = step.result.row
        changed = ", ".join(
            f"{name} {getattr(step.before, name)!r} -> {getattr(row, name)!r}"
            for name in row.__struct_fields__
            if getattr(step.before, name) != getattr(row, name)
        )
        sent = ", ".join(tell(m) for m in step.result.sent)
        input: Any = tell(step.input)
        return f"node {step.node}, {input}: {changed or 'no change'}; sent {sent or 'nothing'}"
