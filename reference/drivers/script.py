"""The driver by script: every move is told from outside, in words.

`possible` says which moves there are, each with words that say all about it; a script is a list of
such words (reference/steered/scripts.py), and Hypothesis draws among them
(tests/stateful/plain_machine.py). What a step sends may be lost with it, and a message may come
again. The properties are asked after each move.

Law of this file: no choice is made here, and nothing knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec

from kraftcheck.reference.core.run import LATE, MOVE_US, Run
from kraftcheck.reference.core.system import Message, Move as SystemMove, NodeMemo
from kraftcheck.reference.drivers.options import options_of
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Memos, Step
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.failures import Violation
from kraftcheck.reference.steered.moves import Move, NodeStep, recorded_steps

LOST: Final = ", and nobody hears what it sends"

memos = Memos()
"""By protocol and bug."""


class ToldRun(Run):
    """A run whose moves are told one by one, and the moves so far.

    Args:
        memo: the steps of its nodes.
        recorder: of a whole of which this is a part; None: the run is recorded by itself.
    """

    def __init__(self, options: Any, memo: NodeMemo, recorder: Recorder | None = None) -> None:
        self.options, self.recorder = options, recorder or Recorder(0)
        super().__init__(options, memo, self.recorder)
        self._sentences = {each.name: each for each in self._world.properties}
        self.moves: list[str] = []
        self.sound = True

    def now_us(self) -> int:
        """Virtual microseconds."""
        return len(self.moves) * MOVE_US

    def perform(self, step: Step) -> None:
        """A node takes a step. Raises Violation."""
        self.sound = False
        self.make(self.now_us(), step)
        for each in self.violations:
            raise Violation(self._sentences[each.invariant], each.explanation, self.moves)
        self.sound = True

    def steps(self) -> Iterator[NodeStep]:
        return recorded_steps(self.recorder)

    def named_rows(self) -> dict[str, Any]:
        kind_of = self.system.protocol.kind_of
        return {f"{kind_of(self.constants, s.node).name} {s.node}": s.row for s in self.at.states}


class ScriptedRun(ToldRun):
    """A run of the protocol.

    options: those of its runs; of those that say how often something happens only `late` counts,
    which is 0 or not. memo: in which another takes steps of nodes, if it is not the reference.

    Raises UnknownBug; ProtocolError: no such constants.
    """

    def __init__(
        self, protocol: Protocol, options: Any, bug: str | None, memo: NodeMemo | None = None
    ) -> None:
        memo = memo or memos.memo((protocol.name, bug), lambda: NodeMemo(protocol, bug))
        super().__init__(options, memo)
        self._unheard = False
        """Whether all is lost that the step sends."""

    def loses(self, message: KnownInput) -> bool:
        return self._unheard

    # --- What there is

    def mail(self) -> list[Message]:
        """Messages that may come now, the one that waits longest first."""
        return self.system.deliverable(self.at)

    def held(self) -> list[Message]:
        """Messages that may come although nobody waits for them."""
        return list(self.at.held)

    def may_repeat(self, message: KnownInput) -> bool:
        return not self.system.in_order(message.value)

    # --- What is done

    def act(self, node: int, input: KnownInput, lost: bool = False) -> bool:
        """Whether the input came: it may be disabled."""
        step = self.step(node, input)
        if step is None:
            return False
        lost = lost and bool(step.travelling)
        self.moves.append(f"{self.system.words(SystemMove('take', node, input))}{LOST * lost}")
        self._make(step, lost)
        return True

    def deliver(self, node: int, message: KnownInput, again: bool = False) -> None:
        """again: it is under way still, or comes late."""
        self._arrive(SystemMove("again" if again else "deliver", node, message))

    def deliver_held(self, node: int, message: KnownInput, again: bool = False) -> None:
        self._arrive(SystemMove("late again" if again else "late", node, message))

    def _arrive(self, move: SystemMove) -> None:
        step = self.arrived(move)
        self.moves.append(self.system.words(move))
        self._make(step)

    def _make(self, step: Step | None, lost: bool = False) -> None:
        if step is not None:
            self._unheard = lost
            self.perform(step)

    # --- As steered runs are (reference/steered/moves.py)

    def possible(self) -> Iterator[Move]:
        for move in self.system.arrivals(self.at):
            yield Move(self.system.words(move), partial(self._arrive, move))
        yield from self.own_moves()

    def own_moves(self) -> Iterator[Move]:
        """Of nodes by themselves."""
        for node, input in self.own():
            yield from self.own_moves_of(node, input)

    def own_moves_of(self, node: int, input: KnownInput) -> Iterator[Move]:
        step = self.step(node, input)
        if step is not None:
            words = self.system.words(SystemMove("take", node, input))
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

    def setting(self) -> dict[str, Any]:
        names = [*self._world.constants, *([LATE] if hasattr(self.options, LATE) else ())]
        return {name: msgspec.to_builtins(getattr(self.options, name)) for name in names}


def begun(protocol: Protocol, setting: dict[str, Any], bug: str | None) -> ScriptedRun:
    """A run with this setting.

    Raises msgspec.ValidationError: it has an unknown option, or no value of one; as ScriptedRun.
    """
    return ScriptedRun(protocol, msgspec.convert(setting, options_of(protocol).of), bug)
