"""The partition's graphs against the reference: edges, refusals, and planted faults in each."""

from __future__ import annotations

from dataclasses import replace as changed
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.bugs import Z35NoCompareAndSet
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    AlterPartitionRequest,
    HeartbeatRequest,
    IsrShrinkTimeout,
    Member,
    MetadataUpdate,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
)
from kraftcheck.reference.partition.mutants import mutants
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import NO_DIVERGENCE, UNDEFINED, BrokerRow
from kraftcheck.traces.cover.driving import Scheduler, drive, way_to
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import dump_graph, read_covers, rule_book
from kraftcheck.traces.cover.refusals import KINDS, refuse
from kraftcheck.traces.cover.rulebook import RuleBook
from tests.traces.cover.graphs import dumped, matched
from tla_utils import ToolError
from tla_utils.covering import cover_edges

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]


def test_a_bug_of_the_controller_is_a_mismatch() -> None:
    """Z35: a proposal with an old partition epoch is taken."""
    matcher = matched("partition-isr", Z35NoCompareAndSet)
    forbidden = {m.action for m in matcher.mismatches if m.kind == "not allowed"}
    assert forbidden == {"HandleAlterPartitionRequest"}
    assert way_to(matcher, matcher.mismatches[0].state)


class _NeverShrinks(BrokerHandlers):
    """The planted fault: a leader never looks who is out of sync."""

    def handle_isr_shrink_timeout(self, n: int, row: BrokerRow, input: IsrShrinkTimeout) -> None:
        return None


def test_what_a_broker_never_does_is_a_mismatch() -> None:
    matcher = matched("partition-isr", _NeverShrinks)
    first = matcher.mismatches[0]
    assert (first.kind, first.action) == ("not done", "HandleIsrShrinkTimeout")


class _ForgetsTheLog(RuleBook):
    """The planted fault: what the controller commits with a reply reaches nobody."""

    def split(self, sent: Any) -> Any:
        messages, records = super().split(sent)
        return messages, () if messages else records


def test_a_live_run_whose_shared_log_differs_is_told() -> None:
    matcher = matched("partition-isr")
    start = matcher.dump.initial[0]
    moves = matcher.moves
    cover = cover_edges(len(matcher.states), moves.source, moves.target, start)
    faulty = object.__new__(_ForgetsTheLog)
    faulty.__dict__.update(matcher.book.__dict__)
    matcher.book = faulty
    told = {mismatch.told for mismatch in drive(matcher, cover.walks).mismatches}
    assert told == {"the shared log is not the model's"}


def test_metadata_and_messages_that_nobody_sent_do_not_arrive() -> None:
    matcher = matched("partition-isr")
    scheduler = Scheduler(matcher.book)
    steps = matcher.moves.steps
    update = next(s for s in steps if isinstance(s.input, MetadataUpdate))
    fetch = next(s for s in steps if isinstance(s.input, ReplicaFetchRequest))
    for step in (update, fetch):
        assert scheduler.make(step) == "the message was never sent"


class _Accepts(PartitionRules):
    """The planted faults: what is stale, or not yet true, is taken as if it were of now."""

    __slots__ = ()

    def is_stale_broker_epoch(self, *_: Any) -> bool:
        return False

    def partition_epoch_error(self, *_: Any) -> str:
        return "NONE"

    def fetch_epoch_error(self, *_: Any) -> str:
        return "NONE"

    def fetch_offset_error(self, *_: Any) -> str:
        return "NONE"


@pytest.mark.slow
def test_the_spec_refuses_what_the_reference_refuses() -> None:
    found = refuse(matched("partition-isr"), limit=4000)
    assert found.rejected == [] and found.unknown == 0
    assert found.attempts == sum(found.total(kind) for kind in KINDS)
    assert found.total("vote refused") == 0 and found.total("error") and found.total("disabled")
    assert {
        *("STALE_BROKER_EPOCH", "INVALID_UPDATE_VERSION", "NOT_CONTROLLER", "INVALID_REQUEST"),
        *("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"),
        *("OFFSET_OUT_OF_RANGE", "INELIGIBLE_REPLICA"),
    } <= set(found.errors)


