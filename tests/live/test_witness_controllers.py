"""Drive Kafka's QuorumController, and find faults in it and in the host at their steps, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.exits import HOLDS
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.witness.controllers import ACTIVE_CONTROLLERS
from tests.live.patched import Plant, compiled, run, seen, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("witness-controllers"),
]
HOST = Path(jars.__file__).parent / "java" / "controllers"
CONTROLLER = "org/apache/kafka/controller/QuorumController.java"
OFFSETS = "org/apache/kafka/controller/OffsetControlManager.java"
QUEUE = "org/apache/kafka/deferred/DeferredEventQueue.java"
HOSTED = "org/apache/kafka/controller/ActiveController.java"

PLANTS = [
    Plant(
        "a request without records is answered before those that wait",
        CONTROLLER,
        "OptionalLong maybeOffset = deferredEventQueue.highestPendingOffset();",
        "OptionalLong maybeOffset = OptionalLong.empty();",
        "HandleWriteEvent",
        "after.deferred",
    ),
    Plant(
        "a request with records is answered at once",
        CONTROLLER,
        "resultAndOffset = ControllerResultAndOffset.of(offset, result);",
        "resultAndOffset = ControllerResultAndOffset.of(offset, result); complete(null);",
        "HandleWriteEvent",
        "after.deferred",
    ),
    Plant(
        "a request is answered one record too early",
        QUEUE,
        "if (entry.getKey() > offset) {",
        "if (entry.getKey() > offset + 1) {",
        "HandleBatchCommitted",
        "after.deferred",
        run=4,
        moves=400,
    ),
    Plant(
        "who is deposed keeps what is not committed",
        OFFSETS,
        "snapshotRegistry.revertToSnapshot(lastStableOffset);",
        "",
        "HandleLeaderAndEpoch",
        "after.end",
    ),
    Plant(
        "who is deposed leaves requests unanswered",
        QUEUE,
        "event.complete(exception);\n            }\n            iter.remove();",
        "event.getClass();\n            }\n",
        "HandleLeaderAndEpoch",
        "after.deferred",
    ),
    Plant(
        "a standby does not note what is committed",
        OFFSETS,
        "this.lastCommittedEpoch = batch.epoch();",
        "",
        "HandleBatchCommitted",
        "after.committedEpoch",
    ),
]
HOSTS = [
    Plant(
        "the host reads no deferred requests",
        HOSTED,
        "return found;\n    }\n}",
        "return List.of();\n    }\n}",
        "HandleWriteEvent",
        "after.deferred",
    ),
    Plant(
        "the host says another end of an append",
        HOSTED,
        '"operation", asked, "end", own',
        '"operation", asked, "end", own + 1',
        "HandleWriteEvent",
        "sent",
    ),
]
ALL = [*PLANTS, *HOSTS]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp
    texts = sources(folder("kafka"), "kafka-metadata", "kafka-server-common")
    classes = compiled(PLANTS, texts, folder("plant"), ACTIVE_CONTROLLERS.protocol.name)
    classes += compiled(HOSTS, HOST, folder("host"), ACTIVE_CONTROLLERS.protocol.name)
    return seen(ALL, ACTIVE_CONTROLLERS, classes, folder("plants"))


@pytest.mark.parametrize("plant", ALL, ids=lambda plant: plant.name)
def test_a_fault_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def test_by_chance(tmp_path: Path) -> None:
    words = ("controllers", "--runs", "40", "--seed", "3", "--out", str(tmp_path / "o"))
    found = run(HOLDS, *words, "--differential")
    assert found["found"]["steps"] > 5000 and not found["known"]
