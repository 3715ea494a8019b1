"""Runs of a protocol that has no simulation of its own: moves drawn among all that are possible.

A run is a sequence of moves. Each delivers a message that is under way, whichever, perhaps again
later, or gives a node an input of its own, any that its protocol says may come (`World.local`).
Messages are lost, doubled and overtaken, which needs no step of any node
(specs/common/Network.tla). There is no clock: a move takes a millisecond. In the end nothing
disturbs any more, where the protocol says what must then have come about (`World.calm`); of others
nothing is asked of progress, and a run that violates nothing has done what it must.

Law of this file: nothing here knows of a protocol; each choice is the simplest one at 0.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.bugs.catalog import handlers_for, replayable_in
from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.properties import Due
from kraftcheck.reference.kit.protocol import (
    HISTORY,
    Answered,
    ClientPromise,
    Outcome,
    Protocol,
    World,
)
from kraftcheck.reference.protocols import ProtocolError, kind_of_row, raised
from kraftcheck.reference.sim.asked_by_models import ASKED
from kraftcheck.reference.sim.choices import Chooser, chance
from kraftcheck.reference.sim.family import Circular, ClientLog, Family, Manner, brief
from kraftcheck.reference.sim.interning import KnownInput, KnownRow
from kraftcheck.reference.sim.memo import Machine, Memo, Sent, State, Step
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.options import STRETCH, OptionSet, Palette
from kraftcheck.reference.sim.recorder import Recorder, Violation
from kraftcheck.traces.schema import OF_OBJECT, PROGRESSED, STOPPED

MOVE_US: Final = 1000
"""Virtual microseconds between two moves."""
FATES: Final[Mapping[str, tuple[int, ...]]] = {
    "delivered": (500, 800),
    "lost": (0, 50, 200),
    "doubled": (0, 50, 200),
}
"""Per mille. delivered: of the moves, so many deliver a message if one is under way. lost: of the
messages. doubled: of the deliveries, after which the message is under way still."""


ROUNDS: Final = 50
"""In so many rounds of a calm end everything comes to rest: in each, what is under way comes, and
each node does what it can."""
TRIES: Final = 8
"""So many inputs are drawn for a move, where one does not come."""
LATE: Final = "late"
"""The option of a run in which messages come although nobody waits for them: so many of a thousand
moves deliver one that was held back, which would be lost or doubled elsewhere. It does not come
sooner where nothing else is under way: what is late must outlast a change of who coordinates, or
the next transaction.
"""


AWAY: Final = "away"
"""The option of a run in which nodes are away for a while, one at a time: so many of a thousand
moves begin with one of them leaving. Nothing comes to it, and it does nothing; what is sent to it
waits, and what would be heard at once it does not hear. No run draws it (`Family.on_request`)."""
AWAY_MOVES: Final = 150
"""So long: enough for the others to elect somebody and go on."""
OFTEN_AWAY: Final = 10


STRICT: Final = "strict"
"""The option of a run that is to keep what it does not promise as well."""


class PlainScenario(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a protocol."""

    name: str
    sentence: str
    protocol: Protocol
    palettes: Mapping[str, Palette]


def scenario_of(protocol: Protocol) -> PlainScenario:
    world = _world(protocol)
    drawn: dict[str, Any] = {**world.constants, "moves": tuple(world.moves), **FATES}
    drawn |= {name: values for name, values in _disturbances(world).items() if values}
    if world.awaited is not None:
        drawn |= {LATE: (50, 200)}
    palettes = {name: tuple((1, value) for value in values) for name, values in drawn.items()}
    return PlainScenario(
        name=protocol.name, sentence=protocol.sentence, protocol=protocol, palettes=palettes
    )


def _world(protocol: Protocol) -> World:
    assert protocol.world is not None, "asked of protocols that have one"
    return protocol.world


def _disturbances(world: World) -> dict[str, Sequence[int]]:
    """By name of an option."""
    return {snake(of.__name__): values for of, values in world.disturbances.items()}


