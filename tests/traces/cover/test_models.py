"""The list of graphs is read strictly, and a graph that is not as it says is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kraftcheck.cover import cover_graph
from kraftcheck.screen import Screen
from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import dump_graph, read_covers, select
from tla_utils import ToolError


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    for name in ("common", "quorum", "partition"):
        ignored = shutil.ignore_patterns("models", "bugs")
        shutil.copytree(SPECS / name, tmp_path / name, ignore=ignored)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("states = 681", "states = true", "Expected `int`, got `bool`"),
        ("states = 681\n", "", "missing required field `states`"),
        ("states = 681", "stats = 681", "unknown key stats"),
        ('protocol = "quorum"\nmodule', 'protocol = "raft"\nmodule', "unknown protocol raft"),
        ("[quorum-restarts]", "[partition-isr]", "one name to two graphs"),
        ("[quorum-few-votes]", "[quorum-few-votes", "is no TOML"),
        ("states = 681", 'states = 681\nview = "rows"', "unknown key view"),
        ('module = "QuorumInputs"', 'like = "quorum-few-restarts"', "goes round in a circle"),
        ('like = "quorum-few-votes"', 'like = "quorum-few-vote"', "there is no graph"),
    ],
)
def test_a_list_that_is_not_in_order_is_refused(specs: Path, old: str, new: str, said: str) -> None:
    edit(specs / "quorum" / "cover" / "covers.toml", old, new)
    with pytest.raises(ToolError, match=said.replace("[", r"\[")):
        read_covers(specs)


def test_an_empty_list_and_unknown_names_are_refused(specs: Path) -> None:
    with pytest.raises(ToolError, match="there is no graph 'x'; there are quorum-few-votes, "):
        select(read_covers(specs), ["x"], [])
    with pytest.raises(ToolError, match="no graph 'quorum-vote'; did you mean quorum-votes"):
        select(read_covers(specs), ["quorum-vote"], [])
    with pytest.raises(ToolError, match="no graph is of tier 'x'"):
        select(read_covers(specs), [], ["x"])
    (specs / "quorum" / "cover" / "covers.toml").write_text("")
    with pytest.raises(ToolError, match="not a list"):
        read_covers(specs)


def test_a_too_large_graph_is_refused(specs: Path) -> None:
    model = read_covers(specs)["quorum-few-votes"]
    with pytest.raises(ToolError, match=r"6214 edges, more than 100: lower the budgets"):
        dump_graph(model, specs, max_edges=100)


@pytest.mark.tlc
def test_a_graph_with_other_counts_is_refused(specs: Path) -> None:
    edit(specs / "quorum" / "cover" / "covers.toml", "edges = 1104", "edges = 1103")
    with pytest.raises(ToolError, match="131 states and 1104 edges, not 131 and 1103"):
        dump_graph(read_covers(specs)["quorum-handover"], specs)


@pytest.mark.tlc
def test_a_graph_that_takes_too_much_memory_stops_with_how_far_it_came(specs: Path) -> None:
    model = read_covers(specs)["quorum-handover"]
    said = r"takes more than 1 MB, with 1 states and 0 edges read: lower the budgets of quorum-hand"
    with pytest.raises(ToolError, match=said):
        dump_graph(model, specs, memory_mb=1)


@pytest.mark.tlc
def test_memory_is_looked_at_behind_the_reading_too(monkeypatch: pytest.MonkeyPatch) -> None:
    dumped = dump_graph(read_covers()["quorum-handover"])
    small = replace(dumped, limits=replace(dumped.limits, memory_mb=1))
    said = "quorum-handover takes more than 1 MB, with 0 states and 0 edges matched: lower the bud"
    with pytest.raises(ToolError, match=said):
        cover_graph(small, mutants=-1, screen=Screen(quiet=True))
    explore = Matcher.explore
    monkeypatch.setattr(Matcher, "explore", lambda self, look: explore(self))
    with pytest.raises(ToolError, match="131 states and 1104 edges in walks: lower the budgets"):
        cover_graph(small, mutants=-1, screen=Screen(quiet=True))


@pytest.mark.tlc
def test_a_graph_that_tlc_cannot_finish_names_what_to_lower(specs: Path) -> None:
    model = replace(read_covers(specs)["quorum-handover"], timeout_s=0)
    with pytest.raises(ToolError, match=r"did not finish .* lower its budgets in covers"):
        dump_graph(model, specs)
