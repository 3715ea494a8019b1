"""Run compositions.

Each component moves as if it were alone (chance.py), and what a step of one leads another to is due
there (`Join`).

A move draws a component, and then that component's own move, or the first input that is due at it.
Options are those of the components, each under the component's name.

Law of this file: nothing here knows of a protocol. A component's rows, inputs and rules are those
of its protocol, so that its steps are judged as if it were alone; what joins them is judged by
traces/steps/check.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from kraftcheck.reference.bugs.catalog import replayable
from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.reference.core.run import MOVE_US, Whole
from kraftcheck.reference.core.system import NodeMemo
from kraftcheck.reference.drivers.chance import RandomRun, object_of
from kraftcheck.reference.drivers.options import options_of, scenario_of
from kraftcheck.reference.kit.protocol import Composition, Outcome, constants_of
from kraftcheck.reference.sim.choices import Chooser, chance
from kraftcheck.reference.sim.family import Circular, ClientLog, Family, Manner
from kraftcheck.reference.sim.memo import JoinedMemo, Step
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.options import STRETCH
from kraftcheck.reference.sim.recorder import Recorder, Violation
from kraftcheck.traces.schema import PROGRESSED, STOPPED

LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run; a move takes a millisecond
of      the number of the component, in the order above, to which all that follows belongs
n       the node that takes the step
row     what the node is after the step, `A>B` when the step changed it, and what the step changed
        in its row
input   what the step consumed; `0>1` is from node 0 to node 1; then what it sent, or why it was
        ignored
"""


class ComposedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a composition."""

    name: str
    sentence: str
    composition: Composition
    palettes: Mapping[str, Any]
    """Of each component."""


@cache
def _options_type(composition: Composition) -> type[Any]:
    """The options of each component, and whether a run ends where a property is violated."""
    fields: list[tuple[str, Any, Any]] = [
        (name, of.of, of.off)
        for name, of in ((name, options_of(part)) for name, part in composition.parts.items())
    ]
    kind = f"{composition.name}_options"
    return msgspec.defstruct(kind, [*fields, ("watched", bool, True)], frozen=True, kw_only=True)


def _draw(composition: Composition, chooser: Chooser, requested: Mapping[str, Any]) -> Any:
    """Raises ValueError: there is no such option, or it cannot have this value."""
    own: dict[str, dict[str, Any]] = {name: {} for name in composition.parts}
    for option, value in requested.items():
        if option == "watched":
            continue
        if option == STRETCH:
            for each in own.values():
                each[option] = value
            continue
        ends = [name for name in own if option.startswith(f"{name}_")]
        if not ends:
            raise ValueError(f"no option {option!r}; they begin with {', '.join(own)} and _")
        own[max(ends, key=len)][option.removeprefix(f"{max(ends, key=len)}_")] = value
    try:
        watched = msgspec.convert(requested.get("watched", True), bool, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"option refused: watched: {error}") from None
    drawn = {}
    for name, part in composition.parts.items():
        found = options_of(part).draw(chooser, scenario_of(part).palettes, own[name], f"{name}.")
        drawn[name] = msgspec.structs.replace(found, watched=watched)
    return _options_type(composition)(**drawn, watched=watched)


def _memo(composition: Composition, bug: str | None, enabled: bool) -> JoinedMemo:
    """Raises UnknownBug: none of the protocols has a bug of this id."""
    protocols = {part.name: part for part in composition.parts.values()}
    whose = None if bug is None else replayable(bug).protocol
    if bug is not None and whose not in protocols:
        replayable(bug, next(iter(protocols)))
    memos = {
        name: NodeMemo(part, bug if name == whose else None, enabled)
        for name, part in protocols.items()
    }
    return JoinedMemo({name: memos[part.name] for name, part in composition.parts.items()})


class _Component(RandomRun):
    """One of a run's components. due: what steps of others have led it to, with its node."""

    def __init__(self, run: ComposedSimulation, number: int, name: str, *given: Any) -> None:
        joins = run.composition.joins
        joined = {of for join in joins if join.to == name for of in join.inputs}
        options, chooser, memo, recorder = given
        super().__init__(options, chooser, memo, recorder, joined)
        self._run, self.part_of, self.component = run, run, number
        self._out = [join for join in joins if join.of == name]
        self.due: deque[tuple[int, Any]] = deque()

    def move(self, time: int) -> bool:
        """One move. Whether the run goes on."""
        if self.due and chance(self._network, self._options.delivered):
            node, input = self.due.popleft()
            step = self.step(node, self.known(input))
        else:
            step = self.moved()
        return step is None or self.make(time, step)

    def record(self, time: int, step: Step) -> None:
        super().record(time, step)
        outcome = Outcome(step.after.row, tuple([m.value for _, m in step.sent]), step.ignored)
        for join in self._out:
            found = join.leads(step.before.node, step.before.row, step.input.value, outcome)
            self._run.component(join.to).expect(found)

    def expect(self, led_to: Iterable[tuple[int, Any]]) -> None:
        """A step of another component leads to this."""
        self.due.extend(each for each in led_to if each[0] in self.system.nodes)


