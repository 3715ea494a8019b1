"""Faults in Kafka's classes, each as a test that Kafka could merge; Kafka's own tests miss most."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.changed import compiled as compiled_tests
from experiments.kafka_tests import jars, run_once
from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.witness import junit
from kraftcheck.kafka.witness.junit.written import Wrong
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    BrokerCrash,
    ElectLeaders,
    SendHeartbeat,
)
from kraftcheck.reference.partition.types import (
    BrokerOutcome,
    ControllerOutcome,
    PartitionConstants,
    initial_controller,
    initial_row as broker_row,
)
from kraftcheck.reference.quorum.messages import FetchMaxWait, FetchRequest
from kraftcheck.reference.quorum.types import Constants, initial_row
from kraftcheck.reference.steered.moves import NodeStep
from tests.live.missed import ARTIFACTS, FAULTS, Fault, planted
from tests.live.patched import sources


@pytest.fixture(scope="module")
def kafka_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sources(tmp_path_factory.mktemp("kafka"), *ARTIFACTS)


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.kafka
@pytest.mark.xdist_group("plants")
@pytest.mark.parametrize("fault", FAULTS, ids=[each.schedule for each in FAULTS])
def test_the_test_fails_with_the_fault_and_passes_without(
    fault: Fault, kafka_sources: Path, tmp_path: Path
) -> None:
    """Where it is a method of Kafka's own class, that class's other tests pass both times."""
    classes_with_fault = planted(fault.plant, kafka_sources, tmp_path)
    schedule, test = tmp_path / "run.moves", tmp_path / f"{fault.test.rpartition('.')[2]}.java"
    shutil.copy(Path(__file__).parent / "data" / f"{fault.schedule}.moves", schedule)
    words = ["witness", "shrink", str(schedule), "--junit-test", str(test)]
    words += ["--jars", str(classes_with_fault), "--attempts", "1"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1, done.output
    text = test.read_text()
    assert "Licensed to the Apache Software Foundation" in text
    classes = tmp_path / "classes"
    compiled_tests([test], classes, jars())
    with_fault = run_once(
        [fault.test], [str(classes), str(classes_with_fault), *jars()], tmp_path / "with"
    )
    without = run_once([fault.test], [str(classes), *jars()], tmp_path / "without")
    assert with_fault.tests == without.tests >= 1
    assert len(with_fault.failed) == 1 and not without.failed


@pytest.mark.slow
@pytest.mark.kafka
def test_a_class_that_is_not_there_is_no_failing_test(tmp_path: Path) -> None:
    there = "org.apache.kafka.controller.BrokerHeartbeatManagerTest"
    assert run_once([there], jars(), tmp_path / "there").tests >= 1
    with pytest.raises(ClusterError, match="NoSuchTest"):
        run_once([there, "org.apache.kafka.NoSuchTest"], jars(), tmp_path / "not")


CONSTANTS = Constants(voters=(1, 2, 3), fetch_max_records=1)
BROKERS = PartitionConstants(replicas=(1, 2, 3), min_insync_replicas=2)


def of_voter() -> Wrong:
    request = FetchRequest(1, 2, 1, 0, 0)
    row = initial_row(CONSTANTS)
    step = NodeStep(CONSTANTS, 2, "HandleFetchMaxWait", row, FetchMaxWait(request), row, (), "")
    return Wrong([step], [])


def of_broker() -> Wrong:
    row = broker_row(BROKERS)
    beat = NodeStep(BROKERS, 2, "HandleSendHeartbeat", row, SendHeartbeat(), row, (), "")
    crash = beat._replace(action="HandleBrokerCrash", input=BrokerCrash(0, -1))
    return Wrong([beat, crash], [BrokerOutcome(row, (), "")])


def of_controller() -> Wrong:
    row = initial_controller(BROKERS)
    said = (row, ElectLeaders("PREFERRED"), row, (), "")
    step = NodeStep(BROKERS, CONTROLLER, "HandleElectLeaders", *said)
    return Wrong([step], [ControllerOutcome(row, (), "")])


@pytest.mark.parametrize("wrong", [of_voter, of_broker], ids=lambda of: of.__name__)
def test_an_input_without_a_counterpart_is_refused(wrong: Callable[[], Wrong]) -> None:
    with pytest.raises(BadInput, match="has no counterpart"):
        junit.render(wrong(), Path("VoteTest.java"), "VoteOnce")
    with pytest.raises(BadInput, match="has a name like"):
        junit.render(wrong(), Path("vote.java"), "VoteOnce")


def test_a_test_of_the_controller_becomes_a_method_of_kafkas_class(tmp_path: Path) -> None:
    """Beside what a developer has there, once."""
    with pytest.raises(BadInput, match=r"name a file ReplicationControlManagerTest\.java"):
        junit.render(of_controller(), tmp_path / "ElectTest.java", "OneLeader")
    own = tmp_path / "ReplicationControlManagerTest.java"
    own.write_text("package p;\n\nimport org.junit.jupiter.api.Test;\n\nclass Own {\n}\n")
    own.write_text(junit.render(of_controller(), own, "OneLeader"))
    text = own.read_text()
    assert text.startswith("package p;\n\nimport org.junit.jupiter.api.Test;\nimport static")
    assert text.count("@Test\n    public void testOneLeader() throws Exception {") == 1
    assert text.endswith("    }\n}\n")
    with pytest.raises(BadInput, match="has this test already"):
        junit.render(of_controller(), own, "OneLeader")
