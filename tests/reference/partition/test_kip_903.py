"""KIP-903: whoever came back with another log is another replica, and its broker epoch says so."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerRestart,
    HeartbeatRequest,
    HeartbeatResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
)
from tests.reference.bugs.test_partition_witnesses import two_in_sync
from tests.reference.partition.cluster import THREE, Impossible, Partitioned


def test_a_proposal_for_the_former_incarnation_is_refused() -> None:
    c = Partitioned(THREE)
    two_in_sync(c)
    c.fetch(3, 2)
    c.do(1, SendAlterPartition())
    c.crash(3, keep=0)
    c.restart(3)
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)
    assert c.latest(AlterPartitionResponse, CONTROLLER, 1).error == "INELIGIBLE_REPLICA"
    assert c.partition.isr == (1, 2) and c.violated == set()


def test_a_fetch_of_the_former_incarnation_is_refused() -> None:
    """KAFKA-15221, the leader's side."""
    c = Partitioned(THREE)
    c.ask(3)
    old = c.latest(ReplicaFetchRequest, 3, 1)
    c.crash(3)
    c.restart(3)
    c.tell(1)
    c.do(1, old)
    assert c.latest(ReplicaFetchResponse, 1, 3).error == "NOT_LEADER_OR_FOLLOWER"


def test_every_incarnation_gets_an_epoch_of_its_own() -> None:
    c = Partitioned(THREE)
    epochs = [c.row(3).broker_epoch]
    for _ in range(3):
        c.crash(3)
        c.restart(3)
        epochs.append(c.row(3).broker_epoch)
    assert epochs == sorted(set(epochs))


def test_a_second_process_under_the_same_id_is_refused() -> None:
    """C2."""
    c = Partitioned(THREE)
    c.crash(3)
    c.do(3, BrokerRestart(), SendRegistration())
    c.deliver(RegisterBrokerRequest, 3, CONTROLLER)
    answer = c.latest(RegisterBrokerResponse, CONTROLLER, 3)
    assert answer.error == "DUPLICATE_BROKER_REGISTRATION"
    c.deliver(RegisterBrokerResponse, CONTROLLER, 3)
    c.fence(3)
    c.register(3)
    assert c.row(3).status == "Running"


def test_a_retry_keeps_the_epoch() -> None:
    c = Partitioned(THREE)
    c.crash(3)
    c.do(3, BrokerRestart(), SendRegistration())
    c.fence(3)
    request = c.latest(RegisterBrokerRequest, 3, CONTROLLER)
    c.control(request)
    first = c.latest(RegisterBrokerResponse, CONTROLLER, 3)
    c.control(request)
    assert c.latest(RegisterBrokerResponse, CONTROLLER, 3).broker_epoch == first.broker_epoch


def test_an_answer_to_the_former_incarnation_is_not_believed() -> None:
    c = Partitioned(THREE)
    c.crash(3)
    c.restart(3)
    old = c.latest(RegisterBrokerResponse, CONTROLLER, 3)
    c.crash(3)
    c.do(3, BrokerRestart(), SendRegistration())
    with pytest.raises(Impossible):
        c.do(3, old)


def test_a_stale_heartbeat_is_refused() -> None:
    """C4."""
    c = Partitioned(THREE)
    c.do(3, SendHeartbeat())
    old = c.latest(HeartbeatRequest, 3, CONTROLLER)
    c.crash(3)
    c.restart(3)
    c.control(old)
    assert c.latest(HeartbeatResponse, CONTROLLER, 3).error == "STALE_BROKER_EPOCH"


def test_a_broker_leads_nothing_before_it_has_applied_its_registration() -> None:
    """The start-up gate: what it replays is of the past."""
    c = Partitioned(THREE)
    c.crash(1)
    c.do(1, BrokerRestart())
    c.tell(1)
    assert c.row(1).role == "None" and c.row(1).image.partition.leader == 1
    c.fence(1)
    c.register(1)
    assert c.row(1).role == "Follower"


def test_broker_epochs_in_a_proposal_are_those_of_the_fetches() -> None:
    c = Partitioned(THREE)
    two_in_sync(c)
    c.fetch(3, 2)
    members = {member.broker: member.epoch for member in c.row(1).pending.isr}
    assert members == {1: 0, 2: 0, 3: 0}
    unknown = replace(c.row(1).remotes[1], broker_epoch=-1)
    row = replace(c.row(1), remotes=(c.row(1).remotes[0], unknown, c.row(1).remotes[2]))
    assert c.handlers.rules.proposed_epoch(1, row, 2) == -1
