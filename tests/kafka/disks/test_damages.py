"""Of any damage something is said, or there is a reason why nothing need be (damages.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka.disks import damages


def test_of_damages_something_is_said(tmp_path: Path) -> None:
    found = damages.run(tmp_path, seed=51, count=16, versions=["4.3.1"])
    assert found.wrong == []
    assert found.codes.total() > 10 and found.losing


@pytest.mark.slow
def test_of_many_damages_something_is_said(tmp_path: Path) -> None:
    found = damages.run(tmp_path, seed=52, count=400)
    assert found.wrong == []


def test_damage_without_a_word_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a judge that says nothing."""
    whole = damages.Outcome(0, frozenset())
    monkeypatch.setattr(damages, "asked", lambda place, topic: whole)
    found = damages.run(tmp_path, seed=51, count=60, versions=["4.3.1"])
    assert any(each.startswith("silent: ") for each in found.wrong)
    assert found.losing == sum(each.startswith("exit code 0: ") for each in found.wrong) > 0