@cache
def options_of(protocol: Protocol) -> OptionSet[Any]:
    """The constants of a run, how many moves it has, what becomes of messages, and whether it ends
    where a property is violated."""
    world = _world(protocol)
    fields = {field.name: field for field in msgspec.structs.fields(protocol.constants)}
    own = [(name, fields[name].type, values[0]) for name, values in world.constants.items()]
    general: list[tuple[str, Any, Any]] = [("moves", int, world.moves[0]), ("watched", bool, True)]
    general.append((STRETCH, int, 1))
    # What is not asked for is not told, so that runs are recorded as ever.
    general.append((AWAY, int | msgspec.UnsetType, msgspec.UNSET))
    general += [(name, int, values[0]) for name, values in FATES.items()]
    disturbances = _disturbances(world)
    general += [(name, int, values[0]) for name, values in disturbances.items() if values]
    unsaid = [name for name, values in disturbances.items() if not values]
    general += [(name, int | msgspec.UnsetType, msgspec.UNSET) for name in unsaid]
    late = (LATE,) if world.awaited is not None else ()
    general += [(name, int, 0) for name in late]
    if world.unpromised is not None:
        general.append((STRICT, bool, False))
    kind = msgspec.defstruct(
        f"{protocol.name}_options", [*own, *general], frozen=True, kw_only=True
    )
    often = [name for name in disturbances if name not in unsaid]
    kinds = {name: (name,) for name in ("lost", "doubled", *often, *late)}
    shares = (*FATES, *disturbances, *late, AWAY)
    return OptionSet(kind, kinds, positive=("moves", STRETCH), shares=shares)


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
            if made is None or type(made) is Outcome:
                return made
            return Outcome(made.row, made.sent, made.ignored)
        except Exception as error:  # What others wrote may raise anything.
            raise raised(self._protocol, f"handling {type(input).__name__}", error) from error

    def new_state(self, node: int, known: KnownRow) -> State:
        row = known.row
        running = self._protocol.kind_of(self.constants, node).is_running(row)
        local = tuple(self._world.local(self.constants, node, row))
        return State(self, node, known, row, running, (), {}, local)

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
    """Raises UnknownBug: the protocol does not ask what a bug of this id replaces."""

    def __init__(self, protocol: Protocol, bug: str | None, enabled: bool = True) -> None:
        super().__init__(bug, enabled)
        self.protocol = protocol
        if bug is not None:
            replayable_in(bug, protocol)

    def new_machine(self, constants: Any) -> PlainMachine:
        return PlainMachine(self, constants)


class PlainClients:
    """What clients ask and are told, as the protocol says (`World.promises`); else nothing."""

    def __init__(self, promise: ClientPromise | None) -> None:
        self._promise = promise
        self._known: dict[Hashable, Operation] = {}
        self.history: list[Operation] = []

    def hear(self, time: int, constants: Any, step: Step) -> None:
        """A step was taken."""
        if self._promise is None:
            return
        outcome = Outcome(step.after.row, tuple([m.value for _, m in step.sent]), step.ignored)
        node, row = step.before.node, step.before.row
        for told in self._promise.told(constants, node, row, step.input.value, outcome):
            if isinstance(told, Answered):
                self._answer(time, told)
            elif told.id not in self._known:
                number = len(self.history)
                asked = Operation(number, f"{OF_OBJECT}{told.op}", node, time, told.key)
                asked.offset, asked.outcome = told.argument, "indeterminate"
                self._known[told.id] = asked
                self.history.append(asked)

    def _answer(self, time: int, told: Answered) -> None:
        asked = self._known.get(told.id)
        if asked is not None and asked.completed is None:
            result = () if told.result is None else told.result
            asked.values = [result] if isinstance(result, int) else [*result]
            asked.completed, asked.outcome = time, told.outcome


