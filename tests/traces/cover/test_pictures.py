"""Pictures of life cycles are what the graphs say, and the page is fresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.cover.graphs import dumped
from tla_utils import Record, ToolError
from tla_utils.dump import Dump, Split
from traces.cover.models import read_covers
from traces.cover.pictures import PICTURES, Picture, draw, heading

PAGE = Path(__file__).resolve().parents[3] / "docs" / "life-cycles.md"


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


PARITY = Picture(
    "Parity", "Odd or even.", ("g",), "rows", lambda r: "odd" if r.number % 2 else "even"
)


def test_an_arrow_is_a_change_of_the_word_and_says_who_makes_it() -> None:
    graph = _graph([(0, 1, "Move_HandleUp"), (0, 2, "Move_HandleJump"), (1, 2, "Move_HandleUp")])
    more = _graph([(0, 1, "Move_HandleLeap")])
    assert draw(PARITY, [graph, more]).splitlines() == [
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
        draw(fine, [graph])


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_the_page_is_of_the_graphs_that_there_are(picture: Picture) -> None:
    """A graph is known by its counts; drawing all again takes TLC a minute."""
    counts = {name: model.edges for name, model in read_covers().items()}
    assert heading(picture, counts) in PAGE.read_text("utf-8"), (
        "run kraftcheck cover --pictures docs/life-cycles.md"
    )


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_a_picture_of_small_graphs_is_the_one_on_the_page() -> None:
    (picture,) = [each for each in PICTURES if each.graphs == ("partition-isr",)]
    drawn = draw(picture, [dumped("partition-isr").dump])
    assert f"```mermaid\n{drawn}```\n" in PAGE.read_text("utf-8")
