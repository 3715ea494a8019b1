"""Faults in Kafka's classes that Kafka's own tests of the class pass, and the witness finds.

`python -m tests.live.missed` runs Kafka's tests on them (docs/measured/missed.md).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.live import test_witness_partition as partition, test_witness_plants as quorum
from tests.live.patched import Plant


class Fault(NamedTuple):
    plant: Plant
    schedule: str
    """The small one, in tests/live/data."""
    test: str
    """The class that `witness shrink --junit-test` writes of it, in which package."""


def _planted(name: str) -> Plant:
    plants = [*quorum.PLANTS, *partition.PLANTS, *partition.SCALA]
    return next(each for each in plants if each.name == name)


FAULTS: Final = [
    Fault(quorum.FORGOTTEN, "forgotten-vote", "org.apache.kafka.raft.ProspectiveVoteTest"),
    Fault(
        _planted("the controller does not compare partition epochs"),
        "stale-isr",
        "org.apache.kafka.controller.ReplicationControlManagerTest",
    ),
    Fault(
        _planted("a proposed member is not waited for"),
        "unwaited-member",
        "kafka.cluster.PendingMemberTest",
    ),
]