@pytest.mark.parametrize("rule", ["broker epoch", "partition epoch", "leader epoch", "offset"])
def test_an_accepting_mutant_is_caught(rule: str, accepted: list[str]) -> None:
    """Each of the planted faults on its own: by a message that only it lets through."""
    marks = {
        "broker epoch": ("AlterPartitionRequest(", "broker_epoch=1, leader_epoch=1"),
        "partition epoch": ("AlterPartitionRequest(", "broker_epoch=0, leader_epoch=1"),
        "leader epoch": ("ReplicaFetchRequest(", "epoch=2, fetch_offset=0"),
        "offset": ("ReplicaFetchRequest(", "epoch=1, fetch_offset=1"),
    }
    kind, fields = marks[rule]
    assert any(f" at {kind}" in told and fields in told for told in accepted)


@pytest.fixture(scope="module")
def accepted() -> list[str]:
    return refuse(matched("partition-isr", _Accepts), limit=4000).rejected


def test_mutants_differ_in_one_field_and_stay_in_form() -> None:
    heartbeat = HeartbeatRequest(0, CONTROLLER, 0, 1, want_fence=False, want_shut_down=False)
    alter = AlterPartitionRequest(0, CONTROLLER, 0, 1, 1, (Member(0, 0),), recovering=False)
    fetch = ReplicaFetchRequest(1, 0, 0, 1, 0, -1)
    answer = ReplicaFetchResponse(0, 1, fetch, "NONE", (), NO_DIVERGENCE, 0, 0, -1)
    for message in (heartbeat, alter, fetch, answer):
        found = list(mutants(message, (0, 1, 2)))
        assert len(set(found)) == len(found) > 5
        for mutant in found:
            fields = message.__struct_fields__
            differing = {f for f in fields if getattr(mutant, f) != getattr(message, f)}
            assert len(differing) == 1 or differing == {"error", "end_offset"}
            assert mutant.destination == message.destination != CLIENTS


def test_an_offset_out_of_range_says_where_the_log_ends() -> None:
    """A log cannot be cut to an undefined offset: the spec keeps nothing, Python all but one."""
    fetch = ReplicaFetchRequest(1, 0, 0, 1, 2, 1)
    fine = ReplicaFetchResponse(0, 1, fetch, "NONE", (), NO_DIVERGENCE, 0, 0, UNDEFINED)
    outside = replace(fine, error="OFFSET_OUT_OF_RANGE", end_offset=0)
    for answer, ends in ((fine, {0, 2}), (outside, {0, 1, 2})):
        found = [m for m in mutants(answer, (0, 1)) if m.error == "OFFSET_OUT_OF_RANGE"]
        assert {m.end_offset for m in found} == ends and answer not in found


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("Seven is no message of partition", {"messages": ["Seven"]}),
        ("Seven is no local input of partition", {"budgets": {"BrokerCrash or Seven": 1}}),
        ("HeartbeatRequest is no local input", {"free": ["HeartbeatRequest"], "messages": None}),
        ("no rows with broker.partition", {"bounds": {"broker.partition.leader_epoch": 1}}),
        ("'7 MetadataUpdate' is no move where", {"begin": ["7 MetadataUpdate"]}),
        ("'0 BrokerRestart' is disabled where", {"begin": ["0 BrokerRestart"]}),
        ("partition has no module turns", {"turns": True}),
        ("constants: ", {"constants": {"replicas": "Seven"}}),
    ],
)
def test_a_graph_that_names_what_is_not_there_is_refused(said: str, change: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match=said):
        rule_book(changed(read_covers()["partition-isr"], **change))


def test_a_step_before_the_graph_that_the_spec_does_not_take_is_told() -> None:
    """What the graph begins with is the reference's word; TLC is asked for each step of it."""
    graph = read_covers()["partition-isr"]
    with pytest.raises(ToolError, match="did not finish the graph"):
        dump_graph(graph, replacement=_ElectsNobody)


class _ElectsNobody(PartitionControllerHandlers):
    """The planted fault: an election leaves the leader epoch as it is."""

    def handle_elect_leaders(self, row: Any, input: Any) -> Any:
        elected = super().handle_elect_leaders(row, input)
        partition = replace(elected.row.partition, leader_epoch=0)
        return replace(elected, row=replace(elected.row, partition=partition))


def test_a_bug_that_changes_the_first_state_is_told() -> None:
    """Nothing of a graph can be covered by a reference that does not begin where it begins."""
    graph = dumped("partition-isr")
    other = rule_book(changed(read_covers()["partition-isr"], begin=[]))
    with pytest.raises(ToolError, match="does not begin in the model's one initial state"):
        Matcher(graph.dump, other).explore()
