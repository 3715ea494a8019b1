"""Where examples begin: in the middle of counterexamples, but never of that of the bug sought."""

from __future__ import annotations

import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from kraftcheck.reference.quorum.types import Constants
from tests.stateful import beginnings
from tests.stateful.machine import QuorumMachine
from tests.stateful.schedule import Schedule
from tests.stateful.test_quorum_machine import BUDGET


def test_a_bug_is_not_sought_with_its_own_counterexample() -> None:
    own = [each for each in beginnings.counterexamples() if each.bug == "Z13"]
    assert len(own) == 2, "it was shown in two models"
    with_all = beginnings.choices("quorum", None)
    without = beginnings.choices("quorum", "Z13")
    assert all(each in with_all and each not in without for each in own)
    for found in (with_all, without):
        assert found.count(None) * 2 == len(found)
        assert {each.machine for each in found if each} == {"quorum"}
    assert beginnings.choices("cluster", None) == []


def test_moves_are_followed_until_one_is_not_possible() -> None:
    script = next(each for each in beginnings.choices("quorum", "Z01") if each is not None)
    schedule = Schedule(Constants((1, 2, 3), script.options["fetch_max_records"]))
    beginnings.follow(schedule, script, 3)
    assert 0 < len(schedule.moves) <= len(script.moves) - 3
    assert schedule.moves == list(script.moves[: len(schedule.moves)])


def test_many_examples_begin_so(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str | None] = []
    examples: list[int] = []

    class Counted(QuorumMachine):
        def teardown(self) -> None:
            examples.append(1)
            super().teardown()

    monkeypatch.setattr(beginnings, "follow", lambda _, script, __: begun.append(script.bug))
    budget = settings(BUDGET, max_examples=80, stateful_step_count=1, phases=[Phase.generate])
    run_state_machine_as_test(seed(3)(Counted), settings=budget)
    assert 0.1 < len(begun) / len(examples) < 0.75
    assert len(set(begun)) > 5
