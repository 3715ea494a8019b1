"""Walks of graphs as beginnings of runs (reference/partition/sim/beginnings.py).

    python -m tests.stateful.walked   # writes reference/partition/sim/walked.moves; TLC, a minute

A graph has for each state what is possible in the model, whose network is a set from which nothing
goes. In a run a broker does only what it wants, and what travels to or from the controller comes
once and in order; a request may be given up and sent again, so that it comes more often. Walks are
of what a run can make of a graph: its edges that are so, from states that know what is on its way.
They take an edge of each class of local steps that is left, in few moves
(tla_utils/covering_classes.py).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    MESSAGES,
    ControllerRequestTimeout,
    MetadataUpdate,
    ProduceRequest,
)
from kraftcheck.reference.partition.sim import beginnings
from kraftcheck.reference.partition.sim.begun import UNCAUSED
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.system import comes_once
from kraftcheck.reference.partition.types import INITIAL_OFFSET
from kraftcheck.traces.cover.charts import keys_of
from kraftcheck.traces.cover.matching import ABSENT, Matcher, Step
from kraftcheck.traces.cover.models import Graph, dump_graph, of_scenario, read_covers, select
from tests.stateful.shown_by_tlc import NarratedSchedule
from tla_utils.covering_classes import cover_classes

WRITTEN = Path(beginnings.__file__).parent / beginnings.WALKED
TIER: Final = "campaign"
WIDTH: Final = 100


class Playable(NamedTuple):
    """What a run can make of a graph. states: how many. source, target, move: by edge; of the graph
    the number of the move that it is. start: a state."""

    states: int
    source: list[int]
    target: list[int]
    move: list[int]
    start: int = 0


def playable(matcher: Matcher, may: Callable[[Step], bool]) -> Playable:
    """may: whether a node of a run would take this step. A state is one of the graph's, with what
    is on its way of what comes once and in order."""
    moves = matcher.moves
    leaving: list[list[int]] = [[] for _ in matcher.states]
    can = [may(step) for step in moves.steps]
    for move, (source, target) in enumerate(zip(moves.source, moves.target, strict=True)):
        if target != ABSENT and can[moves.step[move]]:
            leaving[source].append(move)
    found = Playable(0, [], [], [])
    first = (matcher.dump.initial[0], tuple[Any, ...]())
    number, front = {first: 0}, [first]
    for state, coming in front:
        for move in leaving[state]:
            step = moves.steps[moves.step[move]]
            after = _on_its_way(coming, step)
            if after is None:
                continue
            to = (moves.target[move], after)
            if to not in number:
                number[to] = len(number)
                front.append(to)
            found.source.append(number[state, coming])
            found.target.append(number[to])
            found.move.append(move)
    return found._replace(states=len(number))


def _on_its_way(coming: tuple[Any, ...], step: Step) -> tuple[Any, ...] | None:
    """What comes once and in order, after this step; None: the step's input does not come."""
    input = step.input
    if _comes_once(input):
        if input not in coming:
            return None
        link = input.source, input.destination
        at = coming.index(input)
        overtaken = [m for m in coming[:at] if (m.source, m.destination) == link]
        gone = overtaken if input.destination == CONTROLLER else [*overtaken, input]
        coming = tuple([m for m in coming if m not in gone])
    sent = [m for m in step.result.sent if _comes_once(m)]
    return (*[m for m in coming if m not in sent], *sent)


class Walks(NamedTuple):
    """Of a graph, those moves of each walk that begin a run, in words. classes, edges: of local
    steps and of the graph's edges, (those that runs can take, all)."""

    options: dict[str, Any]
    walks: list[list[str]]
    classes: tuple[int, int]
    edges: tuple[int, int]


