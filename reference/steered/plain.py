"""A run of a protocol that has no simulation of its own, steered: which moves there are, and what
each does.

Steps are taken as the simulator takes them (reference/sim/plain.py), and the properties asked after
each. A move gives a node an input of its own, or delivers a message; what a step sends may be lost
with it, and a message may come again. Progress is asked of protocols that say what it is
(`World.calm`).

Law of this file: no choice is made here, and nothing knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.sim.choices import StreamName
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Memos, Step
from kraftcheck.reference.sim.plain import LATE, MOVE_US, PlainMemo, PlainSimulation, options_of
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.failures import Violation
from kraftcheck.reference.steered.moves import Move, NodeStep, recorded_steps

LOST: Final = ", and nobody hears what it sends"
AGAIN: Final = ", which comes again"
HELD: Final = " late"

memos = Memos()
"""By protocol and bug."""


class _Fate:
    """What becomes of what a step sends: all of it is lost, or nothing."""

    def __init__(self) -> None:
        self.loses = False

    def stream(self, name: StreamName) -> _Fate:
        return self

    def below(self, bound: int) -> int:
        return bound - 1 if self.loses else 0


class PlainSchedule(PlainSimulation):
    """A run of the protocol, and the moves so far. options: those of its runs; of those that say
    how often something happens only `late` counts, which is 0 or not. memo: in which another takes
    steps of nodes, if it is not the reference.

    Raises UnknownBug; ProtocolError: no such constants.
    """

    def __init__(
        self, protocol: Protocol, options: Any, bug: str | None, memo: PlainMemo | None = None
    ) -> None:
        self.options = options
        self.recorder = Recorder(0)
        self._fate = _Fate()
        memo = memo or memos.of((protocol.name, bug), lambda: PlainMemo(protocol, bug))
        # What may be lost is asked about.
        super().__init__(replace(options, lost=1), self._fate, memo, self.recorder)
        self._sentences = {each.name: each for each in self._world.properties}
        self.moves: list[str] = []
        self.sound = True

    # --- What there is

    def mail(self) -> list[tuple[int, KnownInput]]:
        """Messages that may come now, the one that waits longest first."""
        found = []
        for at, (node, message) in enumerate(self._under_way):
            ordered = self._world.in_order(message.value)
            if not ordered or self._first_of_channel(self._under_way, at) == at:
                found.append((node, message))
        return found

    def held(self) -> list[tuple[int, KnownInput]]:
        """Messages that may come although nobody waits for them."""
        return list(self._held)

    def may_repeat(self, message: KnownInput) -> bool:
        return not self._world.in_order(message.value)

    def is_at_once(self, message: Any) -> bool:
        """Whether it is heard in the step that sends it, or never."""
        return self._world.at_once(message)

    # --- What is done

    def act(self, node: int, input: KnownInput, lost: bool = False) -> bool:
        """Whether the input came: it may be disabled."""
        step = self._step(node, input)
        if step is None:
            return False
        lost = lost and bool(step.travelling)
        self._make(f"{self._said(node, input)}{LOST * lost}", step, lost)
        return True

    def deliver(self, node: int, message: KnownInput, again: bool = False) -> None:
        """again: it is under way still, or comes late."""
        at = self._under_way.index((node, message))
        if again and self._late:
            self._held.append(self._under_way.pop(at))
        elif not again:
            del self._under_way[at]
        self._arrive(f"{self._said(node, message)}{AGAIN * again}", node, message)

    def deliver_held(self, node: int, message: KnownInput) -> None:
        self._held.remove((node, message))
        self._arrive(f"{self._said(node, message)}{HELD}", node, message)

    def _arrive(self, words: str, node: int, message: KnownInput) -> None:
        waited_for = self._states[node].running and self._comes(node, message.value)
        self._make(words, self._step(node, message) if waited_for else None, lost=False)

    def _make(self, words: str, step: Step | None, lost: bool) -> None:
        self.moves.append(words)
        if step is None:
            return
        self.sound = False
        self._fate.loses = lost
        self._take(len(self.moves) * MOVE_US, step)
        for each in self.violations:
            raise Violation(self._sentences[each.invariant], each.explanation, self.moves)
        self.sound = True

    def _said(self, node: int, input: KnownInput) -> str:
        words = _words(input.value)
        return words if hasattr(input.value, "destination") else f"{node} {words}"

    # --- As steered runs are (reference/steered/moves.py)

    def possible(self) -> Iterator[Move]:
        for node, message in dict.fromkeys(self.mail()):
            words = self._said(node, message)
            yield Move(words, partial(self.deliver, node, message))
            if self.may_repeat(message):
                yield Move(f"{words}{AGAIN}", partial(self.deliver, node, message, True))
        for node, message in dict.fromkeys(self.held()):
            words = f"{self._said(node, message)}{HELD}"
            yield Move(words, partial(self.deliver_held, node, message))
        yield from self.own_moves()

    def own_moves(self) -> Iterator[Move]:
        """Of nodes by themselves."""
        for node, input in self.own():
            yield from self.own_moves_of(node, input)

    def own_moves_of(self, node: int, input: KnownInput) -> Iterator[Move]:
        step = self._step(node, input)
        if step is not None:
            words = self._said(node, input)
            yield Move(words, partial(self._own_move, node, input, False))
            if step.travelling:
                yield Move(f"{words}{LOST}", partial(self._own_move, node, input, True))

    def _own_move(self, node: int, input: KnownInput, lost: bool) -> None:
        self.act(node, input, lost)

    def deliver_first(self) -> bool:
        self.deliver(*self.mail()[0])
        return True

    def take_turn(self, node: int, input: KnownInput) -> bool:
        self.act(node, input)
        return True

    def steps(self) -> Iterator[NodeStep]:
        return recorded_steps(self.recorder)

    def named_rows(self) -> dict[str, Any]:
        kind_of, states = self._protocol.kind_of, self._states
        return {f"{kind_of(self.constants, n).name} {n}": s.row for n, s in states.items()}

    def setting(self) -> dict[str, Any]:
        names = [*self._world.constants, *([LATE] if hasattr(self.options, LATE) else ())]
        return {name: msgspec.to_builtins(getattr(self.options, name)) for name in names}


def begun(protocol: Protocol, setting: dict[str, Any], bug: str | None) -> PlainSchedule:
    """A run with this setting. Raises msgspec.ValidationError: it has an unknown option, or no
    value of one; as PlainSchedule.
    """
    return PlainSchedule(protocol, msgspec.convert(setting, options_of(protocol).of), bug)


def _words(value: Any) -> str:
    """An input in words that say all about it."""
    fields = msgspec.structs.asdict(value)
    ends = ""
    if "destination" in fields:
        ends = f"{fields.pop('source')} -> {fields.pop('destination')} "
    told = " ".join(f"{name}={_value(each)}" for name, each in fields.items())
    return f"{ends}{type(value).__name__} {told}".rstrip()


def _value(value: object) -> str:
    return msgspec.json.encode(value).decode().replace('"', "")
