"""Pictures of life cycles are what the graphs say, and stale ones are noticed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftcheck.docs import LIFE_CYCLES
from kraftcheck.traces.cover.life_cycles import digest, is_stale
from kraftcheck.traces.cover.models import read_covers
from kraftcheck.traces.cover.pictures import PICTURES, Picture, draw, heading, look_at
from tests.traces.cover.graphs import dumped
from tests.traces.cover.test_models import edit, specs  # noqa: F401
from tla_utils import Record, ToolError
from tla_utils.dump import Dump, Split


def _graph(edges: list[tuple[int, int, str]]) -> Dump:
    """A graph of one row, the number of a state."""
    states = 1 + max(max(source, target) for source, target, _ in edges)
    dump = Dump(variables=("rows",), initial=[0], labels=sorted({name for _, _, name in edges}))
    dump.pieces = [Record(number=number) for number in range(states)]
    dump.states = [(Split("sequence", (), (number,)),) for number in range(states)]
    for source, target, name in edges:
        dump.source.append(source)
        dump.target.append(target)
        dump.label.append(dump.labels.index(name))
    return dump


PARITY = Picture("Parity", "Odd or even.", ("g",), lambda r: "odd" if r.number % 2 else "even")


def test_an_arrow_is_a_change_of_the_word_and_says_who_makes_it() -> None:
    graph = _graph([(0, 1, "Move_HandleUp"), (0, 2, "Move_HandleJump"), (1, 2, "Move_HandleUp")])
    more = _graph([(0, 1, "Move_HandleLeap")])
    assert draw(look_at(PARITY, [graph, more])).splitlines() == [
        "stateDiagram-v2",
        '    state "even" as s0',
        '    state "odd" as s1',
        "    [*] --> s0",
        "    s0 --> s1 : Leap, Up",
        "    s1 --> s0 : Up",
    ]


def test_a_picture_that_nobody_can_read_is_refused() -> None:
    graph = _graph([(number, number + 1, "Move_HandleUp") for number in range(40)])
    fine = PARITY._replace(view=lambda row: str(row.number))
    with pytest.raises(ToolError, match="'Parity' has 41 states and 40 arrows, too many"):
        look_at(fine, [graph])


@pytest.fixture
def kept(repo_root: Path) -> str:
    return (repo_root / LIFE_CYCLES).read_text("utf-8")


def test_the_page_that_is_kept_is_of_the_graphs_that_there_are(kept: str) -> None:
    assert not is_stale(kept), "run `make docs`"
    counts = {name: model.edges for name, model in read_covers().items()}
    assert [part.split("```")[0] for part in kept.split("## ")[1:]] == [
        heading(each, counts).removeprefix("## ") + "\n" for each in PICTURES
    ]
    assert kept.count("```mermaid") == len(PICTURES)


def test_every_role_of_a_voter_is_entered_and_left(kept: str) -> None:
    (roles,) = [part for part in kept.split("## ") if part.startswith("Roles of a voter\n")]
    words = set(re.findall(r"as (s\d)", roles))
    arrows = re.findall(r"(s\d) --> (s\d)", roles)
    assert len(words) == 7
    assert {before for before, _ in arrows} == {after for _, after in arrows} == words


def test_a_page_of_another_spec_is_stale(specs: Path, kept: str) -> None:  # noqa: F811
    assert not is_stale(kept, specs)
    edit(specs / "quorum" / "QuorumHandlers.tla", "HandleResign", "HandleResigns")
    assert is_stale(kept, specs) and is_stale("", specs)


def test_another_look_makes_a_page_stale() -> None:
    first = PICTURES[0]
    for other in (first._replace(view=PICTURES[1].view), first._replace(graphs=first.graphs[1:])):
        assert digest(pictures=[other]) != digest(pictures=[first])


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_a_picture_of_a_small_graph_is_the_one_that_is_kept(kept: str) -> None:
    (picture,) = [each for each in PICTURES if each.graphs == ("partition-isr",)]
    assert draw(look_at(picture, [dumped("partition-isr").dump])) in kept