def walks_of(model: Graph) -> Walks:
    dumped = dump_graph(model)
    matcher = Matcher(dumped.dump, dumped.book)
    matcher.explore()
    assert not matcher.mismatches, f"{model.name} is not the reference's: see kraftcheck cover"
    constants = matcher.book.constants
    there = playable(matcher, _wanted(constants))
    keys = keys_of(matcher, constants)
    steps = matcher.moves.step
    classes: dict[bytes, list[int]] = {}
    for edge, move in enumerate(there.move):
        classes.setdefault(keys[steps[move]], []).append(edge)
    cover = cover_classes(
        there.states, there.source, there.target, there.start, list(classes.values())
    )
    options = dict(zip(beginnings.OF, _options(constants), strict=True))
    if "HandleProduceRequest" in matcher.book.moves:
        produced = dumped.book.graph.only["ProduceRequest"]
        assert produced == {"acks": -1, "producer": 0}, "as producers of runs are"
        options |= {"acks": "all", "idempotence": True, "batch_records": 1}
    edges = sum(keys[step] in classes for step in steps)
    return Walks(
        options,
        [
            told(options, [matcher.moves.steps[steps[there.move[edge]]] for edge in walk])
            for walk in cover.walks
        ],
        (len(classes), len(set(keys))),
        (edges, len(steps)),
    )


def _options(constants: Any) -> Sequence[Any]:
    return (
        len(constants.replicas),
        constants.min_insync_replicas,
        constants.elr_enabled,
        constants.unclean_election,
        constants.fetch_max_records,
    )


def _wanted(constants: Any) -> Callable[[Step], bool]:
    """Whether a node of a run would take a step of a graph with these constants."""
    machine = PartitionMemo(None).machine(constants)
    intern = machine.interner

    def wanted(step: Step) -> bool:
        if step.node == CONTROLLER or isinstance(
            step.input, (*MESSAGES, *UNCAUSED, MetadataUpdate)
        ):
            return True
        state = machine.state(step.node, intern.row(step.before))
        return intern.input(step.input) in state.wants

    return wanted


def _comes_once(input: Any) -> bool:
    """Whether it is a message between a broker and the controller."""
    if not isinstance(input, MESSAGES):
        return False
    ends = input.source, input.destination
    return comes_once(*ends) and all(end >= 0 or end == CONTROLLER for end in ends)


def told(options: dict[str, Any], walk: Sequence[Step]) -> list[str]:
    """A walk from where everybody knows the first leader, in words."""
    schedule = NarratedSchedule(msgspec.convert(options, PartitionOptions))
    for node in schedule.brokers:
        schedule.do(node, MetadataUpdate(INITIAL_OFFSET, schedule.metadata))
    for at, step in enumerate(walk):
        if isinstance(step.input, ProduceRequest):
            schedule.has_to_send(step.input)
        schedule.do(step.node, step.input)
        for request in step.result.sent:
            if _comes_once(request) and request.destination == CONTROLLER:
                # Given up and sent again, as often as it comes in this walk.
                for _ in range(_comings(request, walk[at + 1 :]) - 1):
                    schedule.do(step.node, ControllerRequestTimeout(request))
                    schedule.do(step.node, step.input)
    return schedule.told


def _comings(request: Any, rest: Sequence[Step]) -> int:
    """How often a request comes before it is sent anew."""
    count = 0
    for step in rest:
        if request in step.result.sent:
            break
        count += step.input == request
    return count


def written() -> str:
    """The data, from the graphs."""
    graphs = of_scenario(select(read_covers(), [], [TIER]), "partition")
    return "\n".join(line for model in graphs for line in lines_of(model))


def lines_of(model: Graph) -> Iterator[str]:
    """Of a graph's walks."""
    found = walks_of(model)
    options = msgspec.json.encode(found.options, order="sorted").decode().replace(',"', ', "')
    for number, moves in enumerate(found.walks):
        yield f"{model.name}-{number} {model.name}"
        yield from textwrap.wrap(options, WIDTH)
        yield from _wrapped(moves)
        yield ""


def _wrapped(moves: Sequence[str]) -> Iterator[str]:
    line = ""
    for move in moves:
        if line and len(line) + len(move) + 2 > WIDTH:
            yield line
            line = ""
        line = f"{line}; {move}" if line else move
    yield line


if __name__ == "__main__":
    WRITTEN.write_text(written(), encoding="utf-8")
