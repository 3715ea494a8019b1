"""Graphs made from a declaration: every edge is driven, and a bug shows."""

from __future__ import annotations

import pytest

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.groups.commits.rules import CommitRules
from kraftcheck.reference.groups.messages import MemberRecord
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import read_covers, rule_book
from kraftcheck.traces.cover.rulebook import RuleBook
from tests.traces.cover.graphs import assert_driven, dumped

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]


class TellsNothing(CommitRules):
    """Planted in the graph of commits, whose own bugs need a commit."""

    __slots__ = ()

    def tells_offset(self, member: MemberRecord, epoch: int) -> bool:
        return False


SEEN_IN: dict[str, str | type] = {
    "transactions-timeout": "Z72",
    "groups-join": "Z100",
    "groups-offsets": "Z96",
    "voters-join": "Z116",
    "reassignment-moves": "Z133",
    "snapshots-load": "Z119",
    "hosting-directories": "Z139",
    "compaction-replica": "Z195",
    "commits-begin": TellsNothing,
    "sessions-reconnect": "Z445",
    "sharegroup-altered-once": "Z451",
}
"""By graph, a bug that has other edges there, or a rule that is planted."""
WITHOUT = {
    "classic": "a request to join that is handled again begins a generation more: without an end",
    "moving": "its steps are a partition's and a topic's controller's, each of which has graphs",
    "shares": "a write that is handled again is a record more: without an end",
    "controllers": "a decision that is appended again is a record more: without an end",
    "directories": "its rules are hosting's and a topic's controller's, each of which has graphs",
}
"""Protocols that have no graph, and why."""


def test_every_protocol_has_a_graph() -> None:
    models = read_covers().values()
    have = {model.protocol for model in models}
    assert {each.name for each in PROTOCOLS} == have | set(WITHOUT)
    assert not have & set(WITHOUT)
    of_others = {m.name for m in models if m.protocol not in ("quorum", "quorum41", "partition")}
    assert of_others == set(SEEN_IN)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEN_IN)
def test_every_edge_is_driven_and_a_bug_has_others(name: str) -> None:
    graph = dumped(name)
    matcher = Matcher(graph.dump, graph.book)
    matcher.explore()
    assert_driven(matcher)
    assert len(graph.dump.source) == graph.model.edges
    wrong = Matcher(graph.dump, with_bug(name))
    wrong.explore()
    assert wrong.mismatches


def with_bug(name: str) -> RuleBook:
    seen = SEEN_IN[name]
    return rule_book(dumped(name).model, bug(seen).replacement if isinstance(seen, str) else seen)
