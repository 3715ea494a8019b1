"""Every edge of TLC's graphs of the quorum, taken by Kafka's classes.

The graph and the walks are those of `kraftcheck cover`. Each walk begins with new voters; each of
its moves is told to Kafka, with messages that Kafka has sent, and what Kafka makes of it is held
against the model's state: the row, what was sent, the reason for ignoring. Where it parts from the
model the walk ends; edges behind that are tried on other ways, as long as there are any.

One thing is not compared: how much of a leader's log is flushed, which Kafka does in the step that
appends, and the model in a step of its own.

Law of this file: an edge counts as taken only if all that was compared was equal. Why it was not is
TLC's to say, of Kafka's step.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from msgspec.structs import replace

from kraftcheck.witness.departures import witnessed
from kraftcheck.witness.schedule import WHOLE
from kraftcheck.witness.speech import Outcome, Speech, Taken, header
from live.witness.host import REFUSED, THROWN, UNSENT, Host
from reference.kit.messages import canonical
from reference.quorum.messages import Crash, Flush
from tla_utils.covering import cover_edges
from tla_utils.dump import shortest_ways
from traces.cover.composition import Result
from traces.cover.matching import ABSENT, Matcher, Step
from traces.foreign.profiles import Profile
from traces.foreign.reading import read_foreign

FLUSHED_TOGETHER = "flushed in the step that appended"
UNSENT_IN_CRASH = "not sent by who crashed inside a flush: Kafka sends behind it"
NOTHING_TO_LOSE = "nothing to lose in that crash: flushed in the step that appended"
NO_USE = "Kafka has no use for that input, or nobody has sent it"
OTHER_OUTCOME = "of several outcomes that the specs allow, Kafka has another"
ALLOWED = "the specs allow what Kafka does in the row that it is in"
WRONG = "refused"
BEHIND = "only reached through such edges"


class Parted(NamedTuple):
    """Where Kafka parts from the model. text: its step, as a line of a trace, if that has to be
    judged; why: the reason, if not.
    """

    edge: int
    action: str
    text: str
    why: str = ""


@dataclass
class OnKafka:
    """taken: edges that Kafka took as in the model, on some way. parted: where it does not, by
    edge, on some way. moves: how many were told. why: for edges that were not taken, how many by
    reason; of entries of a profile, by name. wrong: what no entry allows, in words.
    """

    edges: int
    taken: set[int] = field(default_factory=set)
    parted: dict[int, Parted] = field(default_factory=dict)
    moves: int = 0
    walks: int = 0
    seconds: float = 0.0
    why: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def drive(
    matcher: Matcher, host: Host, speech: Speech, told: Callable[[int], None] = lambda done: None
) -> OnKafka:
    """Takes every edge that can be. Raises WitnessError: Kafka cannot be driven."""
    begin = monotonic()
    found = OnKafka(len(matcher.moves.source))
    while walks := _walks(matcher, found):
        for walk in walks:
            _Walk(matcher, speech, found).take(walk, host)
            told(len(found.taken))
    found.seconds = monotonic() - begin
    return found


def _walks(matcher: Matcher, found: OnKafka) -> list[list[int]]:
    """Walks through edges that are left, on ways that are not known to part."""
    moves = matcher.moves
    open_edges = [
        e for e in range(found.edges) if e not in found.parted and moves.target[e] != ABSENT
    ]
    source = [moves.source[e] for e in open_edges]
    target = [moves.target[e] for e in open_edges]
    start = matcher.dump.initial[0]
    way = shortest_ways(len(matcher.states), [start], source, target)
    wanted = [
        at for at, e in enumerate(open_edges) if e not in found.taken and way[source[at]] != -2
    ]
    if not wanted:
        return []
    cover = cover_edges(len(matcher.states), source, target, start, wanted)
    return [[open_edges[at] for at in walk] for walk in cover.walks]


class _Walk:
    """One walk, from new voters on."""

    def __init__(self, matcher: Matcher, speech: Speech, found: OnKafka) -> None:
        self._matcher, self._speech, self._found = matcher, speech, found
        self._in_turns = getattr(matcher.composition, "in_turns", False)
        self._unsent: set[str] = set()
        self._follows: dict[int, Taken] = {}
        """By node, what Kafka has done in the same step as what came last: a flush, or a crash."""

    def take(self, walk: Sequence[int], host: Host) -> None:
        steps = [self._matcher.moves.steps[self._matcher.moves.step[edge]] for edge in walk]
        tears = [_tear(steps, at) for at in range(len(steps))]
        lines = [self._line(steps, tears, at) for at in range(len(steps))]
        answers = iter(host.ask(["new", *(line for line in lines if line)])[1:])
        found = self._found
        found.walks += 1
        for edge, step, line in zip(walk, steps, lines, strict=True):
            answer = next(answers) if line else ""
            found.moves += 1
            parted = self._parted(edge, step, answer if line else None)
            if parted is not None:
                found.parted.setdefault(edge, parted)
                return
            found.taken.add(edge)

    def _line(self, steps: Sequence[Step], tears: Sequence[int], at: int) -> str:
        """What the host is told; empty for what is a part of the step before."""
        step = steps[at]
        if isinstance(step.input, Flush):
            return ""
        if isinstance(step.input, Crash):
            before = [i for i in range(at) if steps[i].node == step.node]
            if before and tears[before[-1]] != WHOLE:
                return ""
        torn = "" if tears[at] == WHOLE else f"tear {tears[at]} "
        return f"{step.node} {torn}{self._speech.text(step.input)}"

    def _parted(self, edge: int, step: Step, answer: str | None) -> Parted | None:
        follows = self._follows.pop(step.node, None)
        if answer is None:
            if follows is None:
                return None  # it was flushed before
            got = follows
        else:
            parts = answer.split("\t") if answer and not answer.startswith(REFUSED) else []
            taken = [self._speech.taken(p) for p in parts if p[0] not in (UNSENT, THROWN)]
            self._unsent |= {p.removeprefix(UNSENT) for p in parts if p.startswith(UNSENT)}
            if not taken:
                return Parted(edge, step.action, "", self._why_not(step))
            got = taken[0]
            if len(taken) > 1 and self._in_turns:
                got = _together(taken)
            elif len(taken) > 1:
                self._follows[step.node] = taken[1]
        outcome = got.outcome
        if self._same(step.result, outcome):
            return None
        among = self._matcher.composition.outcomes(step.node, step.before, step.input)
        if any(self._same(each, outcome) for each in among):
            return Parted(edge, step.action, "", OTHER_OUTCOME)
        return Parted(edge, step.action, got.text)

    def _same(self, model: Result, kafka: Outcome) -> bool:
        return (
            replace(model.row, flushed=kafka.row.flushed) == kafka.row
            and {*model.sent} == {*kafka.sent}
            and model.ignored == kafka.ignored
        )

    def _why_not(self, step: Step) -> str:
        if isinstance(step.input, Crash):
            return NOTHING_TO_LOSE
        return UNSENT_IN_CRASH if self._speech.text(step.input) in self._unsent else NO_USE


def _together(taken: Sequence[Taken]) -> Taken:
    """An append and the flush behind it, as one step."""
    first, *_, last = taken
    sent = canonical([m for each in taken for m in each.outcome.sent])
    return first._replace(outcome=Outcome(last.outcome.row, sent, first.outcome.ignored))


def _tear(steps: Sequence[Step], at: int) -> int:
    """How the flush that belongs to a step is broken off, if the walk's next step of the node is
    the crash that loses what is not flushed.
    """
    step = steps[at]
    row = step.result.row
    if row.role != "Leader" or row.flushed == len(row.log) or row.log == step.before.log:
        return WHOLE
    later = next((each for each in steps[at + 1 :] if each.node == step.node), None)
    if later is None or not isinstance(later.input, Crash):
        return WHOLE
    return max(0, later.input.keep - len(step.before.log))


# -- Why


def explain(found: OnKafka, matcher: Matcher, profile: Profile | None) -> None:
    """Says why edges were not taken. Raises ToolError: TLC cannot be used."""
    judged = {parted.edge: parted for parted in found.parted.values() if parted.text}
    found.why.update(
        parted.why for parted in found.parted.values() if parted.why and _is_left(found, parted)
    )
    if judged:
        _judge(found, matcher, list(judged.values()), profile)
    behind = found.edges - len(found.taken | found.parted.keys())
    if behind:
        found.why[BEHIND] += behind


def _is_left(found: OnKafka, parted: Parted) -> bool:
    """Whether the edge was not taken on another way either."""
    return parted.edge not in found.taken


def _judge(
    found: OnKafka, matcher: Matcher, parted: Sequence[Parted], profile: Profile | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "parted.jsonl"
        head = header(matcher.composition.constants, "KafkaRaftClient")
        head = f'{head[:-1]},"start":"any","order":"by node"}}\n'
        # Each in a run of its own, so that only the step itself is judged.
        lines = [f'{each.text[:-1]},"run":{run}}}\n' for run, each in enumerate(parted)]
        trace.write_text(head + "".join(lines), encoding="utf-8")
        judged = witnessed(read_foreign(trace), profile, [])
    refused = {each.run: each for each in judged.found.rejections}
    known = {run: met.name for met in judged.met for run in met.runs}
    for run, each in enumerate(parted):
        left = int(_is_left(found, each))
        if run in refused:
            found.why[WRONG] += left
            told = "; ".join(refused[run].differences)
            found.wrong.append(f"{each.action}: {told}")
        elif run in known:
            found.why[known[run]] += left
        else:
            model = matcher.moves.steps[matcher.moves.step[each.edge]].before
            unflushed = model.flushed < len(model.log)
            found.why[FLUSHED_TOGETHER if unflushed else ALLOWED] += left
