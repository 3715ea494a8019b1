"""Records that a leader of Kafka's deletes: as in the reference; three faults in its log are seen.

They are what the projections of a deletion could hide (docs/reference/witness-classes.md).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.witness.comparing import compared
from kraftcheck.kafka.witness.driving import host_of
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.speech import Speech
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    BrokerCrash,
    BrokerFlush,
    BrokerRestart,
    DeleteRecordsRequest,
    ElectLeaders,
    Input,
    MetadataUpdate,
    ProduceRequest,
    ReplicaFetchRequest,
)
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.types import INITIAL_OFFSET, UNDEFINED, PartitionConstants
from kraftcheck.traces.cover.rulebook import RuleBook, everything
from tests.live.patched import Plant, compiled, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.xdist_group("witness-deletion"),
]
KAFKA = Kafka(VERSION, None, "", files=True)
FOLDER = "org/apache/kafka/storage/internals/log"
LOG = f"{FOLDER}/UnifiedLog.java"
PLANTS = [
    Plant(
        "a deletion is not held against the high watermark",
        LOG,
        "                        if (newLogStartOffset > highWatermark()) {\n"
        "                            throw new OffsetOutOfRangeException("
        '"Cannot increment the log start',
        "                        if (false) {\n"
        "                            throw new OffsetOutOfRangeException("
        '"Cannot increment the log start',
        "DeleteRecordsRequest",
        "log_start",
    ),
    Plant(
        "a flush leaves the recovery point",
        LOG,
        "                            localLog.markFlushed(offset);\n",
        "",
        "BrokerFlush",
        "flushed",
    ),
    Plant(
        "a log that is loaded begins with its first segment",
        f"{FOLDER}/LogLoader.java",
        ": Math.max(logStartOffsetCheckpoint, segments",
        ": Math.max(0L, segments",
        "BrokerRestart",
        "log_start",
    ),
]
LEADER, FOLLOWER = 0, 1
CONSTANTS = PartitionConstants(
    replicas=(LEADER, FOLLOWER),
    min_insync_replicas=1,
    elr_enabled=True,
    unclean_election=False,
    fetch_max_records=1,
)
ELECTED = replace(everything(PARTITION), begin=["-2 ElectLeaders(election=ONLINE"])
BOOK = RuleBook(PARTITION, CONSTANTS, ELECTED)


def produced(value: int) -> Input:
    return ProduceRequest(CLIENTS, LEADER, value, 1, (value,), *(UNDEFINED,) * 3)


def deleted(offset: int) -> Input:
    return DeleteRecordsRequest(CLIENTS, LEADER, 7, offset)


STEPS: list[Input] = [
    MetadataUpdate(INITIAL_OFFSET, BOOK.log),
    produced(1),
    deleted(1),  # beyond the high watermark
    BrokerFlush(),
    produced(2),
    ReplicaFetchRequest(FOLLOWER, LEADER, 0, 1, 2, 1),
    deleted(2),  # of which one is not flushed
    BrokerFlush(),
    produced(3),
    BrokerCrash(keep=3, corrupt=UNDEFINED),  # what begins at 2 is there again
    BrokerRestart(),
]


def differing(kafka: Kafka) -> set[tuple[str, str]]:
    """In which inputs and fields the leader differs from the reference, up to the first."""
    speech = Speech(CONSTANTS)
    with host_of(kafka, PARTITION, CONSTANTS) as host:
        host.ask(["new", f"{CONTROLLER} {speech.text(ElectLeaders('ONLINE'))}"])
        for input in STEPS:
            [said] = host.ask([f"{LEADER} {speech.text(input)}"])
            taken = speech.taken(said)
            outcomes = BOOK.outcomes(LEADER, taken.before, input)
            if found := compared(taken.outcome, outcomes):
                return {(type(input).__name__, each.field) for each in found}
    row = taken.outcome.row
    assert (row.log_start, len(row.log), row.flushed) == (2, 3, 2)
    return set()


def test_a_leader_deletes_as_the_reference_does() -> None:
    assert differing(KAFKA) == set()


@pytest.mark.parametrize("plant", PLANTS, ids=[plant.name.replace(" ", "-") for plant in PLANTS])
def test_a_fault_in_the_log_differs_at_its_step(plant: Plant, tmp_path: Path) -> None:
    texts = sources(tmp_path / "kafka", "kafka-storage")
    [classes] = compiled([plant], texts, tmp_path, PARTITION.name)
    assert {action for action, _ in differing(KAFKA._replace(jars=classes))} == {plant.action}