class PlainSimulation(Circular):
    """One run of a protocol."""

    def __init__(self, options: Any, chooser: Chooser, memo: PlainMemo, recorder: Recorder) -> None:
        protocol = memo.protocol
        self._world, self._protocol = _world(protocol), protocol
        self._moves = 0
        self.clients = PlainClients(self._world.promises)
        self._options, self._chooser, self._recorder = options, chooser, recorder
        self._network, self._faults = chooser.stream("network"), chooser.stream("faults")
        self._workload = chooser.stream("workload")
        drawn = {name: getattr(options, name) for name in self._world.constants}
        unkept = self.unkept()
        self._due = Due([e for e in self._world.properties if e.name not in unkept])
        named = {of: getattr(options, snake(of.__name__)) for of in self._world.disturbances}
        self._rare: dict[type[Any], int] = {of: often or 0 for of, often in named.items()}
        rare, drawn_from = self._rare, self._world.disturbances.items()
        self._never = {of for of, values in drawn_from if not any((*values, rare[of]))}
        """Inputs that come on request alone, and were not asked for."""
        self._late = getattr(options, LATE, 0)
        self._leaves: int = options.away or 0
        self._away: int | None = None
        self._back = 0
        """At this move whoever is away is there again."""
        self._awaited = None if self._late else self._world.awaited
        self._held: list[tuple[int, KnownInput]] = []
        try:
            self.constants = protocol.constants(**drawn)
        except AssertionError as error:
            raise ProtocolError(f"protocol {protocol.name}: options refused: {error}") from None
        self._machine = memo.machine(self.constants)
        self._states = {node: self._machine.first_state(node) for node in self._machine.nodes}
        self._rows: dict[int, Any] = {n: state.row for n, state in self._states.items()}
        """Those of all nodes, and the run's past. A step makes another mapping."""
        if self._world.history is not None:
            self._rows[HISTORY] = None
        self._under_way: list[tuple[int, KnownInput]] = []
        self.handler_calls = 0
        self.verdict = PROGRESSED
        self.violations: list[Violation] = []
        self._counts = dict.fromkeys(("lost", "duplicated", "undelivered"), 0)

    def unkept(self) -> Collection[str]:
        """The names of the properties that this run need not keep."""
        left = self._world.unpromised
        return left(self._options) if left and not getattr(self._options, STRICT) else ()

    def execute(self) -> None:
        while self._moves < self._options.moves * self._options.stretch:
            step = self._moved()
            if not self._goes_on(step):
                return
        self._options, self._away = replace(self._options, lost=0), None
        self.verdict = self.progress() or self.verdict

    def _goes_on(self, step: Step | None) -> bool:
        """A move is made, of which a step came or none. Whether the run goes on."""
        time = self._moves * MOVE_US
        self._moves += 1
        return step is None or self._take(time, step)

    # --- The end

    def progress(self) -> str:
        """What is missing when nothing disturbs any more, in words; or empty, also if the run stops
        before.
        """
        calm = self._world.calm
        if calm is None:
            return ""
        for _ in range(ROUNDS):
            before = self._rows
            for _ in range(len(self._under_way)):
                if not self.deliver_first():
                    return ""
            for node, input in self.own():
                if isinstance(input.value, calm.inputs) and not self.take_turn(node, input):
                    return ""
            if self._rows is before and not self._under_way:
                break
        return calm.missing(self.constants, self._rows)

    def own(self, quiet: Sequence[str] = ()) -> list[tuple[int, KnownInput]]:
        """What may come to nodes by itself. quiet: to those of these kinds nothing does."""
        kind_of, constants = self._protocol.kind_of, self.constants
        return [
            (node, self._machine.interner.input(input))
            for node, state in self._states.items()
            if not quiet or kind_of(constants, node).name not in quiet
            for input in state.local
            if self._comes(node, input)
        ]

    def deliver_first(self) -> bool:
        """The message that waits longest comes. Whether the run goes on."""
        node, message = self._under_way.pop(0)
        able = self._states[node].running and self._comes(node, message.value)
        return self._goes_on(self._step(node, message) if able else None)

    def take_turn(self, node: int, input: KnownInput) -> bool:
        """A node does something by itself, if it can. Whether the run goes on."""
        return self._goes_on(self._step(node, input))

    # --- Moves

    def _moved(self) -> Step | None:
        if not self._leaves:
            return self._drawn()
        if self._moves >= self._back:
            self._away = None
            if chance(self._faults, self._leaves):
                self._away = self._machine.nodes[self._faults.below(len(self._machine.nodes))]
                self._back = self._moves + AWAY_MOVES
        on_their_way = self._held, self._under_way
        waiting = [[each for each in some if each[0] == self._away] for some in on_their_way]
        for some in on_their_way:
            some[:] = [each for each in some if each[0] != self._away]
        step = self._drawn()
        for some, first in zip(on_their_way, waiting, strict=True):
            some[:0] = first
        return step

    def _drawn(self) -> Step | None:
        if self._held and chance(self._network, self._late):
            return self._delivered(self._held)
        if self._under_way and chance(self._network, self._options.delivered):
            return self._delivered(self._under_way)
        return self._own()

    def _delivered(self, among: list[tuple[int, KnownInput]]) -> Step | None:
        at = self._network.below(len(among))
        ordered = self._world.in_order(among[at][1].value)
        if ordered:
            at = self._first_of_channel(among, at)
        node, message = among[at]
        if not ordered and chance(self._network, self._options.doubled):
            self._counts["duplicated"] += 1
            if self._late and among is not self._held:
                self._held.append(among.pop(at))
        else:
            del among[at]
        if not self._states[node].running or not self._comes(node, message.value):
            self._counts["undelivered"] += 1
            return None
        return self._step(node, message)

    def _first_of_channel(self, among: Sequence[tuple[int, KnownInput]], at: int) -> int:
        """Where the first message stands that its sender sent to the same node, and which comes in
        order."""
        node, known = among[at]
        ends = known.value.source, node
        return next(
            place
            for place, (to, each) in enumerate(among)
            if (each.value.source, to) == ends and self._world.in_order(each.value)
        )

    def _own(self) -> Step | None:
        """An input that is no message: a node, then one of those that may come to it."""
        below, rare, faults = self._workload.below, self._rare, self._faults
        never = self._never
        able = [each for each in self._states.values() if each.local and each.node != self._away]
        if not able:
            return None
        for _ in range(TRIES):
            state = able[below(len(able))]
            local = state.local
            there = len(local)
            while there and type(local[there - 1]) in never:
                there -= 1
            if not there:
                continue
            input = local[below(there)]
            often = rare.get(type(input))
            if often is not None and not chance(faults, often):
                continue
            if self._comes(state.node, input):
                return self._step(state.node, self._machine.interner.input(input))
        return None

    def _comes(self, node: int, input: Any) -> bool:
        """Whether somebody waits for it, where that matters."""
        if self._awaited is None:
            return True
        return self._awaited(self.constants, self._rows, node, input)

    def _step(self, node: int, input: KnownInput) -> Step | None:
        state = self._states[node]
        try:
            return state.steps[input]
        except KeyError:
            return self._machine.step(state, input)

    def _take(self, time: int, step: Step) -> bool:
        """Whether the run goes on."""
        self._record(time, step)
        self._states[step.before.node] = step.after
        heard = []
        for each in step.travelling:
            if self._world.in_order(each[1].value):
                self._under_way.append(each)
            elif chance(self._faults, self._options.lost):
                self._counts["lost"] += 1
                if self._late and not self._world.at_once(each[1].value):
                    self._held.append(each)
            elif self._world.at_once(each[1].value):
                heard.append(each)
            else:
                self._under_way.append(each)
        if not step.inert and not self._holds_after(step):
            return False
        return all([self._hear(time, *each) for each in heard])

    def _record(self, time: int, step: Step) -> None:
        recorder = self._recorder
        if step.owner is not recorder.token:
            recorder.enter(step)
        recorder.steps.items.append(step.number)
        recorder.times.items.append(time)
        self.handler_calls += 1
        self.clients.hear(time, self.constants, step)

    def _hear(self, time: int, node: int, message: KnownInput) -> bool:
        """What is heard at once. Whether the run goes on."""
        hears = self._states[node].running and node != self._away
        step = self._step(node, message) if hears else None
        return self.verdict != STOPPED and (step is None or self._take(time, step))

    def _holds_after(self, step: Step) -> bool:
        """The rows are what the step makes of them, and no property is violated that is asked."""
        before = self._rows
        after = self._rows = {**before, step.before.node: step.after.row}
        if not self._options.watched:
            return True
        if self._world.history is not None:
            after[HISTORY] = self._world.history(self.constants, before, after)
        for wrong, explanation in self._due.wrong(self.constants, before, after):
            self.violations.append(Violation(wrong.name, self.handler_calls - 1, explanation))
            self.verdict = STOPPED
            return False
        return True

    def statistics(self) -> dict[str, int]:
        return {**self._counts, "duration": self._moves * MOVE_US}


