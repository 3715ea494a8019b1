"""The state graph of a small model as a page: search its states, and see a shortest path to one.

TLC dumps the graph, and each of its edges is made by the reference (traces/cover). So a path has
the reference's states, and is a schedule of moves. A schedule is offered only if a longest of the
shortest paths, made so, comes to the state that the graph has there.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from markupsafe import Markup

from kraftcheck import exits
from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput
from kraftcheck.explore.played import Paths, Played
from kraftcheck.picture import fields_of
from kraftcheck.reference.core.system import HOW, Move
from kraftcheck.reference.drivers.script import ScriptedRun
from kraftcheck.reference.kit.cover import tell
from kraftcheck.reference.protocols import kind_of_row, protocol_of
from kraftcheck.reference.runner.scripted import ImpossibleMove, script_under
from kraftcheck.reference.steered.scripts import Script, write
from kraftcheck.screen import Screen
from kraftcheck.traces.cover.matching import ABSENT, Matcher, Step
from kraftcheck.traces.cover.models import dump_graph, read_covers
from kraftcheck.traces.report import html
from tla_utils import find_jar, find_java
from tla_utils.dump import shortest_ways

STATES_MAX: Final = 2000
NUMBER: Final = re.compile(r" #\d+$")
"""What tells apart messages of the same words, which depends on the path."""


class _Graph:
    """A graph whose edges the reference has made."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher, self.composition = matcher, matcher.composition
        moves = matcher.moves
        inside = [edge for edge, to in enumerate(moves.target) if to != ABSENT]
        self.source = [moves.source[edge] for edge in inside]
        self.target = [moves.target[edge] for edge in inside]
        self.steps = [moves.step[edge] for edge in inside]
        self.initial = matcher.dump.initial[0]
        constants, nodes = self.composition.constants, self.composition.nodes
        kind_of = protocol_of(constants).kind_of
        self.names = [f"{kind_of(constants, node).name} {node}" for node in nodes]
        self.ways = shortest_ways(len(matcher.states), [self.initial], self.source, self.target)

    def way(self, state: int) -> list[int]:
        """A shortest path, as edges."""
        found = []
        while (edge := self.ways[state]) >= 0:
            found.append(edge)
            state = self.source[edge]
        return found[::-1]

    def rows(self, state: int) -> list[Any]:
        """The state of each node, in the order of the composition's nodes."""
        return [self.matcher.rows[piece] for piece in self.matcher.states[state][0]]


def _words(played: Played, step: Step) -> str:
    """A step as a move of a schedule. Raises ValueError: it is none."""
    schedule: Any = played.schedule
    if isinstance(schedule, ScriptedRun):
        message = hasattr(step.input, "destination")
        known = schedule.known(step.input)
        return schedule.system.words(Move("deliver" if message else "take", step.node, known))
    return NUMBER.sub("", next(schedule.wordings(step.node, step.input), ""))


def _path(words: list[str], again: str, messages: list[bool]) -> Iterator[str]:
    """The words of a path; a message that arrives once more later stays in flight."""
    for at, each in enumerate(words):
        yield each + again * (messages[at] and each in words[at + 1 :])


def _schedule(graph: _Graph) -> tuple[Script | None, list[str], str]:
    """Return what a schedule of this graph needs, or None if its paths are no schedules.

    That is the beginning, the words of each step, and the ending for messages that arrive again.
    """
    moves = graph.matcher.moves
    told = [f"{step.node}: {tell(step.input)}" for step in moves.steps]
    try:
        script = script_under(graph.composition.constants)
        if script is None:
            return None, told, ""
        played = Played(script)
        words = [_words(played, step) for step in moves.steps]
        again = HOW["again"] if isinstance(played.schedule, ScriptedRun) else ""
        far = max(range(len(graph.ways)), key=lambda state: len(graph.way(state)))
        steps = [graph.steps[edge] for edge in graph.way(far)]
        messages = [hasattr(moves.steps[step].input, "destination") for step in steps]
        path = tuple(_path([words[step] for step in steps], again, messages))
        made, _ = Paths().played(msgspec.structs.replace(script, moves=path))
        of = made.schedule.named_rows()
        there = [of[name] for name in graph.names if name in of]
        if there != graph.rows(far):
            return None, told, ""
    except (BadInput, ImpossibleMove, ValueError, StopIteration, AssertionError, KeyError):
        return None, told, ""
    return script, words, again


def document(graph: _Graph) -> dict[str, Any]:
    """All that the page's script needs."""
    script, words, again = _schedule(graph)
    rows = {piece: at for at, piece in enumerate(graph.matcher.rows)}
    steps = graph.matcher.moves.steps
    return {
        "nodes": graph.names,
        "rows": [
            {"role": str(kind_of_row(row).role(row)), **fields_of(row)}
            for row in graph.matcher.rows.values()
        ],
        "states": [[rows[piece] for piece in state[0]] for state in graph.matcher.states],
        "initial": graph.initial,
        "edges": [*zip(graph.source, graph.target, graph.steps, strict=True)],
        "words": words,
        "messages": [hasattr(step.input, "destination") for step in steps],
        "again": again,
        "head": None if script is None else write(script),
    }


def show(
    name: str, page: Path | None, specs: Path, jar: str | None, java: str | None, screen: Screen
) -> int:
    """`spec explore`: writes the page.

    Raises BadInput: no such graph, or one with more states than a page shows; ToolError: TLC could
    not dump it.
    """
    covers = read_covers(specs)
    small = [each.name for each in covers.values() if each.states <= STATES_MAX]
    if name not in covers:
        raise BadInput(f"no graph {name!r:.60}; of up to {STATES_MAX:,} states: {', '.join(small)}")
    model = covers[name]
    if model.states > STATES_MAX:
        raise BadInput(
            f"{name} has {model.states:,} states, a page shows {STATES_MAX:,}: {', '.join(small)}"
        )
    screen.doing("TLC dumps the graph")
    dumped = dump_graph(model, specs, jar=find_jar(jar), java=find_java(java))
    matcher = Matcher(dumped.dump, dumped.composition)
    matcher.explore(lambda *_: None)
    if matcher.mismatches:
        screen.line(f"!! {matcher.mismatches[0].told}")
        return exits.VIOLATED
    graph = _Graph(matcher)
    found = document(graph)
    path = page or Path(f"{name}.html")
    text = json.dumps(found, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    script = html.asset("graph.js")
    rendered = html.render(
        "graph.html.j2",
        model=model,
        data=Markup(text),
        style=Markup(html.asset("history.css") + html.asset("graph.css")),
        script=Markup(script),
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode(),
    )
    write_whole(path, rendered)
    offered = "paths are schedules" if found["head"] else "paths are no schedules of moves"
    screen.line(f"{path}: {model.states:,} states, {model.edges:,} edges; {offered}")
    screen.document({"page": str(path), "states": model.states, "schedules": bool(found["head"])})
    return exits.HOLDS
