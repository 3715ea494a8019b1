"""A run of a system: its configuration, its recording, and the properties asked after each step.

A driver that records and judges what it does is a `Run`: it chooses moves, and `make` has a step
happen. In the end nothing disturbs the run any more, and it must make progress, where the protocol
says what that is (`World.calm`).

Law of this file: no choice is made here. What a driver decides within a move are the messages that
are lost (`loses`) and the nodes that hear nothing (`hears`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, Final

from kraftcheck.reference.core.system import (
    Configuration,
    Message,
    Move,
    NodeMemo,
    System,
    world_of,
)
from kraftcheck.reference.kit.properties import Due, Invariant, Property
from kraftcheck.reference.kit.protocol import HISTORY, Answered, ClientPromise, Outcome, Protocol
from kraftcheck.reference.protocols import ProtocolError
from kraftcheck.reference.sim.family import Circular
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import State, Step
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.recorder import Recorder, Violation
from kraftcheck.traces.schema import OF_OBJECT, PROGRESSED, STOPPED

MOVE_US: Final = 1000
"""Virtual microseconds between two moves, in runs without a clock."""
ROUNDS: Final = 50
"""Rounds after which a calm end has come to rest. In each, the messages in flight arrive, and each
node takes what it can."""
LATE: Final = "late"
"""The option of a run in which messages arrive although nobody awaits them: so many of a thousand
moves deliver one that was held back, which would be lost or doubled elsewhere. It does not come
sooner where nothing else is in flight: what is late must outlast a change of who coordinates, or
the next transaction.
"""
STRICT: Final = "strict"
"""The option of a run that is to keep what it does not promise as well."""


class ObjectClients:
    """What clients ask and are told, as the protocol says (`World.promises`); else nothing."""

    def __init__(self, promise: ClientPromise | None) -> None:
        self._promise = promise
        self._known: dict[Hashable, Operation] = {}
        self.history: list[Operation] = []

    def hear(self, time: int, constants: Any, step: Step) -> None:
        """A step was taken."""
        if self._promise is not None and self._promise.until(step.after.node, step.after.row):
            self._promise = None
        if self._promise is None:
            return
        outcome = Outcome(step.after.row, tuple([m.value for _, m in step.sent]), step.ignored)
        node, row = step.before.node, step.before.row
        for told in self._promise.told(constants, node, row, step.input.value, outcome):
            if isinstance(told, Answered):
                self._answer(time, told)
            elif told.id not in self._known:
                process = len(self.history) if told.process is None else told.process
                asked = Operation(process, f"{OF_OBJECT}{told.op}", node, time, told.key)
                asked.offset, asked.outcome = told.argument, "indeterminate"
                self._known[told.id] = asked
                self.history.append(asked)

    def _answer(self, time: int, told: Answered) -> None:
        asked = self._known.get(told.id)
        if asked is not None and told.again:
            del self._known[told.id]
        if asked is not None and asked.completed is None and told.outcome != "indeterminate":
            result = () if told.result is None else told.result
            asked.values = [result] if isinstance(result, int) else [*result]
            asked.completed, asked.outcome = time, told.outcome


class Whole:
    """Several runs of which one recording is made."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self._first_step = recorder, len(recorder.steps.items)

    def steps_taken(self) -> int:
        """By all of them, so far."""
        return len(self.recorder.steps.items) - self._first_step

    def end(self, verdict: str) -> None:
        """One of them ends, and with it all."""


