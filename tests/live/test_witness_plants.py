"""Faults planted in Kafka's classes: each is found at the step that is wrong, and named.

Beside them the fix of Z68, which must be accepted, and its control.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kraftcheck.witness import following
from kraftcheck.witness.driving import drive, host_of, of_run
from kraftcheck.witness.kafka import Kafka
from kraftcheck.witness.quorum import VOTERS, left_open
from kraftcheck.witness.speech import header
from kraftcheck.zoo.schedules import FOLDER
from reference.quorum.protocol import QUORUM
from reference.steered.scripts import read
from tests.live.patched import VERSION, Plant, compiled, missing, sources
from tla_utils import Value, diagnose
from traces.foreign.batch import judge_steps
from traces.foreign.profiles import read_profile
from traces.foreign.reading import read_foreign

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.xdist_group("plants"),
]

RAFT = "org/apache/kafka/raft"
CLIENT = f"{RAFT}/KafkaRaftClient.java"
QUORUM = f"{RAFT}/QuorumState.java"
LEADER = f"{RAFT}/LeaderState.java"
PROFILE = read_profile("kafka-4.3")
APART = 100
"""Between the numbers of the first runs of two plants."""
EXPLAINED = 8
"""Of how many refused steps of a plant it is said what is wrong."""

PLANTS = [
    Plant(
        "a granted vote is not counted",
        f"{RAFT}/CandidateState.java",
        "recordVote(remoteNodeId, true)",
        "recordVote(remoteNodeId, false)",
        "HandleVoteResponse",
        "after.rejected",
    ),
    Plant(
        "a vote is not written",
        QUORUM,
        "        durableTransitionTo(\n            new UnattachedState(\n                time,\n"
        "                epoch,\n                state.election().optionalLeaderId(),",
        "        memoryTransitionTo(\n            new UnattachedState(\n                time,\n"
        "                epoch,\n                state.election().optionalLeaderId(),",
        "HandleVoteRequest",
        "after.quorumState.voted",
    ),
    Plant(
        "the high watermark moves at the epoch's start",
        LEADER,
        "if (highWatermarkUpdateOffset > epochStartOffset) {",
        "if (highWatermarkUpdateOffset >= epochStartOffset) {",
        "HandleFetchRequest",
        "after.highWatermark",
    ),
    Plant(
        "a vote without a look at the log",
        QUORUM,
        "        if (isPreVote) {\n            if (!isLogUpToDate) {",
        "        if (isPreVote) {\n            isLogUpToDate = true;\n"
        "            if (!isLogUpToDate) {",
        "HandleVoteRequest",
        "granted",
        runs=12,
    ),
    Plant(
        "a follower does not flush",
        CLIENT,
        "            // set of voters.\n            log.flush(false);",
        "            // set of voters.",
        "HandleFetchResponse",
        "after.flushed",
    ),
    Plant(
        "connections are kept by who begins to lead",
        CLIENT,
        "        state.appendStartOfEpochControlRecords(currentTimeMs);\n\n"
        "        resetConnections();",
        "        state.appendStartOfEpochControlRecords(currentTimeMs);\n",
        "HandleVoteResponse",
        "BeginQuorumEpochRequest",
    ),
    Plant(
        "who has resigned skips an epoch",
        CLIENT,
        "transitionToUnattached(quorum.epoch() + 1, OptionalInt.empty());",
        "transitionToUnattached(quorum.epoch() + 2, OptionalInt.empty());",
        "HandleElectionTimeout",
        "after.epoch",
    ),
    Plant(
        "voters are not sorted for the high watermark",
        LEADER,
        "            .stream()\n            .sorted();",
        "            .stream();",
        "HandleFetchRequest",
        "after.highWatermark",
    ),
    Plant(
        "a vote survives into the next epoch",
        QUORUM,
        "Optional<ReplicaKey> votedKey = epoch == currentEpoch ? votedKey() : Optional.empty();\n"
        "        durableTransitionTo(new UnattachedState(",
        "Optional<ReplicaKey> votedKey = votedKey();\n"
        "        durableTransitionTo(new UnattachedState(",
        "HandleVoteRequest",
        "after.voted",
    ),
    # What entries of the profile, and projections of the host, must not hide.
    Plant(
        "a candidate's vote for itself is not written",
        QUORUM,
        "        durableTransitionTo(new CandidateState(",
        "        memoryTransitionTo(new CandidateState(",
        "HandleVoteResponse",
        "after.quorumState",
    ),
    Plant(
        "who resigns leaves fetches parked",
        CLIENT,
        "        fetchPurgatory.completeAllExceptionally(\n"
        "            Errors.NOT_LEADER_OR_FOLLOWER.exception(\n"
        '                "Not handling request since this node is resigning"\n'
        "            )\n        );\n",
        "",
        "HandleResign HandleCheckQuorumTimeout",
        "after.parked",
    ),
    Plant(
        "an answer is used whatever its number",
        CLIENT,
        "if (requestManager.isResponseExpected(response.source(), response.correlationId())) {",
        "if (true) {",
        "HandleVoteResponse HandleFetchResponse HandleBeginQuorumEpochResponse "
        "HandleEndQuorumEpochResponse",
        "after.",
    ),
    Plant(
        "an append wakes nobody",
        CLIENT,
        "        fetchPurgatory.maybeComplete(endOffsetMetadata.offset(), currentTimeMs);\n",
        "",
        "HandleAppend",
        "parked",
    ),
    Plant(
        "a fetch never waits",
        CLIENT,
        "            || request.maxWaitMs() == 0\n            || isPartitionDiverged",
        "            || true\n            || isPartitionDiverged",
        "HandleFetchRequest",
        "AnsweredInVain",
    ),
    Plant(
        "who is told that an epoch ends stands at once",
        CLIENT,
        "                state.overrideFetchTimeout(currentTimeMs, electionBackoffMs);",
        "                transitionToProspective(currentTimeMs);",
        "HandleEndQuorumEpochRequest",
        "after.role",
    ),
]
FIXED = Plant(
    "z68-fixed",
    QUORUM,
    "            election.isVotedCandidate(ReplicaKey.of(localId.getAsInt(), localDirectoryId))\n"
    "        ) {\n            initialState",
    "            election.isVotedCandidate(ReplicaKey.of(localId.getAsInt(), localDirectoryId))\n"
    "            && !election.hasLeader()\n        ) {\n            initialState",
    "",
    "",
)


@pytest.fixture(scope="session")
def kafka_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sources(tmp_path_factory.mktemp("kafka"))


@pytest.fixture(scope="session")
def said(kafka_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Of each plant, by its name, what is wrong at the steps where it must be seen.

    The steps of all are judged in one run of TLC, whose start costs more than they do.
    """
    folder = tmp_path_factory.mktemp("plants")
    lines: list[str] = []
    for number, plant in enumerate(PLANTS):
        classes = compiled(plant, kafka_sources, folder / str(number))
        kafka, trace = Kafka(VERSION, classes, "", files=True), folder / f"{number}.jsonl"
        drive(trace, kafka, VOTERS, 3, runs=plant.runs, seed=5, moves=200)
        head, *steps = trace.read_text("utf-8").splitlines()
        lines += [numbered(step, number) for step in steps]
    together = folder / "together.jsonl"
    together.write_text("\n".join([head, *lines, ""]), "utf-8")
    read = read_foreign(together)
    plant_of = {step.line: PLANTS[step.run // APART] for step in read.steps}
    found: dict[str, set[str]] = {plant.name: set() for plant in PLANTS}
    for each in left_open(read):
        found[plant_of[each.line].name].add(f"{each.check}: {each.explanation}")
    [(bench, refused)] = judge_steps(read, read.steps, profile=PROFILE).refused
    at: dict[str, list[dict[str, Value]]] = {}
    for step, columns in refused:
        plant = plant_of[step.line]
        if str(columns["action"]) in plant.action.split():
            at.setdefault(plant.name, []).append(columns)
    asked = [(name, columns) for name, those in at.items() for columns in those[:EXPLAINED]]
    told = diagnose(bench, [columns for _, columns in asked])
    for (name, _), diagnosis in zip(asked, told, strict=True):
        found[name] |= set(diagnosis.lines)
    return found


def numbered(line: str, number: int) -> str:
    """A line of a trace as one of this plant's."""
    step = msgspec.json.decode(line)
    return msgspec.json.encode({**step, "run": step["run"] + number * APART}).decode()


@pytest.mark.parametrize("plant", PLANTS, ids=[plant.name.replace(" ", "-") for plant in PLANTS])
def test_a_fault_in_kafka_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def followed(kafka: Kafka, trace: Path) -> following.Followed:
    script, _ = read((FOLDER / "Z68.moves").read_text(encoding="utf-8"))
    setting = VOTERS.setting(script.options)
    constants = VOTERS.constants(setting)
    with host_of(kafka, QUORUM, constants) as host:
        found = following.follow(script, VOTERS.begin(setting, host, watched=True))
    lines = [of_run(text, 0) for text, _ in found.schedule.lines]
    trace.write_text(header(constants, "Kafka") + "\n" + "".join(lines), encoding="utf-8")
    return found


def test_z68_stops_a_voter_and_its_fix_is_accepted(kafka_sources: Path, tmp_path: Path) -> None:
    """By the specs without any profile."""
    kafka = Kafka(VERSION, None, "", files=True)
    broken = followed(kafka, tmp_path / "broken.jsonl")
    assert broken.failure is not None
    assert broken.failure.name == "NoIllegalState"
    trace = read_foreign(tmp_path / "broken.jsonl")
    refused = judge_steps(trace, trace.steps).lines()
    assert [step.action for step in trace.steps if step.line in refused] == ["HandleRestart"]

    fixed = kafka._replace(jars=compiled(FIXED, kafka_sources, tmp_path))
    mended = followed(fixed, tmp_path / "fixed.jsonl")
    assert mended.failure is None
    trace = read_foreign(tmp_path / "fixed.jsonl")
    assert judge_steps(trace, trace.steps).lines() == set()
    assert [step.after["role"] for step in trace.steps if step.action == "HandleRestart"] == [
        "Follower"
    ]
