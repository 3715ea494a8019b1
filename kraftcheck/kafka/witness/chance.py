"""Runs of a witness by chance: which move is next, drawn from a seed.

Each run first draws how often each kind of move is taken, some never, so that runs differ in kind.
A message comes in order, late, again or never; a timer goes off whenever it is armed; a leader may
crash inside a flush.

Law of this file: it chooses among moves, and knows nothing of what they lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness.kafka import Composed, methods_of
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.sim.choices import SeededChooser, Stream, pick
from kraftcheck.reference.steered.moves import Move
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.foreign.reading import ForeignTrace
from kraftcheck.traces.foreign.verdicts import Finding

S = TypeVar("S", bound=Any)
T = TypeVar("T")

Kinds: TypeAlias = Mapping[Callable[[S, Stream], bool], tuple[int, ...]]
"""Each makes a move of its kind, and says false if there is none; how often it may be taken, of
which a run draws one.
"""


def drawn_step(there: Sequence[tuple[int, Any]], schedule: Any, stream: Stream) -> bool:
    """One of these, each a node and what it is given."""
    if not there:
        return False
    schedule.do(*pick(stream, there))
    return True


def a_step(there: Callable[[S], Sequence[tuple[int, Any]]]) -> Callable[[S, Stream], bool]:
    """A kind of move: one of these, each a node and what it is given."""
    return lambda schedule, stream: drawn_step(there(schedule), schedule, stream)


def drawn_move(there: Sequence[Move], stream: Stream) -> bool:
    if not there:
        return False
    pick(stream, there).make()
    return True


def a_move(there: Callable[[S], Sequence[Move]]) -> Callable[[S, Stream], bool]:
    """A kind of move: one of these."""
    return lambda schedule, stream: drawn_move(there(schedule), stream)


def wanted(*kinds: str) -> Callable[[Any, Stream], bool]:
    """A kind of move: one of these that a broker wants."""
    return a_move(lambda schedule: schedule.wants(*kinds))


# -- Runs


def walk(schedule: S, seed: int, moves: int, kinds: Kinds[S]) -> None:
    """So many moves of these kinds, drawn from the seed; fewer if nothing can happen any more."""
    stream = SeededChooser(seed).stream("faults")
    weights = {move: pick(stream, weights) for move, weights in kinds.items()}
    total = sum(weights.values())
    for _ in range(moves):
        first = _drawn(weights, stream.below(total))
        if not any(move(schedule, stream) for move in (first, *weights)):
            return


def _drawn(weights: dict[T, int], at: int) -> T:
    """The move in whose share of all a number lies."""
    for move, weight in weights.items():
        at -= weight
        if at < 0:
            return move
    raise AssertionError("beyond the sum")


class Component:
    """How the nodes of one protocol are driven: by Kafka's classes, and perhaps others beside.

    A composition is one as well. Its parts are the components that it is composed of, in the order
    of its schedule's; their steps are judged.
    """

    kinds: ClassVar[Kinds[Any]]
    protocol: Protocol | Composed

    if TYPE_CHECKING:  # Each has its own.

        def settings(self, nodes: int, seed: int) -> Any:
            """Of a run by chance: what a script has as options."""

        def setting(self, options: Mapping[str, Any]) -> Any:
            """That of a script. Raises msgspec.ValidationError."""

        def constants(self, setting: Any) -> Any: ...

        def begin(self, setting: Any, host: Host, watched: bool, compares: bool = False) -> Any:
            """A run before its first move (following.Hosted).

            compares: each step with the reference's.
            """

    @property
    def parts(self) -> Sequence[Component]:
        return (self,)

    @property
    def names(self) -> list[str]:
        """Of the parts' protocols."""
        return [part.protocol.name for part in self.parts]

    @property
    def machine(self) -> str:
        """Of its schedules."""
        witness = self.protocol.witness
        return (witness and witness.under) or self.protocol.name

    @property
    def methods(self) -> Mapping[str, str]:
        """Kafka's, by the spec's action."""
        return methods_of(self.machine)

    def setting_of(self, script: Script, name: object) -> Any:
        """That of a script of this name. Raises BadInput: wrong options."""
        try:
            return self.setting(script.options)
        except msgspec.ValidationError as error:
            raise BadInput(f"{name}: options: {error}") from None

    def walk(self, schedule: Any, seed: int, moves: int) -> None:
        """So many moves by chance."""
        walk(schedule, seed, moves, self.kinds)

    def left_open(self, trace: ForeignTrace) -> list[Finding]:
        """What is wrong although the profile allows it."""
        return []
