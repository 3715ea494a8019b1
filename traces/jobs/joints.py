"""What comes in turn: the inputs that a join leads to, and messages that keep their order.

Something is *due* at a node when a step has led to it, and *comes* when the node takes a step with
it as its input. What comes must be due, and comes in the order in which it was due, each once; some
of it may never come.

Law of this file: it knows no protocol. What is due, and where, is declared (`Join` and
`World.in_order` of reference/kit/protocol.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from kraftcheck.reference.kit.protocol import Composition, Outcome
from kraftcheck.reference.protocols import components_of, composition_of, protocol_of
from kraftcheck.traces.jobs.columns import Part


class Wrong(NamedTuple):
    """What is wrong, and at which occurrence of the part."""

    at: int
    explanation: str


class _Turn(NamedTuple):
    """Where things wait for their turn. due: what a step of the part makes due, with the queue.
    comes: in which queue a step's input must wait; None: it needs none."""

    due: Callable[[int, int], Iterable[tuple[Hashable, Any]]]
    comes: Callable[[int, int], Hashable | None]


def joined(part: Part) -> Iterator[Wrong]:
    """The first step of each run with an input of a join that is not due."""
    for run, code in enumerate(part.run_constants.tolist()):
        composition = composition_of(part.constants[code])
        if composition is not None:
            turn = _of_joins(part, composition)
            yield from _first(part, run, turn, "which no step of the other component leads to then")


def in_order(part: Part) -> Iterator[Wrong]:
    """The first step of each run with a message out of its order."""
    for run, code in enumerate(part.run_constants.tolist()):
        worlds = [protocol_of(each).world for each in components_of(part.constants[code])]
        tests = [None if world is None else world.in_order for world in worlds]
        if any(_orders(part, test) for test in tests if test is not None):
            turn = _of_channels(part, [test or (lambda message: False) for test in tests])
            yield from _first(part, run, turn, "which is not the next on its way, or came already")


def _orders(part: Part, test: Callable[[Any], bool]) -> bool:
    return any(test(each) for each in part.inputs if hasattr(each, "destination"))


def _first(part: Part, run: int, turn: _Turn, why: str) -> Iterator[Wrong]:
    waiting: dict[Hashable, deque[Any]] = {}
    offsets = part.steps_of_run.offsets
    for at in range(int(offsets[run]), int(offsets[run + 1])):
        step, component = int(part.taken[at]), int(part.component[at])
        queue = turn.comes(component, step)
        if queue is not None:
            found, input = waiting.get(queue, deque()), part.inputs[part.input[step]]
            while found and found[0] != input:
                found.popleft()
            if not found:
                what = f"{part.action[step]} of node {part.node[step]} has an input {why}: {input}"
                yield Wrong(at, what)
                return
            found.popleft()
        for queue, due in turn.due(component, step):
            waiting.setdefault(queue, deque()).append(due)


def _of_joins(part: Part, composition: Composition) -> _Turn:
    names = [*composition.parts]

    def due(component: int, step: int) -> Iterator[tuple[Hashable, Any]]:
        for join in composition.joins:
            if join.of == names[component]:
                taken = part.step(step)
                outcome = Outcome(taken.after, taken.sent, taken.ignored)
                for node, input in join.leads(taken.node, taken.before, taken.input, outcome):
                    yield (join.to, node), input

    def comes(component: int, step: int) -> Hashable | None:
        name, kind = names[component], type(part.inputs[part.input[step]])
        if any(join.to == name and kind in join.inputs for join in composition.joins):
            return name, int(part.node[step])
        return None

    return _Turn(due, comes)


def _of_channels(part: Part, tests: list[Callable[[Any], bool]]) -> _Turn:
    def due(component: int, step: int) -> Iterator[tuple[Hashable, Any]]:
        for message in part.messages(part.sent[step]):
            if tests[component](message):
                yield (component, message.source, message.destination), message

    def comes(component: int, step: int) -> Hashable | None:
        input = part.inputs[part.input[step]]
        if hasattr(input, "destination") and tests[component](input):
            return component, input.source, input.destination
        return None

    return _Turn(due, comes)
