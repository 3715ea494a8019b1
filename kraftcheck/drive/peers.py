"""Runs of a protocol as values: all rows, what was sent, and the moves that there are.

Which inputs may come is what the rule books of covered graphs say (traces/cover), for every
protocol: the network forgets nothing, so a message may come late and again. A state is immutable,
so going on from one that was met before costs nothing.

Law of this file: it makes moves and draws them, and does not know what they are good for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kraftcheck.decisions import few_answers, listening
from kraftcheck.exits import BadInput
from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.sim.choices import Stream, chance, pick
from kraftcheck.traces.cover.rulebook import RuleBook, everything

TRIES: Final = 12
"""So many inputs are drawn for a move, where one does not come."""
KEPT: Final = 16
"""So many messages that have come already may come again: the last."""
FREQUENCIES: Final = (1, 4, 12)
"""Of which a walk draws one for each kind of local input."""


class Move(NamedTuple):
    """An input of a node; of a message, that it comes."""

    node: int
    input: Any


class PeerOutcome(NamedTuple):
    """What a handler made of an input."""

    row: Any
    sent: tuple[Any, ...]
    ignored: str
    asked: tuple[tuple[str, str], ...]
    """The rules that it asked, each with the answer."""


class State(NamedTuple):
    rows: tuple[Any, ...]
    """In the order of nodes."""
    fresh: tuple[Any, ...] = ()
    """Messages that have not come yet."""
    old: tuple[Any, ...] = ()
    """Those that have, the last ones."""
    urgent: tuple[Any, ...] = ()
    """Those that come at once or never."""
    log: tuple[Any, ...] = ()
    """What nodes share."""


class Peers:
    """Everything that may happen under some constants, by the reference's handlers."""

    def __init__(self, constants: Any) -> None:
        self.constants = constants
        self.protocol: Protocol = protocol_of(constants)
        self.nodes: tuple[int, ...] = tuple(self.protocol.nodes(constants))
        self._book = RuleBook(self.protocol, constants, everything(self.protocol))
        self._answers = few_answers(self.protocol.name)
        self._asked: list[tuple[str, str]] = []
        self._handle = self.protocol.handlers(
            constants, lambda of: listening(self.protocol, of, self._heard)
        )
        self._made: dict[tuple[int, Any, Any], PeerOutcome | None] = {}
        self._inputs: dict[tuple[int, Any, Any], Mapping[str, Sequence[Any]]] = {}
        world = self.protocol.world
        self._at_once: Callable[[Any], bool] = world.at_once if world else lambda message: False
        self.steps = 0
        """So many differing steps the reference was asked for."""

    def _heard(self, rule: str, answer: str) -> None:
        self._asked.append((rule, answer if answer in self._answers[rule] else ""))

    def first(self) -> State:
        return State(
            tuple([self._kind(n).initial(self.constants) for n in self.nodes]),
            log=self._book.log,
        )

    def _kind(self, node: int) -> Any:
        return self.protocol.kind_of(self.constants, node)

    def row(self, state: State, node: int) -> Any:
        return state.rows[self.nodes.index(node)]

    def role(self, state: State, node: int) -> str:
        return str(self._kind(node).role(self.row(state, node)))

    def made(self, state: State, move: Move) -> PeerOutcome | None:
        """What the reference makes of a move; None: it is disabled."""
        row = self.row(state, move.node)
        key = move.node, row, move.input
        if key not in self._made:
            self.steps += 1
            self._asked = []
            outcome = self._handle(move.node, row, move.input)
            self._made[key] = outcome and PeerOutcome(
                outcome.row,
                tuple(outcome.sent),
                outcome.ignored,
                tuple(dict.fromkeys(self._asked)),
            )
        return self._made[key]

    def others(self, state: State, move: Move) -> list[Any]:
        """Outcomes that the reference would allow besides its own."""
        results = self._book.outcomes(move.node, self.row(state, move.node), move.input)
        return list(results)[1:]

    def after(self, state: State, move: Move, made: Any) -> State:
        """The state in which that was made of a move."""
        at = self.nodes.index(move.node)
        rows = put(state.rows, at, made.row)
        fresh, old, urgent = list(state.fresh), list(state.old), list(state.urgent)
        for waiting in (urgent, fresh, old):
            if move.input in waiting:
                waiting.remove(move.input)
                if waiting is not urgent:
                    old.append(move.input)
                break
        messages, shared = self._book.split(made.sent)
        for message in messages:
            if self._book.receiver(message) is None:
                continue
            if self._at_once(message):
                urgent.append(message)
            elif message not in fresh:
                fresh.append(message)
        return State(
            rows,
            tuple(fresh),
            tuple(old[-KEPT:]),
            tuple(urgent),
            (*state.log, *shared),
        )

    # --- Moves

    def possible(self, state: State, move: Move) -> bool:
        """Whether an input may come now; its handler may still find it disabled."""
        if isinstance(move.input, self.protocol.messages):
            # Clients may ask anything, at any time.
            there = move.input.source in self.protocol.clients or move.input in (
                *(*state.fresh, *state.old, *state.urgent),
            )
            return there and self._reaches(state, move.input)
        local = self.local(state, move.node)
        return any(move.input in inputs for inputs in local.values())

    def _reaches(self, state: State, message: Any) -> bool:
        node = self._book.receiver(message)
        return node is not None and self._kind(node).is_running(self.row(state, node))

    def local(self, state: State, node: int) -> Mapping[str, Sequence[Any]]:
        """What may come to a node that nobody of them sends, by action."""
        row = self.row(state, node)
        key = node, row, state.log
        found = self._inputs.get(key)
        if found is None:
            by_action: dict[str, dict[Any, None]] = {}
            for input in self._local(node, row, state):
                by_action.setdefault(action_name(type(input)), {})[input] = None
            found = self._inputs[key] = {name: [*inputs] for name, inputs in by_action.items()}
        return found

    def _local(self, node: int, row: Any, state: State) -> Iterator[Any]:
        nothing: frozenset[Any] = frozenset()
        for input in self._book.attempts(node, row, state.log):
            if self._book.available(input, nothing, state.log):
                yield input

    def drawn(
        self, stream: Stream, state: State, frequencies: dict[str, int], chosen: int
    ) -> tuple[Move, PeerOutcome] | None:
        """A move by chance; None: none was found. chosen: a node that moves more often."""
        for _ in range(TRIES):
            move = self._drawn(stream, state, frequencies, chosen)
            if move is not None:
                made = self.made(state, move)
                if made is not None:
                    return move, made
        return None

    def _drawn(
        self, stream: Stream, state: State, frequencies: dict[str, int], chosen: int
    ) -> Move | None:
        if state.urgent and chance(stream, 900):
            return self._delivery(state, state.urgent[0])
        if state.fresh and chance(stream, 650):
            late = chance(stream, 400)
            return self._delivery(state, pick(stream, state.fresh) if late else state.fresh[-1])
        if state.old and chance(stream, 60):
            return self._delivery(state, pick(stream, state.old))
        node = chosen if chance(stream, 400) else pick(stream, self.nodes)
        local = self.local(state, node)
        for name in local:
            if name not in frequencies:
                frequencies[name] = pick(stream, FREQUENCIES)
        if not local:
            return None
        at = stream.below(sum(frequencies[name] for name in local))
        for name, inputs in local.items():
            at -= frequencies[name]
            if at < 0:
                return Move(node, pick(stream, inputs))
        return None

    def _delivery(self, state: State, message: Any) -> Move | None:
        if not self._reaches(state, message):
            return None
        return Move(message.destination, message)


def usual(protocol: Protocol) -> Any:
    """Give constants with few nodes.

    A partition has those of most stored schedules: walks there miss what these come to.
    """
    if protocol is QUORUM:
        return Constants((1, 2, 3), 2)
    if protocol is PARTITION:
        return PartitionConstants((0, 1, 2), 2, fetch_max_records=1)
    if protocol.world is None:
        raise BadInput(f"nothing is known of the peers of a node of {protocol.name}")
    return protocol.constants(**{name: of[0] for name, of in protocol.world.constants.items()})
