"""Kafka's folding of records, where real logs of a few minutes do not show it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.observed.image import Image, changed

EMPTY: dict[str, Any] = {"leaderEpoch": 0, "partitionEpoch": 0, "replicas": [1, 2, 3]}


def image(*topics: str) -> Image:
    """A partition of each, with 1 as its leader and 3 as eligible."""
    made = Image()
    for topic in topics:
        made.make_topic({"topicId": f"id of {topic}", "name": topic})
        here = {"topicId": f"id of {topic}", "partitionId": 0, "eligibleLeaderReplicas": [3]}
        made.make_partition({**EMPTY, **here, "leader": 1, "isr": [1, 2]})
    return made


@pytest.mark.parametrize(
    ("named", "left"), [({"topicName": "a"}, [(), (3,)]), ({"topicName": None}, [(), ()])]
)
def test_elrs_are_cleared_of_one_topic_or_of_all(
    named: dict[str, Any], left: list[tuple[int, ...]]
) -> None:
    made = image("a", "b")
    made.clear_elr(named)
    states = [observed.state for observed in made.partitions.values()]
    assert [state.elr for state in states] == left
    made.clear_elr(named)
    states = [observed.state for observed in made.partitions.values()]
    # A new partition epoch only where there was something to clear.
    assert [state.partition_epoch for state in states] == [int(not elr) for elr in left]


def test_a_list_is_put_in_order_and_nothing_else() -> None:
    """What a record says twice is not tidied away before it is judged."""
    (observed,) = image("a").partitions.values()
    told = changed(observed.state, {"isr": [2, 1, 2], "eligibleLeaderReplicas": [3, 2, 3]})
    assert (told.isr, told.elr) == ((1, 2, 2), (2, 3, 3))
    same = changed(observed.state, {"directories": []})
    assert same == msgspec.structs.replace(observed.state, partition_epoch=1)
