"""Every edge of TLC's graphs, taken by Kafka's classes.

The graph and the walks are those of `kraftcheck cover`. Each walk begins with new nodes; each of
its moves is told to Kafka, and what Kafka makes of it is held against the model's state: the row,
what was sent, the reason for ignoring. Where it parts from the model the walk ends; edges behind
that are tried on other ways, as long as there are any.

How the nodes of a protocol are told a walk is a Walker's to say (quorum_graphs.py,
partition_graphs.py).

Law of this file: an edge counts as taken only if all that was compared was equal. Why it was not is
TLC's to say, of Kafka's step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol as Interface

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Columns, Screen
from kraftcheck.witness import asking
from kraftcheck.witness.asking import Asked
from kraftcheck.witness.departures import reasons_of
from kraftcheck.witness.driving import LISTED, RESULT, host_of, producer, use_jar
from kraftcheck.witness.kafka import Kafka, tried
from kraftcheck.witness.speech import Outcome, Speech, Taken
from live.witness.host import Host
from reference.kit.cover import Result
from reference.protocols import protocol_of
from tla_utils.covering import cover_edges
from tla_utils.dump import shortest_ways
from traces.cover.matching import ABSENT, Matcher, Step
from traces.cover.models import CoverModel, Dumped, dump_graph
from traces.foreign.profiles import Profile

OTHER_OUTCOME = "of several outcomes that the specs allow, Kafka has another"
BEHIND = "only reached through such edges"
GRAPH_HEADS = (
    *("graph", ">states", ">edges", ">by Kafka", ">moves", ">seconds"),
    *(">edges/min", ">refusals", "result"),
)


class Walker(Interface):
    """Tells the nodes of a protocol one walk."""

    @property
    def loads(self) -> Collection[int]:
        """Those that can be brought to any row."""

    def first(self) -> Sequence[str]:
        """Moves that lead to the model's first state."""

    def lines(self, steps: Sequence[Step]) -> Sequence[Sequence[str]]:
        """What the host is told for each of these; nothing: it is a part of a step before."""

    def got(self, step: Step, answers: Sequence[str]) -> Taken | str | None:
        """What Kafka made of a step, or why there is nothing to compare; None: it is done already.
        answers: the host's.
        """

    def goes_on(self, step: Step, answers: Sequence[str]) -> bool:
        """Whether Kafka is where the model is behind a step in which it parted from it."""

    def same(self, model: Result, kafka: Outcome) -> bool:
        """Whether they are equal in all that is compared."""

    def allowed(self, before: Any) -> str:
        """Why Kafka may differ in this row although the specs accept what it does."""


