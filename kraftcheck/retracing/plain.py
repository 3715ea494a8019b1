"""A counterexample of TLC as a run of a protocol that has no simulation of its own.

TLC shows states; here the moves between them are found. The variables of the model that hold rows
are found in its first state: a record that is the first row of one node, or a function of nodes to
first rows. From each state every move that the reference has is tried, the delivery of any message
that was sent and each input of a node's own; the one after which all rows, and the network if there
is a variable of that name, are those of TLC's next state is taken.

What comes out is a schedule of choices (reference/sim/schedules.py), which `replay` tells.

Law of this file: nothing is guessed: a state that no move leads to ends the way, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from kraftcheck.exits import BadInput
from reference.kit.protocol import Protocol
from reference.runner.run import Run, simulate_run
from reference.sim.choices import Choice, RecordingChooser, ReplayChooser, StreamName
from reference.sim.interning import KnownInput
from reference.sim.memo import State, Step
from reference.sim.plain import PlainMemo
from reference.sim.schedules import Schedule
from tla_utils import Value
from tla_utils.output import State as Shown
from tla_utils.values import Function
from traces.cover.settings import constants_of
from traces.jobs.abstraction import Abstraction, constant_name

NETWORK = "network"
ALWAYS = 999
"""Of a thousand: what is asked for happens."""


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
    """The protocol's constants as a cfg gives them. Raises BadInput: one is missing, or no value of
    its field.
    """
    texts = constants_of(cfg)
    values: dict[str, Any] = {}
    for field in protocol.constants.__struct_fields__:
        name = constant_name(field)
        if name not in texts:
            raise BadInput(f"the cfg does not say {name}")
        text = texts[name].replace("{", "[").replace("}", "]")
        try:
            values[field] = msgspec.json.decode(
                text.replace("TRUE", "true").replace("FALSE", "false")
            )
        except msgspec.DecodeError:
            raise BadInput(f"the cfg gives {name} a value that cannot be read: {text}") from None
    try:
        return msgspec.convert(values, protocol.constants)
    except msgspec.ValidationError as error:
        raise BadInput(f"the constants of the cfg: {error}") from None


def follow(protocol: Protocol, cfg: str, states: Sequence[Shown], bug: str | None) -> Way:
    """The way that the reference takes through these states.

    Raises BadInput: the constants cannot be read, or no variable holds the nodes' rows.
    """
    return _Following(protocol, constants_in(protocol, cfg), bug).along(states)


class _Following:
    def __init__(self, protocol: Protocol, constants: Any, bug: str | None) -> None:
        self._protocol, self._constants, self._bug = protocol, constants, bug
        self._machine = PlainMemo(protocol, bug).machine(constants)
        self._form = Abstraction(constants)
        self._states = {node: self._machine.first_state(node) for node in self._machine.nodes}
        self._under_way: list[tuple[int, KnownInput]] = []
        self._sent: set[Value] = set()
        self._choices: dict[StreamName, list[int]] = {"network": [], "workload": []}
        self._moves = 0

    def along(self, states: Sequence[Shown]) -> Way:
        places = self._places(states[0].values)
        missing = ""
        reached = 1
        for shown in states[1:]:
            move = next(self._leading_to(shown.values, places), None)
            if move is None:
                missing = f"no move of the reference leads to state {reached + 1} of TLC"
                break
            self._make(*move)
            reached += 1
        return self._way(len(states), reached, missing)

    def _places(self, values: Mapping[str, Value]) -> dict[int, tuple[str, bool]]:
        """Of each node the variable that holds its row, and whether it is a function of nodes."""
        found: dict[int, tuple[str, bool]] = {}
        for node, state in self._states.items():
            first = self._form.row(state.row)
            for name, value in values.items():
                if _entry(value, node) == first:
                    found[node] = name, True
                elif value == first:
                    found[node] = name, False
        if left := [node for node in self._states if node not in found]:
            raise BadInput(
                f"no variable of TLC's first state holds the first row of node {left[0]}"
            )
        return found

    def _leading_to(
        self, values: Mapping[str, Value], places: Mapping[int, tuple[str, bool]]
    ) -> Iterator[tuple[Step, list[tuple[StreamName, int]]]]:
        """The moves after which everything is as TLC shows it, each with its choices."""
        wanted = {
            node: _entry(values[name], node) if within else values[name]
            for node, (name, within) in places.items()
        }
        others = {node: self._form.row(state.row) for node, state in self._states.items()}
        for step, choices in self._moves_from():
            node = step.before.node
            rows = {**others, node: self._form.row(step.after.row)}
            sent = self._sent | {self._form.input(message.value) for _, message in step.sent}
            if rows == wanted and values.get(NETWORK, sent) == sent:
                yield step, choices

    def _moves_from(self) -> Iterator[tuple[Step, list[tuple[StreamName, int]]]]:
        asked: list[tuple[StreamName, int]] = [("network", 0)] if self._under_way else []
        able = [state for state in self._states.values() if state.wants]
        for at, state in enumerate(able):
            for number, input in enumerate(state.wants):
                step = self._step(state, input)
                if step is not None:
                    yield step, [*asked, ("workload", at), ("workload", number)]
        for at, (node, message) in enumerate(self._under_way):
            state = self._states[node]
            step = self._step(state, message) if state.running else None
            if step is not None:
                # The network of a model forgets nothing, so the message is under way still.
                yield step, [("network", ALWAYS), ("network", at), ("network", ALWAYS)]

    def _step(self, state: State, input: KnownInput) -> Step | None:
        return state.steps.get(input) or self._machine.step(state, input)

    def _make(self, step: Step, choices: Sequence[tuple[StreamName, int]]) -> None:
        for stream, value in choices:
            self._choices[stream].append(value)
        self._states[step.before.node] = step.after
        self._under_way += step.travelling
        self._sent |= {self._form.input(message.value) for _, message in step.sent}
        self._moves += 1

    def _way(self, states: int, reached: int, missing: str) -> Way:
        constants = {
            name: getattr(self._constants, name) for name in self._constants.__struct_fields__
        }
        options = {**constants, "moves": max(self._moves, 1), "watched": True}
        options |= {"delivered": 500, "lost": 0, "doubled": 500}
        made = [
            Choice(stream, 1000, value) for stream, own in self._choices.items() for value in own
        ]
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
