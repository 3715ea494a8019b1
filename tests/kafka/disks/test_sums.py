"""Sums of stretches: logs of one content have them, however many stretches each was cut into."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.kafka.disks import sums
from kraftcheck.kafka.disks.sums import Sums


def of(first: int) -> Sums:
    found = Sums()
    for at in range(first, 64):
        batch: Any = SimpleNamespace(base=at, last=at, epoch=0, crc=7919 * at, position=at)
        found.add(0, batch)
    return found


def test_a_log_that_begins_later_differs_only_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "MOST", 4)
    ends = [end for end, _, _ in of(0).differing(of(32))]
    assert ends == [16, 32]
