"""A graph's edges, taken by each node alone: what a node does depends on what it was told.

In the host's one thread, with clocks that stand still, nothing passes between nodes but messages,
which do not change. So what a node of Kafka's does with an input depends on its own history only:
the steps that it has taken before. An edge of the composition is one step of one node; edges whose
node has the same history and takes the same step are one and the same for Kafka, whatever the
others have done meanwhile, and it takes them once. Of 812,478 edges of quorum-restarts that leaves
some 28,000, of the paths to which most begin alike. Nodes that are not Kafka's, such as the members
of a group, are the model's: their messages are there wherever a way has them sent.

To each state there is one way, a shortest one, and each node's part of it is its history there.
Where Kafka parts from the model on a way, the states behind it are given others, as long as there
are any; and edges at which it parts are tried again on ways that are drawn. A message that a node
is given is one that another has sent in a run of its own; that such messages are alike in all that
Kafka has in them, the host checks (World.java).

Laws of this file: an edge counts as taken only if all that was compared was equal, in a node whose
whole history was; a message counts as sent only if Kafka has sent it on that way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness.speech import Speech, Taken
from kraftcheck.kafka.witness.walking import (
    DRAWN,
    OnKafka,
    Parted,
    Walker,
    Walkers,
    asked_of,
    got,
    parted,
)
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.traces.cover.matching import ABSENT, Matcher, Step

BEGINNING: Final = 0
TOGETHER: Final = 64
"""So many runs are told before their answers are read."""
NOT_YET: Final = Parted("", "not tried yet")
UNSENT: Final = "not sent by who crashed inside a flush: Kafka sends behind it"


class _Tree:
    """Histories of nodes, as one tree: each is one before it and a step.

    What comes later has the higher number.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self.before = [BEGINNING]
        self.last = [ABSENT]  # into the steps
        self._numbers: dict[tuple[int, int], int] = {}

    def longer(self, history: int, step: int, new: bool) -> int | None:
        """A history and this step; None: there is none yet, and it is to be no `new` one."""
        number = self._numbers.get((history, step))
        if number is None and new:
            number = self._numbers[history, step] = len(self.before)
            self.before.append(history)
            self.last.append(step)
        return number

    def step(self, history: int) -> Step:
        return self._steps[self.last[history]]

    def path(self, history: int) -> list[int]:
        """From the first step on."""
        found = []
        while history != BEGINNING:
            found.append(history)
            history = self.before[history]
        return found[::-1]


class _Ways(NamedTuple):
    """A way to each state that can be reached."""

    at: dict[int, tuple[int, ...]]
    """By state, the histories of all nodes there."""
    own: list[int]
    """By edge from such a state, the history that it leads its node to; else BEGINNING."""
    first: dict[int, None]
    """The histories that the ways are of, in the order in which ways come to them."""


