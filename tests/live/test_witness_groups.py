"""The coordinator of a group, of Kafka's classes: what it does, and faults in them and in the host.

Each fault is found at its step, by name; each projection of the host has one
(docs/reference/witness-classes.md).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT, HOLDS, VIOLATED
from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.witness.driving import drive
from kraftcheck.kafka.witness.groups import GROUP_COORDINATORS
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.reference.steered.scripts import read
from tests.live.patched import Plant, compiled, run, seen, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("witness-groups"),
]
KAFKA = Kafka(VERSION, None, "", files=True)
HOST = Path(jars.__file__).parent / "java"
EXAMPLES = Path(__file__).parents[2] / "examples" / "witness"
FOLDER = "org/apache/kafka/coordinator/group"
MANAGER = f"{FOLDER}/GroupMetadataManager.java"
RUNTIME = "org/apache/kafka/coordinator/common/runtime"
HOSTED = f"groups/{RUNTIME}/Coordinator.java"
LOGGED = f"coordinated/{RUNTIME}/LoggedNode.java"
HEARTBEAT = "HandleGroupHeartbeat"

PLANTS = [
    Plant(
        "a removal leaves the group epoch",
        MANAGER,
        "            int groupEpoch = group.groupEpoch() + 1;\n"
        "            records.add(newConsumerGroupEpochRecord(group.groupId(), groupEpoch, ",
        "            int groupEpoch = group.groupEpoch();\n"
        "            records.add(newConsumerGroupEpochRecord(group.groupId(), groupEpoch, ",
        f"HandleGroupSessionTimeout {HEARTBEAT}",
        "].epoch: recorded",
    ),
    Plant(
        "any earlier epoch will do",
        MANAGER,
        "receivedMemberEpoch != member.previousMemberEpoch() || "
        "!isSubset(ownedTopicPartitions, member.assignedPartitions())",
        "false",
        HEARTBEAT,
        "FENCED_MEMBER_EPOCH",
        run=5,
    ),
    Plant(
        "who does not say what it has has revoked it",
        f"{FOLDER}/modern/consumer/CurrentAssignmentBuilder.java",
        "        if (ownedTopicPartitions == null) return true;",
        "        if (ownedTopicPartitions == null) return false;",
        HEARTBEAT,
        ".state: recorded",
        run=1,
    ),
    Plant(
        "a partition that was given up is held",
        f"{FOLDER}/modern/consumer/ConsumerGroup.java",
        "                            partitionsOrNull.remove(partitionId);",
        "",
        f"HandleGroupSessionTimeout {HEARTBEAT}",
        "held",
    ),
    Plant(
        "a changed assignment is told only when all is said",
        MANAGER,
        "isFullRequest || ConsumerGroupMember.hasAssignedPartitionsChanged(member, updatedMember)",
        "isFullRequest",
        HEARTBEAT,
        "tells",
    ),
    Plant(
        "who leaves for a while has still to revoke",
        MANAGER,
        "            .setPartitionsPendingRevocation(Map.of())\n            .resetAssigned",
        "            .resetAssigned",
        HEARTBEAT,
        ".pending element",
        run=15,
    ),
    Plant(
        "an instance id is never free",
        MANAGER,
        "        if (member.memberEpoch() != LEAVE_GROUP_STATIC_MEMBER_EPOCH) {\n"
        "            // The new member can't join.\n"
        '            log.info("[GroupId {}] Static member {} with instance id {} cannot join '
        'the group because the instance id is" +\n',
        "        if (true) {\n"
        "            // The new member can't join.\n"
        '            log.info("[GroupId {}] Static member {} with instance id {} cannot join '
        'the group because the instance id is" +\n',
        HEARTBEAT,
        "UNRELEASED_INSTANCE_ID",
    ),
    Plant(
        "what a coordinator before wrote is taken for committed",  # KAFKA-16973, Z95
        f"{RUNTIME}/CoordinatorRuntime.java",
        "if (coordinator.lastCommittedOffset() < coordinator.lastWrittenOffset()) {\n"
        "                    deferredEventQueue.add(",
        "if (deferredEventQueue.highestPendingOffset().isPresent()) {\n"
        "                    deferredEventQueue.add(",
        HEARTBEAT,
        "waiting",
        run=38,
    ),
]
HOSTS = [
    Plant(
        "the host reads what is newest as committed",
        LOGGED,
        'Json.fields("committed", state(tenure.isActive() ? tenure.committed() : 0,',
        'Json.fields("committed", state(at,',
        HEARTBEAT,
        "after.log.committed",
    ),
    Plant(
        "the host hands on less of a log than it says",
        LOGGED,
        "        leader = tail;",
        "        leader = tail.isEmpty() ? tail : tail.subList(1, tail.size());",
        "HandleMoveCoordinator",
        "after.log.leader",
        run=1,
    ),
    Plant(
        "the host takes a coordinator that is gone for one that answers",
        HOSTED,
        "            if (code == Errors.GROUP_ID_NOT_FOUND && request.memberEpoch() < 0) {",
        "            if (code == Errors.NOT_COORDINATOR) {",
        "HandleMoveCoordinator",
        "UNKNOWN_MEMBER_ID",
        run=1,
    ),
    Plant(
        "the host reads what is to be assigned as assigned",
        HOSTED,
        "numbers(known.assignedPartitions().keySet())",
        "numbers(target == null ? List.of() : target.partitions().keySet())",
        HEARTBEAT,
        ".assigned element",
    ),
    Plant(
        "the host forgets who waits",
        LOGGED,
        "            if (in != null) {",
        "            if (in != null && found.isEmpty()) {",
        HEARTBEAT,
        "after.waiting",
    ),
]
ALL = [*PLANTS, *HOSTS]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp
    texts = sources(folder("kafka"), "kafka-group-coordinator", "kafka-coordinator-common")
    classes = compiled(PLANTS, texts, folder("plant"), GROUP_COORDINATORS.protocol.name)
    classes += compiled(HOSTS, HOST, folder("host"), GROUP_COORDINATORS.protocol.name)
    return seen(ALL, GROUP_COORDINATORS, classes, folder("plants"))


@pytest.mark.parametrize("plant", ALL, ids=[plant.name.replace(" ", "-") for plant in ALL])
def test_a_fault_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def test_by_chance_and_beside_the_reference(tmp_path: Path) -> None:
    """What differs from the reference, whose targets are Kafka's, is what TLC refuses."""
    words = ("groups", "--runs", "4", "--moves", "150", "--seed", "8", "--out", str(tmp_path / "o"))
    found = run(HOLDS, *words)
    assert found["profile"] == "kafka-4.3" and found["found"]["steps"] > 100
    assert {each["entry"] for each in found["known"]} >= {"leaves-as-it-was"}
    beside = run(HOLDS, *words, "--differential")
    assert len(beside["differing"]) == beside["forbidden"] == found["forbidden"] > 0

    strict = run(VIOLATED, *words, "--as", "specs", "--differential")
    again = strict["schedules"][0]
    assert run(VIOLATED, "replay", again, "--as", "specs")["found"]["rejections"]


