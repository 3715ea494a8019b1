"""What brokers and the controller do where a partition's replicas move: the twin of
specs/moving/MovingPartition.tla.

Law of this file: as that of reference/partition/broker.py and controller.py, whose handlers take
every step; here is what stands in the place of theirs. A change of the partition, and what an
administrator asks for, is that of the controller of a topic (reference/reassignment), which sees
this controller's row as its own.

Left out: a list shorter than min.insync.replicas, several directories of a broker, topics that are
made and deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, cast

from msgspec.structs import replace

from reference.kit.dispatch import handlers_of
from reference.kit.messages import canonical
from reference.moving.messages import (
    BROKER_INPUTS,
    CONTROLLER_INPUTS,
    GiveUpReassignment,
    MetadataRecords,
    MetadataUpdate,
    PartitionRecord,
    ReassignReplicas,
)
from reference.moving.rules import MovingRules
from reference.moving.types import (
    THE_DIRECTORY,
    Constants,
    MovingBrokerRow,
    MovingControllerRow,
    initial_moving_row,
)
from reference.partition.broker import BrokerHandlers
from reference.partition.controller import PartitionControllerHandlers
from reference.partition.messages import Election, ElectLeaders
from reference.partition.types import (
    NO_PENDING,
    NOBODY,
    UNDEFINED,
    BrokerOutcome,
    BrokerRow,
    ControllerOutcome,
    ControllerRow,
    Registration,
)
from reference.reassignment.handlers import ReassignmentHandlers
from reference.reassignment.messages import CancelReassignment, ElectPartitionLeader, Reassign
from reference.reassignment.rules import ReassignmentRules
from reference.reassignment.types import (
    BrokerRegistration,
    MovingPartition,
    State,
    Target,
    TopicRow,
)

_ACTIVE: Final = BrokerRegistration("Active", (THE_DIRECTORY,))


class MovingBrokers(BrokerHandlers):
    """The handlers of brokers."""

    update_type = MetadataUpdate
    rules: MovingRules

    def __init__(self, constants: Constants, rules: MovingRules | None = None) -> None:
        super().__init__(constants, MovingRules(constants) if rules is None else rules)
        self._handlers = handlers_of(self, BROKER_INPUTS)

    def _first_row(self) -> BrokerRow:
        return initial_moving_row(cast(Constants, self.constants))

    def left(self, row: MovingBrokerRow) -> MovingBrokerRow:
        """R6. The replica is gone, with its log."""
        return replace(
            row,
            log=(),
            log_start=0,
            flushed=0,
            epoch_cache=(),
            checkpoint=0,
            producers=(),
            high_watermark=0,
            role="None",
            leader=NOBODY,
            leader_epoch=UNDEFINED,
            partition_epoch=UNDEFINED,
            epoch_start=UNDEFINED,
            isr=(),
            pending=NO_PENDING,
            remotes=self.no_remotes,
            parked=(),
            last_fetched_epoch=UNDEFINED,
            replicas=(),
        )

    def publish(self, n: int, row: Any) -> BrokerOutcome:
        partition = row.image.partition
        if self.rules.is_outdated_partition(row, partition):
            return BrokerOutcome(row, (), "")
        if self.rules.has_left(n, partition):
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

    def __init__(
        self, constants: Constants, rules: MovingRules, lists: ReassignmentRules | None = None
    ) -> None:
        super().__init__(constants, rules)
        as_topic: Any = constants
        self._topic = ReassignmentHandlers(
            as_topic, ReassignmentRules(as_topic) if lists is None else lists
        )
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
        row = TopicRow(self._all_active, 1, 1, (partition,), ())
        return self._topic.change(row, partition, partition, isr, unclean, acceptable, election)

    # --- What an administrator asks for: R1, R2, R4, R8.

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

    def _decided(self, row: MovingControllerRow, input: Any) -> ControllerOutcome:
        """A step of the topic's controller, as one of this controller."""
        made = self._topic.step(as_topic(row), input)
        assert made is not None, "what an administrator asks for is answered"
        if made.ignored:
            return ControllerOutcome(row, (), made.ignored)
        (partition,) = made.row.partitions
        records = self.partition_records(row.partition, partition)
        return self.committed(replace(row, partition=partition), records)


def _state(known: Registration) -> State:
    if known.epoch == UNDEFINED:
        return "Unregistered"
    if known.fenced:
        return "Fenced"
    return "Stopping" if known.stopping else "Active"


def as_topic(row: ControllerRow, *targets: Target) -> TopicRow:
    """The row as that of the controller of a topic with this one partition."""
    partition = cast(MovingPartition, row.partition)
    known = tuple([BrokerRegistration(_state(r), (THE_DIRECTORY,)) for r in row.registrations])
    return TopicRow(known, 1, 1, (partition,), targets or (Target(partition.replicas),))
