"""A partition of Kafka's classes: faults planted in them, and in the host, are found at their step.

Beside them Z67 and Z69 on the unchanged release, and the fix of Z67, which must be accepted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness import driving, following
from kraftcheck.kafka.witness.driving import drive, host_of, of_run
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.partition import BROKERS
from kraftcheck.kafka.witness.releases import find
from kraftcheck.kafka.witness.speech import header
from kraftcheck.known_bugs.schedules import FOLDER
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.steered.scripts import read
from kraftcheck.traces.foreign.batch import judge_steps
from kraftcheck.traces.foreign.reading import ForeignTrace, read_foreign
from tests.live.patched import Plant, compiled, edited, seen, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("partition-plants"),
]

CONTROLLER = "org/apache/kafka/controller"
SERVER = "org/apache/kafka/server"
LOG = "org/apache/kafka/storage/internals"
HOST = Path(jars.__file__).parent / "java" / "partition"
KAFKA = Kafka(VERSION, None, "", files=True)

PLANTS = [
    Plant(
        "a proposed member is not waited for",
        f"{SERVER}/partition/PendingExpandIsr.java",
        "        newIsr.add(newInSyncReplicaId);\n",
        "",
        "HandleReplicaFetchRequest HandleProduceRequest",
        "after.highWatermark",
        run=9,
    ),
    Plant(
        "a proposed shrink counts before it is confirmed",
        f"{SERVER}/partition/PendingShrinkIsr.java",
        "    public Set<Integer> isr() {\n        return lastCommittedState.isr();",
        "    public Set<Integer> isr() {\n        Set<Integer> left = new java.util.HashSet<>("
        "lastCommittedState.isr());\n        left.removeAll(outOfSyncReplicaIds);\n"
        "        return left;",
        "HandleIsrShrinkTimeout",
        "after.isr",
        run=1,
    ),
    Plant(
        "end offsets of followers are invented at a new epoch",
        f"{SERVER}/replica/Replica.java",
        "                    LogOffsetMetadata.UNKNOWN_OFFSET_METADATA,\n",
        "                    new LogOffsetMetadata(leaderEndOffset),\n",
        "HandleMetadataUpdate",
        "endOffset",
    ),
    Plant(
        "who is not caught up counts as caught up",
        f"{SERVER}/replica/Replica.java",
        "                lastCaughtUpTime = currentReplicaState.lastCaughtUpTimeMs();\n",
        "                lastCaughtUpTime = followerFetchTimeMs;\n",
        "HandleReplicaFetchRequest",
        "CaughtUpInVain",
        run=1,
    ),
    Plant(
        "sequence numbers are not compared",
        f"{LOG}/log/ProducerAppendInfo.java",
        "        return nextSeq == lastSeq + 1L ||",
        "        return nextSeq > lastSeq ||",
        "HandleProduceRequest",
        "error",
        run=62,
    ),
    Plant(
        "a leader's epoch is not cached before it writes",
        f"{LOG}/epoch/LeaderEpochFileCache.java",
        "    private boolean isUpdateNeeded(EpochEntry entry) {\n        return latestEntry()",
        "    private boolean isUpdateNeeded(EpochEntry entry) {\n"
        "        return entry.startOffset() > 0 && latestEntry()",
        "HandleMetadataUpdate",
        "after.epochCache",
    ),
    Plant(
        "the controller does not compare partition epochs",
        f"{CONTROLLER}/ReplicationControlManager.java",
        "if (partitionData.partitionEpoch() < partition.partitionEpoch) {",
        "if (false) {",
        "HandleAlterPartitionRequest",
        "error",
        run=5,
    ),
    Plant(
        "who came back unclean stays eligible",
        f"{CONTROLLER}/PartitionChangeBuilder.java",
        "uncleanShutdownReplicas == null || !uncleanShutdownReplicas.contains(replica)",
        "true",
        "HandleRegisterBrokerRequest",
        "after.partition.elr",
        run=21,
    ),
    Plant(
        "an election that is not needed is held",
        f"{CONTROLLER}/ReplicationControlManager.java",
        "(electionType == ElectionType.PREFERRED && partition.hasPreferredLeader())",
        "(electionType == null && partition.hasPreferredLeader())",
        "HandleElectLeaders",
        "ignored",
        run=2,
    ),
    Plant(
        "a broker that is ready to serve does not say so",
        f"{SERVER}/BrokerLifecycleManager.java",
        ".setWantFence(!readyToUnfence)",
        ".setWantFence(!registered)",
        "HandleSendHeartbeat",
        "wantFence",
    ),
    Plant(
        "who starts does not say how it stopped",
        f"{SERVER}/BrokerLifecycleManager.java",
        ".setPreviousBrokerEpoch(previousBrokerEpoch.orElse(-1L))",
        ".setPreviousBrokerEpoch(-1L)",
        "HandleSendRegistration",
        "previousEpoch",
        run=4,
    ),
    Plant(
        "a log is not looked at after a crash",
        f"{LOG}/log/LogLoader.java",
        "        if (!hadCleanShutdown) {",
        "        if (hadCleanShutdown) {",
        "HandleBrokerRestart",
        "after.log",
    ),
    Plant(
        "epochs of what a crash has taken are kept",
        f"{LOG}/log/LogLoader.java",
        "        leaderEpochCache.truncateFromEndAsyncFlush(recoveryOffsets.nextOffset);\n",
        "",
        "HandleBrokerRestart",
        "after.epochCache",
    ),
]
HOSTS = [
    Plant(
        "the host reads another offset of a follower",
        "kafka/cluster/Broker.java",
        '"endOffset", known.logEndOffset()',
        '"endOffset", known.lastFetchLeaderLogEndOffset()',
        "HandleReplicaFetchRequest",
        "endOffset",
    ),
    Plant(
        "the host forgets whom a proposal adds",
        "kafka/cluster/Proposals.java",
        'Json.fields("broker", each.brokerId(), "epoch", each.brokerEpoch())',
        'Json.fields("broker", each.brokerId(), "epoch", 0)',
        "HandleIsrShrinkTimeout HandleReplicaFetchRequest",
        "after.pending.isr",
        run=6,
    ),
    Plant(
        "the host makes each call of a broker twice",
        "kafka/cluster/Broker.java",
        "            call.run();\n",
        "            call.run();\n            call.run();\n",
        "HandleProduceRequest",
        "after.log",
        run=1,
    ),
    Plant(
        "the host takes less from the disk than a crash does",
        "kafka/cluster/PartitionLog.java",
        "if (batch.baseOffset() >= keep) {",
        "if (batch.baseOffset() > keep) {",
        "HandleBrokerRestart",
        "after.log",
        run=2,
    ),
    Plant(
        "the host takes who has caught up for starting",
        "kafka/cluster/Broker.java",
        """case "NOT_RUNNING", "STARTING" -> "Starting";
            case "RECOVERY", "RUNNING" """,
        """case "NOT_RUNNING", "STARTING", "RECOVERY" -> "Starting";
            case "RUNNING" """,
        "HandleHeartbeatResponse",
        "after.status",
    ),
    Plant(
        "the host gives a fetcher another high watermark",
        "kafka/cluster/Forms.java",
        'setHighWatermark(in.get("highWatermark").asLong())',
        'setHighWatermark(in.get("logStart").asLong())',
        "HandleReplicaFetchResponse",
        "after.highWatermark",
        run=3,
    ),
    Plant(
        "the host takes who is fenced for stopping",
        f"{CONTROLLER}/Controller.java",
        '"fenced", known.fenced(),\n                "stopping", known.inControlledShutdown()',
        '"fenced", known.fenced(),\n                "stopping", known.fenced()',
        "HandleSessionTimeout",
        "after.registrations",
    ),
]
PARTITION_CLASS = "kafka.cluster.Partition"
FETCHER = "kafka.server.ReplicaFetcherThread"
SCALA = [
    Plant(
        "a follower does not cut what diverges",
        FETCHER,
        "truncate",
        "{}",
        "HandleReplicaFetchResponse",
        "after.log",
        run=1,
    ),
    Plant(
        "a follower does not say which epoch it has fetched",
        FETCHER,
        "latestEpoch",
        "return java.util.Optional.empty();",
        "HandleMetadataUpdate HandleSendReplicaFetch",
        "lastFetchedEpoch",
    ),
    Plant(
        "who may not be in the ISR is proposed",
        PARTITION_CLASS,
        "isReplicaIsrEligible",
        "return true;",
        "HandleReplicaFetchRequest",
        "after.pending",
        run=4,
    ),
    Plant(
        "who has not reached the high watermark is proposed",
        PARTITION_CLASS,
        "isFollowerInSync",
        "return true;",
        "HandleReplicaFetchRequest",
        "after.pending",
        run=3,
    ),
    Plant(
        "a produce request waits for nobody",
        PARTITION_CLASS,
        "checkEnoughReplicasReachOffset",
        "return new scala.Tuple2(Boolean.TRUE, org.apache.kafka.common.protocol.Errors.NONE);",
        "HandleProduceRequest",
        "after.parked",
    ),
]
"""Of classes that are not Java."""
ALL = [*PLANTS, *SCALA, *HOSTS]
FIXED = Plant(
    "z67-fixed",
    f"{SERVER}/replica/Replica.java",
    "            if (isNewLeader) {",
    "            if (true) {",
    "",
    "",
)


@pytest.fixture(scope="session")
def kafka_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    artifacts = ("kafka-server", "kafka-storage", "kafka-metadata")
    return sources(tmp_path_factory.mktemp("kafka"), *artifacts)


@pytest.fixture(scope="session")
def said(kafka_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp
    classes = compiled(PLANTS, kafka_sources, folder("plant"), PARTITION.name)
    classes += edited(SCALA, folder("scala"), PARTITION.name)
    classes += compiled(HOSTS, HOST, folder("host"), PARTITION.name)
    return seen(ALL, BROKERS, classes, folder("plants"))


@pytest.mark.parametrize("plant", ALL, ids=[plant.name.replace(" ", "-") for plant in ALL])
def test_a_fault_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def followed(bug: str, kafka: Kafka, trace: Path) -> tuple[following.Followed, ForeignTrace]:
    script, _ = read((FOLDER / f"{bug}.moves").read_text(encoding="utf-8"))
    setting = BROKERS.setting(script.options)
    constants = BROKERS.constants(setting)
    with host_of(kafka, PARTITION, constants) as host:
        found = following.follow(script, BROKERS.begin(setting, host, watched=True))
    lines = [of_run(text, 0) for text, _ in found.schedule.lines]
    trace.write_text(header(constants, "Kafka") + "\n" + "".join(lines), encoding="utf-8")
    return found, read_foreign(trace)


def refused(trace: ForeignTrace) -> list[str]:
    """What brokers did that the specs forbid; what the controller does is grain."""
    steps = [step for step in trace.steps if step.node in trace.constants.brokers]
    lines = judge_steps(trace, steps).lines()
    return [step.action for step in steps if step.line in lines]


def test_z67_is_in_the_release_and_its_fix_is_accepted(kafka_sources: Path, tmp_path: Path) -> None:
    """By the specs without any profile. The fix leaves no violation, so the schedule goes on."""
    broken, trace = followed("Z67", KAFKA, tmp_path / "broken.jsonl")
    assert broken.failure is not None
    assert (broken.failure.name, refused(trace)) == ("WeakIsr", ["HandleMetadataUpdate"])

    [classes] = compiled([FIXED], kafka_sources, tmp_path, PARTITION.name)
    mended, trace = followed("Z67", KAFKA._replace(jars=classes), tmp_path / "fixed.jsonl")
    assert mended.failure is None
    assert refused(trace) == []

    told = find("Z67", KAFKA, tmp_path)
    assert (told["there"], "keeps-end-offsets" in told["bugs"]) == (True, True)
    told = find("Z67", KAFKA._replace(jars=classes), tmp_path)
    assert (told["there"], told["violates"], "keeps-end-offsets" in told["bugs"]) == (
        False,
        "",
        False,
    )


def test_z69_is_in_the_release(tmp_path: Path) -> None:
    found, trace = followed("Z69", KAFKA, tmp_path / "broken.jsonl")
    assert found.failure is not None
    assert (found.failure.name, refused(trace)) == ("StrongIsr", ["HandleMetadataUpdate"])


def test_the_same_seed_has_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.jsonl"
        driven = drive(path, KAFKA, BROKERS, 3, runs=3, seed=4, moves=100)
        assert len(driven.places) > 100
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for threads")
def test_a_process_that_is_gone_leaves_no_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would keep a whole broker in memory, and a graph has thousands of walks."""
    threads: list[int] = []

    @contextmanager
    def counted(*words: Any) -> Iterator[Host]:
        with host_of(*words) as host:
            yield host
            threads.append(len([*Path(f"/proc/{host.pid}/task").iterdir()]))

    monkeypatch.setattr(driving, "host_of", counted)
    for runs in (2, 12):
        drive(tmp_path / f"{runs}.jsonl", KAFKA, BROKERS, 3, runs=runs, seed=4, moves=100)
    few, many = threads
    assert many <= few + 3, "a fetcher for each of three brokers may be there"


def test_every_action_of_kafkas_is_named() -> None:
    actions = {f"Handle{of.__name__}" for kind in PARTITION.kinds for of in kind.inputs}
    assert actions - set(BROKERS.methods) == {"HandleBrokerCrash"}
