"""From the search's chain to a linearization, and the proof that it is one.

A chain names only the operations that changed the state, and at which event they had their place.
Those that changed nothing, or were overwritten at once, are put back here by the same two laws that
let the search pass over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.traces.checkers.jit import NEVER, Call, Chain, Compiled
from kraftcheck.traces.checkers.sequential import REFUSED, Effect, Model
from kraftcheck.traces.history import INDETERMINATE, Operation

Place = tuple[int, int, int]
"""After how many changes of state, before or at (0) or after (1) it, and a tie-break."""


def linearization(compiled: Compiled, chain: Chain | None) -> list[Operation]:
    """The operations that took effect, in the order of a chain of the last event.

    Raises AssertionError if that order is none: a defect of the search.
    """
    by_event: dict[int, list[Call]] = {}
    link = chain
    while link is not None:
        at, call, link = link
        by_event.setdefault(at, []).append(call)
    replay = _Replay(compiled)
    for at, event in enumerate(compiled.events):
        for call in event.invoked:
            replay.open[call.slot] = call
        replay.rest()
        for call in reversed(by_event.get(at, [])):
            replay.change(call)
        del replay.open[event.returned.slot]
    return [
        compiled.operations[number]
        for number in sorted(replay.places, key=replay.places.__getitem__)
    ]


class _Replay:
    """One path through the events, with a place for every operation."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.model = compiled.model
        self.state: Any = self.model.initial()
        self.changes = 0
        self.open: dict[int, Call] = {}
        self.places: dict[int, Place] = {}

    def step(self, call: Call) -> Any:
        return self.model.step(self.state, self.compiled.kinds[call.kind])

    def waiting(self) -> list[Call]:
        """What must have a place before it returns, and has none."""
        return [
            call
            for call in self.open.values()
            if call.deadline != NEVER and call.operation not in self.places
        ]

    def rest(self) -> None:
        """Nothing happened: a place for all that leave the state as it is."""
        for call in self.waiting():
            if self.step(call) == self.state:
                self.places[call.operation] = (self.changes, 1, len(self.places))

    def change(self, call: Call) -> None:
        self.changes += 1
        if call.effect is Effect.OVERWRITE:
            for other in self.waiting():
                if other.effect in (Effect.TOTAL, Effect.OVERWRITE):
                    self.places[other.operation] = (self.changes, -1, len(self.places))
        self.state = self.step(call)
        self.places[call.operation] = (self.changes, 0, 0)
        self.rest()


def prove(order: Sequence[Operation], operations: Sequence[Operation], model: Model) -> None:
    """Check that `order` is a linearization of `operations`, in linear time.

    An order keeps real time if no operation ends before the latest invocation of those before it.

    Raises:
        AssertionError: it is not.
    """
    judged = [each for each in operations if model.judges(each)]
    certain = {each.index for each in judged if each.outcome != INDETERMINATE}
    placed = {each.index for each in order}
    assert len(placed) == len(order) and certain <= placed, "an operation without a place"
    assert placed <= {each.index for each in judged}, "an operation that had no effect"
    state, latest = model.initial(), None
    for each in order:
        ends = None if each.outcome == INDETERMINATE else each.completed
        assert latest is None or ends is None or ends >= latest, f"{each.index} comes too late"
        latest = each.invoked if latest is None else max(latest, each.invoked)
        state = model.step(state, each)
        assert state is not REFUSED, f"{each.index} is refused"
