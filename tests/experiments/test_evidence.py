"""What a script prints, and with which code it ends, whatever becomes of its steps."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from experiments import evidence
from experiments.typed import Typing, typed
from kraftcheck.kafka.live.cluster import Cluster, ClusterError, State
from kraftcheck.kafka.live.journal import HISTORY

TOOLS = "org.apache.kafka.tools"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typing:
    """One that is up, of which nothing runs."""
    found = Typing(tmp_path / "cluster", State("4.3.1", "single", False, {}, ()))
    (tmp_path / "cluster").mkdir()
    monkeypatch.setattr(Cluster, "up", lambda *_, **__: found)
    monkeypatch.setattr(Cluster, "tool", lambda *_: None)
    monkeypatch.setattr("shutil.which", lambda _: "/there")
    return found


def tried(step: Any, folder: Path, *words: str) -> Result:
    """What a script prints whose one step this is."""

    def run(cluster: Typing, folder: Path, control: bool) -> bool:
        cluster.tool("n1", f"{TOOLS}.TopicCommand", "--describe")
        return bool(step(folder, control))

    command = evidence.experiment(run, "Try.", control="Else.", shown="bad", otherwise="good")
    return CliRunner().invoke(command, [*words, "--out", str(folder)])


@pytest.mark.usefixtures("cluster")
def test_it_ends_with_what_its_steps_come_to(tmp_path: Path) -> None:
    shown = tried(lambda *_: True, tmp_path / "shown")
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (1, "VIOLATED: bad")
    control = tried(lambda _, control: not control, tmp_path / "control", "--control")
    assert (control.exit_code, control.stdout.splitlines()[-1]) == (0, "good")


@pytest.mark.usefixtures("cluster")
def test_a_step_that_fails_is_no_answer(tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        raise ClusterError("b1 did not start")

    failed = tried(fails, tmp_path / "failed")
    assert (failed.exit_code, failed.stderr) == (3, "test_evidence: b1 did not start\n")
    assert "good" not in failed.stdout and "VIOLATED" not in failed.stdout


@pytest.mark.usefixtures("cluster")
def test_commands_of_kafka_are_printed(tmp_path: Path) -> None:
    assert (
        "         $ kafka-topics.sh --describe\n" in tried(lambda *_: True, tmp_path / "o").stdout
    )


def test_a_command_is_what_a_user_types() -> None:
    assert typed(f"{TOOLS}.TopicCommand", ("--topic", "a b")) == "kafka-topics.sh --topic 'a b'"
    assert typed("/x/Elect.java", ("t",)) == "java -cp 'libs/*' Elect.java t"
    assert typed("kafka.Rare", ()) == "kafka-run-class.sh kafka.Rare"


def test_what_is_asked_again_and_again_is_printed_once(
    cluster: Typing, capsys: pytest.CaptureFixture[str]
) -> None:
    for turn in range(4):
        if turn == 1:
            cluster.begin()
        cluster.tool("n1", f"{TOOLS}.TopicCommand", "--describe")
    assert capsys.readouterr().out == "         $ kafka-topics.sh --describe\n"


def test_a_long_verdict_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / HISTORY).touch()
    said = subprocess.CompletedProcess([], 1, "".join(f"{n}\n" for n in range(12)), "at work")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: said)
    evidence.judge(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-2] == [str(n) for n in range(evidence.MOST_LINES)]
    assert lines[-2:] == [
        f"and 2 lines more: kraftcheck check {tmp_path / HISTORY}",
        "kraftcheck check ends with 1",
    ]


def test_errors_of_nodes_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"10:00:0{n}.000 ERROR offset {n} is gone (kafka.A)" for n in range(5)]
    lines += ["10:00:09.000 WARN slow (kafka.A)", "ERROR in a message"]
    evidence.tell_errors({"b1": "\n".join(lines), "b2": lines[0]})
    assert capsys.readouterr().out == "b1: ERROR offset 0 is gone (kafka.A)\n"
    many = "\n".join(f"10:00:00.000 FATAL {'x' * n} (kafka.B)" for n in range(1, 9))
    evidence.tell_errors({"b1": many})
    told = capsys.readouterr().out.splitlines()
    assert len(told) == evidence.MOST_ERRORS + 1 and told[-1].startswith("and 3 errors more")
