"""KIP-207: a new leader names no latest offset before it knows that it is one."""

from __future__ import annotations

import pytest

from kraftcheck.reference.partition.messages import (
    CLIENTS,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Timestamp,
)
from tests.reference.partition.cluster import THREE, Partitioned


def listed(c: Partitioned, n: int, timestamp: Timestamp = "Latest", epoch: int = -1) -> str | int:
    """The offset, or the error."""
    c.do(n, ListOffsetsRequest(CLIENTS, n, 0, epoch, timestamp))
    answer = c.answers[-1]
    assert isinstance(answer, ListOffsetsResponse)
    return answer.offset if answer.error == "NONE" else answer.error


def test_offsets_never_go_back() -> None:
    c = Partitioned(THREE)
    c.produce(1)
    c.fetch(2, 2)
    c.fetch(3, 2)
    assert listed(c, 1) == 1
    c.fence(1)
    c.tell(2, 3)
    assert (c.row(2).high_watermark, c.row(2).epoch_start) == (0, 1)
    assert listed(c, 2) == "OFFSET_NOT_AVAILABLE"
    assert listed(c, 2, "Earliest") == 0
    c.fetch(3)
    assert listed(c, 2) == 1
    assert c.violated == set()


@pytest.mark.parametrize(
    ("epoch", "expected"), [(0, "FENCED_LEADER_EPOCH"), (1, 0), (2, "UNKNOWN_LEADER_EPOCH")]
)
def test_the_epoch_comes_first(epoch: int, expected: str | int) -> None:
    assert listed(Partitioned(THREE), 1, epoch=epoch) == expected


def test_followers_are_not_asked() -> None:
    c = Partitioned(THREE)
    assert listed(c, 2) == listed(c, 2, "Earliest") == "NOT_LEADER_OR_FOLLOWER"
