"""One system for every protocol: its configurations, its moves, and what each move does.

A `System` is a labelled transition system with three operations:

    initial()        the first configuration
    moves(at)        every move that is possible in a configuration, in a fixed order
    apply(at, move)  the effect of a move; None if its input is disabled

It is generated from the declaration of a protocol (`Protocol` with its `World`, in
reference/kit/protocol.py), and contains no protocol. A *driver* only chooses the next move:

    chance    reference/drivers/chance.py: moves are drawn; campaigns
    clock     reference/drivers/clock.py: deadlines in virtual time, faults, then a healed end
    script    reference/drivers/script.py: moves in words, from a file or from Hypothesis
    search    traces/counterexamples: the moves between the states that TLC shows

docs/architecture.md lists the runs that do not use a `System` yet.

A new driver needs only these three operations, and no class of its own for rows or messages.
Breadth-first search, as an example:

    waiting = deque([system.initial()])
    while waiting:
        at = waiting.popleft()
        for move in system.moves(at):
            effect = system.apply(at, move)
            if effect is not None and effect.after not in seen:
                seen.add(effect.after)
                waiting.append(effect.after)

**A configuration** is a value: immutable, hashable, equal by content (rows and messages are
interned, so equality is identity of the parts). It has the state of each node, and the messages:

    mail     messages in flight, the oldest first
    held     messages in flight that nobody awaits any more (only in a system that is `late`)
    urgent   messages that are received now or lost, the next one first; while there are any, the
             only moves are that the first is received (`hear`) or lost (`lose`)
    log      the records of the log that nodes share, if the protocol has one (`Protocol.shared`).
             Written records are committed at once; each node reads in order, the next batch or
             everything that it has not read (`World.has_read`)

**A move** is one input for one node, and how it comes:

    take     an input of the node's own (a timer, a client, a crash), from `World.local`
    deliver  a message in flight arrives
    again    a message in flight arrives and stays in flight, so that it may arrive once more
    late     a held message arrives; `late again`: it stays held
    hear     the first urgent message is heard
    lose     a message in flight is dropped, or an urgent one is not heard

Messages that `World.in_order` names arrive once and in the order of their sending, per sender,
receiver and connection, and no move loses them; all others may arrive in any order. A message is
lost on arrival if its receiver is not running, or if no node awaits it (`World.awaited`).

**Steps are looked up.** A node's step depends only on its row and the input, so each step is
computed once (reference/sim/memo.py). `apply` has three parts: `step`, `arrive` and `after`.
Drivers that choose which sent messages are lost call the parts one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.bugs.catalog import handlers_for, replayable_in
from kraftcheck.reference.kit.protocol import Outcome, Protocol, World
from kraftcheck.reference.protocols import protocol_of, raised
from kraftcheck.reference.sim.interning import KnownInput, KnownRow
from kraftcheck.reference.sim.memo import Machine, Memo, Sent, State, Step

Message: TypeAlias = tuple[int, KnownInput]
"""The receiver, and what it receives."""
Kind: TypeAlias = Literal["take", "deliver", "again", "late", "late again", "hear", "lose"]
HOW: Final[dict[Kind, str]] = {
    **dict.fromkeys(("take", "deliver", "hear"), ""),
    **{"again": ", which comes again", "late": " late"},
    **{"late again": " late, which comes again", "lose": ", which is lost"},
}
"""The end of a move's words, by kind."""
FIRST: Final = -1
"""A value of `Move.place`: the first message that is equal to the input."""


class Move(NamedTuple):
    """An input for a node, and how it comes."""

    kind: Kind
    node: int
    input: KnownInput
    place: int = FIRST
    """Index in the mail, or among the held messages, to distinguish equal messages."""


class Configuration(NamedTuple):
    """The state of the whole system at one moment."""

    states: tuple[State, ...]
    """In the order of `System.nodes`."""
    mail: tuple[Message, ...] = ()
    held: tuple[Message, ...] = ()
    urgent: tuple[Message, ...] = ()
    log: tuple[Any, ...] = ()


class Effect(NamedTuple):
    """What a move does."""

    after: Configuration
    step: Step | None
    """None, if the message was lost on arrival."""


def world_of(protocol: Protocol) -> World:
    assert protocol.world is not None, "asked of protocols that declare one"
    return protocol.world


