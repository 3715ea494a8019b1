"""Reading dumped graphs as a stream: what TLC writes, and that nothing is read by halves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tla_utils import ModuleText, TlcJob, ToolError, run_tlc
from tla_utils.dump import Dump, Limits, read_dump, shortest_ways, split_value

HEAD = "strict digraph DiskGraph {\nsubgraph cluster_graph {\n"
FIRST = '1 [label="/\\\\ a = {2, 1}\\n/\\\\ b = << [x |-> 1], [x |-> \\"]\\"] >>",style = filled]\n'
SECOND = '2 [label="/\\\\ a = {}\\n/\\\\ b = <<>>"];\n'
EDGE = '1 -> 2 [label="Move",color="black"];\n'
TAIL = "}\n}\n"


def dumped(
    tmp_path: Path, text: str, limits: Limits | None = None, edges: int | None = None
) -> Dump:
    path = tmp_path / "graph.dot"
    path.write_text(text, "utf-8")
    return read_dump(path, limits or Limits(), edges)


def test_states_are_split_and_edges_kept_as_often_as_they_stand(tmp_path: Path) -> None:
    dump = dumped(tmp_path, HEAD + FIRST + EDGE + SECOND + EDGE + TAIL)
    assert dump.variables == ("a", "b")
    assert dump.value(dump.split_of(0, "a")) == frozenset({1, 2})
    records = dump.value(dump.split_of(0, "b"))
    assert [dict(r) for r in records] == [{"x": 1}, {"x": "]"}]  # type: ignore[union-attr,arg-type]
    assert dump.value(dump.split_of(1, "b")) == ()
    assert (list(dump.source), list(dump.target)) == ([0, 0], [1, 1])
    assert dump.labels == ["Move"] and dump.initial == [0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + FIRST + EDGE + SECOND, "not a complete state graph"),
        ("digraph {}", "not a complete state graph"),
        (HEAD + FIRST + EDGE + TAIL, "never described"),
        (HEAD + SECOND + TAIL, "no initial state"),
        (HEAD + FIRST.replace("{2, 1}", "{2, 1") + TAIL, "cannot be read"),
        (HEAD + FIRST + SECOND.replace("b =", "c =") + TAIL, "has the variables a, c"),
    ],
)
def test_what_is_no_whole_graph_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        dumped(tmp_path, text)


def test_a_graph_that_is_too_large_says_how_far_it_came_and_what_to_lower(tmp_path: Path) -> None:
    whole = HEAD + FIRST + EDGE + SECOND + EDGE + TAIL
    with pytest.raises(ToolError, match=r"more than 1 states and 0 edges.*lower MaxEpoch"):
        dumped(tmp_path, whole, Limits(states=1, lower="MaxEpoch"))
    with pytest.raises(ToolError, match="1 edges"):
        dumped(tmp_path, whole, Limits(edges=1))
    with pytest.raises(ToolError, match="2 edges where TLC generated 3"):
        dumped(tmp_path, whole, edges=3)


def test_values_are_split_at_their_own_level_only() -> None:
    seen: list[str] = []

    def piece(text: str) -> int:
        seen.append(" ".join(text.split()))
        return len(seen) - 1

    assert split_value('{ [a |-> {1, 2}], [a |-> "},{"] }', piece).kind == "set"
    assert seen == ["[a |-> {1, 2}]", '[a |-> "},{"]']
    assert split_value("(0 :> <<1>> @@ 4 :> [x |-> 3])", piece)[:2] == ("function", ("0", "4"))
    assert seen[2:] == ["<<1>>", "[x |-> 3]"]
    assert split_value("[x |-> <<1, 2>>]", piece).kind == "whole"
    assert split_value("{1, <<2, 3>>, 4}", piece).pieces == (5, 6, 7)


def test_shortest_ways_lead_to_every_state_that_can_be_reached() -> None:
    assert shortest_ways(4, [0], [0, 1, 0], [1, 2, 2]) == [-1, 0, 2, -2]


@pytest.mark.tlc
def test_tlc_writes_an_edge_for_every_successor_it_generates(tmp_path: Path) -> None:
    """The fact that `traces/cover` rests on: same ends, same label, two ways: two edges."""
    text = (
        "---- MODULE Twice ----\nEXTENDS Integers\nVARIABLE x\nInit == x = 0\n"
        "Up(n) == x < 2 /\\ x' = x + 1\nNext == \\E n \\in {7, 8} : Up(n)\n====\n"
    )
    path = tmp_path / "twice.dot"
    job = TlcJob(ModuleText("Twice", text), "INIT Init\nNEXT Next\n", deadlock=False, dump=path)
    result = run_tlc(job)
    assert result.generated == 5
    dump = read_dump(path, edges=result.generated - 1)
    assert dump.labels == ["Up"] and len(dump.label) == 4 and len(dump.states) == 3
