"""Runs of a witness by chance: which move is next, drawn from a seed.

Each run first draws how often each kind of move is taken, some never, so that runs differ in kind.
A message comes in order, late, again or never; a timer goes off whenever it is armed; a leader may
crash inside a flush.

Law of this file: it chooses among moves, and knows nothing of what they lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from kraftcheck.witness.schedule import KafkaSchedule
from reference.quorum.messages import (
    Append,
    Crash,
    ElectionTimeout,
    FetchTimeout,
    Input,
    RequestTimeout,
    Resign,
    Restart,
    VoteResponse,
)
from reference.sim.choices import SeededChooser, Stream, chance, pick

S = TypeVar("S", bound=Any)
T = TypeVar("T")

Move: TypeAlias = Callable[[KafkaSchedule, Stream], bool]
"""Makes a move of its kind; false if there is none."""


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


def _retry(schedule: KafkaSchedule, stream: Stream) -> bool:
    there = [each for each in schedule.timers() if isinstance(each[1], RequestTimeout)]
    if not there:
        return False
    schedule.do(*pick(stream, there))
    return True


def _append(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (leaders := schedule.nodes("Leader")):
        return False
    schedule.append(pick(stream, leaders))
    return True


def _crash(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.nodes()):
        return False
    node = pick(stream, there)
    schedule.do(node, Crash(len(schedule.rows[node].log)))
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


def _restart(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.nodes("Down")):
        return False
    schedule.do(pick(stream, there), Restart())
    return True


def _resign(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.nodes("Leader")):
        return False
    schedule.do(pick(stream, there), Resign())
    return True


def _elect(schedule: KafkaSchedule, stream: Stream) -> bool:
    there = [
        each for each in schedule.timers() if isinstance(each[1], ElectionTimeout | FetchTimeout)
    ]
    if not there:
        return False
    schedule.do(*pick(stream, there))
    return True


MOVES: Final[dict[Move, tuple[int, ...]]] = {
    _deliver: (60, 120, 240),
    _timer: (4, 12, 25),
    _elect: (0, 2, 6),
    _append: (3, 8, 15),
    _restart: (10, 20, 40),
    _retry: (0, 3, 10),
    _again: (0, 5, 15),
    _lose: (0, 2, 10),
    _crash: (0, 1, 4),
    _tear: (0, 1, 3),
    _resign: (0, 1, 2),
}
"""How often each kind may be taken, of which a run draws one."""


def walk(
    schedule: S, seed: int, moves: int, kinds: Mapping[Callable[[S, Stream], bool], tuple[int, ...]]
) -> None:
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
