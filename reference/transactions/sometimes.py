"""What runs of transactions should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.transactions.messages import (
    Elect,
    EndTxn,
    InitProducerId,
    LoseLeader,
    Produce,
    TransactionTimeout,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.types import Coordinator, Coordinators, PartitionLeader

sometimes = Conditions()


def _leading(row: Coordinators) -> Coordinator:
    return row.coordinators[row.leader_epoch - 1]


@sometimes(Elect)
def coordinator_moves_with_a_record_unwritten(before: Coordinators) -> bool:
    """Another coordinator is elected while a transition is not committed."""
    return _leading(before).pending.state != "None"


@sometimes(Elect)
def coordinator_moves_with_markers_unsent(before: Coordinators) -> bool:
    """Another coordinator is elected while partitions still lack their marker."""
    return bool(_leading(before).to_mark)


@sometimes(EndTxn)
def end_is_asked_while_a_record_is_written(before: Coordinators) -> bool:
    """A client ends its transaction while a transition is not committed."""
    return _leading(before).pending.state != "None"


@sometimes(EndTxn)
def late_end_meets_the_next_transaction(before: Coordinators, input: EndTxn) -> bool:
    """The end of an earlier transaction arrives while the next one is open."""
    txn = _leading(before).txn
    return txn.state == "Ongoing" and input.epoch < txn.epoch


@sometimes(InitProducerId)
def open_transaction_is_fenced(before: Coordinators) -> bool:
    """Another instance of the producer begins while a transaction is open."""
    return _leading(before).txn.state == "Ongoing"


@sometimes(TransactionTimeout)
def transaction_times_out(before: Coordinators, after: Coordinators) -> bool:
    """A transaction is aborted because it took too long."""
    return after != before


@sometimes(LoseLeader)
def leader_is_lost_with_markers_unsent(before: Coordinators) -> bool:
    """A partition loses its leader while it lacks its marker."""
    return any(each.to_mark for each in before.coordinators)


@sometimes(Produce)
def fenced_producer_writes(before: PartitionLeader, input: Produce) -> bool:
    """A producer of an older epoch writes."""
    return input.epoch < before.producer.epoch


@sometimes(WriteTxnMarkers)
def deposed_coordinator_writes_a_marker(before: PartitionLeader, input: WriteTxnMarkers) -> bool:
    """A marker arrives of a coordinator that another one has followed."""
    return input.coordinator_epoch < before.producer.coordinator_epoch


@sometimes(WriteTxnMarkers)
def marker_arrives_twice(before: PartitionLeader, input: WriteTxnMarkers) -> bool:
    """A marker arrives where no transaction is open."""
    return not before.producer.open


@sometimes(WriteTxnMarkers)
def late_marker_is_refused_by_the_next_transaction(
    before: PartitionLeader, after: PartitionLeader
) -> bool:
    """The marker of an earlier transaction meets an open one, and leaves it open."""
    return before.producer.open and after.producer.open
