"""What a protocol's nodes are told of a graph, and what of it Kafka has taken; whole walks.

How the nodes of a protocol are told a step is a Walker's to say (quorum_graphs.py,
partition.py). In which order a graph's edges are tried is a Drive's: here in walks of the
whole composition, each from new nodes on; in histories.py by what each node alone is told.

Law of this file: an edge counts as taken only if all that was compared was equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness.departures import ALLOWED, BEYOND
from kraftcheck.kafka.witness.speech import Outcome, Speech, Taken, Unspoken
from kraftcheck.traces.cover.matching import ABSENT, Matcher, Moves, Step
from kraftcheck.traces.cover.rulebook import Result
from tla_utils.covering import cover_edges
from tla_utils.dump import shortest_ways

DRAWN: Final = 2
"""So often in a row ways are drawn in vain."""
OTHER_OUTCOME = "of several outcomes that the specs allow, Kafka has another"


class Walker(ABC):
    """Tells the nodes of a protocol one walk."""

    loads: Collection[int] = ()
    """Those that can be brought to any row."""
    kafkas: Collection[int]
    """The nodes that are Kafka's; the others are the reference's."""
    unsent: Sequence[str] = ()
    """What nodes did not come to send so far, as they crashed, though their steps say it."""

    def __init__(self, matcher: Matcher, speech: Speech) -> None:
        self._speech = speech
        self._begun = matcher.book.begun
        self.kafkas = matcher.book.nodes

    def first(self) -> Sequence[str]:
        """Moves that lead to the model's first state."""
        return [self._told(step.node, step.input) for step in self._begun]

    def lines(self, steps: Sequence[Step]) -> Sequence[Sequence[str]]:
        """What the host is told for each of these; nothing: it is a part of a step before."""
        return [self._lines(step) for step in steps]

    def _lines(self, step: Step) -> Sequence[str]:
        return (self._told(step.node, step.input),)

    def _told(self, node: int, input: Any) -> str:
        return f"{node} {self._speech.text(input)}"

    @abstractmethod
    def got(self, step: Step, answers: Sequence[str]) -> Taken | str | None:
        """What Kafka made of a step, or why there is nothing to compare; None: it is done already.

        answers: the host's.
        """

    def goes_on(self, step: Step, answers: Sequence[str]) -> bool:
        """Whether Kafka is where the model is behind a step in which it parted from it."""
        return False

    def same(self, model: Result, kafka: Outcome) -> bool:
        """Whether they are equal in all that is compared."""
        return (
            model.row == kafka.row
            and {*model.sent} == {*kafka.sent}
            and model.ignored == kafka.ignored
        )

    def allowed(self, before: Any) -> str:
        """Why Kafka may differ in this row although the specs accept what it does."""
        return ALLOWED


Walkers: TypeAlias = Callable[[Matcher, Speech], Walker]


class Parted(NamedTuple):
    """Where Kafka parts from the model."""

    text: str
    """Its step, as a line of a trace, if that has to be judged."""
    why: str = ""
    """The reason, if not."""


@dataclass
class OnKafka:
    asked: list[int]
    """The edges that are steps of Kafka's nodes."""
    taken: set[int] = field(default_factory=set)
    """Those that were taken as in the model, on some way."""
    parted: dict[int, Parted] = field(default_factory=dict)
    """Where Kafka does not, by edge, on some way."""
    passed: set[int] = field(default_factory=set)
    """Those of them behind which it was brought to where the model is."""
    moves: int = 0
    """How many were told."""
    walks: int = 0
    reasons: dict[int, str] = field(default_factory=dict)
    """Of each edge that was not taken, why; an entry of a profile by its name."""
    wrong: list[str] = field(default_factory=list)
    """What no entry allows, in words."""

    @property
    def why(self) -> Counter[str]:
        """How many edges were not taken, by reason."""
        return Counter(self.reasons.values())


def asked_of(matcher: Matcher, kafkas: Collection[int]) -> list[int]:
    """The edges that are steps of these nodes."""
    steps, step = matcher.moves.steps, matcher.moves.step
    return [edge for edge, number in enumerate(step) if steps[number].node in kafkas]


Drive: TypeAlias = Callable[[Matcher, Host, Speech, Walkers, Callable[[int], None]], OnKafka]
"""Takes every edge that can be, and tells now and then how many were. Raises WitnessError: Kafka
cannot be driven.
"""


def got(walker: Walker, step: Step, answers: Sequence[str]) -> Taken | str | None:
    """As the walker reads them; BEYOND, if it cannot."""
    try:
        return walker.got(step, answers)
    except Unspoken as error:
        return f"{BEYOND}: {error}"


