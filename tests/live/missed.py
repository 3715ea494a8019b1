"""Faults in Kafka's classes, each with a schedule, and what Kafka's own tests see of them.

`.venv/bin/python -m tests.live.missed` runs Kafka's tests of their packages, first without a fault.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import click

from experiments.kafka_tests import jars, run_once
from kraftcheck.kafka.witness.quorum import VOTERS
from kraftcheck.reference.partition.protocol import PARTITION
from tests.live import test_witness_partition as partition, test_witness_plants as quorum
from tests.live.patched import Plant, compiled, edited, sources

OWN: Final = {
    "/raft/": ("org.apache.kafka.raft.*",),
    "/controller/": ("org.apache.kafka.controller.*",),
    "": (
        *("kafka.cluster.PartitionTest", "kafka.cluster.PartitionLockTest"),
        *("kafka.cluster.AssignmentStateTest", "kafka.server.ReplicaManagerTest"),
        *("kafka.server.ReplicaManagerConcurrencyTest", "kafka.server.BrokerLifecycleManagerTest"),
        *("kafka.server.ReplicaFetcherThreadTest", "kafka.server.AbstractFetcherThreadTest"),
        "org.apache.kafka.server.replica.ReplicaTest",
    ),
}
"""Kafka's tests, by what stands in the path of a class; the last ones are those of a broker."""
ARTIFACTS: Final = ("kafka-raft", "kafka-server", "kafka-storage", "kafka-metadata")


class Fault(NamedTuple):
    plant: Plant
    schedule: str
    """The small one, in tests/live/data."""
    test: str
    """The class that `witness shrink --junit-test` writes of it."""
    seen: str
    """How many of Kafka's own tests fail with it, on 4.3.1."""


_RAFT: Final = "org/apache/kafka/raft"
_CONTROLLER: Final = "org/apache/kafka/controller"
_VOTED: Final = (
    "                Optional.of(candidateKey),\n                partitionState.lastVoterSet(),\n"
)
UNSEEN: Final = [
    Plant(
        "a Prospective that votes forgets the high watermark",
        f"{_RAFT}/QuorumState.java",
        f"{_VOTED}                state.highWatermark(),",
        f"{_VOTED}                Optional.empty(),",
        "HandleVoteRequest",
        "after.highWatermark",
    ),
    Plant(
        "a Prospective's vote is not written",
        f"{_RAFT}/QuorumState.java",
        "        durableTransitionTo(\n            new ProspectiveState(",
        "        memoryTransitionTo(\n            new ProspectiveState(",
        "HandleVoteRequest",
        "after.quorumState.voted",
    ),
    Plant(
        "a broker that is fenced is still about to stop",
        f"{_CONTROLLER}/BrokerHeartbeatManager.java",
        "            broker.controlledShutdownOffset = -1;\n",
        "",
        "HandleSessionTimeout",
        "after.contacts[0].shutdownOffset",
    ),
    Plant(
        "the offset in a heartbeat is not kept",
        f"{_CONTROLLER}/ReplicationControlManager.java",
        "            states.next().fenced(),\n            request.currentMetadataOffset());",
        "            states.next().fenced(),\n            -1L);",
        "HandleHeartbeatRequest",
        "metadataOffset",
    ),
    Plant(
        "a stop waits for one offset more",
        f"{_CONTROLLER}/BrokerHeartbeatManager.java",
        "broker.controlledShutdownOffset <= lowestActiveOffset",
        "broker.controlledShutdownOffset < lowestActiveOffset",
        "HandleHeartbeatRequest",
        "shouldShutDown",
    ),
    Plant(
        "an old leader epoch gets the error of another guard",
        f"{_CONTROLLER}/ReplicationControlManager.java",
        "if (partitionData.leaderEpoch() < partition.leaderEpoch) {",
        "if (false) {",
        "HandleAlterPartitionRequest",
        "error",
    ),
    Plant(
        "the controller says late that a broker has caught up",
        f"{_CONTROLLER}/ReplicationControlManager.java",
        "isCaughtUp = request.currentMetadataOffset() >= registerBrokerRecordOffset;",
        "isCaughtUp = request.currentMetadataOffset() > registerBrokerRecordOffset;",
        "HandleHeartbeatRequest",
        "isCaughtUp",
    ),
]
"""Kafka's own tests of the class see none of them."""


