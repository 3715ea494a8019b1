"""What an experiment reads from disks and from producers, without Kafka."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.evidence import begun
from experiments.tools import TOPIC, Acked, Partition, Program, click_errors
from kraftcheck.kafka.live.artifacts import ArtifactError
from kraftcheck.kafka.live.cluster import Cluster, ClusterError, Node, State
from kraftcheck.kafka.live.islands import IslandError
from kraftcheck.kafka.live.journal import Journal

BATCH = bytes(8) + (5).to_bytes(4) + b"12345"


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    cluster = Cluster(tmp_path, State("4.3.1", "single", False, {}, ()))
    return Partition(cluster, "n1", "n1", ("n1",))


def segment(folder: Path, data: bytes) -> None:
    (folder / "n1" / f"{TOPIC}-0").mkdir(parents=True)
    (folder / "n1" / f"{TOPIC}-0" / f"{0:020}.log").write_bytes(data)


def producer(lines: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", f"print({lines!r})"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_batches_that_are_whole_are_counted(partition: Partition, tmp_path: Path) -> None:
    assert partition.batches("n1") == 0
    segment(tmp_path, BATCH + BATCH + BATCH[:-1])
    assert partition.batches("n1") == 2
    partition.await_batches(["n1"], 2, seconds=0)
    with pytest.raises(ClusterError, match="not 3"):
        partition.await_batches(["n1"], 3, seconds=0)


SUCCESS = '{"name":"producer_send_success","value":"%d","offset":%d}'
ERROR = '{"name":"producer_send_error","value":"1"}'


def test_what_was_acked_is_told_apart_from_the_rest(partition: Partition) -> None:
    said = "\n".join(["a log line", SUCCESS % (0, 7), ERROR, SUCCESS % (2, 9)])
    assert partition.await_acked(producer(said)) == [Acked(7, 0), Acked(9, 2)]
    assert partition.await_first(producer(said)) == Acked(7, 0)
    with pytest.raises(ClusterError, match="without an ack"):
        partition.await_first(producer(ERROR))


def test_a_producer_that_fails_is_not_one_that_is_not_acked(partition: Partition) -> None:
    """Kafka 3.9's had refused an option, and nothing was lost, as nothing was written."""
    said = "print('unrecognized arguments'); raise SystemExit(1)"
    with pytest.raises(ClusterError, match="ended: unrecognized arguments"):
        partition.await_acked(program(said))


@pytest.mark.parametrize(
    ("version", "option"),
    [("3.9.2", "--producer.config"), ("4.1.2", "--producer.config"), ("4.2.1", "--command-config")],
)
def test_a_producer_is_given_its_settings(tmp_path: Path, version: str, option: str) -> None:
    cluster = Cluster(tmp_path, State(version, "single", False, {}, ()))
    assert Partition(cluster, "n1", "n1", ()).with_file(Path("x")) == [option, "x"]


ECHO = """
import sys
for line in sys.stdin:
    print("a log line")
    print('{"did": "%s"}' % line.strip())
"""


def program(text: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    words = [sys.executable, "-u", "-c", text]
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)


def test_a_program_answers_each_step() -> None:
    process = program(ECHO)
    with Program(process) as told:
        assert told.do("one") == {"did": "one"}
        assert told.do("two") == {"did": "two"}
    assert process.returncode == 0


def test_a_program_does_not_outlive_an_experiment_that_fails() -> None:
    process = program("import time\ntime.sleep(600)")
    with pytest.raises(RuntimeError), Program(process) as told:
        told.pause()
        raise RuntimeError
    assert process.returncode == -signal.SIGKILL


def test_a_program_that_ended_is_an_error_with_its_last_words() -> None:
    process = program("import sys; sys.stdin.readline(); print('refused')")
    with pytest.raises(ClusterError, match="ended: refused"), Program(process) as told:
        told.do("one")


def test_faults_are_read_from_a_history(tmp_path: Path) -> None:
    with Journal(tmp_path / "history.jsonl") as journal:
        journal.moment("start-stop", "b1")
        journal.event(0, "invoke", "poll", [["poll"]])
        journal.moment("stop-stop", "b1")
        journal.moment("start-partition", "b2")
    assert begun(tmp_path / "history.jsonl") == ["stop", "partition"]


@pytest.mark.parametrize("code", [0, 1])
def test_who_does_not_come_to_the_end_has_read_nothing(
    partition: Partition, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A reader that gives up says so: what it was not given is not lost."""
    said = f"print('a log line', 7, 8, sep='\\n'); raise SystemExit({code})"
    monkeypatch.setattr(Cluster, "node", lambda self, host: Node("n1", 1, (), "x"))
    monkeypatch.setattr(Cluster, "tool", lambda *asked: program(said))
    if code == 0:
        assert partition.read("n1") == ["7", "8"]
        return
    with pytest.raises(ClusterError, match=r"Read.java: a log line 7 8"):
        partition.read("n1")


@pytest.mark.parametrize("error", [IslandError("no namespaces"), ArtifactError("no Maven")])
def test_what_a_machine_lacks_is_one_line_and_what_can_be_done_without(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("shutil.which", lambda _: "/java")
    with pytest.raises(SystemExit) as ended:
        click_errors("name")(fail)()
    assert ended.value.code == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"name: {error}; without that, what was recorded can be judged")
