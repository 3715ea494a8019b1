"""Kafka's steps beside the reference's: what differs is what TLC refuses; faults are seen at once.

The faults are planted in Kafka's classes and in the host; no TLC is asked about them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.driving import drive
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.partition import BROKERS
from kraftcheck.kafka.witness.quorum import VOTERS
from kraftcheck.traces.foreign.batch import judge_steps
from kraftcheck.traces.foreign.reading import read_foreign
from tests.live.patched import Plant, compiled, sources
from tests.live.test_witness_partition import HOSTS, PLANTS as OF_PARTITION
from tests.live.test_witness_plants import PLANTS as OF_QUORUM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("differential"),
]
KAFKA = Kafka(VERSION, None, "", files=True)
JAVA = Path(jars.__file__).parent / "java"
READER = Plant(
    "the host reads the high watermark of the log",
    "org/apache/kafka/raft/Voter.java",
    "client == null ? UNDEFINED : offset(client.quorum().highWatermark()))",
    "client == null ? UNDEFINED : log.end())",
    "HandleRestart HandleVoteResponse HandleElectionTimeout",
    "highWatermark",
)


def differing(component: Component, kafka: Kafka, path: Path, run: int) -> set[tuple[str, str]]:
    """The actions and fields in which steps differ."""
    driven = drive(path, kafka, component, 3, runs=1, first=run, seed=5, moves=200, compares=True)
    return {(each.action, d.field) for each in driven.differing for d in each.differences}


@pytest.mark.parametrize("component", [VOTERS, BROKERS], ids=["quorum", "partition"])
def test_what_differs_is_what_tlc_refuses(component: Component, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    driven = drive(path, KAFKA, component, 3, runs=4, seed=1, moves=150, compares=True)
    trace = read_foreign(path)
    lines = {each.line for each in driven.differing}
    assert lines
    assert judge_steps(trace, trace.steps).lines() == lines


@pytest.mark.parametrize(
    ("component", "plant", "of_host"),
    [
        (VOTERS, OF_QUORUM[0], False),
        (VOTERS, READER, True),
        (BROKERS, OF_PARTITION[0], False),
        (BROKERS, HOSTS[0], True),
    ],
    ids=["class-of-quorum", "host-of-quorum", "class-of-partition", "host-of-partition"],
)
def test_a_fault_differs_at_its_step(
    component: Component, plant: Plant, of_host: bool, tmp_path: Path
) -> None:
    """And not without it, in that field of that action."""
    if of_host:
        texts = JAVA / ("quorum" if component is VOTERS else "partition")
    else:
        needed = ("kafka-raft",) if component is VOTERS else ("kafka-server", "kafka-storage")
        texts = sources(tmp_path / "kafka", *needed)
    [classes] = compiled([plant], texts, tmp_path, component.protocol.name)
    wrong = {(action, plant.field.removeprefix("after.")) for action in plant.action.split()}
    found = differing(component, KAFKA._replace(jars=classes), tmp_path / "with", plant.run)
    seen = {(action, field) for action, field in found if _among(action, field, wrong)}
    assert seen, found
    assert not seen <= differing(component, KAFKA, tmp_path / "without", plant.run)


def _among(action: str, field: str, wrong: set[tuple[str, str]]) -> bool:
    """A reader's fields are parts of those of a row, such as remotes' endOffset."""
    parts = {"endOffset": "remotes"}
    return any(action == of and field == parts.get(name, name) for of, name in wrong)
