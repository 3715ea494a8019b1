"""Runs of a protocol that has no simulation of its own: moves drawn among all that are possible.

A run is a sequence of moves. Each delivers a message that is under way, whichever, perhaps again
later, or gives a node an input of its own, any that its protocol says may come (`World.local`).
Messages are lost, doubled and overtaken, which needs no step of any node
(specs/common/Network.tla). There is no clock: a move takes a millisecond. So nothing is asked of
progress, and a run that violates nothing has done what it must.

Law of this file: nothing here knows of a protocol; each choice is the simplest one at 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from reference.bugs.catalog import handlers_for, replayable
from reference.clients.promises import Configuration
from reference.kit.protocol import Outcome, Protocol, World
from reference.protocols import kind_of_row, raised
from reference.sim.choices import Chooser, chance
from reference.sim.family import ClientLog, Family, Manner, brief
from reference.sim.interning import KnownInput, KnownRow
from reference.sim.memo import Machine, Memo, Sent, State, Step
from reference.sim.operations import Operation
from reference.sim.options import OptionSet, Palette
from reference.sim.recorder import Recorder, Violation
from traces.schema import PROGRESSED, STOPPED

MOVE_US: Final = 1000
"""Virtual microseconds between two moves."""
FATES: Final[Mapping[str, tuple[int, ...]]] = {
    "delivered": (500, 800),
    "lost": (0, 50, 200),
    "doubled": (0, 50, 200),
}
"""Per mille. delivered: of the moves, so many deliver a message if one is under way. lost: of the
messages. doubled: of the deliveries, after which the message is under way still."""


class PlainScenario(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a protocol."""

    name: str
    sentence: str
    protocol: Protocol
    palettes: Mapping[str, Palette]


def scenario_of(protocol: Protocol) -> PlainScenario:
    world = _world(protocol)
    drawn: dict[str, Any] = {**world.constants, "moves": tuple(world.moves), **FATES}
    palettes = {name: tuple((1, value) for value in values) for name, values in drawn.items()}
    return PlainScenario(
        name=protocol.name, sentence=protocol.sentence, protocol=protocol, palettes=palettes
    )


def _world(protocol: Protocol) -> World:
    assert protocol.world is not None, "asked of protocols that have one"
    return protocol.world


@cache
def options_of(protocol: Protocol) -> OptionSet[Any]:
    """The constants of a run, how many moves it has, what becomes of messages, and whether it ends
    where a property is violated."""
    world = _world(protocol)
    fields = {field.name: field for field in msgspec.structs.fields(protocol.constants)}
    own = [(name, fields[name].type, values[0]) for name, values in world.constants.items()]
    general: list[tuple[str, type, Any]] = [("moves", int, world.moves[0]), ("watched", bool, True)]
    general += [(name, int, values[0]) for name, values in FATES.items()]
    kind = msgspec.defstruct(
        f"{protocol.name}_options", [*own, *general], frozen=True, kw_only=True
    )
    kinds = {name: (name,) for name in ("lost", "doubled")}
    return OptionSet(kind, kinds, positive=("moves",), shares=tuple(FATES))


class PlainMachine(Machine):
    """A protocol under one set of constants."""

    def __init__(self, memo: PlainMemo, constants: Any) -> None:
        self._protocol, self._world = memo.protocol, _world(memo.protocol)
        super().__init__(memo, constants, memo.protocol.nodes(constants))
        self._handle = handlers_for(memo.bug, constants)
        self.nodes = memo.protocol.nodes(constants)

    def first_row(self, node: int) -> Any:
        return self._protocol.kind_of(self.constants, node).initial(self.constants)

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        try:
            made = self._handle(node, row, input)
            return None if made is None else Outcome(made.row, made.sent, made.ignored)
        except Exception as error:  # What others wrote may raise anything.
            raise raised(self._protocol, f"handling {type(input).__name__}", error) from error

    def new_state(self, node: int, known: KnownRow) -> State:
        row = known.row
        running = self._protocol.kind_of(self.constants, node).is_running(row)
        local = self._world.local(self.constants, node, row)
        return State(self, node, known, row, running, tuple(map(self.interner.input, local)), {})

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
            notable=0,
            travelling=tuple([each for each in sent if each[0] in self.nodes]),
        )


class PlainMemo(Memo[PlainMachine]):
    """Raises UnknownBug: the protocol has no bug of this id."""

    def __init__(self, protocol: Protocol, bug: str | None, enabled: bool = True) -> None:
        super().__init__(bug, enabled)
        self.protocol = protocol
        if bug is not None:
            replayable(bug, protocol.name)

    def new_machine(self, constants: Any) -> PlainMachine:
        return PlainMachine(self, constants)


