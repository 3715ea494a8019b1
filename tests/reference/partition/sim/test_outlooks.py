"""What properties say is looked up where a run stands as an earlier one did: that hides nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.reference.partition import invariants
from kraftcheck.reference.partition.sim import machine, outlooks
from kraftcheck.reference.partition.types import BrokerRow
from kraftcheck.reference.runner.run import forget, simulate_part
from kraftcheck.traces.jobs.plan import read_file

RUNS = 15
BUGS = ("Z26", "Z37", "Z58")
LIKE_EACH_OTHER = {"replicas": 3, "min_insync_replicas": 2, "batch_records": 1, "deletes": False}


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Each test begins without a memo, and leaves none that was filled under a plant."""
    forget()
    yield
    forget()


def violations(bug: str, memo: bool, runs: int = RUNS, options: Any = LIKE_EACH_OTHER) -> list[Any]:
    part = simulate_part("partition", 7, 0, runs, bug, options, memo)
    found: list[Any] = part.tables["runs"]["violations"].to_pylist()
    return found


@pytest.mark.parametrize("bug", BUGS)
def test_the_same_is_violated_where_every_step_is_looked_at(bug: str) -> None:
    looked_up = violations(bug, memo=True)
    assert any(looked_up)
    assert looked_up == violations(bug, memo=False)


def test_the_same_bytes_where_outlooks_are_forgotten_or_do_not_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = simulate_part("partition", 7, 0, 12)
    forget()
    monkeypatch.setattr(outlooks, "MOST", 10)
    assert simulate_part("partition", 7, 0, 12).digests() == many.digests()
    forget()
    monkeypatch.setattr(outlooks, "TRIED", 10)
    assert simulate_part("partition", 7, 0, 12).digests() == many.digests()


@pytest.mark.parametrize("bug", BUGS)
def test_who_does_not_tell_pasts_apart_is_found_out(
    bug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: runs stand alike whatever was committed before, and what their rows show."""

    class Blind(outlooks.Outlooks):
        def __init__(self, pays: bool) -> None:
            super().__init__(pays)
            self._pasts = defaultdict(int)

    monkeypatch.setattr(machine, "Outlooks", Blind)
    monkeypatch.setattr(outlooks, "face_of", lambda row: None)
    found = violations(bug, memo=True)
    monkeypatch.undo()
    forget()
    assert found != violations(bug, memo=True)


def test_a_face_without_the_log_is_found_out(
    monkeypatch: pytest.MonkeyPatch, repo_root: Path
) -> None:
    """Planted: who stands alike but for a log is taken to stand alike. It shows in runs that stand
    alike often enough, which are those that have all options in common."""

    def faceless(row: Any) -> tuple[Any, ...]:
        face = invariants.face_of(row)
        if not isinstance(row, BrokerRow):
            return face
        assert face[0] is row.log
        return face[1:]

    (saturating,) = read_file(repo_root / "examples/campaigns/saturating.toml").configurations
    options = dict(saturating.options)
    monkeypatch.setattr(outlooks, "face_of", faceless)
    found = violations("Z42", True, 120, options)
    monkeypatch.undo()
    forget()
    seen = violations("Z42", True, 120, options)
    assert any(seen) and found != seen
