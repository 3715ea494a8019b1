"""KIP-279: the leader says of which epoch it speaks, so that a follower can go on asking."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.log import CacheEntry
from kraftcheck.reference.partition.log import (
    NO_DIVERGENCE,
    EpochEnd,
    Record,
    RecordLog,
    cache_append,
)
from kraftcheck.reference.partition.messages import ReplicaFetchRequest, ReplicaFetchResponse
from kraftcheck.reference.partition.types import BrokerRow, PartitionConstants, initial_row
from tests.reference.bugs.test_partition_witnesses import tails_depart
from tests.reference.partition.cluster import Partitioned

TWO_PREFERRED = PartitionConstants((2, 1), min_insync_replicas=1)


def test_after_a_fast_failover_logs_become_the_same() -> None:
    """1 leads without having heard of the epoch in which 2 wrote."""
    c = Partitioned(TWO_PREFERRED)
    tails_depart(c)
    assert c.row(1).epoch_cache == (CacheEntry(2, 0), CacheEntry(4, 2))
    assert c.row(2).epoch_cache == (CacheEntry(2, 0), CacheEntry(3, 1))
    c.ask(2)
    c.deliver(ReplicaFetchRequest, 2, 1)
    answer = c.latest(ReplicaFetchResponse, 1, 2)
    assert answer.diverging == EpochEnd(2, 2), "not epoch 3, which 1 does not know"
    c.deliver(ReplicaFetchResponse, 1, 2)
    assert c.values(2) == c.values(1)[:1], "2's own epoch 2 ends at 1, before the leader's"
    c.fetch(2, 2)
    assert c.row(1).log == c.row(2).log
    assert c.violated == set()


def test_a_follower_may_be_cut_twice() -> None:
    """P14. Its largest epoch at or below the leader's answer is one that the leader lacks, too."""
    c = Partitioned(TWO_PREFERRED, elect=False)
    leads, follows = log_of(1, 3, 3, 5), log_of(1, 2, 4, 4)
    known = {"leader": 1, "leader_epoch": 5, "partition_epoch": 5}
    leader = row_of(leads, role="Leader", epoch_start=3, isr=(1, 2), **known)
    c.state = c.state._replace(rows={1: leader, 2: row_of(follows, last_fetched_epoch=4, **known)})
    ends = []
    while c.row(2).log != leads:
        c.ask(2)
        c.deliver(ReplicaFetchRequest, 2, 1)
        c.deliver(ReplicaFetchResponse, 1, 2)
        ends.append((len(c.row(2).log), c.latest(ReplicaFetchResponse, 1, 2).diverging))
    assert ends[:2] == [(2, EpochEnd(3, 3)), (1, EpochEnd(1, 1))]
    assert ends[2:] == [(3, NO_DIVERGENCE), (4, NO_DIVERGENCE)]


def log_of(*epochs: int) -> RecordLog:
    return tuple(Record(epoch, 10 * epoch + at, *[-1] * 5) for at, epoch in enumerate(epochs))


def row_of(log: RecordLog, **fields: Any) -> BrokerRow:
    return replace(
        initial_row(TWO_PREFERRED), log=log, epoch_cache=cache_append((), 0, log), **fields
    )
