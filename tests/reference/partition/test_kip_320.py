"""KIP-320: whoever fetches names the leader epoch that it knows, and is fenced by it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.messages import (
    CLIENTS,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
)
from tests.reference.bugs.test_partition_witnesses import TWO_PREFERRED, zombie
from tests.reference.partition.cluster import THREE, Partitioned


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(0, "FENCED_LEADER_EPOCH"), (1, "NONE"), (2, "UNKNOWN_LEADER_EPOCH")],
)
def test_a_followers_epoch_must_be_the_leaders(epoch: int, error: str) -> None:
    c = Partitioned(THREE)
    c.ask(2)
    m = replace(c.latest(ReplicaFetchRequest, 2, 1), epoch=epoch)
    c.do(1, m)
    assert c.latest(ReplicaFetchResponse, 1, 2).error == error
    noted = c.row(1).remotes[1].end_offset
    assert noted == (0 if error == "NONE" else -1), "who is refused is not counted"


@pytest.mark.parametrize(
    ("epoch", "error"),
    [(-1, "NONE"), (0, "FENCED_LEADER_EPOCH"), (1, "NONE"), (2, "UNKNOWN_LEADER_EPOCH")],
)
def test_a_consumer_may_name_its_epoch(epoch: int, error: str) -> None:
    c = Partitioned(THREE)
    c.do(1, ConsumerFetchRequest(CLIENTS, 1, 0, epoch, 0, from_follower=False))
    answer = c.answers[-1]
    assert isinstance(answer, ConsumerFetchResponse) and answer.error == error


def test_a_zombie_counts_for_nothing() -> None:
    """A follower in an old epoch of the same leader would count for its high watermark."""
    c = Partitioned(TWO_PREFERRED)
    zombie(c)
    assert c.violated == set()


def test_the_epoch_comes_before_the_role() -> None:
    c = Partitioned(THREE)
    c.ask(2)
    old = c.latest(ReplicaFetchRequest, 2, 1)
    c.fence(1)
    c.tell()
    c.do(1, old)
    assert c.latest(ReplicaFetchResponse, 1, 2).error == "FENCED_LEADER_EPOCH"
