"""Every edge of TLC's graphs, taken by Kafka's classes.

The graph is that of `kraftcheck cover`. Each of its steps is told to Kafka, and what Kafka makes of
it is held against the model's state: the row, what was sent, the reason for ignoring. In which
order that is done is a Drive's to say (walking.py, histories.py).

Law of this file: why an edge was not taken is TLC's to say, of Kafka's step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.kafka.witness import asking
from kraftcheck.kafka.witness.asking import Asked
from kraftcheck.kafka.witness.departures import BEYOND, STOPS, reasons_of
from kraftcheck.kafka.witness.driving import LISTED, RESULT, host_of, producer, use_jar
from kraftcheck.kafka.witness.kafka import Kafka, tried
from kraftcheck.kafka.witness.speech import Speech
from kraftcheck.kafka.witness.walking import Drive, OnKafka, Walker, Walkers, asked_of
from kraftcheck.osutil.children import processor_seconds
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.screen import Columns, Screen
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import Graph, dump_graph
from kraftcheck.traces.foreign.profiles import Profile

BEHIND = "only reached through such edges"
GRAPH_HEADS = (
    *("graph", ">states", ">edges", ">Kafka's", ">taken", ">moves"),
    *(">dump s", ">driving s", ">judging s", ">refusals", "result"),
)
"""Seconds are of the processor: with TLC's dump, the reading of it and the reference's moves; with
Kafka's JVM; and with the TLC that judges."""


class Spent(NamedTuple):
    """Seconds of the processor, of this process and of all that it starts."""

    dump: float
    driving: float
    judging: float


# -- Why


def explain(
    found: OnKafka, matcher: Matcher, walker: Walker, profile: Profile | None, by: str
) -> None:
    """Says why edges were not taken. by: who took the steps. Raises ToolError as witnessed."""
    told = {edge: where.why for edge, where in found.parted.items() if where.why}
    steps, step = matcher.moves.steps, matcher.moves.step
    stops = [
        f"{steps[step[edge]].action}: {why}"
        for edge, why in told.items()
        if why.startswith((STOPS, BEYOND))
    ]
    judged = {edge: where.text for edge, where in found.parted.items() if where.text}
    if judged:
        texts = list(dict.fromkeys(judged.values()))
        reasons, found.wrong = reasons_of(texts, matcher.book.constants, profile, by)
        reason = dict(zip(texts, reasons, strict=True))
        for edge, text in judged.items():
            before = steps[step[edge]].before
            told[edge] = reason[text] or walker.allowed(before)
    found.wrong += dict.fromkeys(stops)
    # An edge that parts on one way may have been taken on another.
    left = (edge for edge in found.asked if edge not in found.taken)
    found.reasons = {edge: told.get(edge, BEHIND) for edge in left}


# -- The verb


def cover(
    walkers: Walkers,
    drive: Drive,
    rules: str,
    chosen: Sequence[Graph],
    specs: Path,
    *,
    kafka: Kafka,
    mutants: int,
    out: Path | None,
    jar: str | None,
    screen: Screen,
) -> int:
    """Take every edge of these graphs, of one protocol, and attempt what they do not have.

    drive: in which order. rules: by whose Kafka is judged otherwise. mutants: how many of messages
    are attempted; below 0: nothing is. Raises as driving.by_chance.
    """
    use_jar(jar)
    profile = kafka.allowed(rules)
    place = artifacts.claim(out) if out else None
    widest = [(m.name, m.states, *[m.edges] * 4, *["1000.0"] * 3, "", "") for m in chosen]
    columns = Columns(GRAPH_HEADS, widest)
    screen.line(columns.head)
    codes, documents = [], []
    for model in chosen:
        begin = processor_seconds()
        matcher = _matched(model, specs, screen)
        dump = processor_seconds()
        walker = walkers(matcher, Speech(matcher.book.constants))
        found, asked = _driven(model.name, matcher, walkers, walker, drive, kafka, mutants, screen)
        driven = processor_seconds()
        by = producer(kafka, protocol_of(matcher.book.constants))
        explain(found, matcher, walker, profile, by)
        asking.explain(asked, matcher.book.constants, profile, by)
        spent = Spent(dump - begin, driven - dump, processor_seconds() - driven)
        wrong = found.wrong + asked.wrong
        code = exits.VIOLATED if wrong else exits.HOLDS
        cells: list[Any] = [model.states, model.edges, len(found.asked), len(found.taken)]
        cells += [found.moves, *spent, asked.attempts or ""]
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
        documents.append(_of_graph(model, found, asked, spent, code))
    code = exits.worst(codes)
    document = {"verdict": exits.VERDICTS[code], "kafka": kafka.version, "graphs": documents}
    if place is not None:
        artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


def _matched(model: Graph, specs: Path, screen: Screen) -> Matcher:
    dumped = dump_graph(model, specs, note=screen.note)
    matcher = Matcher(dumped.dump, dumped.book)
    matcher.explore()
    if matcher.mismatches:
        raise BadInput(f"{model.name}: the reference is not the model: run kraftcheck cover")
    return matcher


def _driven(
    name: str,
    matcher: Matcher,
    walkers: Walkers,
    walker: Walker,
    drive: Drive,
    kafka: Kafka,
    mutants: int,
    screen: Screen,
) -> tuple[OnKafka, Asked]:
    constants = matcher.book.constants
    protocol, speech = protocol_of(constants), Speech(constants)
    if not (own := asked_of(matcher, walker.kafkas)):
        raise BadInput(f"{name}: no node of Kafka's takes a step in that graph")

    def work() -> tuple[OnKafka, Asked]:
        with host_of(kafka, protocol, constants, answers="content") as host:
            with screen.progress(f"{name}: edges", len(own)) as meter:
                found = drive(matcher, host, speech, walkers, meter.update)
            if not (attempts := asking.attempts(matcher, walker.loads, mutants)):
                return found, Asked()
            with screen.progress(f"{name}: refusals", len(attempts)) as meter:
                return found, asking.ask(attempts, matcher, host, speech, walker.same, meter.update)

    return tried(work)


def _write_gap(path: Path, matcher: Matcher, found: OnKafka) -> None:
    """Write a line for each edge that was not taken.

    It has the edge's states by their number in TLC's dump, the input in the words of a trace, and
    why. No line: all were taken.
    """
    moves, speech = matcher.moves, Speech(matcher.book.constants)
    lines = []
    for edge, why in found.reasons.items():
        step = moves.steps[moves.step[edge]]
        said = {"from": moves.source[edge], "to": moves.target[edge], "action": step.action}
        said |= {"node": step.node, "input": msgspec.Raw(speech.text(step.input).encode())}
        lines.append(msgspec.json.encode(said | {"why": why}))
    artifacts.write_whole(path, b"".join(line + b"\n" for line in lines).decode())


def _of_graph(
    model: Graph, found: OnKafka, asked: Asked, spent: Spent, code: int
) -> dict[str, Any]:
    return {
        "graph": model.name,
        "states": model.states,
        "edges": model.edges,
        "kafkas": len(found.asked),
        "taken": len(found.taken),
        "not_taken": dict(sorted(found.why.items())),
        "walks": found.walks,
        "moves": found.moves,
        "processor_seconds": {name: round(s, 2) for name, s in spent._asdict().items()},
        "attempts": asked.attempts,
        "as_the_reference": dict(sorted(asked.alike.items())),
        "otherwise": dict(sorted(asked.reasons.items())),
        "refused": found.wrong + asked.wrong,
        "verdict": exits.VERDICTS[code],
    }
