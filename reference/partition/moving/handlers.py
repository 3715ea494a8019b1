"""Brokers and controller of a partition whose replicas move.

The twin of specs/partition/moving/MovingPartition.tla.

Law of this file: as that of reference/partition/broker.py and controller.py, whose handlers take
every step; here is what stands in the place of theirs. A change of the partition, and what an
administrator asks for, is that of the controller of a topic (reference/partition/reassignment),
which sees this controller's row as its own.

A partition is one of a topic with an id: when the topic is deleted it is gone for good, and what is
made under the name again is another partition. Of its topic it knows itself alone, so that a topic
is made where its first partition is, and one that is added is made likewise; what depends on the
others (names, how many replicas, whether a broker may stop) is asked where all are known.

Left out: a list shorter than min.insync.replicas, several directories of a broker.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import permutations
from typing import Any, Final, cast

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    ControllerFailover,
    Election,
    ElectLeaders,
    HeartbeatRequest,
)
from kraftcheck.reference.partition.moving.messages import (
    BROKER_INPUTS,
    CONTROLLER_INPUTS,
    GiveUpReassignment,
    ListReassignments,
    ListReassignmentsResponse,
    MetadataRecords,
    MetadataUpdate,
    OtherPartitions,
    PartitionRecord,
    ReassignReplicas,
    RemoveTopic,
)
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.moving.types import (
    THE_DIRECTORY,
    Constants,
    MovingBrokerRow,
    MovingControllerRow,
    initial_moving_row,
    is_there,
    was_deleted,
)
from kraftcheck.reference.partition.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.partition.reassignment.messages import (
    CancelReassignment,
    CreatePartition,
    CreateTopic,
    DeleteTopic,
    ElectPartitionLeader,
    PlacePartition,
    Reassign,
    UnregisterBroker,
)
from kraftcheck.reference.partition.reassignment.types import (
    UNASSIGNED,
    BrokerRegistration,
    MovingPartition,
    State,
    Target,
    TopicRow,
)
from kraftcheck.reference.partition.types import (
    NO_PENDING,
    NOBODY,
    UNDEFINED,
    BrokerOutcome,
    BrokerRow,
    Contact,
    ControllerOutcome,
    Registration,
)

_ACTIVE: Final = BrokerRegistration("Active", (THE_DIRECTORY,))
UNKNOWN_CONTACT: Final = Contact(live=False, metadata_offset=UNDEFINED, shutdown_offset=UNDEFINED)
"""Of a broker that is not registered."""


class MovingBrokers(BrokerHandlers):
    """The handlers of brokers."""

    update_type = MetadataUpdate
    rules: MovingRules

    def __init__(self, constants: Constants, rules: MovingRules | None = None) -> None:
        super().__init__(constants, MovingRules(constants) if rules is None else rules)
        self._handlers = handlers_of(self, BROKER_INPUTS)

    def _first_row(self) -> BrokerRow:
        return initial_moving_row(cast(Constants, self.constants))

    def without_role(self, row: MovingBrokerRow) -> MovingBrokerRow:
        """The broker neither leads nor follows; its log and what it knows of epochs stay."""
        return replace(
            row,
            role="None",
            leader=NOBODY,
            epoch_start=UNDEFINED,
            isr=(),
            pending=NO_PENDING,
            remotes=self.no_remotes,
            parked=(),
            last_fetched_epoch=UNDEFINED,
            replicas=(),
        )

    def left(self, row: MovingBrokerRow) -> MovingBrokerRow:
        """R6. The replica is gone, with its log."""
        return replace(
            self.without_role(row),
            log=(),
            log_start=0,
            flushed=0,
            epoch_cache=(),
            checkpoint=0,
            producers=(),
            high_watermark=0,
            leader_epoch=UNDEFINED,
            partition_epoch=UNDEFINED,
        )

    def publish(self, n: int, row: Any) -> BrokerOutcome:
        partition = row.image.partition
        if self.rules.is_outdated_partition(row, partition):
            return BrokerOutcome(row, (), "")
        if self.rules.is_of_deleted_topic(partition) or self.rules.has_left(n, partition):
            failed = self.failed_responses(n, row) if row.parked else ()
            return BrokerOutcome(self.left(row), canonical(failed), "")
        remotes = self.rules.remotes_under(row, partition)
        listed = replace(row, replicas=partition.replicas, remotes=remotes)
        if partition.leader == n:
            return self.become_leader(n, listed, partition)
        return self.become_follower(n, listed, partition)


class MovingController(PartitionControllerHandlers):
    """The handlers of the controller."""

    records_type = MetadataRecords

    rules: MovingRules

    def __init__(
        self, constants: Constants, rules: MovingRules, topic: ReassignmentHandlers | None = None
    ) -> None:
        super().__init__(constants, rules)
        as_topic: Any = constants
        self._topic = ReassignmentHandlers(as_topic) if topic is None else topic
        self._handlers = handlers_of(self, CONTROLLER_INPUTS)
        self._all_active = (_ACTIVE,) * len(constants.brokers)

    def partition_record(self, partition: Any) -> Any:
        return PartitionRecord(partition)

    # --- One change of the partition: C7, R3, R5.

    def changes(
        self,
        partition: Any,
        isr: tuple[int, ...],
        unclean: tuple[int, ...],
        acceptable: Collection[int],
        election: Election,
    ) -> Any:
        if not is_there(partition):
            return partition
        row = TopicRow(self._all_active, 1, 1, (partition,), ())
        return self._topic.change(row, partition, partition, isr, unclean, acceptable, election)

    # --- Brokers that stop: R14.

    def next_control_state(self, row: Any, m: HeartbeatRequest) -> str:
        if self.rules.leads_elsewhere(row, m.source):
            row = replace(row, partition=replace(row.partition, leader=m.source))
        return super().next_control_state(row, m)

    def holds_back(self, row: MovingControllerRow, b: int) -> bool:
        """Whether this partition holds back a broker that wants to stop."""
        if row.partition.leader == b:
            return True
        stopping = row.registrations[self._position[b]].stopping
        return stopping and not self.rules.may_shut_down(row.contacts, self.active(row), b)

    def handle_other_partitions(
        self, row: MovingControllerRow, input: OtherPartitions
    ) -> ControllerOutcome | None:
        if input.hold == (input.broker in row.held):
            return None
        held = {*row.held, input.broker} if input.hold else {*row.held} - {input.broker}
        return ControllerOutcome(replace(row, held=tuple(sorted(held))), (), "")

    def handle_controller_failover(self, row: Any, input: ControllerFailover) -> ControllerOutcome:
        """What was said of other partitions is no part of the log either."""
        return super().handle_controller_failover(replace(row, held=()), input)

    # --- What an administrator asks for: R1, R2, R4, R8, R10 to R12, R15.

    def handle_create_partition(
        self, row: MovingControllerRow, input: CreatePartition
    ) -> ControllerOutcome | None:
        """With its topic, or added to it. One that was deleted does not come again."""
        short = len(input.replicas) < self.constants.min_insync_replicas
        if was_deleted(row.partition) or short:
            return None
        return self._decided(row, CreateTopic(input.replicas))

    def handle_place_partition(
        self, row: MovingControllerRow, input: PlacePartition
    ) -> ControllerOutcome | None:
        """R9. As without a list: what the placer chooses comes with the input."""
        if not self._topic.rules.placer_chooses(as_topic(row), input.replicas):
            return None
        return self.handle_create_partition(row, CreatePartition(input.replicas))

    def placements(self, row: MovingControllerRow, replicas: int) -> list[tuple[int, ...]]:
        """All that the placer may choose where so many replicas are asked for."""
        may, known = self._topic.rules.placer_chooses, as_topic(row)
        return [each for each in permutations(self._brokers, replicas) if may(known, each)]

    def handle_remove_topic(
        self, row: MovingControllerRow, input: RemoveTopic
    ) -> ControllerOutcome:
        return self._decided(row, DeleteTopic())

    def handle_unregister_broker(
        self, row: MovingControllerRow, input: UnregisterBroker
    ) -> ControllerOutcome:
        b, at = input.broker, self._position[input.broker]
        made = self._topic.step(as_topic(row), input)
        assert made is not None, "what an administrator asks for is answered"
        if made.ignored:
            return ControllerOutcome(row, (), made.ignored)
        partition = made.row.partitions[0] if made.row.partitions else row.partition
        gone = replace(row.registrations[at], epoch=UNDEFINED, fenced=True, stopping=False)
        records = self.partition_records(row.partition, partition)
        return self.committed(
            self._with_broker(row, b, partition, gone, UNKNOWN_CONTACT),
            (*records, self.broker_record(b, gone)),
        )

    def handle_reassign_replicas(
        self, row: MovingControllerRow, input: ReassignReplicas
    ) -> ControllerOutcome | None:
        if len(input.target) < self.constants.min_insync_replicas:
            return None
        return self._decided(row, Reassign(1, input.target))

    def handle_give_up_reassignment(
        self, row: MovingControllerRow, input: GiveUpReassignment
    ) -> ControllerOutcome:
        return self._decided(row, CancelReassignment(1))

    def handle_elect_leaders(self, row: Any, input: ElectLeaders) -> ControllerOutcome:
        election: Any = input.election
        return self._decided(row, ElectPartitionLeader(1, election))

    # --- Reads: V29.

    def handle_list_reassignments(
        self, row: MovingControllerRow, input: ListReassignments
    ) -> ControllerOutcome:
        """Any controller answers, from its row as it was when all of it was committed."""
        p = row.partition
        told: Any = ListReassignmentsResponse(CONTROLLER, CLIENTS, p.replicas, p.adding, p.removing)
        return ControllerOutcome(row, (told,), "")

    def _decided(self, row: MovingControllerRow, input: Any) -> ControllerOutcome:
        """A step of the topic's controller, as one of this controller."""
        made = self._topic.step(as_topic(row), input)
        assert made is not None, "what an administrator asks for is answered"
        if made.ignored:
            return ControllerOutcome(row, (), made.ignored)
        left = made.row.partitions
        partition = left[0] if left else deleted(row.partition)
        records = self.partition_records(row.partition, partition)
        return self.committed(replace(row, partition=partition), records)


def _state(known: Registration) -> State:
    if known.epoch == UNDEFINED:
        return "Unregistered"
    if known.fenced:
        return "Fenced"
    return "Stopping" if known.stopping else "Active"


def as_topic(row: MovingControllerRow, *targets: Target) -> TopicRow:
    """The row as that of the controller of a topic with this one partition."""
    partition = row.partition
    known = tuple(
        [
            BrokerRegistration(_state(registration), row.directories_of(at))
            for at, registration in enumerate(row.registrations)
        ]
    )
    if not is_there(partition):
        return TopicRow(known, 0, int(was_deleted(partition)), (), ())
    return TopicRow(known, 1, 1, (partition,), targets or (Target(partition.replicas),))


def deleted(partition: MovingPartition) -> MovingPartition:
    """R12.

    What is left of it says when it was deleted, so that nothing older is taken for newer. In Kafka
    that is a record of its own (RemoveTopicRecord).
    """
    return MovingPartition(
        leader=NOBODY,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch + 1,
        isr=(),
        elr=(),
        last_known_leader=NOBODY,
        recovering=False,
        replicas=(),
        adding=(),
        removing=(),
        directories=(UNASSIGNED,) * len(partition.directories),
    )
