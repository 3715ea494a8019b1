"""What properties say is looked up where a run stands as an earlier one did: that hides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from reference.partition.invariants import face_of
from reference.partition.sim import outlooks
from reference.runner import run as run_module
from reference.runner.run import forget, simulate_part
from reference.sim.recorder import Recorder

RUNS = 40
LIKE_EACH_OTHER = {"replicas": 3, "min_insync_replicas": 2, "batch_records": 1, "deletes": False}


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Each test begins without a memo, and leaves none that was filled under a plant."""
    forget()
    yield
    forget()


def violations(bug: str, memo: bool) -> list[Any]:
    part = simulate_part("partition", 7, 0, RUNS, bug, LIKE_EACH_OTHER, memo)
    found: list[Any] = part.tables["runs"]["violations"].to_pylist()
    return found


@pytest.mark.parametrize("bug", ["Z22", "Z26", "Z33", "Z41"])
def test_the_same_is_violated_where_every_step_is_looked_at(bug: str) -> None:
    looked_up = violations(bug, memo=True)
    assert any(looked_up)
    assert looked_up == violations(bug, memo=False)


def test_it_is_also_where_outlooks_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    many = simulate_part("partition", 7, 0, 12)
    forget()
    monkeypatch.setattr(outlooks, "MOST", 10)
    assert simulate_part("partition", 7, 0, 12).digests() == many.digests()


def test_a_harmless_step_leaves_the_face_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    recorders: list[Recorder] = []

    class Kept(Recorder):
        def __init__(self, first_run: int) -> None:
            super().__init__(first_run)
            recorders.append(self)

    monkeypatch.setattr(run_module, "Recorder", Kept)
    simulate_part("partition", 7, 0, RUNS)
    steps: list[Any] = recorders[0].distinct
    inert = [step for step in steps if step.inert and step.after is not step.before]
    assert len(inert) > 100
    assert all(face_of(step.before.row) == face_of(step.after.row) for step in inert)


def test_who_does_not_tell_rows_apart_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a face that shows nothing."""
    monkeypatch.setattr(outlooks, "face_of", lambda row: None)
    found = [violations(bug, memo=True) for bug in ("Z22", "Z26", "Z33", "Z41")]
    forget()
    assert found != [violations(bug, memo=False) for bug in ("Z22", "Z26", "Z33", "Z41")]
