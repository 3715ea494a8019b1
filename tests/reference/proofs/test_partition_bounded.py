"""Reachable counterexamples of a partition: found, confirmed on the handlers, and not invented."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import z3

from reference.bugs.catalog import bug
from reference.core.partition_messages import CONTROLLER
from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import PartitionConstants
from reference.proofs import partition_bounded
from reference.proofs.moves import Done
from reference.proofs.partition_bounded import PROPERTY, VALID, Replay, find_partition
from reference.proofs.partition_moves import PartitionMoves
from reference.proofs.replaying import Disabled

FEW = ("TimesOut", "ReadsAll", "Produces")
"""What Z41 needs: a member is fenced below min ISR, and the other commits without it."""


def test_a_bug_has_a_shortest_counterexample_that_the_handlers_confirm() -> None:
    rules = bug("Z41").replacement
    assert rules is not None and issubclass(rules, PartitionRules)
    found = find_partition(2, rules, bound=4, names=FEW)
    assert found.confirmed and not found.reason
    assert len(found.steps) == 1 + 3 and found.steps[0].startswith("2 brokers, min ISR 2")
    # Which of several it is depends on what the process has asked the solver before.
    story = " ".join(found.steps)
    assert "Produces" in story and "committed 1" in story


ADMITS = ("TimesOut 1", "ReadsAll 0", "Serves 0 1", "AsksAndHears 0")


def test_a_fenced_member_of_the_isr_is_found() -> None:
    rules = bug("Z37").replacement
    assert rules is not None and issubclass(rules, PartitionRules)
    found = find_partition(2, rules, 4, least=4, names=ADMITS, property=VALID)
    assert found.confirmed and found.property == VALID and found.length == 4
    assert "ISR [0, 1], ELR []" in found.steps[-1]


def test_the_correct_rules_have_none_within_the_bound() -> None:
    found = find_partition(2, PartitionRules, bound=5, names=FEW)
    assert found.steps == [] and not found.confirmed and not found.reason


def test_a_search_without_time_says_so_and_finds_nothing() -> None:
    found = find_partition(2, PartitionRules, bound=3, timeout_s=0.0, names=FEW)
    assert "time limit" in found.reason and not found.confirmed


def test_what_the_handlers_do_not_do_is_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a relation in which anybody may produce at once, leader or not."""
    made = PartitionMoves._produces

    def anybody(self: PartitionMoves, n: int) -> object:
        updates = {f"b{n}.length": z3.IntVal(0), "committed": z3.IntVal(1)}
        return replace(made(self, n), guard=z3.BoolVal(True), updates=updates)

    monkeypatch.setattr(PartitionMoves, "_produces", anybody)
    found = find_partition(2, PartitionRules, bound=1, names=("Produces",))
    assert not found.confirmed


def test_a_move_that_is_disabled_is_told() -> None:
    replay = Replay(PartitionConstants((0, 1), 1), PartitionRules)
    with pytest.raises(Disabled, match="no answer is on its way to broker 1"):
        replay.do(Done("Uses", 1), 0)
    with pytest.raises(Disabled, match="no AlterPartition of broker 0"):
        replay.do(Done("IsJudged", 0), 0)


def test_every_move_of_the_search_can_be_replayed() -> None:
    makers = PartitionMoves(2, PartitionRules, names=("Elects",))._makers()
    own = {"Crashes", "Serves", "Fetches", "Lags", "Elects", "TimesOut"}
    assert {done.name for done, _ in makers} == own | set(partition_bounded.ALONE)


AGAIN = ("Beats 0", "ReadsAll 1", "Fetches 1 0", "AsksAndHears 1", "Produces 1", "Fetches 1 2")
"""Broker 0 is back, and in the ISR of broker 1; what is produced then, 2 has and 0 has not."""
SCHEDULES = {
    "Z26": ("Produces 0", "TimesOut 0", "ReadsAll 0", "ReadsAll 2", *AGAIN, "Serves 1 2"),
    "Z67": (
        *("TimesOut 0", "ReadsAll 0", "ReadsAll 2", *AGAIN, "Serves 1 2", "Elects"),
        *("ReadsAll 0", "ReadsAll 2", "Fetches 0 2", "TimesOut 0", "ReadsAll 1"),
    ),
}
"""Counterexamples that are too long for a test to search for them."""


def played(id: str | None, schedule: Sequence[str]) -> bool:
    """Whether these moves of three brokers break LeaderCandidateCompleteness. Without a bug they
    may end early: the handlers refuse one.
    """
    rules: Any = PartitionRules if id is None else bug(id).replacement
    replay = Replay(PartitionConstants((0, 1, 2), 2, fetch_max_records=1), rules)
    for words in map(str.split, schedule):
        who = [CONTROLLER] if words[0] in ("TimesOut", "Elects") else []
        try:
            replay.do(Done(words[0], *who, *map(int, words[1:])), 0)
        except Disabled:
            assert id is None
            break
    return replay.breaks(PROPERTY)


@pytest.mark.parametrize("id", SCHEDULES)
def test_a_long_schedule_breaks_the_bug_and_nothing_else(id: str) -> None:
    assert played(id, SCHEDULES[id]) and not played(id, SCHEDULES[id][:-1])
    assert not played(None, SCHEDULES[id])
