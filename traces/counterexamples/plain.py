"""A counterexample of TLC as a run of a protocol that has no simulation of its own.

TLC shows states; here the moves between them are found. The variables of the model that hold rows
are found in its first state: a record that is the first row of one node, or a function of nodes to
first rows; or the protocol has a reading of its own. From each state every move that the reference
has is tried, the delivery of any message that was sent and each input of a node's own, each with
what is heard at once; the one after which all rows, and the network if there is a variable of that
name, are those of TLC's next state is taken.

What comes out is a schedule of choices (reference/sim/schedules.py), which `replay` tells.

Law of this file: nothing is guessed: a state that no move leads to ends the way, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.reference.sim.choices import Choice, RecordingChooser, ReplayChooser, StreamName
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import State, Step
from kraftcheck.reference.sim.plain import LATE, STRICT, PlainMemo, options_of
from kraftcheck.reference.sim.schedules import Schedule
from kraftcheck.traces.counterexamples.readings import Reading, reading_of
from kraftcheck.traces.jobs.abstraction import Abstraction, constant_name
from tla_utils import ToolError, Value
from tla_utils.output import State as Shown
from tla_utils.settings import constants_of
from tla_utils.values import Function

NETWORK = "network"
ALWAYS = 999
"""Of a thousand: what is asked for happens."""


Seen: TypeAlias = tuple[Mapping[int, Value | None], Value | None]
"""Of each node its row; and the messages that were sent, if that is shown."""


class _Move(NamedTuple):
    """A step and those that follow from what is heard at once. moved: the place of the message
    under way that is held back from now on.
    """

    steps: tuple[Step, ...]
    choices: tuple[tuple[StreamName, int], ...]
    moved: int | None


class _Place(NamedTuple):
    """Where the reference is, and how it came there. sent: all messages so far."""

    states: Mapping[int, State]
    under_way: tuple[tuple[int, KnownInput], ...] = ()
    held: tuple[tuple[int, KnownInput], ...] = ()
    sent: frozenset[Value] = frozenset()
    choices: tuple[tuple[StreamName, int], ...] = ()
    moves: int = 0


class Way(NamedTuple):
    """reached: of so many states. missing: why it ends before the last; else empty. schedule, run:
    of what was followed.
    """

    states: int
    reached: int
    missing: str
    schedule: Schedule
    run: Run


def constants_in(protocol: Protocol, cfg: str) -> Any:
    """The protocol's constants as a cfg gives them. Raises ToolError: one is missing, or no value
    of its field.
    """
    texts = constants_of(cfg)
    values: dict[str, Any] = {}
    for field in protocol.constants.__struct_fields__:
        name = constant_name(field)
        if name not in texts:
            raise ToolError(f"the cfg does not say {name}")
        text = texts[name].replace("{", "[").replace("}", "]")
        try:
            values[field] = msgspec.json.decode(
                text.replace("TRUE", "true").replace("FALSE", "false")
            )
        except msgspec.DecodeError:
            raise ToolError(f"the cfg gives {name} a value that cannot be read: {text}") from None
    try:
        return msgspec.convert(values, protocol.constants)
    except msgspec.ValidationError as error:
        raise ToolError(f"the constants of the cfg: {error}") from None


def follow(protocol: Protocol, cfg: str, states: Sequence[Shown], bug: str | None) -> Way:
    """The way that the reference takes through these states.

    Raises ToolError: the constants cannot be read, or no variable holds the nodes' rows.
    """
    reading = reading_of(protocol.name)
    constants = reading.constants(constants_of(cfg)) if reading else constants_in(protocol, cfg)
    ways = _Following(protocol, constants, bug, reading).along(states)
    return max(ways, key=lambda way: way.reached)


class _Following:
    def __init__(
        self, protocol: Protocol, constants: Any, bug: str | None, reading: Reading | None
    ) -> None:
        assert protocol.world is not None, "asked of protocols that have one"
        self._protocol, self._constants, self._bug = protocol, constants, bug
        self._world, self._reading = protocol.world, reading
        self._loses = reading is not None and reading.loses
        self._machine = PlainMemo(protocol, bug).machine(constants)
        self._form = Abstraction(constants)
        first = {node: self._machine.first_state(node) for node in self._machine.nodes}
        self._first = _Place(first)

    def along(self, states: Sequence[Shown]) -> Iterator[Way]:
        """In each way in which the states can be seen, until one is followed to the end."""
        for seen in self._seen(states[0].values):
            place, reached = self._first, 1
            for state in states[1:]:
                found = self._leading_to(place, *seen(state.values))
                if found is None:
                    break
                place = found
                reached += 1
            yield self._way(place, len(states), reached)
            if reached == len(states):
                return

    def _seen(self, first: Mapping[str, Value]) -> Sequence[Callable[[Mapping[str, Value]], Seen]]:
        """What a state of TLC's says of nodes and messages."""
        if self._reading is not None:
            return self._reading.seen(self._constants)
        places = self._places(first)

        def seen(values: Mapping[str, Value]) -> Seen:
            rows = {
                node: _entry(values[name], node) if within else values[name]
                for node, (name, within) in places.items()
            }
            return rows, values.get(NETWORK)

        return [seen]

    def _places(self, values: Mapping[str, Value]) -> dict[int, tuple[str, bool]]:
        """Of each node the variable that holds its row, and whether it is a function of nodes."""
        found: dict[int, tuple[str, bool]] = {}
        for node, state in self._first.states.items():
            first = self._form.row(state.row)
            for name, value in values.items():
                if _entry(value, node) == first:
                    found[node] = name, True
                elif value == first:
                    found[node] = name, False
        if left := [node for node in self._first.states if node not in found]:
            raise ToolError(
                f"no variable of TLC's first state holds the first row of node {left[0]}"
            )
        return found

    def _own(self, value: Value) -> Value:
        return self._reading.own(value) if self._reading else value

    def _leading_to(
        self, place: _Place, rows: Mapping[int, Value | None], network: Value | None
    ) -> _Place | None:
        """Where the fewest moves lead after which everything is as TLC shows it."""
        places = [place]
        for _ in range(self._reading.moves if self._reading else 1):
            places = [
                self._after(place, move) for place in places for move in self._moves_from(place)
            ]
            for place in places:
                own = {n: self._own(self._form.row(place.states[n].row)) for n in rows}
                known: Any = place.sent if network is None else network
                # A model that is read may forget messages.
                if own == rows and (known <= place.sent if self._reading else known == place.sent):
                    return place
        return None

    def _moves_from(self, place: _Place) -> Iterator[_Move]:
        # It is asked whether a held one comes, then whether another does, where there are any.
        late: list[tuple[StreamName, int]] = [("network", 0)] if place.held else []
        asked = [*late, ("network", 0)] if place.under_way else late
        able = [state for state in place.states.values() if state.local]
        for at, state in enumerate(able):
            for number, input in enumerate(state.local):
                step = self._step(state, self._machine.interner.input(input))
                if step is not None:
                    rare = type(input) in self._world.disturbances
                    made = [*asked, ("workload", at), ("workload", number)]
                    yield from self._whole(place, step, made + [("faults", ALWAYS)] * rare)
        for held in (False, True):
            for at, (node, message) in enumerate(place.held if held else place.under_way):
                state = place.states[node]
                step = self._step(state, message) if state.running else None
                if step is not None:
                    # The network of a model forgets nothing, so the message is under way still.
                    before = [] if held else late
                    made = [*before, ("network", ALWAYS), ("network", at), ("network", ALWAYS)]
                    moved = at if self._world.awaited is not None and not held else None
                    yield from self._whole(place, step, made, moved)

    def _whole(
        self,
        place: _Place,
        step: Step,
        choices: list[tuple[StreamName, int]],
        moved: int | None = None,
    ) -> Iterator[_Move]:
        """With what is heard at once, and without, if that may be lost. moved: what is held back
        from now on.
        """
        at_once = [each for each in step.travelling if self._world.at_once(each[1].value)]
        yield self._with(place, _Move((), tuple(choices), moved), step, lost=False)
        if self._loses and at_once:
            yield self._with(place, _Move((), tuple(choices), moved), step, lost=True)

    def _with(self, place: _Place, move: _Move, step: Step, lost: bool) -> _Move:
        """The move with this step, and those of who hears at once what that sends."""
        move = move._replace(steps=(*move.steps, step))
        states = {**place.states, **{each.before.node: each.after for each in move.steps}}
        heard = []
        for node, message in step.travelling:
            is_lost = lost and self._world.at_once(message.value)
            if self._loses:
                move = move._replace(choices=(*move.choices, ("faults", ALWAYS * is_lost)))
            if self._world.at_once(message.value) and not is_lost and states[node].running:
                heard.append((node, message))
        for node, message in heard:
            following = self._step(states[node], message)
            if following is not None:
                move = self._with(place, move, following, lost)
        return move

    def _step(self, state: State, input: KnownInput) -> Step | None:
        return state.steps.get(input) or self._machine.step(state, input)

    def _after(self, place: _Place, move: _Move) -> _Place:
        states, under_way, held = dict(place.states), [*place.under_way], [*place.held]
        sent = set(place.sent)
        if move.moved is not None:
            held.append(under_way.pop(move.moved))
        for step in move.steps:
            states[step.before.node] = step.after
            under_way += [e for e in step.travelling if not self._world.at_once(e[1].value)]
            sent |= {self._own(self._form.input(message.value)) for _, message in step.sent}
        return _Place(
            states,
            tuple(under_way),
            tuple(held),
            frozenset(sent),
            (*place.choices, *move.choices),
            place.moves + 1,
        )

    def _way(self, place: _Place, states: int, reached: int) -> Way:
        ended = f"no move of the reference leads to state {reached + 1} of TLC"
        missing = ended if reached < states else ""
        constants = {
            name: getattr(self._constants, name) for name in self._constants.__struct_fields__
        }
        options = {**constants, "moves": max(place.moves, 1), "watched": True}
        options |= {"delivered": 500, "lost": 500 * self._loses, "doubled": 500}
        known = options_of(self._protocol).of.__struct_fields__
        rare = [snake(of.__name__) for of in self._world.disturbances]
        options |= {name: 500 for name in (*rare, LATE) if name in known}
        options |= {name: True for name in (STRICT,) if name in known}
        made = [Choice(stream, 1000, value) for stream, value in place.choices]
        recording = RecordingChooser(ReplayChooser(made))
        run = simulate_run(self._protocol.name, 0, 0, self._bug, options, chooser=recording)
        violations = run.result.violations
        schedule = Schedule(
            scenario=self._protocol.name,
            bug=self._bug,
            violates=violations[0].invariant if violations else "",
            options=options,
            choices=tuple(recording.choices),
        )
        return Way(states, reached, missing, schedule, run)


def _entry(value: Value, node: int) -> Value | None:
    """Of a function of nodes; TLC shows one of 1 to n as a sequence."""
    if isinstance(value, tuple):
        return value[node - 1] if 1 <= node <= len(value) else None
    return value.get(node) if isinstance(value, Function) else None
