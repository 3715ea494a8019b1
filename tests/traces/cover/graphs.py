"""The smallest graphs, dumped once for a whole session of tests."""

from __future__ import annotations

from functools import cache

from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import PROTOCOLS, Dumped, dump_graph, read_covers
from tla_utils.settings import constants_of


@cache
def dumped(name: str) -> Dumped:
    return dump_graph(read_covers()[name])


def matched(name: str, replacement: type | None = None) -> Matcher:
    """The graph matched with a reference that has these rules or handlers."""
    graph = dumped(name)
    composition = PROTOCOLS[graph.model.protocol](constants_of(graph.model.cfg), replacement)
    matcher = Matcher(graph.dump, composition)
    matcher.explore()
    return matcher
