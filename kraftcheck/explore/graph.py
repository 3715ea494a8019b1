"""The state graph of a small model as a page: search its states, and see a shortest path to one.

TLC dumps the graph, and each of its edges is made by the reference (traces/cover). So a path has
the reference's states. A path becomes a schedule of moves as a counterexample does
(traces/counterexamples).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from kraftcheck import exits
from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput
from kraftcheck.picture import fields_of
from kraftcheck.reference.protocols import kind_of_row, part_of, protocol_of
from kraftcheck.reference.steered.scripts import Script, write
from kraftcheck.screen import Screen
from kraftcheck.traces.counterexamples.moves import way
from kraftcheck.traces.counterexamples.plain import follow_graph
from kraftcheck.traces.cover.matching import ABSENT, Matcher
from kraftcheck.traces.cover.models import dump_graph, read_covers
from kraftcheck.traces.cover.rulebook import RuleBook, tell
from kraftcheck.traces.report import html
from tla_utils import Record, State, ToolError, find_jar, find_java, function
from tla_utils.dump import shortest_ways

STATES_MAX: Final = 2000


class _Graph:
    """A graph whose edges the reference has made."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher, self.book = matcher, matcher.book
        moves = matcher.moves
        inside = [edge for edge, to in enumerate(moves.target) if to != ABSENT]
        self.source = [moves.source[edge] for edge in inside]
        self.target = [moves.target[edge] for edge in inside]
        self.steps = [moves.step[edge] for edge in inside]
        self.initial = matcher.dump.initial[0]
        constants, nodes = self.book.constants, self.book.nodes
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
        """The state of each node, in the order of the nodes."""
        return [self.matcher.rows[piece] for piece in self.matcher.states[state][0]]

    def shown(self, state: int) -> list[State]:
        """What TLC shows on a shortest path to a state."""
        dump = self.matcher.dump
        path = [self.initial, *[self.target[edge] for edge in self.way(state)]]
        return [
            State(
                number, "", {name: dump.value(dump.split_of(each, name)) for name in dump.variables}
            )
            for number, each in enumerate(path, 1)
        ]


def _as_a_model(graph: _Graph, state: int, shown: Sequence[State]) -> Iterator[State]:
    """The same states as the protocol's models show them.

    Nodes that stand alone have variables of their own, and it is moves that are counted; records by
    what was written last.
    """
    form = part_of(graph.book.protocol, "counterexamples")
    counts = dict.fromkeys((*form.COUNTED_AS.values(), "records"), 0)
    steps = [graph.matcher.moves.steps[graph.steps[edge]] for edge in graph.way(state)]
    for number, at in enumerate(shown):
        if number:
            input = steps[number - 1].input
            kind = form.COUNTED_AS.get(type(input), "")
            if kind == "records":
                counts[kind] = input.value if hasattr(input, "value") else input.values[0]
            elif kind:
                counts[kind] += 1
        rows: Any = at.values["rows"]
        others = function({node: rows[node] for node in rows if node not in form.ALONE})
        alone = {name: rows[node] for node, name in form.ALONE.items()}
        values = {**at.values, "rows": others, "spent": Record(counts), **alone}
        yield State(at.number, at.action, values)


def _constants(book: RuleBook) -> str:
    """The constants of the models, as a cfg has them."""
    produced = book.graph.only.get("ProduceRequest", {})
    more = {"AcksAll": produced.get("acks") == -1, "Idempotent": produced.get("producer", -1) >= 0}
    lines = "".join(f"  {name} = {str(value).upper()}\n" for name, value in more.items())
    return f"{book.cfg()}CONSTANTS\n{lines}"


def schedule_to(graph: _Graph, state: int) -> Script:
    """The schedule of a shortest path to a state.

    The reference follows what TLC shows on the path, as it follows a counterexample.

    Raises:
        BadInput: there is none; a step of the path is possible in no schedule.
    """
    constants, shown = graph.book.constants, graph.shown(state)
    none = f"no schedule comes to state {state}"
    protocol = protocol_of(constants)
    try:
        if protocol.by_chance:
            found = follow_graph(protocol, constants, shown)
        else:
            found = way(None, _constants(graph.book), [*_as_a_model(graph, state, shown)], None)
    except ToolError as error:
        raise BadInput(f"{none}: the graph begins where no schedule does ({error})") from None
    if found.missing:
        raise BadInput(f"{none}: none makes move {found.reached} of the path at this moment")
    if found.unmade:
        raise BadInput(f"{none}: {found.unmade[0]!r} is no move of one")
    return found.script


def document(graph: _Graph, name: str) -> dict[str, Any]:
    """All that the page's script needs."""
    rows = {piece: at for at, piece in enumerate(graph.matcher.rows)}
    steps = graph.matcher.moves.steps
    return {
        "model": name,
        "nodes": graph.names,
        "rows": [
            {"role": str(kind_of_row(row).role(row)), **fields_of(row)}
            for row in graph.matcher.rows.values()
        ],
        "states": [[rows[piece] for piece in state[0]] for state in graph.matcher.states],
        "initial": graph.initial,
        "edges": [*zip(graph.source, graph.target, graph.steps, strict=True)],
        "words": [f"{step.node}: {tell(step.input)}" for step in steps],
    }


def show(
    name: str,
    page: Path | None,
    moves: tuple[int, Path] | None,
    specs: Path,
    jar: str | None,
    java: str | None,
    screen: Screen,
) -> int:
    """`spec explore`: writes the page, or a schedule that comes to a state.

    Args:
        moves: the number of the state, and the schedule's file; None: the page is wanted.

    Raises:
        BadInput: no such graph or state, one with more states than a page shows, or no schedule.
        ToolError: TLC could not dump it.
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
    matcher = Matcher(dumped.dump, dumped.book)
    matcher.explore(lambda *_: None)
    if matcher.mismatches:
        screen.line(f"!! {matcher.mismatches[0].told}")
        return exits.VIOLATED
    graph = _Graph(matcher)
    if moves is not None:
        return _write_moves(graph, *moves, screen)
    found = document(graph, name)
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
    screen.line(f"{path}: {model.states:,} states, {model.edges:,} edges")
    screen.document({"page": str(path), "states": model.states})
    return exits.HOLDS


def _write_moves(graph: _Graph, state: int, path: Path, screen: Screen) -> int:
    if not 0 <= state < len(graph.ways):
        raise BadInput(f"there is no state {state}; they are 0 to {len(graph.ways) - 1:,}")
    script = schedule_to(graph, state)
    write_whole(path, write(script))
    screen.line(f"{path}: {len(script.moves)} moves to state {state}")
    screen.document({"schedule": str(path), "moves": len(script.moves), "state": state})
    return exits.HOLDS