class _Driving:
    """Takes histories on Kafka.

    verdicts: by history of which Kafka has taken all before, how it has taken the last step; None:
    as in the model. sent: messages that Kafka has sent. lost: by a history that ends with a crash,
    what the step before it did not come to send.
    """

    def __init__(self, matcher: Matcher, host: Host, speech: Speech, walkers: Walkers) -> None:
        self._matcher, self._host, self._speech, self._walkers = matcher, host, speech, walkers
        self._messages = protocol_of(matcher.book.constants).messages
        self._moves = matcher.moves
        nodes, kafkas = matcher.book.nodes, walkers(matcher, speech).kafkas
        self._places = {node: at for at, node in enumerate(nodes) if node in kafkas}
        self._leaving: list[list[int]] = [[] for _ in matcher.states]
        for edge, state in enumerate(self._moves.source):
            self._leaving[state].append(edge)
        self._first = walkers(matcher, speech).first()
        self._random: Random | None = None
        self._tree = _Tree(self._moves.steps)
        self._verdicts: dict[int, Parted | None] = {BEGINNING: None}
        self._sent: set[Any] = set()
        self._lost: dict[int, frozenset[Any]] = {}
        self._really: dict[int, frozenset[Any]] = {BEGINNING: frozenset()}
        self.found = OnKafka(asked_of(matcher, kafkas))

    def all(self, told: Callable[[int], None]) -> None:
        """Takes what can be."""
        self._host.ask(["new", *self._first])  # what is sent there may come later
        while self._take(told):
            pass
        self._random, in_vain = Random(0), 0
        while len(self.found.taken) < len(self.found.asked) and in_vain < DRAWN:
            taken = len(self.found.taken)
            self._take(told)
            in_vain = in_vain + 1 if len(self.found.taken) == taken else 0
        self._random = None
        while self._take(told):  # what is behind those
            pass

    def _take(self, told: Callable[[int], None]) -> bool:
        """Takes what is left, on ways as they are now; whether there was anything new."""
        known = len(self._verdicts)
        lost = len(self._lost)
        ways = self._ways()
        left = [edge for edge, own in enumerate(ways.own) if own and edge not in self.found.taken]
        if self._random:  # what is behind these is not what is looked for
            left = [edge for edge in left if edge in self.found.parted]
        for own in ways.first:
            if not self._sent.issuperset(self._for_kafka(self._tree.step(own).result.sent)):
                self._run(self._ready([own]))  # who sends something first
        wanted = {own for edge in left for own in (ways.own[edge], *ways.at[self._source(edge)])}
        paths = self._ready(wanted)
        edges = Counter(ways.own[edge] for edge in left)
        done = len(self.found.taken)
        for at in range(0, len(paths), TOGETHER):
            some = paths[at : at + TOGETHER]
            self._run([path for path in some if not any(map(self._verdicts.get, path))])
            done += sum(edges.pop(own, 0) for path in some for own in path)
            told(done)
        if len(self._lost) > lost:
            return True  # the ways may be none
        for edge in left:
            self._note(edge, ways)
        return len(self._verdicts) > known

    def _source(self, edge: int) -> int:
        return self._moves.source[edge]

    # --- Ways, and the histories that they are of

    def _ways(self) -> _Ways:
        """Breadth first; of ways that are equally long, one whose history is known already."""
        start = self._matcher.dump.initial[0]
        nobody, none = (BEGINNING,) * len(self._matcher.book.nodes), len(self._moves.source)
        ways = _Ways({start: nobody}, [BEGINNING] * none, {})
        front = [start]
        while front and self._random:
            at = self._random.randrange(len(front))
            front[at], front[-1] = front[-1], front[at]
            for edge in self._leaving[front.pop()]:
                self._go(edge, ways, front, True)
        while front:
            beyond: list[int] = []
            later = []
            for state in front:
                for edge in self._leaving[state]:
                    if not self._go(edge, ways, beyond, False):
                        later.append(edge)
            for edge in later:
                self._go(edge, ways, beyond, True)
            front = beyond
        if not self._random:
            self._join(ways)
        return ways

    def _join(self, ways: _Ways) -> None:
        """Has runs to the same history go on with each other's last steps.

        A step that leaves the whole state as it is may be taken on the way to any other step from
        there; so it is, where it is possible in all states in which that one is to be taken. One
        that changes the state ends a run, unless a way goes on with it.
        """
        loops: dict[tuple[int, int], dict[int, list[int]]] = {}
        ends: dict[tuple[int, int], dict[int, list[int]]] = {}
        for edge, own in enumerate(ways.own):
            if own and own not in ways.first:
                of = loops if self._source(edge) == self._moves.target[edge] else ends
                at = self._tree.step(own).node, self._tree.before[own]
                of.setdefault(at, {}).setdefault(own, []).append(edge)
        for at, there in loops.items():
            # The last history of each run, and the states in which it can be.
            runs: dict[int, set[int]] = {}
            for own, edges in sorted(there.items(), key=lambda each: (-len(each[1]), each[0])):
                if going_on := self._going_on(runs, own, edges, ways):
                    longer, before = going_on
                    del runs[before]
                else:
                    longer = own
                if not self._verdicts.get(longer):
                    runs[longer] = {self._source(edge) for edge in edges}
            for own, edges in ends.get(at, {}).items():
                if going_on := self._going_on(runs, own, edges, ways):
                    del runs[going_on[1]]

    def _going_on(
        self, runs: dict[int, set[int]], own: int, edges: Sequence[int], ways: _Ways
    ) -> tuple[int, int] | None:
        """Give the history in place of `own` with which a run goes on to these edges.

        Also what it goes on from; None: none does, or it parts there.
        """
        states = {self._source(edge) for edge in edges}
        for before, possible in runs.items():
            longer = self._tree.longer(before, self._tree.last[own], True)
            if states <= possible and longer is not None and not self._verdicts.get(longer):
                for edge in edges:
                    ways.own[edge] = longer
                return longer, before
        return None

    def _go(self, edge: int, ways: _Ways, beyond: list[int], new: bool) -> bool:
        """Follows an edge, unless its history is new and that is not wanted."""
        step, target = self._moves.step[edge], self._moves.target[edge]
        place = self._places.get(self._moves.steps[step].node)
        histories = ways.at[self._moves.source[edge]]
        if place is None:
            if target not in ways.at:
                ways.at[target] = histories
                beyond.append(target)
            return True
        own = self._tree.longer(histories[place], step, new)
        if own is None:
            return False
        ways.own[edge] = own
        if target not in ways.at and not self._verdicts.get(own) and self._can_be(edge, ways):
            ways.at[target] = (*histories[:place], own, *histories[place + 1 :])
            ways.first[own] = None
            beyond.append(target)
        return True

    def _can_be(self, edge: int, ways: _Ways) -> bool:
        """Say whether Kafka can take an edge after this history.

        What the edge delivers was sent on the way to it, and not lost in a crash; and nobody has
        got on that way what is lost in this one.
        """
        if not self._lost:
            return True
        step = self._moves.steps[self._moves.step[edge]]
        histories = ways.at[self._source(edge)]
        if self._is_kafkas(step.input):
            return step.input in self._sent_by(histories[self._places[step.input.source]])
        lost = self._lost.get(ways.own[edge], frozenset())
        others = [own for own in histories if own != histories[self._places[step.node]]]
        gone = lost - self._sent_by(ways.own[edge])
        return not any(
            self._tree.step(each).input in gone for own in others for each in self._tree.path(own)
        )

    def _is_kafkas(self, input: Any) -> bool:
        """Whether it is a message that a node of Kafka's sends."""
        return isinstance(input, self._messages) and input.source in self._places

    def _for_kafka(self, sent: Iterable[Any]) -> list[Any]:
        return [message for message in sent if message.destination in self._places]

    def _sent_by(self, history: int) -> frozenset[Any]:
        known = self._really.get(history)
        if known is None:
            before, sent = self._tree.before[history], self._tree.step(history).result.sent
            if lost := self._lost.get(history):  # by the step before
                sent = tuple([m for m in self._tree.step(before).result.sent if m not in lost])
                before = self._tree.before[before]
            known = self._really[history] = self._sent_by(before) | frozenset(sent)
        return known

    def _note(self, edge: int, ways: _Ways) -> None:
        """What became of an edge, if Kafka has come to its state on the way there."""
        own = ways.own[edge]
        if any(self._verdicts.get(each, NOT_YET) for each in ways.at[self._source(edge)]):
            return
        if not self._can_be(edge, ways):
            self.found.parted.setdefault(edge, Parted("", UNSENT))
        elif own in self._verdicts:
            where = self._verdicts[own]
            if where is None:
                self.found.taken.add(edge)
            elif self._tree.before[own] in ways.at[self._source(edge)]:  # else that is tried yet
                self.found.parted.setdefault(edge, where)

    # --- Kafka

    def _ready(self, wanted: Iterable[int]) -> list[list[int]]:
        """Give paths to those of these histories that Kafka has not taken and now can.

        None of them is a part of another.
        """
        passed, paths = {BEGINNING}, []
        for own in sorted(wanted, reverse=True):
            if own in passed or own in self._verdicts:
                continue
            path = self._tree.path(own)
            passed.update(path)
            inputs = [self._tree.step(each).input for each in path]
            if any(self._verdicts.get(each) for each in path):
                continue
            if self._sent.issuperset([each for each in inputs if self._is_kafkas(each)]):
                paths.append(path)
        return paths

    def _run(self, paths: Sequence[Sequence[int]]) -> None:
        """Takes nodes along these, each alone and from its beginning on."""
        walks, lines = [], []
        for path in paths:
            walker = self._walkers(self._matcher, self._speech)
            steps = [self._tree.step(own) for own in path]
            said, node = walker.lines(steps), steps[0].node
            first = (line for line in self._first if line.startswith(f"{node} "))
            begin = [f"alone {node}", *first]
            lines += [*begin, *(line for each in said for line in each)]
            walks.append((path, walker, said, len(begin)))
        answers = iter(self._host.ask(lines))
        for path, walker, said, begun in walks:
            for _ in range(begun):
                next(answers)
            self.found.walks += 1
            self._read(path, walker, [[next(answers) for _ in each] for each in said])

    def _read(self, path: Sequence[int], walker: Walker, said: Sequence[Sequence[str]]) -> None:
        """What Kafka made of a path, until it parts from the model."""
        self.found.moves += len(path)
        lost: frozenset[Any] = frozenset()
        for at, (own, answers) in enumerate(zip(path, said, strict=True)):
            step = self._tree.step(own)
            if lost:
                self._lost[own] = lost
            before = len(walker.unsent)
            made = got(walker, step, answers)
            lost = frozenset([self._speech.input(text) for text in walker.unsent[before:]])
            if where := parted(step, made, self._matcher, walker):
                # If it has taken it before, that was without the crash that comes next.
                first = own if own not in self._verdicts else path[at + 1]
                self._verdicts.setdefault(first, where)
                return
            self._verdicts.setdefault(own, None)
            if isinstance(made, Taken):
                self._sent |= {*made.outcome.sent} - lost


def drive(
    matcher: Matcher,
    host: Host,
    speech: Speech,
    walkers: Walkers,
    told: Callable[[int], None],
) -> OnKafka:
    """A Drive of each node alone. The host takes answers by their content."""
    driving = _Driving(matcher, host, speech, walkers)
    driving.all(told)
    return driving.found