class PlainClients:
    """Nobody asks anything."""

    history: tuple[Operation, ...] = ()


class PlainSimulation:
    """One run. Build it, `execute` it, then read `verdict`, `violations`, `statistics()`."""

    batches = ()
    clients = PlainClients()

    def __init__(self, options: Any, chooser: Chooser, memo: PlainMemo, recorder: Recorder) -> None:
        protocol = memo.protocol
        self._world = _world(protocol)
        self._options, self._chooser, self._recorder = options, chooser, recorder
        drawn = {name: getattr(options, name) for name in self._world.constants}
        self.constants = protocol.constants(**drawn)
        self._machine = memo.machine(self.constants)
        self._states = {node: self._machine.first_state(node) for node in self._machine.nodes}
        self._under_way: list[tuple[int, KnownInput]] = []
        self.handler_calls = 0
        self.verdict = PROGRESSED
        self.violations: list[Violation] = []
        self._counts = dict.fromkeys(("lost", "duplicated", "undelivered"), 0)

    def execute(self) -> None:
        options = self._options
        network = self._chooser.stream("network")
        for move in range(options.moves):
            deliver = bool(self._under_way) and chance(network, options.delivered)
            step = self._delivered() if deliver else self._own()
            if step is not None and not self._take(move * MOVE_US, step):
                return

    def _delivered(self) -> Step | None:
        network = self._chooser.stream("network")
        at = network.below(len(self._under_way))
        node, message = self._under_way[at]
        if chance(network, self._options.doubled):
            self._counts["duplicated"] += 1
        else:
            del self._under_way[at]
        if not self._states[node].running:
            self._counts["undelivered"] += 1
            return None
        return self._step(node, message)

    def _own(self) -> Step | None:
        """An input that is no message: a node, then one of those that may come to it."""
        workload = self._chooser.stream("workload")
        able = [state for state in self._states.values() if state.wants]
        if not able:
            return None
        state = able[workload.below(len(able))]
        return self._step(state.node, state.wants[workload.below(len(state.wants))])

    def _step(self, node: int, input: KnownInput) -> Step | None:
        state = self._states[node]
        return state.steps.get(input) or self._machine.step(state, input)

    def _take(self, time: int, step: Step) -> bool:
        """Whether the run goes on."""
        recorder = self._recorder
        if step.owner is not recorder.token:
            recorder.enter(step)
        recorder.steps.items.append(step.number)
        recorder.times.items.append(time)
        self.handler_calls += 1
        before = {node: state.row for node, state in self._states.items()}
        self._states[step.before.node] = step.after
        for each in step.travelling:
            if chance(self._chooser.stream("faults"), self._options.lost):
                self._counts["lost"] += 1
            else:
                self._under_way.append(each)
        return step.inert or not self._options.watched or self._holds(before)

    def _holds(self, before: Mapping[int, Any]) -> bool:
        after = {node: state.row for node, state in self._states.items()}
        for each in self._world.properties:
            wrong = each.check(self.constants, before, after)
            if wrong is not None:
                self.violations.append(Violation(each.name, self.handler_calls - 1, wrong))
                self.verdict = STOPPED
                return False
        return True

    def statistics(self) -> dict[str, int]:
        return {**self._counts, "duration": self._options.moves * MOVE_US}


PLAIN_LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run; a move takes a millisecond
n       the node that takes the step
row     what the node is after the step, `A>B` when the step changed it, and its row
input   what the step consumed; `0>1` is from node 0 to node 1; then what it sent, or why it was
        ignored; values that say nothing are left out
"""


def _columns(step: Any) -> str:
    """Of any row: what the node is, and the fields of its row."""
    role = kind_of_row(step.after).role
    now, before = role(step.after), role(step.before)
    said = " ".join(
        f"{name}={brief(getattr(step.after, name))}" for name in step.after.__struct_fields__
    )
    return f"{now if now == before else f'{before}>{now}'}: {said}"


def family_of(protocol: Protocol) -> Family:
    """The family of the protocol's runs. Nothing is promised to clients that there are not."""
    scenario, options = scenario_of(protocol), options_of(protocol)
    return Family(
        scenario=scenario,
        of=options.of,
        draw=lambda chooser, fixed: options.draw(chooser, scenario.palettes, fixed),
        memo=lambda bug, enabled: PlainMemo(protocol, bug, enabled),
        key=protocol.name,
        simulation=lambda _, *given: PlainSimulation(*given),
        manner=Manner(PLAIN_LEGEND, "row", _columns),
        log=ClientLog(lambda _: Configuration()),
        fixed=({name: values[0] for name, values in _world(protocol).constants.items()},),
    )
