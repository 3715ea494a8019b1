"""Sometimes conditions of a broker that hosts a replica (reference/kit/sometimes.py)."""

from __future__ import annotations

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.partition.hosting.messages import (
    Acknowledge,
    ApplyRecords,
    CancelMove,
    HostCrash,
    HostRestart,
    LoadSnapshot,
    LogDirFailure,
    PromoteFuture,
    ReportDirectory,
    TopicCreated,
    TopicDeleted,
)
from kraftcheck.reference.partition.hosting.types import HostRow

sometimes = Conditions()


@sometimes(TopicCreated)
def topic_comes_again_where_a_log_is(before: HostRow) -> bool:
    """A topic is created anew while a broker has the log of an earlier one."""
    return bool(before.logs)


@sometimes(ApplyRecords, LoadSnapshot)
def replica_of_another_topic_is_replaced(before: HostRow, after: HostRow) -> bool:
    """A broker that was told late finds a new topic under the name."""
    return 0 < before.replica.topic_id != after.replica.topic_id > 0


@sometimes(LoadSnapshot)
def snapshot_hides_a_deletion(before: HostRow) -> bool:
    """A broker loads a snapshot that has no topic for the replica it hosts."""
    return before.replica.state != "None" and not before.image.topic_id


@sometimes(ApplyRecords)
def what_follows_an_abort_is_read_with_it(before: HostRow) -> bool:
    """A broker reads an aborted transaction, and what was committed behind it."""
    return UNDEFINED < before.aborted < before.image.partition_epoch


@sometimes(ApplyRecords, LoadSnapshot)
def replica_leaves(before: HostRow, after: HostRow) -> bool:
    """A broker that is no replica any more gives up what it hosts."""
    return before.replica.state == "Online" and after.replica.state == "None"


@sometimes(LogDirFailure)
def directory_of_the_replica_fails(before: HostRow, after: HostRow) -> bool:
    """The directory fails that a serving replica is in."""
    return before.replica.state == "Online" and after.replica.state == "Offline"


@sometimes(LogDirFailure)
def directory_of_a_move_fails(before: HostRow, after: HostRow) -> bool:
    """The directory fails to which a replica moves."""
    return bool(before.future) and not after.future and after.replica.state == "Online"


@sometimes(ReportDirectory)
def failure_takes_a_leader(before: HostRow, after: HostRow) -> bool:
    """The controller hears of a failed directory, and another broker leads."""
    return before.image.leads and not after.image.leads


@sometimes(PromoteFuture)
def move_ends_before_its_assignment_is_applied(before: HostRow) -> bool:
    """A replica is promoted whose broker has not applied where it is."""
    return before.applied != before.image


@sometimes(CancelMove)
def move_is_taken_back_late(before: HostRow) -> bool:
    """A move is taken back after the controller was told of it."""
    return before.future_assigned


@sometimes(Acknowledge)
def future_log_falls_behind(before: HostRow, after: HostRow) -> bool:
    """Records are acknowledged which a future log has not, after the controller was told of it."""
    return before.future_assigned and before.future_caught_up and not after.future_caught_up


@sometimes(ApplyRecords, LoadSnapshot)
def start_finds_a_future_log(before: HostRow) -> bool:
    """A broker that starts has a future log where the controller believes the replica."""
    return not before.published and 0 < before.future == before.image.directory


@sometimes(HostCrash)
def crash_during_a_move(before: HostRow) -> bool:
    """A broker crashes while its replica moves."""
    return bool(before.future)


@sometimes(HostRestart)
def broker_starts_without_a_directory(before: HostRow, after: HostRow) -> bool:
    """A broker starts, and a directory with a log of it stays away."""
    return any(log.directory not in after.online for log in after.logs)


@sometimes(TopicDeleted)
def acknowledged_records_are_deleted(before: HostRow) -> bool:
    """A topic with records is deleted while a broker has not applied all."""
    return before.acknowledged and before.applied != before.image


@sometimes(Acknowledge)
def replica_falls_behind(before: HostRow, after: HostRow) -> bool:
    """Records are acknowledged which a log on disk has not."""
    return any(log.complete for log in before.logs) and before.logs != after.logs
