"""Pictures of life cycles are what the graphs say, and stale ones are noticed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.traces.cover.graphs import dumped
from tests.traces.cover.test_models import edit, specs  # noqa: F401
from tla_utils import Record, ToolError
from tla_utils.dump import Dump, Split
from traces.cover import drawings
from traces.cover.drawings import FILE, digest, page_of, refresh, stored
from traces.cover.models import read_covers
from traces.cover.pictures import PICTURES, Picture, draw, look_at


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


def test_what_is_stored_is_of_the_graphs_that_there_are() -> None:
    counts = {name: model.edges for name, model in read_covers().items()}
    kept = stored()
    assert kept.edges == {n: counts[n] for n in sorted({n for p in PICTURES for n in p.graphs})}
    assert [each.name for each in kept.pictures] == [picture.name for picture in PICTURES]
    assert page_of(kept).count("```mermaid") == len(PICTURES)


def test_every_role_of_a_voter_is_entered_and_left() -> None:
    (roles,) = [each for each in stored().pictures if each.name == "Roles of a voter"]
    assert len(roles.words) == 7
    assert {before for before, _, _ in roles.arrows} == set(roles.words)
    assert {after for _, after, _ in roles.arrows} == set(roles.words)


def test_drawings_of_another_spec_are_stale(
    specs: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = stored(specs)
    edit(specs / "QuorumHandlers.tla", "HandleResign", "HandleResigns")
    with pytest.raises(ToolError, match="no longer the spec's: run make docs"):
        stored(specs)
    now = msgspec.structs.replace(kept, of=digest(specs))
    monkeypatch.setattr(drawings, "drawn", lambda *_, **__: now)
    refresh(specs)
    assert stored(specs) == now
    monkeypatch.setattr(drawings, "drawn", None)
    refresh(specs)
    for damage in (b"", b"[]", (specs / FILE).read_bytes()[:-9]):
        (specs / FILE).write_bytes(damage)
        with pytest.raises(ToolError, match="damaged"):
            stored(specs)
    (specs / FILE).unlink()
    with pytest.raises(ToolError, match="No such file"):
        stored(specs)


def test_another_look_makes_drawings_stale() -> None:
    first = PICTURES[0]
    for other in (first._replace(view=PICTURES[1].view), first._replace(graphs=first.graphs[1:])):
        assert digest(pictures=[other]) != digest(pictures=[first])


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_a_picture_of_a_small_graph_is_the_one_that_is_stored() -> None:
    (at,) = [n for n, each in enumerate(PICTURES) if each.graphs == ("partition-isr",)]
    assert stored().pictures[at] == look_at(PICTURES[at], [dumped("partition-isr").dump])
