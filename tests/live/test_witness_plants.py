"""Faults planted in Kafka's classes: each is found at the step that is wrong, and named.

Beside them the fix of Z68, which must be accepted, and its control.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.witness import following
from kraftcheck.kafka.witness.driving import drive, host_of, of_run
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.quorum import VOTERS
from kraftcheck.kafka.witness.speech import header
from kraftcheck.known_bugs.schedules import FOLDER
from kraftcheck.reference.steered.scripts import read
from kraftcheck.traces.foreign.batch import judge_steps
from kraftcheck.traces.foreign.reading import read_foreign
from tests.live.patched import Plant, compiled, seen, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("plants"),
]

HOST = Path(jars.__file__).parent / "java" / "quorum"
RAFT = "org/apache/kafka/raft"
CLIENT = f"{RAFT}/KafkaRaftClient.java"
QUORUM = f"{RAFT}/QuorumState.java"
LEADER = f"{RAFT}/LeaderState.java"

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
        run=1,
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
        run=1,
    ),
    Plant(
        "voters are not sorted for the high watermark",
        LEADER,
        "            .stream()\n            .sorted();",
        "            .stream();",
        "HandleFetchRequest",
        "after.highWatermark",
        run=2,
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
        "ignored",
        run=4,
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
        "parked",
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
    return sources(tmp_path_factory.mktemp("kafka"), "kafka-raft")


@pytest.fixture(scope="session")
def said(kafka_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    classes = compiled(
        PLANTS, kafka_sources, tmp_path_factory.mktemp("plant"), VOTERS.protocol.name
    )
    return seen(PLANTS, VOTERS, classes, tmp_path_factory.mktemp("plants"))


@pytest.mark.parametrize("plant", PLANTS, ids=[plant.name.replace(" ", "-") for plant in PLANTS])
def test_a_fault_in_kafka_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def followed(kafka: Kafka, trace: Path) -> following.Followed:
    script, _ = read((FOLDER / "Z68.moves").read_text(encoding="utf-8"))
    setting = VOTERS.setting(script.options)
    constants = VOTERS.constants(setting)
    with host_of(kafka, VOTERS.protocol, constants) as host:
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

    [classes] = compiled([FIXED], kafka_sources, tmp_path, VOTERS.protocol.name)
    fixed = kafka._replace(jars=classes)
    mended = followed(fixed, tmp_path / "fixed.jsonl")
    assert mended.failure is None
    trace = read_foreign(tmp_path / "fixed.jsonl")
    assert judge_steps(trace, trace.steps).lines() == set()
    starts = [step.after["role"] for step in trace.steps if step.action == "HandleRestart"]
    assert starts == ["Unattached", "Unattached", "Unattached", "Follower"]


KEPT = Plant(
    "a log in which something was written is taken for one that nobody has touched",
    "org/apache/kafka/raft/VoterLog.java",
    "touched |= !READS.contains(method.getName());",
    "touched = false;",
    "",
    "",
)


def test_a_run_does_not_depend_on_those_before_it(tmp_path: Path) -> None:
    """Logs in which nothing was written are used again; otherwise each run has its own."""
    [classes] = compiled([KEPT], HOST, tmp_path, VOTERS.protocol.name)

    def steps(kafka: Kafka, first: int, runs: int) -> list[str]:
        trace = tmp_path / "trace.jsonl"
        drive(trace, kafka, VOTERS, 3, runs=runs, first=first, seed=4, moves=60)
        return trace.read_text("utf-8").splitlines()[1:]

    release, planted = Kafka(VERSION, None, "", True), Kafka(VERSION, classes, "", True)
    alone = [*steps(release, 0, 1), *steps(release, 1, 1)]
    assert steps(release, 0, 2) == alone
    assert steps(planted, 0, 2) != alone


FORGOTTEN = Plant(
    "a prospective does not keep the vote that it gives",
    CLIENT,
    "quorum.prospectiveAddVotedState(replicaEpoch, replicaKey);",
    'logger.info("{}", replicaKey);',
    "",
    "",
)


def test_two_leaders_of_an_epoch_are_a_violation_whose_schedule_is_kept(
    tmp_path: Path, kafka_sources: Path
) -> None:
    """One of them halts over the other's BeginQuorumEpoch, which stays parked: no row can say it.
    The schedule comes there again.
    """
    [classes] = compiled([FORGOTTEN], kafka_sources, tmp_path, VOTERS.protocol.name)
    kafka = Kafka(VERSION, classes, "", files=True)
    trace = tmp_path / "trace.jsonl"
    driven = drive(trace, kafka, VOTERS, 3, runs=1, first=104, seed=7, moves=300)
    [(run, made, what)] = driven.unsaid
    assert what == "parked: BeginQuorumEpochRequest, where FetchRequest may be"
    assert run == 104 and "inconsistent with current leader" in driven.thrown[0]
    script = msgspec.structs.replace(driven.scripts[0], moves=driven.scripts[0].moves[:made])
    constants = VOTERS.constants(VOTERS.setting(script.options))
    with host_of(kafka, VOTERS.protocol, constants) as host:
        begun = VOTERS.begin(VOTERS.setting(script.options), host, False)
        again = following.follow(script, begun)
    assert again.failure is not None and again.failure.what == what
