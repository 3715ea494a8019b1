"""Kafka's own classes driven and judged; without a JDK and Maven they are not, which is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kraftcheck.kafka.live.artifacts import ArtifactError
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.live.witness.host import WitnessError, running
from kraftcheck.kafka.live.witness.jars import DEFAULT, class_path, versions
from kraftcheck.kafka.witness.driving import drive
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.quorum import VOTERS, VOTERS_BEFORE_41
from kraftcheck.kafka.witness.speech import Speech, constants_form, header
from kraftcheck.reference.quorum.messages import (
    ElectionTimeout,
    FetchMaxWait,
    FetchRequest,
    FetchResponse,
)
from kraftcheck.reference.quorum.quorum41 import Constants as Since41
from kraftcheck.reference.quorum.types import Constants, initial_row
from kraftcheck.traces.foreign.reading import read_foreign

THREE = Constants((1, 2, 3), 2)
slow = pytest.mark.slow


# -- Without Kafka


def test_an_input_is_told_as_traces_have_it() -> None:
    fetch = FetchRequest(2, 1, 3, 4, 3)
    assert Speech(THREE).text(FetchMaxWait(fetch)) == (
        '{"type":"FetchMaxWait","request":{"type":"FetchRequest","source":2,"destination":1,'
        '"epoch":3,"fetchOffset":4,"lastFetchedEpoch":3}}'
    )


def test_a_line_of_kafka_is_read_and_written_alike() -> None:
    """The rows of the samples, there and back."""
    path = Path(__file__).parents[1] / "traces" / "foreign" / "data" / "kafka-run.jsonl"
    _, *lines = path.read_text(encoding="utf-8").splitlines()
    speech = Speech(Since41((1, 2, 3), 2))
    for line in lines:
        taken = speech.taken(line)
        assert f'"after":{speech.row_text(taken.outcome.row)},' in line
        assert f'"input":{speech.text(taken.input)},' in line
    assert lines


def test_an_unknown_version_is_refused() -> None:
    assert DEFAULT in versions()
    with pytest.raises(ArtifactError, match=r"no hashes for Apache Kafka 9\.9; known"):
        class_path("9.9")


def test_classes_are_imported_from_where_a_version_has_them() -> None:
    """Sources are written for the default version: older ones and newer ones have their own."""
    text = "import kafka.log.LogManager;\nimport org.apache.kafka.server.partition.A;\n"
    assert jars.as_of(DEFAULT, text) == text
    assert "import org.apache.kafka.storage.internals.log.LogManager;" in jars.as_of("4.4.0", text)
    assert "import kafka.cluster.A;" in jars.as_of("4.1.2", text)


# -- With Kafka


@slow
@pytest.mark.kafka
@pytest.mark.parametrize("files", [True, False])
def test_the_same_seed_has_the_same_bytes(files: bool, tmp_path: Path) -> None:
    kafka = Kafka(DEFAULT, None, "", files)
    texts = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.jsonl"
        driven = drive(path, kafka, VOTERS, 3, runs=3, seed=4, moves=100)
        assert len(driven.places) > 100
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]
    assert len(read_foreign(tmp_path / "first.jsonl").steps) == len(driven.places)


@slow
@pytest.mark.kafka
@pytest.mark.parametrize("files", [True, False])
def test_a_fetch_carries_no_more_than_it_may(files: bool, tmp_path: Path) -> None:
    """Before 4.3 a read of the log has no size, so what it returns is cut."""
    path, kafka = tmp_path / "trace.jsonl", Kafka("4.0.2", None, "", files)
    given = {"fetch_max_records": 1}
    drive(path, kafka, VOTERS_BEFORE_41, 2, runs=4, seed=1, moves=200, given=given)
    speech = Speech(Constants((1, 2), 1))
    taken = [speech.taken(line) for line in path.read_text("utf-8").splitlines()[1:]]
    fetched = [m for t in taken for m in t.outcome.sent if isinstance(m, FetchResponse)]
    assert {len(each.records) for each in fetched} == {0, 1}
    asked = [t for t in taken if isinstance(t.input, FetchRequest)]
    assert any(len(t.before.log) - t.input.fetch_offset > 1 for t in asked)


@slow
@pytest.mark.kafka
def test_the_first_rows_are_the_references() -> None:
    with running(class_path(), _said(THREE)) as host:
        lines = host.ask([f"{node} {Speech(THREE).text(ElectionTimeout())}" for node in (1, 2, 3)])
    assert [Speech(THREE).taken(line).before for line in lines] == [initial_row(THREE)] * 3


@slow
@pytest.mark.kafka
def test_moves_that_are_not_possible_are_refused() -> None:
    speech = Speech(THREE)
    with running(class_path(), _said(THREE)) as host:
        never = speech.text(FetchRequest(2, 1, 3, 4, 3))
        moves = [f"1 {never}", "7 {}", "1 {", '1 {"type":"Crash","keep":3}', '1 {"type":"Flush"}']
        said = host.ask(moves)
    assert said[0] == f"!nobody sent {never}"
    assert said[1] == "!not understood: 7 {}"
    assert said[2].startswith("!no JSON")
    assert said[3].startswith("!Kafka has flushed all")
    assert said[4] == ""


@slow
@pytest.mark.kafka
def test_classes_that_do_not_load_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "org" / "apache" / "kafka" / "raft" / "QuorumState.class"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no")  # of a longer one the JVM itself says the name
    with (
        pytest.raises(
            WitnessError,
            match=r"4\.3\.1 with .*: org\.apache\.kafka\.raft\.QuorumState: .*ClassFormatError",
        ),
        running(class_path(own=tmp_path), _said(THREE)) as host,
    ):
        host.ask(["new"])


@pytest.mark.kafka
@pytest.mark.parametrize("what", ["nothing", "empty"])
def test_a_folder_without_classes_is_refused(what: str, tmp_path: Path) -> None:
    folder = tmp_path / what
    if what == "empty":
        folder.mkdir()
    with pytest.raises(ArtifactError, match=r"no folder of jars|neither jars nor class files"):
        class_path(own=folder)


WORK = """
import sys, time
from kraftcheck.kafka.live.witness.host import running
from kraftcheck.kafka.live.witness.jars import class_path
with running(class_path(), sys.argv[1]) as host:
    host.ask(["new"])
    print(host._process.pid, flush=True)
    time.sleep(600)
"""


@slow
@pytest.mark.kafka
def test_the_jvm_ends_with_who_started_it() -> None:
    command = [sys.executable, "-c", WORK, _said(THREE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        jvm = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    for _ in range(100):
        if not Path(f"/proc/{jvm}").exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"the JVM {jvm} is still there")


def _said(constants: Constants) -> str:
    import msgspec

    return msgspec.json.encode(constants_form(constants)).decode()


def test_a_header_says_who_wrote_the_trace() -> None:
    assert header(THREE, "Kafka").endswith('"rows":"full","producer":"Kafka"}')
