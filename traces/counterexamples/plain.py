"""The driver that searches: the moves between the states of a counterexample of TLC.

TLC shows states. The variables of the model that hold rows are found in its first state: a record
that is the first row of one node, or a function of nodes to first rows; or the protocol has a
reading of its own (readings.py). A model value that ends with a number, as `n2`, is that number.

From each state every move of the system is tried: each input of a node's own, and the delivery of
any message that was sent, each with what is heard at once. The move after which all rows are those
of TLC's next state is taken. A model may forget messages: if it has a variable `network`, what is
in it must have been sent.

What comes out is a script of moves (reference/steered/scripts.py), which `replay` makes again.

Law of this file: nothing is guessed: a state that no move leads to ends the way, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.core.run import LATE, STRICT
from kraftcheck.reference.core.system import Configuration, Move, NodeMemo, System
from kraftcheck.reference.drivers.script import ScriptedRun, begun
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.runner.run import Run
from kraftcheck.reference.runner.scripted import AnySchedule, Replayed, recorded
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.counterexamples.readings import Reading, reading_of
from kraftcheck.traces.steps.translation import Abstraction, constant_name
from tla_utils import ToolError, Value
from tla_utils.output import State as Shown
from tla_utils.settings import constants_of
from tla_utils.values import Function, renamed

NETWORK: Final = "network"
NAMED: Final = re.compile(r"\b[a-z]+([0-9]+)\b")
"""A model value that stands for a number."""

Seen: TypeAlias = tuple[Mapping[int, Value | None], Value | None]
"""Of each node its row; and the messages that were sent, if that is shown."""


class _PathMove(NamedTuple):
    """A move of a way."""

    move: Move
    lost: bool
    """Whether nobody hears at once what it sends."""


class _Place(NamedTuple):
    """A configuration, and the way to it."""

    at: Configuration
    sent: frozenset[Value] = frozenset()
    """All messages so far."""
    way: tuple[_PathMove, ...] = ()


class Line(NamedTuple):
    """A move in words, to which of TLC's states it leads, and whether the run had it."""

    words: str
    state: int
    made: bool = True


class Way(NamedTuple):
    """How the reference goes through a counterexample."""

    script: Script
    """The moves that were made, up to the first failure."""
    lines: list[Line]
    """Those and the ones that the run did not have."""
    failure: Failure | None
    """What was violated, or None."""
    schedule: AnySchedule
    """What made them."""
    states: int = 0
    reached: int = 0
    """Of so many states."""
    missing: Sequence[str] = ()
    """Why not more, in lines."""
    nodes: Mapping[str, str] = MappingProxyType({})
    """By TLC's name of a node the reference's, where they differ."""

    @property
    def unmade(self) -> list[str]:
        return [line.words for line in self.lines if not line.made]

    def run(self) -> Run:
        """What the moves made. To be called once."""
        return recorded(Replayed(self.schedule, self.script.moves, (), self.failure))[0]


def constants_in(protocol: Protocol, cfg: str) -> Any:
    """The protocol's constants as a cfg gives them.

    Raises ToolError: one is missing, or no value of its field.
    """
    texts = constants_of(cfg)
    values: dict[str, Any] = {}
    for field in protocol.constants.__struct_fields__:
        name = constant_name(field)
        if name not in texts:
            raise ToolError(f"the cfg does not say {name}")
        text = NAMED.sub(r"\1", texts[name]).replace("{", "[").replace("}", "]")
        try:
            values[field] = msgspec.json.decode(
                text.replace("TRUE", "true").replace("FALSE", "false")
            )
        except msgspec.DecodeError:
            said = (
                f"the model has {name} = {texts[name]}; a counterexample of {protocol.name} becomes"
            )
            raise ToolError(f"{said} a schedule only where such values are numbers") from None
    try:
        return msgspec.convert(values, protocol.constants)
    except msgspec.ValidationError as error:
        raise ToolError(f"the constants of the cfg: {error}") from None


def follow(protocol: Protocol, cfg: str, states: Sequence[Shown], bug: str | None) -> Way:
    """The way that the reference takes through these states.

    Raises ToolError: the constants cannot be read, or no variable holds the nodes' rows.
    """
    reading = reading_of(protocol.name)
    if reading is not None:
        return _follow(protocol, reading.constants(constants_of(cfg)), bug, reading, states)
    numbers: dict[str, Value] = {name[0]: int(name[1]) for name in NAMED.finditer(cfg)}
    shown = [
        replace(state, values={name: renamed(v, numbers) for name, v in state.values.items()})
        for state in states
    ]
    return _follow(protocol, constants_in(protocol, cfg), bug, None, shown)


def follow_graph(protocol: Protocol, constants: Any, states: Sequence[Shown]) -> Way:
    """Likewise, of a graph (traces/cover/rulebook.py), which shows every row as it is."""
    return _follow(protocol, constants, None, None, states)


def _follow(
    protocol: Protocol,
    constants: Any,
    bug: str | None,
    reading: Reading | None,
    states: Sequence[Shown],
) -> Way:
    ways = _Following(protocol, constants, bug, reading).along(states)
    return max(ways, key=lambda way: way.reached)