PLAIN_LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run; a move takes a millisecond
n       the node that takes the step
row     what the node is after the step, `A>B` when the step changed it, and what the step changed
        in its row
input   what the step consumed; `0>1` is from node 0 to node 1; then what it sent, or why it was
        ignored; values that say nothing are left out
"""


FEW: Final = 3
"""So many fields of a value need no names: 7@2 is a value of epoch 2."""


def columns(step: Any) -> str:
    """Of any row: what the node is, and what the step changed in its fields."""
    role = kind_of_row(step.after).role
    now, before = role(step.after), role(step.before)
    said = " ".join(_changes("", step.before, step.after))
    return f"{now if now == before else f'{before}>{now}'}: {said}".rstrip(": ")


def _changes(path: str, before: Any, after: Any) -> Iterator[str]:
    """Each field that has another value, with that; of structs and of lists in lists, in them."""
    if before == after:
        return
    if isinstance(after, msgspec.Struct) and type(before) is type(after):
        inner = [
            each
            for name in after.__struct_fields__
            for each in _changes(name, getattr(before, name), getattr(after, name))
        ]
        if not path:
            yield from inner
        else:
            yield f"{path}.{inner[0]}" if len(inner) == 1 else f"{path}({' '.join(inner)})"
    elif isinstance(after, tuple) and isinstance(before, tuple) and len(before) == len(after):
        for at, (one, two) in enumerate(zip(before, after, strict=True), 1):
            yield from _changes(f"{path}[{at}]", one, two)
    elif isinstance(after, tuple) and isinstance(before, tuple) and before == after[: len(before)]:
        yield f"{path}+={_told(after[len(before) :])}"
    else:
        yield f"{path}={_told(after)}"


def _told(value: object) -> str:
    """A value in brief; what is no number or two has its name."""
    if isinstance(value, tuple):
        return ",".join(map(_told, value))
    if not isinstance(value, msgspec.Struct):
        return brief(value)
    fields = msgspec.structs.asdict(value)
    if len(fields) <= FEW and value.__struct_config__.tag is None:
        return "@".join(_told(each) for each in reversed(fields.values()))
    told = {k: v for k, v in fields.items() if k not in ("source", "destination")}
    return f"{type(value).__name__}({' '.join(f'{k}={_told(v)}' for k, v in told.items())})"


def object_of(protocol: Protocol) -> Any | None:
    """What its clients see, as a model; None: it promises nothing to any."""
    promises = _world(protocol).promises
    return promises.model() if promises else None


def family_of(protocol: Protocol) -> Family:
    """The family of the protocol's runs."""
    scenario, options = scenario_of(protocol), options_of(protocol)
    return Family(
        scenario=scenario,
        of=options.of,
        draw=lambda chooser, fixed: options.draw(chooser, scenario.palettes, fixed),
        memo=lambda bug, enabled: PlainMemo(protocol, bug, enabled),
        key=protocol.name,
        simulation=lambda _, *given: PlainSimulation(*given),
        manner=Manner(PLAIN_LEGEND, "row", columns, heals=_world(protocol).calm is not None),
        log=ClientLog(lambda _: Configuration(), objects=lambda: (object_of(protocol),)),
        fixed=(_simplest(protocol),),
        on_request={
            **{_called(protocol, own): own for own in on_request(protocol)},
            **({AWAY: {**_simplest(protocol), AWAY: OFTEN_AWAY}} if protocol.messages else {}),
        },
    )


def _simplest(protocol: Protocol) -> dict[str, Any]:
    return {name: values[0] for name, values in _world(protocol).constants.items()}


def on_request(protocol: Protocol) -> list[dict[str, Any]]:
    """Constants that no run draws: what TLC's models of the protocol ask for
    (tests/specs/asked_by_models.py), then what it has on request itself."""
    own = _world(protocol).on_request
    return [*ASKED.get(protocol.name, ()), *[{of: each} for of in own for each in own[of]]]


def _called(protocol: Protocol, own: Mapping[str, Any]) -> str:
    """By those of them that no run draws."""
    drawn = _world(protocol).constants
    rare = {name: value for name, value in own.items() if value not in drawn.get(name, ())}
    return " ".join(f"{of}={msgspec.json.encode(value).decode()}" for of, value in rare.items())
