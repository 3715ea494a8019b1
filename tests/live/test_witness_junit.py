"""A fault that all of Kafka's own tests of the quorum pass, as a test that Kafka could merge."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.changed import compiled as compiled_tests
from experiments.kafka_tests import jars, run_once
from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.kafka.witness import junit
from kraftcheck.kafka.witness.quorum import VOTERS
from kraftcheck.reference.quorum.messages import FetchMaxWait, FetchRequest
from kraftcheck.reference.quorum.types import Constants, initial_row
from kraftcheck.reference.steered.moves import NodeStep
from tests.live.patched import compiled, sources
from tests.live.test_witness_plants import FORGOTTEN, RAFT

NAME = "ProspectiveVoteTest"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Classes of Kafka in which a prospective voter does not keep the vote that it gives."""
    folder = tmp_path_factory.mktemp("planted")
    unpacked = sources(folder, "kafka-raft")
    [classes] = compiled([FORGOTTEN], unpacked, folder, VOTERS.protocol.name)
    yield classes


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.kafka
@pytest.mark.xdist_group("plants")
def test_the_test_fails_with_the_fault_and_passes_without(planted: Path, tmp_path: Path) -> None:
    schedule, test = tmp_path / "run.moves", tmp_path / f"{NAME}.java"
    shutil.copy(Path(__file__).parent / "data" / "prospective.moves", schedule)
    words = ["witness", "shrink", str(schedule), "--jars", str(planted), "--junit-test", str(test)]
    words += ["--attempts", "100"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1, done.output
    text = test.read_text()
    assert "Licensed to the Apache Software Foundation" in text and "assertVotedCandidate" in text
    classes = tmp_path / "classes"
    compiled_tests([test], classes, jars())
    name = f"{RAFT.replace('/', '.')}.{NAME}"
    with_fault = run_once([name], [str(classes), str(planted), *jars()], tmp_path / "with")
    without = run_once([name], [str(classes), *jars()], tmp_path / "without")
    assert with_fault.tests == without.tests == 1
    assert with_fault.failed and not without.failed


CONSTANTS = Constants(voters=(1, 2, 3), fetch_max_records=1)


def test_an_input_without_a_counterpart_is_refused() -> None:
    request = FetchRequest(1, 2, 1, 0, 0)
    row = initial_row(CONSTANTS)
    step = NodeStep(CONSTANTS, 2, "HandleFetchMaxWait", row, FetchMaxWait(request), row, (), "")
    with pytest.raises(BadInput, match="has no counterpart"):
        junit.render(junit.Wrong([step], []), "VoteTest", "VoteOnce")
    with pytest.raises(BadInput, match="has a name like"):
        junit.render(junit.Wrong([step], []), "vote", "VoteOnce")
