"""ReplayAgrees: what a controller decided is what follows from the committed log, in each part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kraftcheck.reference.cluster.sim.controllers import REPLAY_AGREES, Controllers
from kraftcheck.reference.cluster.sim.decisions import Decision

ROW, SENT = object(), ("records",)


def step(after: object = ROW, sent: object = SENT) -> Any:
    return SimpleNamespace(input=SimpleNamespace(kind="ElectLeaders"), after=after, sent=sent)


def taken(decision: Decision, *steps: object) -> tuple[int, list[str]]:
    """How many steps the abstract controllers were given, and what was violated; steps: what each
    partition's controller makes of its input."""
    given: list[object] = []
    violated: list[str] = []

    def partition(made: object) -> Any:
        def take(node: int, input: object) -> object:
            given.append(input)
            return made

        return SimpleNamespace(take=take)

    self = SimpleNamespace(
        _partitions=[partition(made) for made in steps],
        _world=SimpleNamespace(violated=lambda name, told: violated.append(f"{name}: {told}")),
    )
    Controllers._take(cast(Controllers, self), decision)
    return len(given), violated


def decided() -> Decision:
    return Decision(4, {0: step(), 1: step()}, None)


@pytest.mark.parametrize(
    "made", [None, step(after=object()), step(sent=())], ids=["nothing", "other row", "other sent"]
)
def test_a_step_that_does_not_follow_is_a_violation_of_its_partition(made: object) -> None:
    assert taken(decided(), step(), step()) == (2, [])
    number, (told,) = taken(decided(), step(), made)
    assert number == 2 and told.startswith(f"{REPLAY_AGREES}: the controller of epoch 4 decided")
    assert "for partition 1 what does not follow" in told
    assert len(taken(decided(), made, made)[1]) == 2


def test_a_decision_is_taken_once() -> None:
    decision = decided()
    assert taken(decision, step(), step()) == (2, [])
    assert decision.done and taken(decision, None, None) == (0, [])