def test_a_static_member_gives_up_when_its_join_is_not_answered() -> None:
    """Z100, by one command."""
    schedule = str(EXAMPLES / "own-instance.moves")
    found = run(VIOLATED, "replay", schedule)
    assert (found["violates"], found["as_said"], found["left_out"]) == ("NobodyGivesUp", True, [])
    assert [each["entry"] for each in found["known"]] == ["own-instance-refused"]


def test_a_schedule_is_made_small(tmp_path: Path) -> None:
    small = tmp_path / "small.moves"
    padded = tmp_path / "padded.moves"
    text = (EXAMPLES / "own-instance.moves").read_text("utf-8")
    *before, last = text.splitlines()
    more = ["2 Subscribe topics=[1]", "2 SendGroupHeartbeat", "0 GroupCommit", last]
    padded.write_text("\n".join([*before, *more, ""]), "utf-8")
    run(VIOLATED, "shrink", str(padded), "--out", str(small))
    script, _ = read(small.read_text("utf-8"))
    assert script.violates == "NobodyGivesUp" and len(script.moves) == 5


def test_every_edge_of_a_graph() -> None:
    """That is a step of the coordinator; members are the model's."""
    [graph] = run(HOLDS, "cover", "groups-join")["graphs"]
    assert (graph["edges"], graph["kafkas"], graph["taken"]) == (330, 160, 160)
    assert graph["not_taken"] == {}


def test_a_graph_without_a_coordinator_is_bad_input() -> None:
    result = CliRunner().invoke(cli, ["witness", "cover", "groups-offsets", "--quiet"])
    assert result.exit_code == BAD_INPUT
    assert "groups-offsets: no node of Kafka's takes a step in that graph" in result.output


IN_GRAPHS = [
    Plant(
        "who joins is not told its assignment",
        MANAGER,
        "memberEpoch == 0 || isFullRequest || ConsumerGroupMember.hasAssignedPartitionsChanged(",
        "memberEpoch > 0 && ConsumerGroupMember.hasAssignedPartitionsChanged(",
        HEARTBEAT,
        "tells",
    ),
    next(each for each in HOSTS if each.name == "the host forgets who waits"),
]


@pytest.mark.parametrize("plant", IN_GRAPHS, ids=["of-kafka", "of-the-host"])
def test_a_fault_is_refused_at_edges(plant: Plant, tmp_path: Path) -> None:
    texts = HOST if plant in HOSTS else sources(tmp_path / "kafka", "kafka-group-coordinator")
    [classes] = compiled([plant], texts, tmp_path, GROUP_COORDINATORS.protocol.name)
    [graph] = run(VIOLATED, "cover", "groups-join", "--jars", str(classes))["graphs"]
    assert {each.split(":")[0] for each in graph["refused"]} == {plant.action}
    assert any(plant.field in each for each in graph["refused"])
    assert graph["not_taken"]["refused"] > 0


def test_the_same_seed_has_the_same_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        drive(path, KAFKA, GROUP_COORDINATORS, 3, runs=2, seed=3, moves=80)
    assert one.read_bytes() == other.read_bytes()
