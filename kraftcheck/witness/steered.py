"""A run of a protocol that has no simulation of its own, with nodes of Kafka's among the others.

Moves are those of `reference/steered/plain.py`. The steps of Kafka's nodes are the lines of the
trace; those of the others, who give and take what Kafka's say, are the reference's.

Law of this file: a step of Kafka's is taken as it stands; nothing knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

from kraftcheck.witness.comparing import Differing, compared
from kraftcheck.witness.following import Impossible
from kraftcheck.witness.speech import Outcome, Speech
from live.witness.host import REFUSED, THROWN, Host
from reference.kit.protocol import Protocol
from reference.sim.interning import KnownInput
from reference.sim.plain import PlainMachine, PlainMemo
from reference.steered.moves import Move
from reference.steered.plain import LOST, PlainSchedule
from traces.counterexamples.moves import alike


class _Machine(PlainMachine):
    """Nodes of which some have their steps asked for elsewhere."""

    def __init__(self, memo: _Memo, constants: Any) -> None:
        super().__init__(memo, constants)
        self._taken = memo.taken

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        return self._taken(node, row, input, super().outcome)


class _Memo(PlainMemo):
    """Of one run: what Kafka does depends on more than the row, so nothing is remembered."""

    def __init__(self, protocol: Protocol, taken: Callable[..., Any]) -> None:
        super().__init__(protocol, None, enabled=False)
        self.taken = taken

    def new_machine(self, constants: Any) -> PlainMachine:
        return _Machine(self, constants)


class KafkaSteered(PlainSchedule):
    """As PlainSchedule; see following.Schedule.

    kafkas: the kinds of nodes that are Kafka's. quiet: those that take no steps at all. unkept: the
    properties that Kafka does not keep by what a profile says of it.
    """

    def __init__(
        self,
        protocol: Protocol,
        options: Any,
        host: Host,
        kafkas: Collection[str],
        quiet: Sequence[str],
        unkept: Collection[str],
        compares: bool,
    ) -> None:
        self.compares = compares
        self.differing: list[Differing] = []
        self.lines: list[tuple[str, int]] = []
        self.thrown: list[str] = []
        self._host, self._kafkas, self._quiet, self._unkept = host, kafkas, quiet, unkept
        [said] = host.ask(["new"])
        assert said == "", said
        super().__init__(protocol, options, None, _Memo(protocol, self._taken))
        self._speech = Speech(self.constants)

    @property
    def parts(self) -> tuple[KafkaSteered]:
        return (self,)

    def row(self, node: int) -> Any:
        return self._states[node].row

    def reference(self, node: int, row: Any, input: Any, kafka: Outcome) -> Sequence[Any]:
        """What the reference may make of it, where the spec leaves a choice with Kafka's."""
        made = self._reference(node, row, input)
        return [] if made is None else [made]

    def unkept(self) -> Collection[str]:
        return (*super().unkept(), *self._unkept)

    def is_kafkas(self, node: int) -> bool:
        return self._protocol.kind_of(self.constants, node).name in self._kafkas

    def _taken(self, node: int, row: Any, input: Any, reference: Callable[..., Any]) -> Any:
        self._reference = reference
        if not self.is_kafkas(node):
            return reference(node, row, input)
        [said] = self._host.ask([f"{node} {self._speech.text(input)}"])
        if said.startswith(REFUSED):
            raise Impossible(said.removeprefix(REFUSED))
        step, *more = said.split("\t")
        self.thrown.extend(f"node {node}: {each.removeprefix(THROWN)}" for each in more)
        if not step:
            return None
        self.lines.append((step, len(self.moves)))
        made = self._speech.taken(step).outcome
        if self.compares:
            found = compared(made, self.reference(node, row, input, made))
            if found:
                action = f"Handle{type(input).__name__}"
                self.differing.append(Differing(len(self.lines), action, found))
        return made

    def own(self, quiet: Sequence[str] = ()) -> list[tuple[int, KnownInput]]:
        return super().own((*quiet, *self._quiet))

    def own_moves(self) -> Iterator[Move]:
        """What Kafka makes of an input is seen when it is given; then it may be none."""
        for node, input in self.own():
            if self.is_kafkas(node):
                words = self._said(node, input)
                yield Move(words, partial(self._own_move, node, input, False))
                yield Move(f"{words}{LOST}", partial(self._own_move, node, input, True))
            else:
                yield from self.own_moves_of(node, input)

    def attempt(self, words: str, later: Sequence[str]) -> int:
        move = alike(self, words)
        made = len(self.moves)
        if move is not None:
            try:
                move.make()
            except Impossible:
                return 0
        return int(len(self.moves) > made)
