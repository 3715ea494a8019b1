"""The state graph that TLC dumps (`TlcJob.dump`) as a networkx graph.

Laws of this file: the graph is read whole or not at all. A file that ends too early, an edge to a
state that was never described, a graph without initial state, or one larger than the caller allows
is a ToolError. Nodes carry parsed values, not text.

TLC names a node by the fingerprint of its state and labels an edge with the action it sees: a
next-state relation that is not written as a disjunction of named actions has one label only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kraftcheck.osutil.files import read_text
from tla_utils.errors import ToolError
from tla_utils.values import Value, parse_state

if TYPE_CHECKING:
    import networkx as nx

    StateGraph = nx.MultiDiGraph[int]

_NODE = re.compile(r'(-?\d+) \[label="((?:[^"\\]|\\.)*)"(,style = filled)?')
_EDGE = re.compile(r'(-?\d+) -> (-?\d+)(?: \[label="((?:[^"\\]|\\.)*)")?')
_ESCAPE = re.compile(r"\\(.)")
_VARIABLE = re.compile(r"^(?=/\\ )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GraphStats:
    """Sizes of a state graph.

    edges_by_action counts edges per label, sorted by label. dead_ends are states without
    successor; diameter is the largest distance of a state from the nearest initial state;
    components is the number of strongly connected components.
    """

    states: int
    initial: int
    edges: int
    edges_by_action: dict[str, int]
    dead_ends: int
    max_out_degree: int
    diameter: int
    components: int


def read_graph(path: Path, max_states: int = 200_000) -> StateGraph:
    """The graph in a dot file of TLC.

    Nodes are fingerprints, with the attributes `state` (variable -> value) and `initial`; edges
    are keyed by action and have the attribute `action`.

    Raises ToolError for a file that is not such a dump or holds more than `max_states` states.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise ToolError(f"the state graph {path} cannot be read: {error.strerror}") from error
    if not text.startswith("strict digraph") or not text.rstrip().endswith("}"):
        raise ToolError(f"{path} is not a complete state graph of TLC: run it again with -dump dot")
    # Late, here and below: a tenth of what the start of a command takes, and most need no graph.
    import networkx as nx

    graph: StateGraph = nx.MultiDiGraph()
    parse = _StateParser()
    edges: list[tuple[int, int, str]] = []
    for line in _graph_lines(text):
        node, edge = _NODE.match(line), _EDGE.match(line)
        if node:
            _add_node(graph, node, parse)
        elif edge:
            edges.append((int(edge[1]), int(edge[2]), _unescape(edge[3] or "")))
    if graph.number_of_nodes() > max_states:
        raise ToolError(
            f"{path} has {graph.number_of_nodes()} states and {len(edges)} edges, more than the "
            f"{max_states} states allowed here: use a smaller model or raise the limit"
        )
    for source, target, action in edges:
        if source not in graph or target not in graph:
            raise ToolError(f"{path} has an edge {source} -> {target} to a state it does not hold")
        graph.add_edge(source, target, key=action, action=action)
    if not initial_states(graph):
        raise ToolError(f"{path} has no initial state: an empty graph covers nothing")
    return graph


def initial_states(graph: StateGraph) -> list[int]:
    """The initial states, in the order of the file."""
    return [node for node, initial in graph.nodes(data="initial") if initial]


def graph_stats(graph: StateGraph) -> GraphStats:
    """Sizes of a graph as `read_graph` returns it."""
    import networkx as nx

    actions = Counter(data["action"] for _, _, data in graph.edges(data=True))
    initial = initial_states(graph)
    distances = nx.multi_source_dijkstra_path_length(graph, initial, weight=lambda *_: 1)
    return GraphStats(
        states=graph.number_of_nodes(),
        initial=len(initial),
        edges=graph.number_of_edges(),
        edges_by_action=dict(sorted(actions.items())),
        dead_ends=sum(1 for _, degree in graph.out_degree() if degree == 0),
        max_out_degree=max((degree for _, degree in graph.out_degree()), default=0),
        diameter=int(max(distances.values(), default=0)),
        components=nx.number_strongly_connected_components(graph),
    )


def _graph_lines(text: str) -> Iterator[str]:
    """The lines that describe states and edges: those before the legend, if there is one."""
    for line in text.splitlines():
        if line.startswith("subgraph cluster_legend"):
            return
        yield line


def _add_node(graph: StateGraph, node: re.Match[str], parse: _StateParser) -> None:
    number = int(node[1])
    initial = bool(node[3]) or bool(number in graph and graph.nodes[number]["initial"])
    graph.add_node(number, state=parse(_unescape(node[2])), initial=initial)


class _StateParser:
    """Parses states, each distinct assignment of a variable only once."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Value]] = {}

    def __call__(self, text: str) -> dict[str, Value]:
        state: dict[str, Value] = {}
        for part in _VARIABLE.split(text):
            if not part:
                continue
            known = self._known.get(part)
            if known is None:
                try:
                    known = self._known[part] = parse_state(part)
                except ValueError as error:
                    raise ToolError(f"a state in the graph cannot be read: {error}") from error
            state.update(known)
        return state


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
