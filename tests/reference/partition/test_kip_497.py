"""KIP-497: the leader asks the controller for every change of the ISR, and waits for the answer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    ControllerRequestTimeout,
    Member,
    SendAlterPartition,
)
from kraftcheck.reference.partition.types import NO_PENDING
from tests.reference.partition.cluster import THREE, Impossible, Partitioned


def lagging() -> Partitioned:
    """The leader has sent that 3 is to leave the ISR."""
    c = Partitioned(THREE)
    c.produce(1)
    c.shrink(1, 3)
    c.do(1, SendAlterPartition())
    return c


def proposed() -> Partitioned:
    """The ISR is {1, 2}; the leader has sent that 3 is to join it."""
    c = lagging()
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)
    c.deliver(AlterPartitionResponse, CONTROLLER, 1)
    c.tell()
    c.fetch(2, 2)
    c.fetch(3, 2)
    c.do(1, SendAlterPartition())
    return c


def test_a_shrink_does_not_count_before_it_is_confirmed() -> None:
    c = lagging()
    c.fetch(2, 2)
    assert c.row(1).high_watermark == 0, "3 is waited for"
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)
    assert c.partition.isr == (1, 2) and c.row(1).isr == (1, 2, 3)
    c.deliver(AlterPartitionResponse, CONTROLLER, 1)
    assert c.row(1).isr == (1, 2) and c.row(1).high_watermark == 1


def test_an_expansion_counts_at_once() -> None:
    c = proposed()
    c.produce(1)
    c.fetch(2, 2)
    assert c.row(1).high_watermark == 1, "3 is waited for, although it is no member yet"
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)
    c.deliver(AlterPartitionResponse, CONTROLLER, 1)
    assert c.row(1).isr == (1, 2, 3) and c.row(1).pending == NO_PENDING
    c.fetch(3, 2)
    assert c.row(1).high_watermark == 2 and c.violated == set()


def test_one_request_is_in_flight() -> None:
    """KAFKA-12686."""
    c = lagging()
    with pytest.raises(Impossible):
        c.do(1, SendAlterPartition())
    c.do(1, ControllerRequestTimeout(c.row(1).alter_request))
    c.do(1, SendAlterPartition())
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)
    c.deliver(AlterPartitionResponse, CONTROLLER, 1)
    assert c.row(1).isr == (1, 2)


CHANGES = [
    ({}, "NONE"),
    ({"broker_epoch": 7}, "STALE_BROKER_EPOCH"),
    ({"leader_epoch": 9}, "NOT_CONTROLLER"),
    ({"partition_epoch": 9}, "NOT_CONTROLLER"),
    ({"leader_epoch": 0}, "FENCED_LEADER_EPOCH"),
    ({"partition_epoch": 0}, "INVALID_UPDATE_VERSION"),
    ({"source": 2}, "INVALID_REQUEST"),
    ({"isr": (Member(2, 0),)}, "INVALID_REQUEST"),
    ({"isr": (Member(1, 0), Member(8, 0))}, "INVALID_REQUEST"),
    ({"recovering": True}, "INVALID_REQUEST"),
    ({"isr": (Member(1, 0), Member(2, 5))}, "INELIGIBLE_REPLICA"),
    ({"isr": (Member(1, -1), Member(2, -1))}, "NONE"),
    # The first that applies is told.
    ({"broker_epoch": 7, "leader_epoch": 9}, "STALE_BROKER_EPOCH"),
    ({"leader_epoch": 0, "partition_epoch": 9}, "NOT_CONTROLLER"),
    ({"leader_epoch": 0, "partition_epoch": 0}, "FENCED_LEADER_EPOCH"),
    ({"source": 2, "partition_epoch": 0}, "INVALID_REQUEST"),
]


@pytest.mark.parametrize(("change", "error"), CHANGES)
def test_the_controller_refuses_in_kafkas_order(change: dict[str, object], error: str) -> None:
    """C12."""
    c = lagging()
    m = replace(c.latest(AlterPartitionRequest, 1, CONTROLLER), **change)
    before = c.state.controller
    c.control(m)
    assert c.latest(AlterPartitionResponse, CONTROLLER, m.source).error == error
    assert (c.state.controller == before) == (error != "NONE")


ERRORS = [
    ("INELIGIBLE_REPLICA", "taken back"),
    ("OPERATION_NOT_ATTEMPTED", "taken back"),
    ("FENCED_LEADER_EPOCH", "waits for metadata"),
    ("INVALID_UPDATE_VERSION", "waits for metadata"),
    ("INVALID_REQUEST", "waits for metadata"),
    ("NEW_LEADER_ELECTED", "waits for metadata"),
    ("UNKNOWN_TOPIC_OR_PARTITION", "waits for metadata"),
    ("NOT_CONTROLLER", "asked again"),
    ("STALE_BROKER_EPOCH", "asked again"),
]


@pytest.mark.parametrize(("error", "fate"), ERRORS)
def test_what_becomes_of_a_proposal_that_is_refused(error: str, fate: str) -> None:
    """P11."""
    c = lagging()
    request = c.latest(AlterPartitionRequest, 1, CONTROLLER)
    c.do(1, AlterPartitionResponse(CONTROLLER, 1, request, error, -1, -1, -1, ()))
    pending = c.row(1).pending
    assert (pending == NO_PENDING) == (fate == "taken back")
    assert pending.refused == (fate == "waits for metadata")
    if fate == "asked again":
        c.do(1, SendAlterPartition())
    else:
        with pytest.raises(Impossible):
            c.do(1, SendAlterPartition())


def test_metadata_that_says_nothing_new_leaves_a_proposal_alone() -> None:
    """The record of an accepted change reaches the leader after its answer."""
    c = lagging()
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)
    c.deliver(AlterPartitionResponse, CONTROLLER, 1)
    c.fetch(2, 2)
    c.fetch(3, 2)
    pending = c.row(1).pending
    assert pending.kind == "Expand"
    c.tell(1)
    assert c.row(1).pending == pending


def test_a_copy_that_comes_after_the_answer_is_believed() -> None:
    """No connection delivers a request twice. If one did, a change that was refused and taken back
    could be accepted after all, and the leader would not count its new member.
    """
    c = proposed()
    old = c.latest(AlterPartitionRequest, 1, CONTROLLER)
    c.fence(3)
    c.control(old)
    c.deliver(AlterPartitionResponse, CONTROLLER, 1)
    assert c.row(1).pending == NO_PENDING, "INELIGIBLE_REPLICA"
    c.heartbeat(3)
    c.control(old)
    assert c.partition.isr == (1, 2, 3)
    assert "ReplicationQuorumSuperset" in c.violated
