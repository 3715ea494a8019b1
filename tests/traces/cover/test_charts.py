"""A chart says the same of runs as the graph does, and is kept only as long as it is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kraftcheck.traces.cover import charts
from kraftcheck.traces.cover.campaigns import Seen, share_of
from kraftcheck.traces.cover.charts import (
    Chart,
    ChartClass,
    ChartStore,
    basis,
    chart_of,
    coverage_of,
    graph_digest,
)
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import Graph, read_covers
from tests.traces.cover.graphs import dumped, matched
from tests.traces.cover.test_models import edit, specs  # noqa: F401
from tla_utils import ToolError

TWO = Chart("g", 5, (ChartClass("00", "HandleFlush", 2), ChartClass("01", "HandleResign", 3)))


def model(name: str = "quorum-handover") -> Graph:
    return read_covers()[name]


def test_what_was_seen_is_counted_in_classes_and_edges() -> None:
    covered = coverage_of(TWO, {b"\x01": 1, b"\x02": 0}, 12)
    assert (covered.seen, covered.total, covered.edges) == (1, 2, (3, 5))
    assert covered.edges_by_action == {"HandleFlush": (0, 2), "HandleResign": (3, 3)}
    assert covered.growth == [(1, 0, 0), (2, 1, 3), (5, 1, 3), (10, 1, 3), (12, 1, 3)]
    assert coverage_of(TWO, {}, 1).edges == (0, 5)


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_a_chart_says_what_the_graph_says() -> None:
    matcher = matched("quorum-few-votes")
    chart = chart_of(matcher, "quorum-few-votes")
    assert chart.edges == model("quorum-few-votes").edges == sum(e.edges for e in chart.classes)
    some = {bytes.fromhex(each.key): at for at, each in enumerate(chart.classes[::3])}
    share, covered = share_of(matcher, Seen("quorum", 90, some)), coverage_of(chart, some, 90)
    assert share.as_json() == covered.as_json() | {"missing": share.as_json()["missing"]}
    assert len(share.missing) == covered.total - covered.seen > 0


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_a_graph_is_charted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, graph = ChartStore(tmp_path / "charts"), dumped("quorum-handover")
    monkeypatch.setattr(charts, "dump_graph", lambda *_, **__: graph)
    first = store.chart(model())
    monkeypatch.setattr(charts, "dump_graph", None)
    assert store.chart(model()) == first
    (path,) = tmp_path.glob("charts/*")
    for damage in (b"", b"[]", path.read_bytes().replace(b'"edges":1104', b'"edges":1105')):
        path.write_bytes(damage)
        with pytest.raises(ToolError, match="damaged: remove it, and the graph is charted again"):
            store.chart(model())


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_a_graph_that_the_reference_does_not_follow_has_no_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = dumped("quorum-handover")
    label = graph.dump.label[:]
    label[0] = (label[0] + 1) % len(graph.dump.labels)
    other = replace(graph, dump=replace(graph.dump, label=label))
    monkeypatch.setattr(charts, "dump_graph", lambda *_, **__: other)
    with pytest.raises(ToolError, match="does not move as the graph quorum-handover does"):
        ChartStore(tmp_path).chart(model())
    assert not list(tmp_path.iterdir())


@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
def test_moves_that_are_not_as_many_as_the_edges_have_no_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the comparison said."""
    graph = dumped("quorum-handover")
    monkeypatch.setattr(charts, "dump_graph", lambda *_, **__: graph)
    monkeypatch.setattr(Matcher, "_compare", lambda self: self.moves.source.pop())
    with pytest.raises(ToolError, match="does not move as the graph quorum-handover does"):
        ChartStore(tmp_path).chart(model())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "head", "old"),
    [
        ("quorum/cover/QuorumInputs.tla", "EXTENDS", "LongestLog"),
        ("quorum/QuorumHandlers.tla", "EXTENDS", "HandleResign"),
    ],
)
def test_another_spec_is_another_chart(
    specs: Path,  # noqa: F811
    path: str,
    head: str,
    old: str,
) -> None:
    before, other = graph_digest(model(), specs), graph_digest(model("partition-isr"))
    edit(specs / path, head, f"\\* A remark is for readers only.\n{head}")
    assert graph_digest(model(), specs) == before
    edit(specs / path, old, f"{old}2")
    assert graph_digest(model(), specs) != before and basis(model(), specs) != basis(model())
    assert graph_digest(model("partition-isr"), specs) == other


def test_another_bound_is_another_chart(specs: Path) -> None:  # noqa: F811
    before, other = graph_digest(model(), specs), graph_digest(model("partition-isr"))
    path = specs / "quorum" / "cover" / "covers.toml"
    edit(path, "[quorum-handover]", "# A remark is for readers only.\n[quorum-handover]")
    assert graph_digest(read_covers(specs)[model().name], specs) == before
    edit(path, "ElectionTimeout = 1, ", "ElectionTimeout = 12, ")
    assert graph_digest(read_covers(specs)[model().name], specs) != before
    assert graph_digest(model("partition-isr"), specs) == other