class Run(Circular):
    """One run of a protocol. Raises ProtocolError: there are no such constants."""

    part_of: Whole | None = None
    """Of what this is a part."""
    component: int | None = None
    """Which of it."""

    def __init__(
        self,
        options: Any,
        memo: NodeMemo,
        recorder: Recorder,
        joined: Collection[type[Any]] = (),
    ) -> None:
        self._options, self._recorder = options, recorder
        self.constants = self.make_constants(memo.protocol, options)
        machine = memo.machine(self.constants)
        self.system = System(machine, bool(getattr(options, LATE, 0)), joined)
        self._world = self.system.world
        self._moves = 0
        self.clients: Any = ObjectClients(self._world.promises)
        unkept = self.unkept()
        self._due = Due([e for e in self._world.properties if e.name not in unkept])
        self.at: Configuration = self.system.initial()
        self.rows: dict[int, Any] = self.system.rows(self.at)
        """Those of all nodes, and the run's past. A step makes another mapping."""
        self._judge = None if self._world.judge is None or unkept else self._world.judge(machine)
        asked_of = self._world.asked_of
        self.asked_of: Any = None if asked_of is None else asked_of(self.constants, self.rows)
        """What properties look at, if not at rows."""
        self._history = None if self._judge else self._world.history
        if self._history is not None:
            self.rows[HISTORY] = None
        self.handler_calls = 0
        self.verdict = PROGRESSED
        self.violations: list[Violation] = []
        self._counts = dict.fromkeys(("lost", "duplicated", "undelivered"), 0)

    def make_constants(self, protocol: Protocol, options: Any) -> Any:
        """The constants that the options give. Raises ProtocolError: the protocol refuses them."""
        drawn = {name: getattr(options, name) for name in world_of(protocol).constants}
        try:
            return protocol.constants(**drawn)
        except AssertionError as error:
            raise ProtocolError(f"protocol {protocol.name}: options refused: {error}") from None

    def unkept(self) -> Collection[str]:
        """The names of the properties that this run need not keep."""
        left = self._world.unpromised
        return left(self._options) if left and not getattr(self._options, STRICT) else ()

    def loses(self, message: KnownInput) -> bool:
        """Whether a message that a step sends is lost. Not asked of messages that come in order."""
        return False

    def state(self, node: int) -> State:
        return self.system.state(self.at, node)

    def known(self, input: Any) -> KnownInput:
        return self.system.machine.interner.input(input)

    def step(self, node: int, input: KnownInput) -> Step | None:
        """The step that a node would take; None: the input is disabled."""
        return self.system.step(self.at, node, input)

    def own(self, quiet: Sequence[str] = ()) -> list[Message]:
        """The inputs that nodes may take by themselves. quiet: kinds of nodes that take none."""
        return self.system.own(self.at, self.rows, quiet)

    # --- Moves

    def arrived(self, move: Move) -> Step | None:
        """The message of a move arrives. The step that it leads to, which is not taken yet."""
        self.at = self.system.arrive(self.at, move)
        node, input = move.node, move.input
        if not self.state(node).running or not self.system.comes(self.rows, node, input.value):
            self._counts["undelivered"] += 1
            return None
        return self.step(node, input)

    def goes_on(self, step: Step | None) -> bool:
        """A move is made, which led to a step or to none. Whether the run goes on."""
        time = self._moves * MOVE_US
        self._moves += 1
        return step is None or self.make(time, step)

    def make(self, time: int, step: Step) -> bool:
        """A node takes a step, and those take theirs who hear at once what it sends.

        Whether the run goes on.
        """
        self.record(time, step)
        waiting = len(self.at.urgent)
        lost = []
        for place, (_, message) in enumerate(step.travelling):
            if not self._world.in_order(message.value) and self.loses(message):
                self._counts["lost"] += 1
                lost.append(place)
        self.at = self.system.after(self.at, step, lost)
        if not (step.inert and self.asked_of is None) and not self.holds_after(step):
            return False
        while len(self.at.urgent) > waiting and self.verdict != STOPPED:
            node, message = self.at.urgent[0]
            self.at = self.system.arrive(self.at, Move("hear", node, message))
            heard = self.step(node, message) if self.hears(node) else None
            if heard is not None:
                self.make(time, heard)
        return self.verdict != STOPPED

    def hears(self, node: int) -> bool:
        """Whether a node hears what is heard at once or never."""
        return self.state(node).running

    def record(self, time: int, step: Step) -> None:
        recorder = self._recorder
        if step.owner is not recorder.token:
            recorder.enter(step)
        recorder.steps.items.append(step.number)
        recorder.times.items.append(time)
        if self.component is not None:
            recorder.components.items.append(self.component)
        self.handler_calls += 1
        self.clients.hear(time, self.constants, step)

    def steps_taken(self) -> int:
        """In the run, or the whole of which it is a part, so far."""
        return self.handler_calls if self.part_of is None else self.part_of.steps_taken()

    def holds_after(self, step: Step) -> bool:
        """Whether all properties hold that are asked; the rows are those after the step."""
        before, after = self.look(step)
        if not self._options.watched:
            return True
        found = self.wrong(step, before, after)
        if found is not None:
            wrong, explanation = found
            self.violations.append(Violation(wrong.name, self.steps_taken() - 1, explanation))
            self.verdict = STOPPED
        return found is None

    def look(self, step: Step) -> tuple[Any, Any]:
        """What properties look at before and after a step, which enters the rows."""
        node, row = step.before.node, step.after.row
        rows, whole = self.rows, self.asked_of
        self.rows = {**rows, node: row}
        if whole is None:
            return rows, self.rows
        self.asked_of = whole.stepped(node, row, [message.value for _, message in step.sent])
        return whole, self.asked_of

    def wrong(self, step: Step, before: Any, after: Any) -> tuple[Property | Invariant, str] | None:
        """Give the first property that a step breaks, and what is wrong.

        The step enters the past that later rows are judged by.
        """
        if self._history is not None:
            after[HISTORY] = self._history(self.constants, before, after)
        if self._judge is not None:
            return self._judge(step, before, after)
        return next(self._due.wrong(self.constants, before, after), None)

    # --- The end

    def progress(self) -> str:
        """Say what is missing when nothing disturbs the run any more.

        Empty if nothing is, and if the run stops before.
        """
        calm = self._world.calm
        if calm is None:
            return ""
        for _ in range(ROUNDS):
            before = self.rows
            for _ in range(len(self.at.mail)):
                if not self.deliver_first():
                    return ""
            for node, input in self.own():
                if isinstance(input.value, calm.inputs) and not self.take_turn(node, input):
                    return ""
            if self.rows is before and not self.at.mail:
                break
        return calm.missing(self.constants, self.rows)

    def deliver_first(self) -> bool:
        """The oldest message arrives. Whether the run goes on."""
        return self.goes_on(self.arrived(Move("deliver", *self.at.mail[0], 0)))

    def take_turn(self, node: int, input: KnownInput) -> bool:
        """A node takes an input of its own, if it can. Whether the run goes on."""
        return self.goes_on(self.step(node, input))

    def statistics(self) -> dict[str, int]:
        return {**self._counts, "duration": self._moves * MOVE_US}