class NodeMachine(Machine):
    """The nodes of a protocol under one set of constants: the part of a system that is local."""

    def __init__(self, memo: Memo[Any], constants: Any) -> None:
        self.protocol = protocol_of(constants)
        self.nodes = self.protocol.nodes(constants)
        super().__init__(memo, constants, (*self.nodes, *self.protocol.earlier))
        self.handle = handlers_for(memo.bug, constants)

    def first_row(self, node: int) -> Any:
        return self.protocol.kind_of(self.constants, node).initial(self.constants)

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        try:
            made = self.handle(node, row, input)
            if made is None or type(made) is Outcome:
                return made
            return Outcome(made.row, made.sent, made.ignored)
        except Exception as error:  # What others wrote may raise anything.
            raise raised(self.protocol, f"handling {type(input).__name__}", error) from error

    def new_state(self, node: int, known: KnownRow) -> State:
        row = known.row
        running = self.protocol.kind_of(self.constants, node).is_running(row)
        return State(self, node, known, row, running, (), {})

    def new_step(
        self, before: State, input: KnownInput, after: State, sent: Sent, outcome: Any
    ) -> Step:
        return Step(
            before=before,
            input=input,
            after=after,
            sent=sent,
            ignored=outcome.ignored,
            inert=after is before,
            notable=-1,
            travelling=tuple([each for each in sent if each[0] in self.nodes]),
        )


class NodeMemo(Memo[NodeMachine]):
    """All known steps of a protocol's nodes.

    Raises UnknownBug: the protocol never uses what this bug replaces.
    """

    def __init__(self, protocol: Protocol, bug: str | None, enabled: bool = True) -> None:
        super().__init__(bug, enabled)
        self.protocol = protocol
        if bug is not None:
            replayable_in(bug, protocol)

    def new_machine(self, constants: Any) -> NodeMachine:
        return NodeMachine(self, constants)


