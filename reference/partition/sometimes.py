"""What runs of a partition should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.partition.messages import (
    AlterPartitionResponse,
    BrokerCrash,
    BrokerRestart,
    ConsumerFetchRequest,
    ElectLeaders,
    HeartbeatRequest,
    MetadataUpdate,
    ProduceRequest,
    ProduceResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    SendAlterPartition,
    SessionTimeout,
)
from kraftcheck.reference.partition.types import (
    NOBODY,
    UNDEFINED,
    BrokerRow,
    ControllerRow,
    PartitionConstants,
)

sometimes = Conditions()


def _proposes(row: BrokerRow) -> bool:
    return row.role == "Leader" and row.pending.kind != "None"


# --- Brokers


@sometimes(BrokerCrash)
def leader_crashes_with_uncommitted_records(before: BrokerRow) -> bool:
    """A leader crashes while records in its log are above the high watermark."""
    return before.role == "Leader" and before.high_watermark < len(before.log)


@sometimes(BrokerCrash)
def leader_crashes_with_a_proposal_pending(before: BrokerRow) -> bool:
    """A leader crashes while a change of the ISR that it proposed is not answered."""
    return _proposes(before)


@sometimes(BrokerCrash)
def crash_loses_records(before: BrokerRow, after: BrokerRow) -> bool:
    """A broker crashes and loses records that it had not flushed."""
    return len(after.log) < len(before.log)


@sometimes(BrokerRestart)
def broker_starts_after_a_clean_stop(before: BrokerRow) -> bool:
    """A broker starts that had stopped cleanly."""
    return before.clean_shutdown != UNDEFINED


@sometimes(ReplicaFetchResponse, MetadataUpdate)
def follower_truncates(before: BrokerRow, after: BrokerRow) -> bool:
    """A follower cuts its log where it parts from the leader's."""
    return len(after.log) < len(before.log)


@sometimes(ReplicaFetchResponse)
def answer_of_an_older_epoch_arrives(before: BrokerRow, input: ReplicaFetchResponse) -> bool:
    """A follower receives records that it asked for in an epoch before its own."""
    return input.request.epoch < before.leader_epoch and bool(input.records)


@sometimes(ReplicaFetchRequest)
def fetch_of_another_epoch_arrives(before: BrokerRow, input: ReplicaFetchRequest) -> bool:
    """A leader is asked by a follower that is in another epoch."""
    return before.role == "Leader" and input.epoch != before.leader_epoch


@sometimes(ReplicaFetchRequest)
def high_watermark_moves_with_a_proposal_pending(before: BrokerRow, after: BrokerRow) -> bool:
    """The high watermark grows while a change of the ISR is proposed."""
    return _proposes(before) and after.high_watermark > before.high_watermark


@sometimes(SendAlterPartition)
def replica_is_proposed_for_the_isr(before: BrokerRow) -> bool:
    """A leader asks that a replica that has caught up be taken into the ISR."""
    return before.pending.kind == "Expand"


@sometimes(SendAlterPartition)
def replica_is_proposed_to_leave_the_isr(before: BrokerRow) -> bool:
    """A leader asks that a replica that lags be taken out of the ISR."""
    return before.pending.kind == "Shrink"


@sometimes(AlterPartitionResponse)
def proposal_is_refused(before: BrokerRow, input: AlterPartitionResponse) -> bool:
    """The controller refuses a change of the ISR that is still proposed."""
    return _proposes(before) and input.error != "NONE"


@sometimes(MetadataUpdate)
def leadership_moves_with_a_proposal_pending(before: BrokerRow, after: BrokerRow) -> bool:
    """A leader learns that it leads no longer while a change of the ISR is proposed."""
    return _proposes(before) and after.role != "Leader"


@sometimes(MetadataUpdate)
def leader_loses_parked_requests(before: BrokerRow, after: BrokerRow) -> bool:
    """A leader learns that it leads no longer while producers wait for their answer."""
    return bool(before.parked) and after.role != "Leader"


@sometimes(ProduceRequest)
def fenced_leader_acks_nothing(
    constants: PartitionConstants, node: int, before: BrokerRow, sent: tuple[Any, ...]
) -> bool:
    """A leader that knows that it is fenced acks nothing while a proposal is pending."""
    fenced = before.image.brokers[constants.brokers.index(node)].fenced
    acks = any(isinstance(m, ProduceResponse) and m.error == "NONE" for m in sent)
    return _proposes(before) and fenced and not acks


@sometimes(ProduceRequest)
def append_waits_with_a_proposal_pending(before: BrokerRow, after: BrokerRow) -> bool:
    """A producer begins to wait while a change of the ISR is proposed."""
    return _proposes(before) and len(after.parked) > len(before.parked)


@sometimes(ProduceRequest)
def too_few_are_in_sync(before: BrokerRow, sent: tuple[Any, ...]) -> bool:
    """A producer is refused because too few replicas are in sync."""
    return any(isinstance(m, ProduceResponse) and m.error == "NOT_ENOUGH_REPLICAS" for m in sent)


@sometimes(ConsumerFetchRequest)
def consumer_reads_from_a_follower(before: BrokerRow, input: ConsumerFetchRequest) -> bool:
    """A follower that has something to show is asked by a consumer."""
    return input.from_follower and before.role == "Follower" and before.high_watermark > 0


# --- The controller


@sometimes(RegisterBrokerRequest)
def broker_returns_before_it_is_fenced(sent: tuple[Any, ...]) -> bool:
    """A broker is not registered anew, since its last incarnation is not fenced yet."""
    return any(isinstance(m, RegisterBrokerResponse) and m.error != "NONE" for m in sent)


@sometimes(SessionTimeout, RegisterBrokerRequest, HeartbeatRequest)
def partition_is_without_a_leader(after: ControllerRow) -> bool:
    """The controller finds nobody who may lead."""
    return after.partition.leader == NOBODY


@sometimes(SessionTimeout, RegisterBrokerRequest)
def replica_becomes_eligible(before: ControllerRow, after: ControllerRow) -> bool:
    """A replica that leaves the ISR stays eligible (KIP-966)."""
    return len(after.partition.elr) > len(before.partition.elr)


@sometimes(HeartbeatRequest, RegisterBrokerRequest, ElectLeaders)
def leader_comes_from_the_elr(before: ControllerRow, after: ControllerRow) -> bool:
    """A replica is elected that was eligible and not in the ISR."""
    leader = after.partition.leader
    return leader != before.partition.leader and leader in before.partition.elr


@sometimes(HeartbeatRequest, ElectLeaders)
def leader_is_elected_uncleanly(before: ControllerRow, after: ControllerRow) -> bool:
    """A replica is elected that was neither in the ISR nor eligible."""
    old, leader = before.partition, after.partition.leader
    return leader not in (NOBODY, old.leader, *old.isr, *old.elr)
