"""What a broker promises of its replica: the twin of specs/partition/hosting/HostingProperties.tla.

Law of this file: nothing here asks a rule.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.kit.properties import Declared, of_each_broker
from kraftcheck.reference.kit.protocol import Property
from kraftcheck.reference.partition.hosting.types import UNASSIGNED, HostRow

_property = Declared("before", "after")


def follows(row: HostRow) -> bool:
    """The process has been given metadata."""
    return row.running and row.published


# --- Of every state


@_property("state")
def local_changes_sound(after: HostRow) -> str | None:
    """A broker hosts the partition exactly if its applied metadata say so, with their leader and
    epochs.

    Misses: metadata that is not applied yet, and replicas in a failed directory.
    """
    image, replica = after.applied, after.replica
    if not follows(after):
        return None
    if (replica.state != "None") != image.assigned:
        return f"the replica is {replica.state}, and assigned: {image.assigned}"
    ours = (replica.leads, replica.leader_epoch, replica.partition_epoch)
    if replica.state == "Online" and ours != (
        image.leads,
        image.leader_epoch,
        image.partition_epoch,
    ):
        return "the replica has not the leader and the epochs of what was applied"
    return None


@_property("state")
def applied_was_committed(after: HostRow) -> str | None:
    """Applied metadata of a topic are never newer than the committed ones, and equal to them in the
    same epoch.

    Misses: wrong metadata of an older epoch.
    """
    applied, image = after.applied, after.image
    if not follows(after) or applied.topic_id != image.topic_id or applied == image:
        return None
    if applied.partition_epoch < image.partition_epoch:
        return None
    return f"applied is {applied}, which is not of the metadata, {image}"


@_property("state")
def no_replica_of_old_topic(after: HostRow) -> str | None:
    """A log is served only under its own topic id.

    Misses: a log of an old topic that is not served, and one in a failed directory.
    """
    replica = after.replica
    if not follows(after) or replica.state != "Online":
        return None
    [served] = [log for log in after.logs if log.directory == replica.directory]
    if not replica.topic_id == served.topic_id == after.applied.topic_id:
        return f"a log of topic {served.topic_id} is served for topic {after.applied.topic_id}"
    return None


@_property("state")
def leader_candidate_completeness(after: HostRow) -> str | None:
    """An online replica in the ISR has all acknowledged records.

    Misses: a replica that is offline and so no candidate.
    """
    replica, image = after.replica, after.image
    serves = after.running and replica.state == "Online" and replica.topic_id == image.topic_id
    if not serves or not image.in_isr:
        return None
    served = [log for log in after.logs if log.directory == replica.directory]
    return None if served[0].complete else "a replica in the ISR lacks what was acknowledged"


@_property("state")
def offline_dir_never_leads(after: HostRow) -> str | None:
    """A replica is out of the ISR once its failed directory is reported to the controller.

    Misses: the time before the report.
    """
    replica, image = after.replica, after.image
    failed = replica.state == "Offline" and replica.directory in after.reported
    if follows(after) and failed and replica.topic_id == image.topic_id and image.in_isr:
        return f"directory {replica.directory} has failed, and its replica is in the ISR"
    return None


@_property("state")
def directory_is_known(after: HostRow) -> str | None:
    """The controller's record of the replica's directory is correct, or will be when a move ends.

    Misses: metadata that the broker has not applied yet.
    """
    replica, image = after.replica, after.image
    settled = follows(after) and after.applied.topic_id == image.topic_id == replica.topic_id
    if not settled or replica.state != "Online" or not image.assigned:
        return None
    moving = after.future_assigned and image.directory == after.future
    if moving or image.directory in (UNASSIGNED, replica.directory):
        return None
    return f"the replica is in {replica.directory}, and is believed in {image.directory}"


# --- Of every step


@_property("step")
def proposal_kept(before: HostRow, after: HostRow) -> str | None:
    """A pending proposal is dropped only by newer metadata or with the replica.

    Misses: a response that never arrives.
    """
    was, now = before.replica, after.replica
    same = was.state == now.state == "Online" and was.topic_id == now.topic_id
    if same and was.pending and not now.pending and now.partition_epoch <= was.partition_epoch:
        return "metadata that are not newer have cleared a proposal"
    return None


PROPERTIES: Final[tuple[Property, ...]] = of_each_broker(
    _property.all, lambda constants: constants.brokers
)
"""All of them, in the order of the spec."""
