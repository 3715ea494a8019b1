"""What an administrator asks for among the faults of a recording."""

from __future__ import annotations

import pytest

from live.changes import without


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
