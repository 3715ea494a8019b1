"""Brokers and controller of replicas in log directories that fail.

The twin of specs/partition/directories/DirectoryPartition.tla.

Law of this file: as that of reference/partition/moving/handlers.py, whose handlers take every step;
here is what stands in the place of some of theirs. No rule is written here: what a broker makes of
a replica whose directory has failed is decided by reference/partition/hosting/rules.py, which see
its row as their own; what the controller makes of directories is that of the controller of a topic
(reference/partition/reassignment).

A directory that has failed comes back when the broker starts again, and has what it had; the
broker's stop was not clean then (R20).

Left out: replicas that move between directories (R21, which is hosting's), a broker that starts
without one of its directories, one that stops because nobody hears of a failure, the metadata
directory; an answer to AssignReplicasToDirs, which is sent again until the broker reads of it.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.partition.directories.messages import (
    BROKER_INPUTS,
    CONTROLLER_INPUTS,
    AssignReplicasToDirs,
    HeartbeatRequest,
    HeartbeatResponse,
    LogDirFailure,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    SendAssignReplicasToDirs,
)
from kraftcheck.reference.partition.directories.types import (
    Constants,
    DirectoryBrokerRow,
    DirectoryControllerRow,
    Disks,
    initial_directory_row,
    is_offline,
)
from kraftcheck.reference.partition.hosting.rules import HostingRules
from kraftcheck.reference.partition.hosting.types import (
    NO_IMAGE,
    NO_REPLICA,
    HostRow,
    initial_host_row,
)
from kraftcheck.reference.partition.messages import CONTROLLER, MetadataRecords
from kraftcheck.reference.partition.moving.handlers import MovingBrokers, MovingController, as_topic
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.moving.types import is_there
from kraftcheck.reference.partition.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.partition.reassignment.messages import AssignDirectory
from kraftcheck.reference.partition.reassignment.types import UNASSIGNED, TopicRow
from kraftcheck.reference.partition.types import (
    UNDEFINED,
    BrokerOutcome,
    BrokerRow,
    ControllerOutcome,
    is_up,
)


class DirectoryBrokers(MovingBrokers):
    """The handlers of brokers."""

    def __init__(
        self,
        constants: Constants,
        rules: MovingRules | None = None,
        hosting: HostingRules | None = None,
    ) -> None:
        super().__init__(constants, rules)
        as_host: Any = constants
        self.hosting = HostingRules(as_host) if hosting is None else hosting
        self._host = initial_host_row(as_host)
        self._directories = constants.directories
        self._first = constants.first_directory
        self._handlers = handlers_of(self, BROKER_INPUTS)

    def _first_row(self) -> BrokerRow:
        return initial_directory_row(cast(Constants, self.constants))

    def believed(self, n: int, row: DirectoryBrokerRow) -> int:
        """Where the controller believes the replica, as far as was read."""
        directory: int = row.image.partition.directories[self.position[n]]
        return directory

    def as_host(self, n: int, row: DirectoryBrokerRow) -> HostRow:
        """Return the row as that of a broker that hosts a replica of one topic.

        What is created under the name of a deleted topic is another partition.
        """
        partition = row.image.partition
        image = replace(
            NO_IMAGE,
            topic_id=int(is_there(partition)),
            assigned=n in partition.replicas,
            directory=self.believed(n, row),
        )
        replica = NO_REPLICA
        if row.directory != UNASSIGNED:
            state: Any = "Offline" if is_offline(row) else "Online"
            replica = replace(NO_REPLICA, state=state, topic_id=1)
        return replace(self._host, image=image, replica=replica, online=row.online)

    def without_replica(self, row: DirectoryBrokerRow) -> DirectoryBrokerRow:
        left: Any = self.left(row)
        without: DirectoryBrokerRow = replace(left, directory=UNASSIGNED)
        return without

    def hosted(self, n: int, row: DirectoryBrokerRow) -> DirectoryBrokerRow:
        """The replica is made, empty, or is offline where it cannot be.

        Where the controller believes it nowhere, the broker chooses.
        """
        if row.directory in row.online:
            return row
        believed = self.believed(n, row)
        if self.hosting.may_create(self.as_host(n, row)):
            at = self._first if self._first in row.online else row.online[0]
            at = believed if believed in row.online else at
            return replace(self.without_replica(row), directory=at)
        if row.directory == UNASSIGNED:
            return replace(row, directory=believed)
        return row

    def publish(self, n: int, row: Any) -> BrokerOutcome:
        partition = row.image.partition
        if self.rules.is_outdated_partition(row, partition):
            return BrokerOutcome(row, (), "")
        if self.rules.is_of_deleted_topic(partition) or self.rules.has_left(n, partition):
            if is_offline(row) and not self.hosting.forgets_offline(self.as_host(n, row)):
                return BrokerOutcome(row, (), "")
            failed = self.failed_responses(n, row) if row.parked else ()
            return BrokerOutcome(self.without_replica(row), canonical(failed), "")
        hosted = self.hosted(n, row)
        if is_offline(hosted):
            return BrokerOutcome(hosted, (), "")
        return super().publish(n, hosted)

    def handle_log_dir_failure(
        self, n: int, row: DirectoryBrokerRow, input: LogDirFailure
    ) -> BrokerOutcome | None:
        """R18.

        The log stays, and nobody is served from it; who waits is told. A broker whose last
        directory fails stops.
        """
        if not is_up(row) or input.directory not in row.online or len(row.online) == 1:
            return None
        online = tuple([each for each in row.online if each != input.directory])
        failed = replace(row, online=online)
        if row.directory != input.directory:
            return BrokerOutcome(failed, (), "")
        told = self.failed_responses(n, row) if row.parked else ()
        return BrokerOutcome(self.without_role(failed), canonical(told), "")

    def handle_broker_flush(self, n: int, row: Any, input: Any) -> BrokerOutcome | None:
        return None if is_offline(row) else super().handle_broker_flush(n, row, input)

    def handle_checkpoint_high_watermark(
        self, n: int, row: Any, input: Any
    ) -> BrokerOutcome | None:
        if is_offline(row):
            return None
        return super().handle_checkpoint_high_watermark(n, row, input)

    # --- The process

    def stopped(self, row: Any) -> Any:
        left: Any = super().stopped(row)
        return replace(left, directory=row.directory)

    def stopped_cleanly(self, row: Any) -> Any:
        """P22, R20. A stop is clean where every directory says so."""
        if row.online == self._directories:
            return super().stopped_cleanly(row)
        written = row
        if not is_offline(row):
            written = replace(row, flushed=len(row.log), checkpoint=row.high_watermark)
        return self.stopped(replace(written, clean_shutdown=UNDEFINED))

    # --- What a broker tells of its directories: R16, R18, R20.

    def register_broker_request(self, n: int, row: Any) -> RegisterBrokerRequest:
        return RegisterBrokerRequest(n, CONTROLLER, row.incarnation, row.previous_epoch, row.online)

    def heartbeat_request(self, n: int, row: Any) -> HeartbeatRequest:
        failed = tuple([each for each in self._directories if each not in row.online])
        return HeartbeatRequest(
            source=n,
            destination=CONTROLLER,
            broker_epoch=row.broker_epoch,
            metadata_offset=row.image.offset,
            want_fence=row.status == "Starting",
            want_shut_down=row.status == "ShuttingDown",
            failed=failed,
        )

    def tells_directory(self, n: int, row: DirectoryBrokerRow) -> bool:
        """R16. Whether the controller is to be told where the replica is."""
        if row.status != "Running" or row.broker_epoch == UNDEFINED:
            return False
        there = row.directory in row.online and n in row.image.partition.replicas
        return there and self.believed(n, row) != row.directory

    def handle_send_assign_replicas_to_dirs(
        self, n: int, row: DirectoryBrokerRow, input: SendAssignReplicasToDirs
    ) -> BrokerOutcome | None:
        """As long as the metadata that were read believe it elsewhere."""
        if not self.tells_directory(n, row):
            return None
        told: Any = AssignReplicasToDirs(n, CONTROLLER, row.broker_epoch, row.directory)
        return BrokerOutcome(row, (told,), "")


class DirectoryController(MovingController):
    """The handlers of the controller."""

    def __init__(
        self, constants: Constants, rules: MovingRules, topic: ReassignmentHandlers | None = None
    ) -> None:
        super().__init__(constants, rules, topic)
        self._handlers = handlers_of(self, CONTROLLER_INPUTS)

    # --- What happens to the partition: C6, R17.

    def after_fencing(self, row: Any, b: int) -> Any:
        return self._of_topic(row, self._topic.without_broker(as_topic(row), b))

    def after_unfencing(self, row: Any, b: int) -> Any:
        return self._of_topic(row, self._topic.after_unfencing(as_topic(row), b))

    def after_unclean_restart(self, row: Any, b: int) -> Any:
        return self._of_topic(row, self._topic.after_unclean_restart(as_topic(row), b))

    def after_alteration(self, row: Any, isr: tuple[int, ...]) -> Any:
        topic = as_topic(row)
        active = self._topic.active(topic)
        return self._topic.change_of_isr(topic, row.partition, isr, (), active)

    def _of_topic(self, row: Any, topic: TopicRow) -> Any:
        """The partition of a row of that topic."""
        return topic.partitions[0] if topic.partitions else row.partition

    # --- What brokers tell: R16, R19.

    def register_broker_response(
        self, m: Any, error: str, broker_epoch: int
    ) -> RegisterBrokerResponse:
        return RegisterBrokerResponse(CONTROLLER, m.source, m, error, broker_epoch)

    def heartbeat_response(
        self, m: Any, error: str, is_caught_up: bool, is_fenced: bool, should_shut_down: bool
    ) -> HeartbeatResponse:
        return HeartbeatResponse(
            CONTROLLER, m.source, m, error, is_caught_up, is_fenced, should_shut_down
        )

    def handle_register_broker_request(self, row: Any, m: Any) -> ControllerOutcome:
        """A registration that stands says which directories there are."""
        made = super().handle_register_broker_request(row, m)
        if made.row.offset == row.offset:
            return made
        known: Any = made.row
        return replace(made, row=self._with_disks(known, m.source, m.directories))

    def handle_heartbeat_request(self, row: Any, m: Any) -> ControllerOutcome:
        """Append a heartbeat's failed directories after its other changes (R19).

        A stopping broker waits for the end of the batch. Source: handleDirectoriesOffline.
        """
        b, at = m.source, self._position[m.source]
        made = super().handle_heartbeat_request(row, m)
        online = row.disks[at].online
        failed = tuple([each for each in m.failed if each in online])
        stale = self.rules.is_stale_broker_epoch(row.registrations[at], m.broker_epoch)
        if not failed or stale:
            return made
        after: Any = made.row
        topic = self._topic.without_directories(as_topic(row), as_topic(after), b, failed)
        partition = self._of_topic(after, topic)
        changed = self.partition_records(after.partition, partition)
        more = (*changed, self.broker_record(b, after.registrations[at]))
        contact = after.contacts[at]
        if contact.shutdown_offset != row.contacts[at].shutdown_offset:
            contact = replace(contact, shutdown_offset=after.offset + len(more))
        left = tuple([each for each in online if each not in failed])
        known: Any = self._with_broker(after, b, partition, after.registrations[at], contact)
        return self._and_then(row, self._with_disks(known, b, left), made.sent, more)

    def _and_then(
        self, before: Any, after: Any, sent: tuple[Any, ...], more: tuple[Any, ...]
    ) -> ControllerOutcome:
        """What a step has written, with what comes behind that in its batch."""
        written = [m for m in sent if isinstance(m, MetadataRecords)]
        records = written[0].records if written else ()
        replies = [m for m in sent if not isinstance(m, MetadataRecords)]
        return self.committed(replace(after, offset=before.offset), (*records, *more), *replies)

    def _with_disks(
        self, row: DirectoryControllerRow, b: int, online: tuple[int, ...]
    ) -> DirectoryControllerRow:
        at = self._position[b]
        return replace(row, disks=put(row.disks, at, Disks(online)))

    def handle_assign_replicas_to_dirs(
        self, row: DirectoryControllerRow, m: AssignReplicasToDirs
    ) -> ControllerOutcome:
        registration = row.registrations[self._position[m.source]]
        if self.rules.is_stale_broker_epoch(registration, m.broker_epoch):
            return ControllerOutcome(row, (), "STALE_BROKER_EPOCH")
        return self._decided(row, AssignDirectory(1, m.source, m.directory))