class ComposedClients:
    """What clients of all components ask and are told; `partition` tells component and object."""

    def __init__(self, components: Sequence[RandomRun]) -> None:
        self._components = components

    @property
    def history(self) -> list[Operation]:
        """In the order of invocation. To be read once, at the end."""
        found: list[Operation] = []
        for at, each in enumerate(self._components):
            for operation in each.clients.history:
                operation.partition = operation.partition * len(self._components) + at
                found.append(operation)
        found.sort(key=lambda operation: operation.invoked)
        processes: dict[tuple[int, int], int] = {}
        for operation in found:
            of = operation.partition % len(self._components), operation.process
            operation.process = processes.setdefault(of, len(processes))
        return found


class ComposedSimulation(Whole, Circular):
    """One run of a composition."""

    def __init__(
        self,
        composition: Composition,
        options: Any,
        chooser: Chooser,
        memo: JoinedMemo,
        recorder: Recorder,
    ) -> None:
        self.composition = composition
        super().__init__(recorder)
        self._options, self._chooser = options, chooser
        self._components = {
            name: _Component(
                self, at, name, getattr(options, name), chooser, memo.of[name], recorder
            )
            for at, name in enumerate(self.composition.parts)
        }
        self.clients = ComposedClients([*self._components.values()])
        of = [each.constants for each in self._components.values()]
        self.constants = constants_of(self.composition)(components=tuple(of))
        self.verdict = PROGRESSED
        self.violations: list[Violation] = []

    def component(self, name: str) -> _Component:
        return self._components[name]

    @property
    def handler_calls(self) -> int:
        return sum(each.handler_calls for each in self._components.values())

    def execute(self) -> None:
        workload, of = self._chooser.stream("workload"), [*self._components.values()]
        for move in range(self._moves()):
            each = of[workload.below(len(of))]
            before, calls = self._rows(), self.steps_taken()
            if not each.move(move * MOVE_US):
                self._stop(each.violations[-1])
                return
            if self.steps_taken() > calls and self._options.watched:
                for asked in self.composition.properties:
                    wrong = asked.check(self.constants, before, self._rows())
                    if wrong is not None:
                        self._stop(Violation(asked.name, self.steps_taken() - 1, wrong))
                        return

    def _moves(self) -> int:
        parts = [getattr(self._options, name) for name in self.composition.parts]
        return sum(each.moves * each.stretch for each in parts)

    def _rows(self) -> dict[str, Mapping[int, Any]]:
        return {name: each.rows for name, each in self._components.items()}

    def _stop(self, found: Violation) -> None:
        self.violations.append(found)
        self.verdict = STOPPED

    def statistics(self) -> dict[str, int]:
        parts = [each.statistics() for each in self._components.values()]
        names = dict.fromkeys(name for part in parts for name in part)
        found = {name: sum(part[name] for part in parts) for name in names}
        return found | {"duration": self._moves() * MOVE_US}


def _told(options: Any, told: Callable[[Any], str]) -> str:
    parts = [name for name in options.__struct_fields__ if name != "watched"]
    return "; ".join(f"{name}: {told(getattr(options, name))}" for name in parts)


def family_of(composition: Composition) -> Family:
    """The family of the composition's runs."""
    scenario = ComposedScenario(
        name=composition.name,
        sentence=composition.sentence,
        composition=composition,
        palettes={name: scenario_of(part).palettes for name, part in composition.parts.items()},
    )
    return Family(
        scenario=scenario,
        of=_options_type(composition),
        draw=lambda chooser, fixed: _draw(composition, chooser, fixed),
        memo=lambda bug, enabled: _memo(composition, bug, enabled),
        key=composition.name,
        simulation=lambda _, *given: ComposedSimulation(composition, *given),
        manner=Manner(LEGEND, "row", str, options=_told, composed=True, heals=False),
        log=ClientLog(
            lambda _: Configuration(),
            objects=lambda: [object_of(part) for part in composition.parts.values()],
        ),
        fixed=(),
    )
