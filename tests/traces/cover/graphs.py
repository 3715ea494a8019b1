"""The smallest graphs, dumped once for a whole session of tests."""

from __future__ import annotations

from functools import cache

from reference.core.rules import QuorumRules
from traces.cover.matching import Matcher
from traces.cover.models import Dumped, dump_graph, read_covers
from traces.cover.quorum import QuorumComposition


@cache
def dumped(name: str) -> Dumped:
    return dump_graph(read_covers()[name])


def matched(name: str, rules: type[QuorumRules] = QuorumRules) -> Matcher:
    """The graph matched with a reference that has these rules."""
    graph = dumped(name)
    given = graph.composition
    composition = QuorumComposition(
        given.constants, given.moves, given.budgets, given.max_epoch, rules(given.constants)
    )
    matcher = Matcher(graph.dump, composition)
    matcher.explore()
    return matcher
