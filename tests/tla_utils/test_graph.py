"""State graphs that TLC dumps, read whole or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tla_utils.errors import ToolError
from tla_utils.graph import graph_stats, initial_states, read_graph
from tla_utils.runner import TlcJob, run_tlc

DOT = r"""strict digraph DiskGraph {
nodesep=0.35;
subgraph cluster_graph {
color="white";
-17 [label="/\\ r = <<1, \"a\\\"b\\\\c\">>\n/\\ x = 0",style = filled]
-17 -> 35 [label="Inc",color="black",fontcolor="black"];
-17 -> 35 [label="Jump",color="black",fontcolor="black"];
35 [label="/\\ r = <<1, \"a\\\"b\\\\c\">>\n/\\ x = 1"];
35 -> 35 [label="Stay",color="black",fontcolor="black"];
{rank = same; -17;}
}
subgraph cluster_legend {graph[style=bold];label = "Next State Actions" style="solid"
Inc [label="Inc",fillcolor=2]
}}"""


@pytest.fixture
def dot(tmp_path: Path) -> Path:
    path = tmp_path / "graph.dot"
    path.write_text(DOT)
    return path


def test_states_and_edges_are_read(dot: Path) -> None:
    graph = read_graph(dot)
    assert graph.nodes[-17] == {"state": {"r": (1, 'a"b\\c'), "x": 0}, "initial": True}
    assert graph.nodes[35]["state"]["x"] == 1 and initial_states(graph) == [-17]
    assert sorted(graph.edges(keys=True)) == [(-17, 35, "Inc"), (-17, 35, "Jump"), (35, 35, "Stay")]
    stats = graph_stats(graph)
    assert (stats.states, stats.initial, stats.edges, stats.diameter) == (2, 1, 3, 1)
    assert stats.edges_by_action == {"Inc": 1, "Jump": 1, "Stay": 1}
    assert (stats.dead_ends, stats.max_out_degree, stats.components) == (0, 2, 2)


def test_large_graphs_are_refused_with_their_size(dot: Path) -> None:
    with pytest.raises(ToolError, match="has 2 states and 3 edges, more than the 1 states"):
        read_graph(dot, max_states=1)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("}}", "", "not a complete state graph"),
        ("strict digraph", "digraph", "not a complete state graph"),
        (",style = filled", "", "no initial state"),
        ('35 [label="', '36 [label="', "to a state it does not hold"),
        ("x = 1", "x = Nat", "cannot be read"),
    ],
)
def test_damaged_graphs_are_refused(dot: Path, old: str, new: str, complaint: str) -> None:
    dot.write_text(DOT.replace(old, new))
    with pytest.raises(ToolError, match=complaint):
        read_graph(dot)


def test_a_missing_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be read"):
        read_graph(tmp_path / "none.dot")


@pytest.mark.tlc
def test_the_graph_of_a_model_is_its_state_space(toys: Path, tmp_path: Path) -> None:
    dump = tmp_path / "counter.dot"
    cfg = "CONSTANT Max = 3\nSPECIFICATION Spec"
    result = run_tlc(TlcJob(toys / "Counter.tla", cfg, dump=dump))
    graph = read_graph(dump)
    stats = graph_stats(graph)
    assert stats.states == result.distinct and stats.edges == 23
    assert set(stats.edges_by_action) == {"Up", "Down", "Wrap"}
    for source, target, action in graph.edges(keys=True):
        before, after = graph.nodes[source]["state"]["x"], graph.nodes[target]["state"]["x"]
        assert after - before == {"Up": 1, "Down": -1, "Wrap": -3}[action]
