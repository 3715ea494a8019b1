"""The smallest graphs, dumped once for a whole session of tests."""

from __future__ import annotations

from functools import cache

from kraftcheck.traces.cover.driving import drive
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import Dumped, dump_graph, read_covers, rule_book
from tla_utils.covering import cover_edges


@cache
def dumped(name: str) -> Dumped:
    return dump_graph(read_covers()[name])


def matched(name: str, replacement: type | None = None) -> Matcher:
    """The graph matched with a reference that has these rules or handlers."""
    graph = dumped(name)
    matcher = Matcher(graph.dump, rule_book(graph.model, replacement))
    matcher.explore()
    return matcher


def assert_driven(matcher: Matcher) -> None:
    """A graph and the reference agree, and every edge is driven in the fewest moves."""
    assert matcher.mismatches == []
    moves = matcher.moves
    cover = cover_edges(len(matcher.states), moves.source, moves.target, matcher.dump.initial[0])
    assert cover.gap == 0
    driven = drive(matcher, cover.walks)
    assert driven.mismatches == [] and driven.moves == cover.moves
    assert driven.edges == len(matcher.dump.source)
