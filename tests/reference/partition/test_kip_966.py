"""KIP-966: eligible leader replicas. Who left the ISR below min ISR may still be elected, because
nothing was committed without it.
"""

from __future__ import annotations

import pytest

from kraftcheck.reference.partition.messages import BrokerFlush, ProduceResponse
from kraftcheck.reference.partition.types import NOBODY, PartitionConstants
from tests.reference.partition.cluster import THREE, Impossible, Partitioned

NO_ELR = PartitionConstants((1, 2, 3), min_insync_replicas=2, elr_enabled=False)
ALONE = PartitionConstants((1,), min_insync_replicas=1)


def committed(constants: PartitionConstants = THREE) -> Partitioned:
    """Everybody holds one committed record, and knows that it is."""
    c = Partitioned(constants)
    c.produce(1)
    c.catch_up(2, 3)
    return c


def test_above_min_isr_nobody_is_eligible_but_the_isr() -> None:
    c = committed()
    c.fence(3)
    assert (c.partition.isr, c.partition.elr) == ((1, 2), ())


def test_below_min_isr_who_leaves_stays_eligible() -> None:
    c = committed()
    c.fence(3)
    c.fence(2)
    assert (c.partition.isr, c.partition.elr) == ((1,), (2,))
    c.fence(1)
    assert (c.partition.isr, c.partition.elr) == ((), (1, 2))
    assert (c.partition.leader, c.partition.last_known_leader) == (NOBODY, 1)


def test_nothing_is_committed_below_min_isr() -> None:
    """KAFKA-15583."""
    c = committed()
    c.fence(3)
    c.fence(2)
    c.tell(1)
    c.produce(1)
    assert c.answers[-1].error == "NOT_ENOUGH_REPLICAS"
    c.produce(1, acks=1)
    assert len(c.row(1).log) == 2 and c.row(1).high_watermark == 1


def test_an_eligible_replica_is_elected_and_leaves_the_elr() -> None:
    c = committed()
    for b in (3, 2, 1):
        c.fence(b)
    c.heartbeat(2)
    c.tell(2)
    assert (c.partition.leader, c.partition.isr, c.partition.elr) == (2, (2,), (1,))
    assert c.row(2).role == "Leader" and c.violated == set()


def test_who_comes_back_without_proof_is_not_eligible_any_more() -> None:
    """KAFKA-18106."""
    c = committed()
    for b in (3, 2, 1):
        c.fence(b)
    c.crash(2, keep=0)
    c.restart(2)
    assert (c.partition.leader, c.partition.elr) == (NOBODY, (1,))
    c.heartbeat(1)
    c.tell()
    assert c.partition.leader == 1 and c.violated == set()


def test_a_clean_stop_is_proof() -> None:
    """C3, KAFKA-18635."""
    c = committed()
    c.fence(3)
    c.stop(2)
    assert c.row(2).status == "Down" and c.row(2).clean_shutdown == 0
    assert (c.partition.isr, c.partition.elr) == ((1,), (2,))
    c.restart(2)
    assert c.partition.elr == (2,), "it has kept what it had"
    assert c.row(2).clean_shutdown == -1, "the proof is good once"


def test_the_last_known_leader_is_elected_if_it_is_alive() -> None:
    """KAFKA-19522."""
    c = Partitioned(ALONE)
    c.produce(1)
    c.do(1, BrokerFlush())
    c.crash(1)
    c.fence(1)
    assert (c.partition.isr, c.partition.elr) == ((), (1,))
    c.restart(1)
    assert (c.partition.leader, c.partition.isr) == (1, (1,))
    assert c.partition.recovering, "nobody knows what it lost"
    assert c.violated == set()


def test_without_elr_the_last_member_stays() -> None:
    """C10, the last replica standing."""
    c = committed(NO_ELR)
    for b in (3, 2, 1):
        c.fence(b)
    assert (c.partition.leader, c.partition.isr, c.partition.elr) == (NOBODY, (1,), ())
    c.crash(1, keep=0)
    c.restart(1)
    assert c.partition.leader == 1
    assert "PartitionLeaderCompleteness" in c.violated


def test_a_leader_that_recovers_says_so_once() -> None:
    """C13: an AlterPartition without the recovery state ends it."""
    c = Partitioned(PartitionConstants((1, 2), 1, unclean_election=True))
    c.produce(1)
    c.shrink(1, 2)
    c.alter(1)
    c.fence(1)
    assert (c.partition.leader, c.partition.recovering) == (2, True)
    c.tell(2)
    c.heartbeat(1)
    c.tell()
    c.fetch(1, 2)
    c.alter(2)
    assert c.partition.isr == (1, 2) and not c.partition.recovering


def test_an_ack_waits_for_min_isr_copies() -> None:
    c = Partitioned(THREE)
    c.produce(1)
    c.fetch(2)
    with pytest.raises(Impossible):
        c.alter(1)
    assert not c.answers
    c.fetch(2)
    c.fetch(3, 2)
    (answer,) = c.answers
    assert isinstance(answer, ProduceResponse) and answer.error == "NONE"
