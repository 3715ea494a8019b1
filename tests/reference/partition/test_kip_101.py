"""KIP-101: where a follower's log is cut is asked of the leader, by epoch, and not guessed from the
high watermark.
"""

from __future__ import annotations

from kraftcheck.reference.partition.log import EpochEnd
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    HeartbeatRequest,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
)
from kraftcheck.reference.partition.types import CacheEntry, PartitionConstants
from tests.reference.partition.cluster import THREE, Partitioned

TWO_PREFERRED = PartitionConstants((2, 1), min_insync_replicas=1)


def test_a_record_above_the_followers_high_watermark_survives_an_election() -> None:
    """Case 1 of the KIP."""
    c = Partitioned(THREE)
    c.produce(1)
    c.fetch(2, 2)
    c.fetch(3, 2)
    assert c.row(1).high_watermark == 1 and c.row(2).high_watermark == 0
    c.fence(1)
    c.tell(2, 3)
    assert c.row(2).role == "Leader"
    assert c.values(2) == c.values(3) == [1]


def test_a_follower_asks_with_its_last_epoch_and_cuts_where_it_is_told() -> None:
    c = Partitioned(TWO_PREFERRED)  # 2 leads epoch 1
    c.produce(2)
    c.catch_up(1)
    c.produce(2, acks=1)
    c.produce(2, acks=1)
    c.fence(2)
    c.tell()  # 1 leads epoch 2 from offset 1
    c.produce(1)
    assert c.ask(2) == 1
    fetch = c.latest(ReplicaFetchRequest, 2, 1)
    assert (fetch.fetch_offset, fetch.last_fetched_epoch) == (3, 1)
    c.deliver(ReplicaFetchRequest, 2, 1)
    answer = c.latest(ReplicaFetchResponse, 1, 2)
    assert (answer.diverging, answer.records) == (EpochEnd(1, 1), ())
    c.deliver(ReplicaFetchResponse, 1, 2)
    assert c.values(2) == [1]
    c.fetch(2)
    assert c.row(2).log == c.row(1).log
    assert c.violated == set()


def test_a_leader_knows_its_epoch_before_it_writes_in_it() -> None:
    """KAFKA-7415."""
    c = Partitioned(THREE)
    assert c.row(1).epoch_cache == (CacheEntry(1, 0),)
    c.produce(1)
    c.catch_up(2, 3)
    c.fence(1)
    c.tell(2, 3)
    assert c.row(2).epoch_cache == (CacheEntry(1, 0), CacheEntry(2, 1))
    assert c.row(3).epoch_cache == (CacheEntry(1, 0),), "a follower learns it with a record"


def test_a_fetch_in_an_epoch_that_was_left_is_used_by_nobody() -> None:
    c = Partitioned(TWO_PREFERRED)
    c.produce(2)
    c.ask(1)
    c.deliver(ReplicaFetchRequest, 1, 2)
    c.fence(2)
    c.control(HeartbeatRequest(2, CONTROLLER, 0, 9, want_fence=False, want_shut_down=False))
    c.tell()
    c.deliver(ReplicaFetchResponse, 2, 1)
    assert c.values(1) == [] and c.row(1).role == "Leader"
