"""What an administrator asks for among the faults of a recording."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.kafka.live import changes
from kraftcheck.kafka.live.changes import without
from kraftcheck.kafka.live.cluster import ClusterError


@pytest.mark.parametrize(
    ("replicas", "victim", "left"),
    [
        ([1, 2, 3], 1, [4, 2, 3]),
        ([1, 2, 3], 3, [1, 2, 4]),
        ([1, 2, 3], 4, [4, 2, 3]),
        ([1, 2, 3, 4], 2, [1, 3, 4]),
    ],
)
def test_another_broker_takes_the_place_of_the_victim(
    replicas: list[int], victim: int, left: list[int]
) -> None:
    assert without([1, 2, 3, 4], replicas, victim) == left


@pytest.mark.parametrize("ask", [changes.delete_topic, changes.replicas_of])
def test_nobody_who_answers_is_told_in_one_way(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ANSWERS_S", 0.1)
    cluster: Any = SimpleNamespace(bootstrap="127.0.0.1:9")
    with pytest.raises(ClusterError, match="topic t: "):
        ask(cluster, "t")