def _planted(name: str) -> Plant:
    plants = [*UNSEEN, *quorum.PLANTS, quorum.FORGOTTEN, *partition.PLANTS, *partition.SCALA]
    return next(each for each in plants if each.name == name)


FAULTS: Final = [
    Fault(
        UNSEEN[0],
        "prospective-watermark",
        "org.apache.kafka.raft.ProspectiveWatermarkTest",
        "0 of 1,233",
    ),
    Fault(UNSEEN[1], "prospective-vote", "org.apache.kafka.raft.WrittenVoteTest", "0 of 1,233"),
    Fault(
        UNSEEN[2],
        "fenced-stopping",
        "org.apache.kafka.controller.ReplicationControlManagerTest",
        "0 of 196",
    ),
    Fault(
        UNSEEN[3],
        "untold-offset",
        "org.apache.kafka.controller.ReplicationControlManagerTest",
        "0 of 196",
    ),
    Fault(
        UNSEEN[4],
        "waiting-stop",
        "org.apache.kafka.controller.ReplicationControlManagerTest",
        "0 of 458",
    ),
    Fault(
        UNSEEN[5],
        "old-leader",
        "org.apache.kafka.controller.ReplicationControlManagerTest",
        "0 of 458",
    ),
    Fault(
        UNSEEN[6],
        "late-caught-up",
        "org.apache.kafka.controller.ReplicationControlManagerTest",
        "0 of 458",
    ),
    Fault(
        quorum.FORGOTTEN,
        "forgotten-vote",
        "org.apache.kafka.raft.ProspectiveVoteTest",
        "0 of 1,233",
    ),
    Fault(
        _planted("the controller does not compare partition epochs"),
        "stale-isr",
        "org.apache.kafka.controller.ReplicationControlManagerTest",
        "0 of 458",
    ),
    Fault(
        _planted("a proposed member is not waited for"),
        "unwaited-member",
        "kafka.cluster.PendingMemberTest",
        "13 of 339",
    ),
    Fault(
        _planted("who has not reached the high watermark is proposed"),
        "early-member",
        "kafka.cluster.ReachedWatermarkTest",
        "0 of 348",
    ),
]


def planted(plant: Plant, unpacked: Path, folder: Path) -> Path:
    """The classes with this fault."""
    of = VOTERS.protocol.name if "/raft/" in plant.file else PARTITION.name
    if plant.file.endswith(".java"):
        return compiled([plant], unpacked, folder, of)[0]
    return edited([plant], folder, of)[0]


def main() -> None:
    """Print of each fault which of Kafka's tests see it; names: of plants, all of the tables."""
    plants = [_planted(each) for each in sys.argv[1:]] or [each.plant for each in FAULTS]
    with tempfile.TemporaryDirectory(prefix="missed-") as temporary:
        folder = Path(temporary)
        unpacked = sources(folder, *ARTIFACTS)
        for number, plant in enumerate(plants):
            own = next(tests for part, tests in OWN.items() if part in plant.file)
            place = folder / str(number)
            place.mkdir()
            classes = [str(planted(plant, unpacked, place))]
            found = run_once(own, [*classes, *jars()], place / "with")
            # Kafka has tests that give threads milliseconds: they fail on a busy machine anyway.
            busy = found.failed and run_once(own, jars(), place / "without").failed
            seen = found.failed - (busy or frozenset())
            click.echo(
                f"{plant.name}: {len(seen)} of {found.tests:,} tests see it: {sorted(seen)[:3]}"
            )


if __name__ == "__main__":
    main()