Walkers = Callable[[Matcher, Speech], Walker]


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
    """taken: edges that were taken as in the model, on some way. parted: where Kafka does not, by
    edge, on some way. passed: those of them behind which it was brought to where the model is.
    moves: how many were told. reasons: of each edge that was not taken, why; an entry of a profile
    by its name. wrong: what no entry allows, in words.
    """

    edges: int
    taken: set[int] = field(default_factory=set)
    parted: dict[int, Parted] = field(default_factory=dict)
    passed: set[int] = field(default_factory=set)
    moves: int = 0
    walks: int = 0
    seconds: float = 0.0
    reasons: dict[int, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def why(self) -> Counter[str]:
        """How many edges were not taken, by reason."""
        return Counter(self.reasons.values())


def drive(
    matcher: Matcher,
    host: Host,
    speech: Speech,
    walkers: Walkers,
    told: Callable[[int], None] = lambda done: None,
) -> OnKafka:
    """Takes every edge that can be. Raises WitnessError: Kafka cannot be driven."""
    begin = monotonic()
    found = OnKafka(len(matcher.moves.source))
    while walks := _walks(matcher, found):
        for walk in walks:
            _take(walk, matcher, host, walkers(matcher, speech), found)
            told(len(found.taken))
    found.seconds = monotonic() - begin
    return found


def _walks(matcher: Matcher, found: OnKafka) -> list[list[int]]:
    """Walks through edges that are left, on ways that are not known to part for good."""
    moves = matcher.moves
    closed = found.parted.keys() - found.passed
    open_edges = [e for e in range(found.edges) if e not in closed and moves.target[e] != ABSENT]
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
        parted = _parted(edge, step, walker.got(step, answers), matcher, walker)
        if parted is not None:
            found.parted.setdefault(edge, parted)
            if not walker.goes_on(step, answers):
                found.passed.discard(edge)
                return
            found.passed.add(edge)
            continue
        found.taken.add(edge)


def _parted(
    edge: int, step: Step, got: Taken | str | None, matcher: Matcher, walker: Walker
) -> Parted | None:
    if got is None:
        return None
    if isinstance(got, str):
        return Parted(edge, step.action, "", got)
    if walker.same(step.result, got.outcome):
        return None
    among = matcher.composition.outcomes(step.node, step.before, step.input)
    if any(walker.same(each, got.outcome) for each in among):
        return Parted(edge, step.action, "", OTHER_OUTCOME)
    return Parted(edge, step.action, got.text)


# -- Why


def explain(
    found: OnKafka, matcher: Matcher, walker: Walker, profile: Profile | None, by: str
) -> None:
    """Says why edges were not taken. by: who took the steps. Raises ToolError as witnessed."""
    judged = [parted for parted in found.parted.values() if parted.text]
    told = {parted.edge: parted.why for parted in found.parted.values() if parted.why}
    if judged:
        reasons, found.wrong = reasons_of(
            [each.text for each in judged], matcher.composition.constants, profile, by
        )
        for each, why in zip(judged, reasons, strict=True):
            before = matcher.moves.steps[matcher.moves.step[each.edge]].before
            told[each.edge] = why or walker.allowed(before)
    # An edge that parts on one way may have been taken on another.
    left = (edge for edge in range(found.edges) if edge not in found.taken)
    found.reasons = {edge: told.get(edge, BEHIND) for edge in left}


# -- The verb


def cover(
    walkers: Walkers,
    rules: str,
    chosen: Sequence[CoverModel],
    specs: Path,
    *,
    kafka: Kafka,
    mutants: int,
    out: Path | None,
    jar: str | None,
    screen: Screen,
) -> int:
    """Takes every edge of these graphs, which are of one protocol, and attempts what they do not
    have. rules: by whose Kafka is judged otherwise. mutants: how many of messages are attempted;
    below 0: nothing is. Raises as driving.by_chance.
    """
    use_jar(jar)
    profile = kafka.allowed(rules)
    place = artifacts.claim(out) if out else None
    widest = [(m.name, m.states, m.edges, m.edges, *[""] * 5) for m in chosen]
    columns = Columns(GRAPH_HEADS, widest)
    screen.line(columns.head)
    codes, documents = [], []
    for model in chosen:
        dumped = dump_graph(model, specs, note=screen.note)
        matcher = Matcher(dumped.dump, dumped.composition)
        found, asked = _covered(dumped, matcher, walkers, kafka, profile, mutants, screen)
        wrong = found.wrong + asked.wrong
        code = exits.VIOLATED if wrong else exits.HOLDS
        minute = round(60 * len(found.taken) / found.seconds)
        cells: list[Any] = [model.states, model.edges, len(found.taken)]
        cells += [found.moves, found.seconds, minute, asked.attempts or ""]
        screen.line(columns.row([model.name, *cells, exits.VERDICTS[code]]))
        for why, edges in found.why.most_common():
            screen.line(f"  not taken: {edges:,}, {why}")
        for why, attempts in asked.reasons.most_common():
            screen.line(f"  refusals: {attempts:,} otherwise, {why}")
        for told in wrong[:LISTED]:
            screen.line(f"  refused: {told}")
        if place is not None:
            _write_gap(place / f"{model.name}.gap.jsonl", matcher, found)
        codes.append(code)
        documents.append(_of_graph(model, found, asked, code))
    code = exits.worst(codes)
    document = {"verdict": exits.VERDICTS[code], "kafka": kafka.version, "graphs": documents}
    if place is not None:
        artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


def _covered(
    dumped: Dumped,
    matcher: Matcher,
    walkers: Walkers,
    kafka: Kafka,
    profile: Profile | None,
    mutants: int,
    screen: Screen,
) -> tuple[OnKafka, Asked]:
    matcher.explore()
    if matcher.mismatches:
        raise BadInput(f"{dumped.model.name}: the reference is not the model: run kraftcheck cover")
    constants = dumped.composition.constants
    protocol, speech = protocol_of(constants), Speech(constants)
    walker, by = walkers(matcher, speech), producer(kafka, protocol)

    def work() -> tuple[OnKafka, Asked]:
        with host_of(kafka, protocol, constants, answers="content") as host:
            with screen.progress(f"{dumped.model.name}: edges", dumped.model.edges) as meter:
                found = drive(matcher, host, speech, walkers, meter.update)
            if not (attempts := asking.attempts(matcher, walker.loads, mutants)):
                return found, Asked()
            with screen.progress(f"{dumped.model.name}: refusals", len(attempts)) as meter:
                return found, asking.ask(attempts, matcher, host, speech, walker.same, meter.update)

    found, asked = tried(work)
    explain(found, matcher, walker, profile, by)
    asking.explain(asked, constants, profile, by)
    return found, asked


def _write_gap(path: Path, matcher: Matcher, found: OnKafka) -> None:
    """A line for each edge that was not taken: its states by their number in TLC's dump, the input
    in the words of a trace, and why. No line: all were.
    """
    moves, speech = matcher.moves, Speech(matcher.composition.constants)
    lines = []
    for edge, why in found.reasons.items():
        step = moves.steps[moves.step[edge]]
        said = {"from": moves.source[edge], "to": moves.target[edge], "action": step.action}
        said |= {"node": step.node, "input": msgspec.Raw(speech.text(step.input).encode())}
        lines.append(msgspec.json.encode(said | {"why": why}))
    artifacts.write_whole(path, b"".join(line + b"\n" for line in lines).decode())


def _of_graph(model: CoverModel, found: OnKafka, asked: Asked, code: int) -> dict[str, Any]:
    return {
        "graph": model.name,
        "states": model.states,
        "edges": model.edges,
        "taken": len(found.taken),
        "not_taken": dict(sorted(found.why.items())),
        "walks": found.walks,
        "moves": found.moves,
        "seconds": round(found.seconds, 3),
        "attempts": asked.attempts,
        "as_the_reference": dict(sorted(asked.alike.items())),
        "otherwise": dict(sorted(asked.reasons.items())),
        "refused": found.wrong + asked.wrong,
        "verdict": exits.VERDICTS[code],
    }
