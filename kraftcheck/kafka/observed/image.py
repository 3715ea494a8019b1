"""What the metadata log says so far: brokers, configurations, partitions as the rules have them.

Law of this file: Kafka's own folding of records (PartitionRegistration.merge, ClusterControlManager
.replay), and no judgement. A leader that is named in a change begins a new leader epoch, every
change a new partition epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kraftcheck.reference.partition.messages import NOBODY, Partition
from kraftcheck.reference.partition.reassignment.types import MovingPartition
from kraftcheck.reference.partition.types import (
    UNDEFINED,
    Contact,
    ControllerRow,
    PartitionConstants,
    Registration,
)

Key = tuple[str, int]
"""A partition: topic id and number."""

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
LISTS = ("addingReplicas", "removingReplicas")
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
NEVER = Registration(UNDEFINED, UNDEFINED, UNDEFINED, fenced=True, stopping=False)
"""Of a broker that was never registered."""


class Observed(msgspec.Struct):
    """A partition.

    adding, removing: of the reassignment that is under way, sorted.
    """

    topic: str
    replicas: tuple[int, ...]
    """In assignment order."""
    state: Partition
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    def moving(self) -> MovingPartition:
        """With the lists that say who replicates it; directories are not told."""
        known = msgspec.structs.asdict(self.state)
        return MovingPartition(
            **known,
            replicas=self.replicas,
            adding=self.adding,
            removing=self.removing,
            directories=(),
        )


class Image:
    """Folded record by record.

    defaults: settings of the brokers' files, for what no record configures.
    """

    def __init__(self, defaults: Mapping[str, str] | None = None) -> None:
        self.registrations: dict[int, Registration] = {}
        self.partitions: dict[Key, Observed] = {}
        self.topics: dict[str, str] = {}
        """Names by id."""
        self.elr = False
        self._configs: dict[tuple[int, str], dict[str, str]] = {}
        self._defaults = dict(defaults or {})
        self._incarnations: dict[str, int] = {}

    # -- What it says

    def constants(self, key: Key) -> PartitionConstants:
        """What the rules take as given for this partition."""
        topic = self.partitions[key].topic
        return PartitionConstants(
            replicas=self.partitions[key].replicas,
            min_insync_replicas=int(self._setting(topic, MIN_ISR, "1")),
            elr_enabled=self.elr,
            unclean_election=self._setting(topic, UNCLEAN, "false") == "true",
        )

    def row(self, key: Key, offset: int) -> ControllerRow:
        """The controller's row as far as this partition is concerned.

        Sessions are not in the log: every broker counts as heard of, and as having applied all.
        """
        brokers = sorted(self.partitions[key].replicas)
        return ControllerRow(
            registrations=tuple(self.registrations.get(b, NEVER) for b in brokers),
            partition=self.partitions[key].state,
            offset=offset,
            contacts=(Contact(live=True, metadata_offset=offset, shutdown_offset=UNDEFINED),)
            * len(brokers),
        )

    def incarnation(self, uuid: str) -> int:
        """A number for a process's random id."""
        return self._incarnations.setdefault(uuid, len(self._incarnations))

    def registration(self, data: Mapping[str, Any], offset: int) -> Registration:
        """What a RegisterBrokerRecord says."""
        return Registration(
            epoch=data["brokerEpoch"],
            incarnation=self.incarnation(data["incarnationId"]),
            record_offset=offset,
            fenced=data.get("fenced", True),
            stopping=data.get("inControlledShutdown", False),
        )

    def _setting(self, topic: str, name: str, otherwise: str) -> str:
        for resource in ((TOPIC_RESOURCE, topic), (BROKER_RESOURCE, "")):
            if name in self._configs.get(resource, {}):
                return self._configs[resource][name]
        return self._defaults.get(name, otherwise)

    # -- What records change

    def make_topic(self, data: Mapping[str, Any]) -> None:
        self.topics[data["topicId"]] = data["name"]

    def remove_topic(self, data: Mapping[str, Any]) -> None:
        gone = data["topicId"]
        self._configs.pop((TOPIC_RESOURCE, self.topics.pop(gone, "")), None)
        for key in [key for key in self.partitions if key[0] == gone]:
            del self.partitions[key]

    def make_partition(self, data: Mapping[str, Any]) -> None:
        state = Partition(
            leader=data["leader"],
            leader_epoch=data["leaderEpoch"],
            partition_epoch=data["partitionEpoch"],
            isr=tuple(sorted(data["isr"])),
            elr=tuple(sorted(data.get("eligibleLeaderReplicas") or ())),
            last_known_leader=_only(data.get("lastKnownElr")),
            recovering=data.get("leaderRecoveryState", 0) == 1,
        )
        topic = self.topics.get(data["topicId"], data["topicId"])
        key = (data["topicId"], data["partitionId"])
        self.partitions[key] = Observed(
            topic, tuple(data["replicas"]), state, *[_listed(data, each) or () for each in LISTS]
        )

    def configure(self, data: Mapping[str, Any]) -> None:
        of = self._configs.setdefault((data["resourceType"], data["resourceName"]), {})
        if data.get("value") is None:
            of.pop(data["name"], None)
        else:
            of[data["name"]] = data["value"]

    def clear_elr(self, data: Mapping[str, Any]) -> None:
        """Of one topic, or of all. What nobody was eligible for stays as it is."""
        for observed in self.partitions.values():
            state = observed.state
            named = data.get("topicName") in (None, "", observed.topic)
            if named and (state.elr or state.last_known_leader != NOBODY):
                observed.state = msgspec.structs.replace(
                    state,
                    elr=(),
                    last_known_leader=NOBODY,
                    partition_epoch=state.partition_epoch + 1,
                )


def changed(old: Partition, data: Mapping[str, Any]) -> Partition:
    """The partition after a PartitionChangeRecord."""
    recovery = data.get("leaderRecoveryState", -1)
    elr, known = data.get("eligibleLeaderReplicas"), data.get("lastKnownElr")
    named = "leader" in data
    return Partition(
        leader=data["leader"] if named else old.leader,
        leader_epoch=old.leader_epoch + 1 if named else old.leader_epoch,
        partition_epoch=old.partition_epoch + 1,
        isr=tuple(sorted(data["isr"])) if data.get("isr") is not None else old.isr,
        elr=tuple(sorted(elr)) if elr is not None else old.elr,
        last_known_leader=_only(known) if known is not None else old.last_known_leader,
        recovering=old.recovering if recovery == -1 else recovery == 1,
    )


def _listed(data: Mapping[str, Any], name: str) -> tuple[int, ...] | None:
    """A set of brokers; None: the record does not have it."""
    return None if data.get(name) is None else tuple(sorted(data[name]))


def moved(old: MovingPartition, data: Mapping[str, Any]) -> MovingPartition:
    """The partition after a PartitionChangeRecord, with its lists."""
    adding, removing = [_listed(data, each) for each in LISTS]
    return MovingPartition(
        **msgspec.structs.asdict(changed(old, data)),
        replicas=old.replicas if data.get("replicas") is None else tuple(data["replicas"]),
        adding=old.adding if adding is None else adding,
        removing=old.removing if removing is None else removing,
        directories=(),
    )


def _only(known: list[int] | None) -> int:
    """Kafka keeps a list, and one broker in it at most (C11)."""
    return known[0] if known else NOBODY