class System:
    """A protocol under one set of constants and rules, as a transition system (see above).

    Args:
        machine: the nodes.
        late: whether a message that nobody awaits may arrive all the same. Then lost and doubled
            messages are held, and arrive late.
        joined: types of local inputs that only another component of a composition causes (`Join`);
            the node does not take them by itself.
    """

    def __init__(
        self, machine: NodeMachine, late: bool = False, joined: Collection[type[Any]] = ()
    ) -> None:
        self.machine, self.late, self._joined = machine, late, joined
        self.protocol, self.world = machine.protocol, world_of(machine.protocol)
        self.constants, self.nodes = machine.constants, machine.nodes
        self.in_order, self._shared = self.world.in_order, self.protocol.shared
        self._awaited = None if late else self.world.awaited
        self._place = {node: place for place, node in enumerate(self.nodes)}

    # --- The three operations

    def initial(self) -> Configuration:
        return Configuration(tuple([self.machine.first_state(node) for node in self.nodes]))

    def moves(self, at: Configuration) -> Iterator[Move]:
        """Every move whose input is not disabled."""
        if at.urgent:
            yield Move("hear", *at.urgent[0])
            yield Move("lose", *at.urgent[0])
            return
        for move in self.arrivals(at):
            yield move
            if move.kind == "again":
                yield Move("lose", move.node, move.input)
        for node, input in self.own(at, self.rows(at)):
            if self.step(at, node, input) is not None:
                yield Move("take", node, input)

    def apply(self, at: Configuration, move: Move) -> Effect | None:
        """The effect of a move; None if it is a node's own input that is disabled."""
        step = None
        if move.kind != "lose" and self.reaches(at, move):
            step = self.step(at, move.node, move.input)
        if step is None:
            return None if move.kind == "take" else Effect(self.arrive(at, move), None)
        return Effect(self.after(self.arrive(at, move), step), step)

    def words(self, move: Move) -> str:
        """Write a move in words.

        Different moves of a configuration have different words.
        """
        fields = msgspec.structs.asdict(move.input.value)
        ends = f"{move.node} "
        if "destination" in fields:
            ends = f"{fields.pop('source')} -> {fields.pop('destination')} "
        told = " ".join(f"{name}={_in_words(each)}" for name, each in fields.items())
        return f"{ends}{move.input.kind} {told}".rstrip() + HOW[move.kind]

    # --- What there is

    def arrivals(self, at: Configuration) -> Iterator[Move]:
        """The moves by which messages arrive."""
        for node, message in dict.fromkeys(self.deliverable(at)):
            yield Move("deliver", node, message)
            if not self.in_order(message.value):
                yield Move("again", node, message)
        for node, message in dict.fromkeys(at.held):
            yield Move("late", node, message)
            yield Move("late again", node, message)

    def state(self, at: Configuration, node: int) -> State:
        return at.states[self._place[node]]

    def local(self, state: State) -> tuple[Any, ...]:
        """The inputs of a node's own, in this state."""
        local = state.local
        if local is None:
            there = self.world.local(self.constants, state.node, state.row)
            local = state.local = tuple(there)
        return local

    def rows(self, at: Configuration) -> dict[int, Any]:
        return {state.node: state.row for state in at.states}

    def own(
        self, at: Configuration, rows: Mapping[int, Any], quiet: Sequence[str] = ()
    ) -> list[Message]:
        """Return the possible local inputs of nodes. quiet: kinds of nodes that take none."""
        kind_of = self.protocol.kind_of
        return [
            (state.node, self.machine.interner.input(input))
            for state in at.states
            if not quiet or kind_of(self.constants, state.node).name not in quiet
            for input in (*self.readings(at, state), *self.local(state))
            if self.comes(rows, state.node, input)
        ]

    def readings(self, at: Configuration, state: State) -> Iterator[Any]:
        """Yield the inputs by which a running node reads the shared log.

        It may read everything that it has not read, or the next batch.
        """
        if self._shared is None or not state.running:
            return
        offset = self.world.has_read(state.row)
        if offset is not None and (unread := at.log[offset - self._shared.first :]):
            yield self._shared.read(offset, unread)
            if len(unread) > 1:
                yield self._shared.read(offset, unread[:1])

    def deliverable(self, at: Configuration) -> list[Message]:
        """The messages in flight that may arrive next."""
        return [
            message
            for place, message in enumerate(at.mail)
            if not self.in_order(message[1].value) or self.first_of_channel(at.mail, place) == place
        ]

    def first_of_channel(self, among: Sequence[Message], place: int) -> int:
        """Return the place of the next message of the same channel."""
        node, known = among[place]
        channel = known.value.source, node, self.in_order(known.value)
        return next(
            at
            for at, (to, each) in enumerate(among)
            if (each.value.source, to, self.in_order(each.value)) == channel
        )

    def comes(self, rows: Mapping[int, Any], node: int, input: Any) -> bool:
        """Return whether an input is possible: not left to a join, and its effect is awaited."""
        if self._joined and type(input) in self._joined:
            return False
        return self._awaited is None or self._awaited(self.constants, rows, node, input)

    def at_once(self, message: Any) -> bool:
        """Return whether a message is received in the step that sends it, or lost."""
        return self.world.at_once(message) and not self.in_order(message)

    # --- The parts of a move

    def reaches(self, at: Configuration, move: Move) -> bool:
        """Whether a message arrives at a node that is running, and somebody awaits it."""
        if move.kind == "take":
            return True
        if not self.state(at, move.node).running:
            return False
        return move.kind == "hear" or self.comes(self.rows(at), move.node, move.input.value)

    def step(self, at: Configuration, node: int, input: KnownInput) -> Step | None:
        """The step that a node takes; None: the input is disabled."""
        state = at.states[self._place[node]]
        try:
            return state.steps[input]
        except KeyError:
            return self.machine.step(state, input)

    def arrive(self, at: Configuration, move: Move) -> Configuration:
        """The configuration without the message that has arrived or was lost."""
        states, mail, held, urgent, log = at
        kind, place = move.kind, move.place
        message = move.node, move.input
        if kind in ("take", "late again") or (kind == "again" and not self.late):
            return at
        if urgent:
            return Configuration(states, mail, held, urgent[1:], log)
        if kind == "late":
            place = held.index(message) if place == FIRST else place
            return Configuration(states, mail, held[:place] + held[place + 1 :], (), log)
        place = mail.index(message) if place == FIRST else place
        if kind == "again":
            held = (*held, mail[place])
        return Configuration(states, mail[:place] + mail[place + 1 :], held, (), log)

    def after(self, at: Configuration, step: Step, lost: Collection[int] = ()) -> Configuration:
        """The configuration after a step. lost: places of lost messages in `Step.travelling`."""
        states, mail, held, urgent, log = at
        if step.after is not step.before:
            place = self._place[step.before.node]
            states = (*states[:place], step.after, *states[place + 1 :])
        heard = []
        for place, message in enumerate(step.travelling):
            at_once = self.at_once(message[1].value)
            if place in lost:
                if self.late and not at_once:
                    held = (*held, message)
            elif at_once:
                heard.append(message)
            else:
                mail = (*mail, message)
        if self._shared is not None:
            written = self._shared.written
            for _, sent in step.sent:
                if isinstance(sent.value, written):
                    log += sent.value.records
        return Configuration(states, mail, held, (*heard, *urgent) if heard else urgent, log)


def _in_words(value: object) -> str:
    return msgspec.json.encode(value).decode().replace('"', "")
