"""Runs of a witness by chance: which move is next, drawn from a seed.

Each run first draws how often each kind of move is taken, some never, so that runs differ in kind.
A message comes in order, late, again or never; a timer goes off whenever it is armed; a leader may
crash inside a flush.

Law of this file: it chooses among moves, and knows nothing of what they lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.quorum.messages import (
    Append,
    Crash,
    ElectionTimeout,
    FetchTimeout,
    Input,
    RequestTimeout,
    Resign,
    Restart,
    Timer,
    VoteResponse,
)
from kraftcheck.reference.sim.choices import SeededChooser, Stream, chance, pick
from kraftcheck.reference.steered.moves import Move
from kraftcheck.traces.foreign.reading import ForeignTrace
from kraftcheck.traces.foreign.verdicts import Finding
from kraftcheck.witness.kafka import methods_of
from kraftcheck.witness.schedule import KafkaSchedule

S = TypeVar("S", bound=Any)
T = TypeVar("T")
C = TypeVar("C", bound="Alone")

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


# -- Those of a quorum


def _deliver(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.deliverable()):
        return False
    message = there[-1] if chance(stream, 700) else pick(stream, there)
    schedule.do(message.destination, message)
    return True


def _again(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.deliverable(again=True)[:20]):
        return False
    message = pick(stream, there)
    schedule.do(message.destination, message)
    return True


def _lose(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not schedule.waiting:
        return False
    schedule.forget(pick(stream, list(schedule.waiting)))
    return True


def _timer(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.timers()):
        return False
    node, timer = there[0] if chance(stream, 500) else pick(stream, there)
    schedule.do(node, timer)
    return True


def _tear(schedule: KafkaSchedule, stream: Stream) -> bool:
    """Into the step of a leader that appends, or of a candidate that may win."""
    there: list[tuple[int, Input]] = [
        (n, Append(schedule.appended + 1)) for n in schedule.nodes("Leader")
    ]
    there += [(m.destination, m) for m in schedule.deliverable(VoteResponse)]
    if not there:
        return False
    node, input = pick(stream, there)
    if isinstance(input, Append):
        schedule.appended += 1
    schedule.tear(node, input, stream.below(2))
    return True


def _append(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (leaders := schedule.nodes("Leader")):
        return False
    schedule.append(pick(stream, leaders))
    return True


def _timers(*kinds: type[Timer]) -> Callable[[KafkaSchedule, Stream], bool]:
    return a_step(lambda schedule: [t for t in schedule.timers() if isinstance(t[1], kinds)])


def _crashes(schedule: KafkaSchedule) -> list[tuple[int, Input]]:
    return [(node, Crash(len(schedule.row(node).log))) for node in schedule.nodes()]


MOVES: Final[dict[Callable[[KafkaSchedule, Stream], bool], tuple[int, ...]]] = {
    _deliver: (60, 120, 240),
    _timer: (4, 12, 25),
    _timers(ElectionTimeout, FetchTimeout): (0, 2, 6),
    _append: (3, 8, 15),
    a_step(lambda schedule: [(n, Restart()) for n in schedule.nodes("Down")]): (10, 20, 40),
    _timers(RequestTimeout): (0, 3, 10),
    _again: (0, 5, 15),
    _lose: (0, 2, 10),
    a_step(_crashes): (0, 1, 4),
    _tear: (0, 1, 3),
    a_step(lambda schedule: [(n, Resign()) for n in schedule.nodes("Leader")]): (0, 1, 2),
}
"""Those of a quorum."""


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


class Alone:
    """What components of one protocol have in common (driving.Component)."""

    kinds: ClassVar[Kinds[Any]]
    protocol: Protocol

    @property
    def parts(self: C) -> tuple[C]:
        return (self,)

    @property
    def methods(self) -> Mapping[str, str]:
        witness = self.protocol.witness
        return methods_of((witness and witness.under) or self.protocol.name)

    def walk(self, schedule: Any, seed: int, moves: int) -> None:
        walk(schedule, seed, moves, self.kinds)

    def left_open(self, trace: ForeignTrace) -> list[Finding]:
        return []
