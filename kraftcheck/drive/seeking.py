"""Moves that lead a node to decisions, searched in the reference alone.

A walk by chance meets what is frequent. So states in which a node did something new are kept, each
with the moves that led there, and walks begin at them: what is rare after something that is rare
comes into reach. What is new is an answer of a rule, or a step that asks rules in a way in which no
step did before.

Law of this file: it is about the reference; whether a node of somebody else's goes the same way is
seen when the moves are made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.drive.peers import Move, PeerOutcome, Peers, State
from kraftcheck.reference.sim.choices import Stream, pick

LENGTHS: Final = (4, 8, 16, 32)
"""Of a walk, in moves."""
DEEPEST: Final = 160
"""So many moves a run has at most."""

Feature: TypeAlias = tuple[str, ...]
"""A rule with an answer; or of a step its action, the node's role, why nothing came of it, and
the rules that it asked with their answers."""
Refused: TypeAlias = tuple[str, str]
"""An input that the node did not take, with its error if it has one, and the role in which it did
not."""


class Seen(NamedTuple):
    """A state, and how it was come to."""

    state: State
    before: int
    """The place of an earlier one."""
    moves: tuple[Move, ...]
    depth: int


class Explored(NamedTuple):
    seen: list[Seen]
    """States in the order in which they were met."""
    features: dict[Feature, int]
    """Of the node, with the place of the state after the step that met it first."""

    def path(self, feature: Feature) -> list[Move]:
        """The moves that lead to a feature."""
        return self.way(self.features[feature])

    def way(self, at: int) -> list[Move]:
        """The moves that lead to a state."""
        moves: list[Move] = []
        while at >= 0:
            moves[:0] = self.seen[at].moves
            at = self.seen[at].before
        return moves


def features_of(peers: Peers, state: State, move: Move, made: PeerOutcome) -> Iterator[Feature]:
    """What a step of a node may meet that is new."""
    yield from made.asked
    kind = type(move.input).__name__
    asked = [f"{rule}={answer}" for rule, answer in sorted(made.asked)]
    errors = sorted({str(getattr(each, "error", "")) for each in made.sent})
    yield (kind, peers.role(state, move.node), made.ignored, *asked, *errors)


def refusal(peers: Peers, state: State, move: Move) -> Refused:
    """What is known of an input that is not taken: others like it will not be."""
    error = getattr(move.input, "error", "NONE")
    name = type(move.input).__name__
    return (name if error == "NONE" else f"{name} {error}"), peers.role(state, move.node)


def is_decision(feature: Feature) -> bool:
    return len(feature) == 2


def seek(
    peers: Peers,
    node: int,
    stream: Stream,
    steps: int,
    refused: Collection[Refused],
    told: Callable[[int], None],
) -> Explored:
    """Walks of so many moves in all. refused: inputs that the node does not take."""
    found = Explored([Seen(peers.first(), -1, (), 0)], {})
    known: set[Any] = set()
    made = 0
    counts = [0]
    while made < steps:
        one, other = stream.below(len(found.seen)), stream.below(len(found.seen))
        at = one if counts[one] <= counts[other] else other
        counts[at] += 1
        for new in _walk(peers, node, stream, found, at, refused, known):
            made += 1
            counts += [0] * (len(found.seen) - len(counts))
            if new:
                told(min(made, steps))
        made += 1  # a walk that goes nowhere counts
    return found


def _walk(
    peers: Peers,
    node: int,
    stream: Stream,
    found: Explored,
    at: int,
    refused: Collection[Refused],
    known: set[Any],
) -> Iterator[bool]:
    """One walk from a state; after each move, whether it met anything new."""
    state, since = found.seen[at].state, list[Move]()
    frequencies: dict[str, int] = {}
    for _ in range(pick(stream, LENGTHS)):
        if found.seen[at].depth + len(since) >= DEEPEST:
            return
        drawn = peers.drawn(stream, state, frequencies, node)
        if drawn is None:
            return
        move, made = drawn
        if move.node == node and refusal(peers, state, move) in refused:
            yield False
            continue
        since.append(move)
        features = [*features_of(peers, state, move, made)]
        state = peers.after(state, move, made)
        own = move.node == node
        new = [(own, each) for each in features if (own, each) not in known]
        if new:
            known.update(new)
            depth = found.seen[at].depth + len(since)
            found.seen.append(Seen(state, at, tuple(since), depth))
            at, since = len(found.seen) - 1, []
            if own:
                found.features.update({feature: at for _, feature in new})
        yield bool(new)
