"""A run of a protocol that has no simulation of its own, with nodes of Kafka's among the others.

Moves are those of `reference/drivers/script.py`. Of Kafka's nodes the host is told the input, and
says the step, or several; those of the others, who give and take what Kafka's say, are the
reference's.

Law of this file: a step of Kafka's is taken as it stands; nothing knows of a protocol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import replace

from kraftcheck.kafka.live.witness.host import Host, WitnessError
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.following import Hosted, if_any
from kraftcheck.kafka.witness.speech import Outcome, Speech, Taken
from kraftcheck.reference.core.system import Move as SystemMove, NodeMemo
from kraftcheck.reference.drivers.options import options_of
from kraftcheck.reference.drivers.script import LOST, ScriptedRun
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.sim.choices import Stream, chance, pick
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.steered.moves import Move

_NODE: Final = re.compile(r"(-?\d+) \w")
"""At the beginning of a move that is a node's own."""


class KafkaSteered(Hosted, ScriptedRun):
    """As ScriptedRun; see following.Hosted."""

    protocol: ClassVar[Protocol]
    kafkas: ClassVar[Collection[str]]
    """The kinds of nodes that are Kafka's."""
    quiet: ClassVar[Mapping[str, str]] = {}
    """Those that take no steps at all, each with the reason."""
    departs_from: ClassVar[Collection[str]] = ()
    """The properties that Kafka does not keep by what a profile says of it."""
    whole: ClassVar[bool] = False
    """Whether the steps of the others stand in the trace as well."""

    def __init__(self, options: Any, host: Host, compares: bool = False) -> None:
        self.be_hosted(host, compares)
        self._more: list[Taken] = []
        memo = NodeMemo(self.protocol, None).taking(self._taken)
        super().__init__(self.protocol, options, None, memo)
        self._speech = Speech(self.constants)

    def row(self, node: int) -> Any:
        return self.state(node).row

    def reference(self, node: int, row: Any, input: Any, kafka: Outcome) -> Sequence[Any]:
        """What the reference may make of it, where the spec leaves a choice with Kafka's."""
        return if_any(self._reference(node, row, input))

    def unkept(self) -> Collection[str]:
        return (*super().unkept(), *self.departs_from)

    def is_kafkas(self, node: int) -> bool:
        return self.kind(node) in self.kafkas

    def kind(self, node: int) -> str:
        return self.system.protocol.kind_of(self.constants, node).name

    def _taken(self, node: int, row: Any, input: Any, reference: Callable[..., Any]) -> Any:
        self._reference = reference
        if not self.is_kafkas(node):
            return reference(node, row, input)
        step = self._more.pop(0) if self._more else self._first_of(node, input)
        if step is None:
            return None
        if self.compares:
            allowed = self.reference(node, row, input, step.outcome)
            self.compare(len(self.lines) + 1, input, step.outcome, allowed)
        return step.outcome

    def _first_of(self, node: int, input: Any) -> Taken | None:
        """The first of the steps that Kafka takes; what it has done besides follows."""
        parts = self.ask_host(node, self._speech.text(input), f"node {node}")
        steps = [self._speech.taken(each) for each in parts]
        self._more = steps[1:]
        return steps[0] if steps else None

    def make(self, time: int, step: Step) -> bool:
        goes_on = super().make(time, step)
        node = step.before.node
        while self._more and self.is_kafkas(node):
            then = self.system.machine.step(self.state(node), self.known(self._more[0].input))
            assert then is not None, "it has been taken"
            goes_on = super().make(time, then)
        return goes_on

    def record(self, time: int, step: Step) -> None:
        super().record(time, step)
        before, sent = step.before, tuple([each.value for _, each in step.sent])
        if self.whole or self.is_kafkas(before.node):
            outcome = Outcome(step.after.row, sent, step.ignored)
            line = self._speech.line(before.node, before.row, step.input.value, outcome)
            self.lines.append((line, len(self.moves)))

    def own(self, quiet: Sequence[str] = ()) -> list[tuple[int, KnownInput]]:
        return super().own((*quiet, *self.quiet))

    def given(self, *kinds: type[Any]) -> list[tuple[int, KnownInput]]:
        """What of these may come to nodes by itself."""
        return [each for each in self.own() if isinstance(each[1].value, kinds)]

    def _check_driven(self, words: str) -> None:
        """Raises WitnessError: the move is one of a node that takes no steps here."""
        node = _NODE.match(words)
        if node and int(node[1]) in self.system.nodes:
            kind = self.kind(int(node[1]))
            if kind in self.quiet:
                raise WitnessError(f"{words!r:.120} is a move of a {kind}: {self.quiet[kind]}")

    def own_moves(self) -> Iterator[Move]:
        """What Kafka makes of an input is seen when it is given; then it may be none."""
        for node, input in self.own():
            if self.is_kafkas(node):
                words = self.system.words(SystemMove("take", node, input))
                yield Move(words, partial(self._own_move, node, input, False))
                yield Move(f"{words}{LOST}", partial(self._own_move, node, input, True))
            else:
                yield from self.own_moves_of(node, input)

    def attempt(self, words: str, later: Sequence[str]) -> int:
        self._check_driven(words)
        made = len(self.moves)
        return super().attempt(words, later) and int(len(self.moves) > made)


# -- Moves by chance, and how such nodes are driven


def deliver(oldest: int) -> Callable[[KafkaSteered, Stream], bool]:
    """A message arrives; so often of a thousand the one that waits longest."""

    def make(schedule: KafkaSteered, stream: Stream) -> bool:
        if not (there := schedule.mail()):
            return False
        schedule.deliver(*(there[0] if chance(stream, oldest) else pick(stream, there)))
        return True

    return make


def again(schedule: KafkaSteered, stream: Stream) -> bool:
    """A message arrives that will arrive once more."""
    if not (there := schedule.mail()):
        return False
    schedule.deliver(*pick(stream, there), again=True)
    return True


def some(*kinds: type[Any], lost: bool = False) -> Callable[[KafkaSteered, Stream], bool]:
    """One of these, whose messages are lost perhaps."""

    def made(schedule: KafkaSteered, stream: Stream) -> bool:
        there = schedule.given(*kinds)
        return bool(there) and schedule.act(*pick(stream, there), lost=lost)

    return made


class Declared(Component):
    """What components of declared protocols have in common (chance.Component)."""

    protocol: Protocol
    schedule: ClassVar[Callable[..., KafkaSteered]]

    def setting(self, options: Mapping[str, Any]) -> Any:
        made = msgspec.convert(dict(options), options_of(self.protocol).of)
        if problem := self.problem(made):
            raise msgspec.ValidationError(problem)
        return made

    def problem(self, setting: Any) -> str:
        """Why these options cannot be driven; empty if they can."""
        return ""

    def constants(self, setting: Any) -> Any:
        of = self.protocol.constants
        return of(**{name: getattr(setting, name) for name in of.__struct_fields__})

    def begin(
        self, setting: Any, host: Host, watched: bool, compares: bool = False
    ) -> KafkaSteered:
        return self.schedule(replace(setting, watched=watched), host, compares)
