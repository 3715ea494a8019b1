"""The controllers of a cluster take the steps of the specification of controllers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.cluster.sim import controllers as of_cluster
from kraftcheck.reference.controllers.handlers import ControllerHandlers
from kraftcheck.reference.controllers.protocol import CONTROLLER_KIND
from kraftcheck.reference.controllers.types import Constants
from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import Abstraction, as_columns, step_frame
from tla_utils import check_steps

FIVE = Constants((1, 2, 3, 4, 5), 1 << 30, 1 << 30)
RUNS = 12


@pytest.fixture(scope="module")
def steps() -> Iterator[list[Step]]:
    """Every step of a controller in some runs, once."""
    taken: dict[Step, None] = {}

    def noted(handle: Any) -> Any:
        def noting(self: ControllerHandlers, n: int, row: Any, input: Any) -> Outcome:
            made: Outcome = handle(self, n, row, input)
            action = action_name(type(input))
            taken[Step(action, n, row, input, made.row, made.sent, made.ignored)] = None
            return made

        return noting

    names = ("handle_write_event", "handle_batch_committed", "handle_leader_and_epoch")
    noting = {name: noted(getattr(ControllerHandlers, name)) for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            of_cluster, "ControllerHandlers", type("Noted", (ControllerHandlers,), noting)
        )
        for run in range(RUNS):
            simulate_run("cluster", 7, run)
    yield [*taken]


def rejected(steps: list[Step]) -> list[int]:
    form = Abstraction(FIVE)
    return check_steps(
        step_frame(CONTROLLER_KIND, FIVE), [as_columns(form, step) for step in steps]
    ).numbers("rejected")


@pytest.mark.tlc
def test_each_step_is_allowed_and_one_that_answers_early_is_not(steps: list[Step]) -> None:
    assert {each.action for each in steps} == {
        *("HandleWriteEvent", "HandleBatchCommitted", "HandleLeaderAndEpoch")
    }
    assert any(each.after.deferred and each.sent for each in steps)
    early = [
        each._replace(after=replace(each.after, deferred=each.after.deferred[1:]))
        for each in steps
        if each.after.deferred
    ]
    assert rejected([*steps, *early]) == [*range(len(steps), len(steps) + len(early))]
