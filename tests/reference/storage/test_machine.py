"""The engine as a Hypothesis machine: operations, a disk that fails, and a power loss or a kill at
any moment, each state of which keeps what was promised. What breaks a promise is made small.
"""

from __future__ import annotations

import errno
from random import Random
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kraftcheck.reference.storage.crashing import Story, judged_start
from kraftcheck.reference.storage.histories import Client, Operation, configured
from kraftcheck.reference.storage.indexes import Full
from kraftcheck.reference.storage.promises import batches_in, in_order
from kraftcheck.reference.storage.rules import StorageRules
from tests.reference.storage.test_bugs import rules_of

CHANCE = st.randoms(use_true_random=False)
SETTINGS = settings(
    max_examples=100,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

FIRST = settings(SETTINGS, phases=[Phase.generate], derandomize=True, database=None)
"""The same ones always, and no time for making them small."""


class Machine(RuleBasedStateMachine):
    """offline: after an error of the disk nothing more is written (D21)."""

    engine: ClassVar[type[StorageRules]] = StorageRules

    @initialize(chance=CHANCE)
    def begin(self, chance: Random) -> None:
        config = configured(chance)
        self.client = Client(chance, config, follows=chance.random() < 0.3)
        self.story = Story(self.engine(config), self.client.time)
        self.offline = False

    def operation(self) -> Operation:
        self.client.cleaned = self.story.broker.dirty
        return self.client.next(self.story.broker.log)

    @precondition(lambda self: not self.offline)
    @rule()
    def operate(self) -> None:
        try:
            self.story.perform(self.operation())
        except Full:
            self.offline = True

    @precondition(lambda self: not self.offline)
    @rule()
    def checkpoint(self) -> None:
        self.story.perform(Operation("checkpoint"))

    @precondition(lambda self: not self.offline)
    @rule(
        calls=st.integers(1, 6),
        number=st.sampled_from([errno.EIO, errno.ENOSPC]),
        kind=st.sampled_from(["write", "sync", "create"]),
    )
    def append_on_a_disk_that_fails(self, calls: int, number: int, kind: str) -> None:
        """A write that fails is cut short."""
        operation = self.operation()
        if operation.name not in ("leader", "follower"):
            return
        left = [calls]

        def fails(what: str, path: str) -> int:
            left[0] -= what == kind
            return number if what == kind and left[0] == 0 else 0

        self.story.disk.fails = fails
        try:
            self.story.perform(operation)
        except Full:
            self.offline = True
        except OSError:
            self.offline = True
            self.story.again(operation)
        self.story.disk.fails = lambda what, path: 0

    @rule(share=st.floats(0, 1), chance=CHANCE, killed=st.booleans())
    def crash(self, share: float, chance: Random, killed: bool) -> None:
        upto = round(share * len(self.story.disk.journal))
        crash = self.story.crash(upto)
        content = crash.process() if killed else crash.drawn(chance, "ordered")
        assert judged_start(self.story, upto, content)[0] == []

    @invariant()
    def in_order(self) -> None:
        story = self.story
        compact = story.rules.config.compact
        assert list(in_order(batches_in(story.broker.log), story.moments, compact)) == []


@pytest.mark.slow
def test_whatever_is_done_and_fails_promises_are_kept() -> None:
    run_state_machine_as_test(Machine, settings=SETTINGS)


@pytest.mark.parametrize("id", ["Z141", "Z145"])
def test_a_bug_is_found(id: str) -> None:
    class Planted(Machine):
        engine = rules_of(id)

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Planted, settings=FIRST)