class _Following:
    def __init__(
        self, protocol: Protocol, constants: Any, bug: str | None, reading: Reading | None
    ) -> None:
        assert protocol.world is not None, "asked of protocols that declare one"
        self._protocol, self._constants, self._bug = protocol, constants, bug
        self._reading = reading
        self._loses = reading is not None and reading.loses
        machine = NodeMemo(protocol, bug).machine(constants)
        self._system = System(machine, late=protocol.world.awaited is not None)
        self._form = Abstraction(constants)
        self._first = self._system.rows(self._system.initial())

    def along(self, states: Sequence[Shown]) -> Iterator[Way]:
        """In each way in which the states can be seen, until one is followed to the end."""
        for seen in self._seen(states[0].values):
            places = [_Place(self._system.initial())]
            for state in states[1:]:
                found = self._leading_to(places[-1], *seen(state.values))
                if found is None:
                    break
                places.append(found)
            yield self._way(places, len(states))
            if len(places) == len(states):
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
        for node, row in self._first.items():
            first = self._form.row(row)
            for name, value in values.items():
                if _entry(value, node) == first:
                    found[node] = name, True
                elif value == first:
                    found[node] = name, False
        if left := [node for node in self._first if node not in found]:
            raise ToolError(
                f"no variable of TLC's first state holds the first row of node {left[0]}: a "
                "counterexample becomes a schedule only if the model begins as the reference does"
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
            places = [after for place in places for after in self._from(place)]
            for place in places:
                now = self._system.rows(place.at)
                own = {n: self._own(self._form.row(now[n])) for n in rows}
                known: Any = place.sent if network is None else network
                if own == rows and known <= place.sent:
                    return place
        return None

    def _from(self, place: _Place) -> Iterator[_Place]:
        """Where each move leads. The network of a model forgets nothing, so messages arrive again.

        With what is heard at once; and without, if that may be lost.
        """
        system, at = self._system, place.at
        moves = [Move("take", *own) for own in system.own(at, system.rows(at))]
        for node, input in dict.fromkeys(system.deliverable(at)):
            once = system.in_order(input.value)
            moves.append(Move("deliver" if once else "again", node, input))
        moves += [Move("late again", *message) for message in dict.fromkeys(at.held)]
        for move in moves:
            effect = system.apply(at, move)
            if effect is None or effect.step is None:
                continue
            yield self._with(place, move, effect.after, effect.step)
            if self._loses and effect.after.urgent:
                lost = effect.after._replace(urgent=())
                yield self._with(place, move, lost, effect.step, lost=True)

    def _with(
        self, place: _Place, move: Move, at: Configuration, step: Step, lost: bool = False
    ) -> _Place:
        """The place after a move and the steps of those who hear at once what it sends."""
        steps = [step]
        while at.urgent:
            effect = self._system.apply(at, Move("hear", *at.urgent[0]))
            assert effect is not None, "what is heard is no input of a node's own"
            at = effect.after
            steps += [effect.step] if effect.step else []
        sent = {self._own(self._form.input(m.value)) for each in steps for _, m in each.sent}
        return _Place(at, place.sent | sent, (*place.way, _PathMove(move, lost)))

    def _way(self, places: Sequence[_Place], states: int) -> Way:
        """places: of each state that was reached."""
        reached, moves = len(places), places[-1].way
        ended = f"no move of the reference leads to state {reached + 1} of TLC"
        world = self._protocol.world
        assert world is not None, "asked above"
        setting = {name: getattr(self._constants, name) for name in world.constants}
        setting |= {LATE: 1} if world.awaited is not None else {}
        setting |= {STRICT: True} if world.unpromised is not None else {}
        run = begun(self._protocol, setting, self._bug)
        failure: Failure | None = None
        lines: list[Line] = []
        try:
            for number, made in enumerate(moves):
                state = 1 + sum(len(place.way) <= number for place in places)
                try:
                    _make(run, made, moves[number + 1 :])
                finally:
                    lines += [Line(words, state) for words in run.moves[len(lines) :]]
        except Failure as found:
            failure = found
        script = Script(
            machine=self._protocol.name,
            moves=tuple(run.moves),
            bug=self._bug,
            violates=failure.name if failure else "",
            options=msgspec.to_builtins(setting),
        )
        missing = [ended] if reached < states else []
        return Way(script, lines, failure, run, states, reached, missing)


def _make(run: ScriptedRun, made: _PathMove, later: Sequence[_PathMove]) -> None:
    """The move, made in a scripted run. A message stays in flight only if it arrives once more."""
    kind, node, input, _ = made.move
    again = any((each.move.node, each.move.input) == (node, input) for each in later)
    input = run.known(input.value)
    if kind == "take":
        run.act(node, input, made.lost)
    elif kind in ("deliver", "again"):
        run.deliver(node, input, again and run.may_repeat(input))
    else:
        run.deliver_held(node, input, again)


def _entry(value: Value, node: int) -> Value | None:
    """Of a function of nodes; TLC shows one of 1 to n as a sequence."""
    if isinstance(value, tuple):
        return value[node - 1] if 1 <= node <= len(value) else None
    return value.get(node) if isinstance(value, Function) else None
