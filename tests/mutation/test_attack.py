"""The attack tries what it says, and hears of what is planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kraftcheck.kafka.serve.core import Core
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.partition.compaction.rules import CompactionRules
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules
from kraftcheck.reference.quorum.snapshots.rules import SnapshotRules
from kraftcheck.reference.quorum.voters.rules import VoterRules
from kraftcheck.reference.transactions.rules import TransactionRules
from tests.mutation import attack
from tests.mutation.attack import run, told_by_questions
from tests.reference.vocabulary import snake
from tests.traces.checkers.log_world import Setting
from tests.traces.checkers.valid_logs import Tally


@pytest.mark.parametrize(
    ("part", "scale", "tried"), [("histories", 0.06, 18), ("frames", 0.02, 400)]
)
def test_nothing_is_wrong(part: str, scale: float, tried: int) -> None:
    found = run(part, 7, scale)
    assert (found.tried, found.wrong, found.left) == (tried, [], 0)
    assert len(found.told) > 2


def test_an_exception_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Core.frame

    def planted(self: Core, connection: int, data: bytes) -> None:
        assert len(data) > 40, "planted"
        right(self, connection, data)

    monkeypatch.setattr(Core, "frame", planted)
    assert any("AssertionError: planted" in each for each in run("frames", 7, 0.005).wrong)


def test_a_false_alarm_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "tally", lambda setting, begin, end: _alarm(setting))
    assert run("histories", 7, 0.05).wrong


def _alarm(setting: Setting) -> Tally:
    return Tally(setting, Counter(), Counter(), ["a valid log is violated"])


def _put(rules: type, name: str, decision: Callable[..., Any]) -> Bug:
    replacement = type("Planted", (rules,), {"__slots__": (), name: decision})
    protocol = rules.__module__.split(".")[-2]
    return Bug(
        id="PLANTED",
        title=name,
        story="",
        source="",
        protocol=protocol,
        replacement=replacement,
        property="",
    )


@pytest.mark.parametrize(
    ("rules", "name", "decision"),
    [
        (TransactionRules, "after_offsets_error", lambda self, error: "Retry"),
        (TransactionRules, "after_end_error", lambda self, decision, error: "Retry"),
        (
            SnapshotRules,
            "fetch_needs_snapshot",
            lambda self, row, m: False,
        ),
        (VoterRules, "joins_by_itself", lambda self, n, row: True),
        (ReassignmentRules, "takes_turns", lambda self, active, usable, taken, b: True),
        (GroupRules, "may_take", lambda self, held, epoch: held <= epoch),
        (GroupRules, "is_target", lambda self, group, owner: True),
        (CompactionRules, "is_superseded", lambda self, row, at, key: at > 1),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_fault_of_one_side_that_few_runs_come_to_is_told(
    rules: type, name: str, decision: Callable[..., Any]
) -> None:
    """TLC is asked the same questions (tests/conformance/test_plain.py)."""
    assert name in {snake(each) for each in told_by_questions(_put(rules, name, decision))}