def parted(step: Step, got: Taken | str | None, matcher: Matcher, walker: Walker) -> Parted | None:
    """Where Kafka parts from the model in this step; None: it does not."""
    if got is None:
        return None
    if isinstance(got, str):
        return Parted("", got)
    if walker.same(step.result, got.outcome):
        return None
    among = matcher.book.outcomes(step.node, step.before, step.input)
    if any(walker.same(each, got.outcome) for each in among):
        return Parted("", OTHER_OUTCOME)
    return Parted(got.text)


def drive(
    matcher: Matcher,
    host: Host,
    speech: Speech,
    walkers: Walkers,
    told: Callable[[int], None],
) -> OnKafka:
    """A Drive in walks of the whole composition, in the fewest moves.

    Each begins with new nodes; where Kafka parts from the model it ends, and edges behind that are
    tried on other ways, as long as there are any. What Kafka does may hang on more than rows show,
    so edges at which it parts are tried again, each on ways that are drawn, until DRAWN draws in a
    row take none.
    """
    found = OnKafka(asked_of(matcher, walkers(matcher, speech).kafkas))

    def take(walks: Iterable[Sequence[int]]) -> int:
        """How many edges more were taken."""
        before = len(found.taken)
        for walk in walks:
            _take(walk, matcher, host, walkers(matcher, speech), found)
            told(len(found.taken))
        return len(found.taken) - before

    random, in_vain = Random(0), 0
    while in_vain < DRAWN:
        while walks := _walks(matcher, found):
            take(walks)
        in_vain = 0 if take(_drawn(matcher, found, random)) else in_vain + 1
    return found


def _drawn(matcher: Matcher, found: OnKafka, random: Random) -> list[list[int]]:
    """Draw a path to each edge at which Kafka parted and that it has not taken.

    The path goes through edges that it has taken.
    """
    moves = matcher.moves
    leaving: dict[int, list[int]] = {}
    for edge in sorted(found.taken | found.passed):
        leaving.setdefault(moves.source[edge], []).append(edge)
    start = matcher.dump.initial[0]
    ways: dict[int, int] = {start: ABSENT}
    """By state, the last edge."""
    front = [start]
    while front:
        state = front.pop(random.randrange(len(front)))
        for edge in leaving.get(state, ()):
            if ways.setdefault(moves.target[edge], edge) == edge:
                front.append(moves.target[edge])
    left = sorted(found.parted.keys() - found.taken)
    return [_way(ways, moves, edge) for edge in left if moves.source[edge] in ways]


def _way(ways: Mapping[int, int], moves: Moves, edge: int) -> list[int]:
    way = []
    while edge != ABSENT:
        way.append(edge)
        edge = ways[moves.source[edge]]
    return way[::-1]


def _walks(matcher: Matcher, found: OnKafka) -> list[list[int]]:
    """Walks through edges that are left, on ways that are not known to part for good."""
    moves = matcher.moves
    closed = found.parted.keys() - found.passed - found.taken
    open_edges = [e for e, at in enumerate(moves.target) if e not in closed and at != ABSENT]
    source = [moves.source[e] for e in open_edges]
    target = [moves.target[e] for e in open_edges]
    start = matcher.dump.initial[0]
    way = shortest_ways(len(matcher.states), [start], source, target)
    done = found.taken | found.parted.keys()
    wanted = [at for at, e in enumerate(open_edges) if e not in done and way[source[at]] != -2]
    if not wanted:
        return []
    cover = cover_edges(len(matcher.states), source, target, start, wanted)
    return [[open_edges[at] for at in walk] for walk in cover.walks]


def _take(
    walk: Sequence[int], matcher: Matcher, host: Host, walker: Walker, found: OnKafka
) -> None:
    """One walk, from new nodes on, until Kafka parts from the model."""
    steps = [matcher.moves.steps[matcher.moves.step[edge]] for edge in walk]
    first = ["new", *walker.first()]
    lines = walker.lines(steps)
    said = iter(host.ask([*first, *(line for each in lines for line in each)])[len(first) :])
    found.walks += 1
    for edge, step, told in zip(walk, steps, lines, strict=True):
        answers = [next(said) for _ in told]
        found.moves += 1
        where = parted(step, got(walker, step, answers), matcher, walker)
        if where is not None:
            found.parted.setdefault(edge, where)
            if not walker.goes_on(step, answers):
                found.passed.discard(edge)
                return
            found.passed.add(edge)
            continue
        found.taken.add(edge)
