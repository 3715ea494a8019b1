"""Drive Kafka's share partition and share coordinator, and find faults in them and in the host.

Each fault is found at its step, by name (docs/reference/witness-classes.md).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.exits import HOLDS, VIOLATED
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.witness.shares import SHARE_LEADERS
from tests.live.patched import Plant, compiled, run, seen, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("witness-shares"),
]
HOST = Path(jars.__file__).parent / "java" / "shares"
EXAMPLES = Path(__file__).parents[2] / "examples" / "witness"
CELL = "org/apache/kafka/server/share/fetch/InFlightState.java"
PARTITION = "kafka/server/share/SharePartition.java"
SHARD = "org/apache/kafka/coordinator/share/ShareCoordinatorShard.java"
PERSISTER = "org/apache/kafka/server/share/persister/PersisterStateManager.java"
COMBINER = "org/apache/kafka/coordinator/share/PersisterStateBatchCombiner.java"
HOSTED = "kafka/server/share/Leader.java"
STATES = "org/apache/kafka/coordinator/common/runtime/ShareStates.java"
WRITTEN = "HandleWriteShareGroupStateResponse HandleGiveUpWrite"
RPC = 'write state RPC for key {}: {}", partitionKey(), errorMessage);'
WRITE_FAILS = f'log().error("Unable to perform {RPC}'
WRITE_WAITS = f'log().debug("Received retriable error in {RPC}'

PLANTS = [
    Plant(
        "the limit of deliveries is not applied",
        CELL,
        "ops != DeliveryCountOps.DECREASE && deliveryCount >= maxDeliveryCount",
        "false",
        "HandleLockTimeout HandleSessionEnd HandleShareAcknowledge",
        ".state: recorded",
    ),
    Plant(
        "a lock that expires during a write is forgotten",  # KAFKA-19476
        CELL,
        "acquisitionLockTimeoutTask != null && acquisitionLockTimeoutTask.hasExpired()",
        "false",
        WRITTEN,
        ".expired: recorded",
        run=23,
        moves=400,
    ),
    Plant(
        "a failed write leaves the record without its holder",
        CELL,
        "memberId = previousState.memberId();",
        "memberId = EMPTY_MEMBER_ID;",
        WRITTEN,
        ".member: recorded",
    ),
    Plant(
        "the gaps of a loaded state are never fetched",  # KAFKA-18494
        PARTITION,
        "persisterReadResultGapWindow = new GapWindow(endOffset, gapStartOffset);",
        "",
        "HandleReadShareGroupStateResponse",
        "after.gap",
        run=7,
        moves=400,
    ),
    Plant(
        "who is not its holder acknowledges a record",
        PARTITION,
        "if (!inFlightBatch.batchMemberId().equals(memberId)) {",
        "if (false) {",
        "HandleShareAcknowledge",
        ".moving: recorded",
        run=6,
        moves=400,
    ),
    Plant(
        "a read of share state is not recorded",  # KAFKA-17796
        SHARD,
        "if (leaderEpoch == -1 ||",
        "if (leaderEpoch != -1 ||",
        "HandleReadShareGroupState",
        "after.log",
    ),
    Plant(
        "the lower delivery count is stored",
        COMBINER,
        "int deltaCount = Short.compare(b1.deliveryCount(), b2.deliveryCount());",
        "int deltaCount = Short.compare(b2.deliveryCount(), b1.deliveryCount());",
        "HandleWriteShareGroupState",
        "after.log",
        run=3,
        moves=400,
    ),
    Plant(
        "the persister sends no start offset",
        PERSISTER,
        """.setStartOffset(handler.startOffset)
                            .setDeliveryCompleteCount""",
        """.setStartOffset(-1)
                            .setDeliveryCompleteCount""",
        "HandleWriteShareGroupState",
        "after.log",
    ),
    Plant(
        "the persister says that a write it does not make has succeeded",
        PERSISTER,
        f"""{WRITE_FAILS}
                                        requestErrorResponse(error,""",
        "requestErrorResponse(Errors.NONE,",
        "HandleWriteShareGroupStateResponse",
        "sent",
        run=9,
        moves=400,
    ),
    Plant(
        "of writes that are sent together one gets the response",
        PERSISTER,
        "handlersPerGroup.forEach(handler1 -> handler1.onComplete(response));",
        "handlersPerGroup.get(0).onComplete(response);",
        "HandleWriteShareGroupStateResponse",
        "after.pending",
        run=17,
        moves=400,
    ),
    Plant(
        "a write is not made again",
        PERSISTER,
        WRITE_WAITS,
        "if (true) { return; }",
        "HandleRetryPersister HandleGiveUpWrite",
        "sent",
        run=3,
        moves=400,
    ),
]
HOSTS = [
    Plant(
        "the host stores no incarnations",
        STATES,
        '"incarnation", mark',
        '"incarnation", 0',
        "HandleReadShareGroupState",
        "after.log",
    ),
    Plant(
        "the host reads no transitions",
        HOSTED,
        '"moving", rollback != null,',
        '"moving", false,',
        "HandleShareAcknowledge HandleSessionEnd",
        ".moving",
    ),
    Plant(
        "the host reads the last offset for the end",
        HOSTED,
        "return some ? partition.endOffset() + 1 : partition.endOffset();",
        "return partition.endOffset();",
        "HandleShareFetch",
        "after.end",
    ),
]
ALL = [*PLANTS, *HOSTS]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp
    texts = sources(
        folder("kafka"),
        "kafka_2.13",
        "kafka-server",
        "kafka-server-common",
        "kafka-share-coordinator",
    )
    classes = compiled(PLANTS, texts, folder("plant"), SHARE_LEADERS.protocol.name)
    classes += compiled(HOSTS, HOST, folder("host"), SHARE_LEADERS.protocol.name)
    return seen(ALL, SHARE_LEADERS, classes, folder("plants"))


@pytest.mark.parametrize("plant", ALL, ids=lambda plant: plant.name)
def test_a_fault_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def test_by_chance_and_without_the_profile(tmp_path: Path) -> None:
    words = ("shares", "--runs", "12", "--seed", "12", "--out", str(tmp_path / "o"))
    found = run(HOLDS, *words)
    assert found["profile"] == "kafka-4.3" and found["found"]["steps"] > 1000
    assert {each["entry"] for each in found["known"]} >= {"window-stays", "late-start"}
    strict = run(VIOLATED, *words, "--as", "specs", "--differential")
    assert strict["found"]["rejections"]


def test_the_start_offset_goes_back() -> None:
    """The write of an acknowledgement ends after the log start has passed all that is cached."""
    found = run(VIOLATED, "replay", str(EXAMPLES / "share-start.moves"))
    assert (found["violates"], found["as_said"], found["left_out"]) == (
        *("StartOffsetMonotonic", True),
        [],
    )
    assert "start-returns" in {each["entry"] for each in found["known"]}


@pytest.mark.parametrize(
    ("name", "breaks", "field"),
    [
        ("share-one-response", "StateRecoverable", "after.pending"),
        ("share-fenced-write", "AcknowledgedNeverRedelivered", "sent{}.error"),
    ],
)
def test_one_response_for_two_writes(name: str, breaks: str, field: str) -> None:
    """Of two writes in one request the first fails, and gets the response of the second."""
    found = run(VIOLATED, "replay", str(EXAMPLES / f"{name}.moves"))
    assert (found["violates"], found["as_said"], found["left_out"]) == (breaks, True, [])
    [refused] = found["found"]["rejections"]
    assert any(field in each for each in refused["differences"])


@pytest.mark.parametrize(
    ("name", "known"),
    [("share-removed", "removes-by-key"), ("share-throws", "throws")],
    ids=("a refused write removes the next share partition", "an acknowledgement throws"),
)
def test_a_known_bug_needs_the_profile(name: str, known: str) -> None:
    words = ("replay", str(EXAMPLES / f"{name}.moves"))
    assert run(HOLDS, *words)["known"][0]["entry"] == known
    assert run(VIOLATED, *words, "--as", "specs")["found"]["rejections"]
