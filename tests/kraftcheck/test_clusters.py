"""The verbs of real clusters, as far as they go without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Producer

from kraftcheck import exits
from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT, HOLDS
from kraftcheck.kafka import clusters
from kraftcheck.kafka.live import topics
from kraftcheck.kafka.live.cluster import LAYOUTS, Cluster, Node, State
from kraftcheck.kafka.live.confluent import SILENT
from kraftcheck.kafka.live.faults import Fault
from kraftcheck.kafka.live.recording import Plan, Recording
from kraftcheck.screen import Screen

SECURED = ("--bootstrap", "127.0.0.1:9", "--config", "security.protocol=SSL")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@pytest.mark.parametrize("verb", ["down", "status", "heal"])
def test_no_cluster_is_bad_input(verb: str, tmp_path: Path) -> None:
    result = run("cluster", verb, "--dir", str(tmp_path))
    assert result.exit_code == BAD_INPUT
    assert "no cluster was started there" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say what to record"),
        (("--bootstrap", "127.0.0.1:9", "--inject", "kill"), "--inject needs --cluster"),
        (("--bootstrap", "127.0.0.1:9", "--replication-factor", "1"), "--min-insync-replicas"),
        ((*SECURED, "--observe"), "--observe asks brokers by connections of its own"),
        ((*SECURED, "--client", "java"), "--client java has connections without TLS"),
    ],
)
def test_what_cannot_be_recorded_is_said(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    result = run("record", *words, "--out", str(tmp_path / "out"))
    assert result.exit_code == BAD_INPUT
    assert said in result.output
    assert not (tmp_path / "out").exists()


def test_a_setting_is_key_and_value(tmp_path: Path) -> None:
    result = run("cluster", "up", "--dir", str(tmp_path), "--set", "nonsense")
    assert result.exit_code == BAD_INPUT
    assert "key=value" in result.output


def test_a_mock_cluster_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The mock does not answer this, however long it is given.
    monkeypatch.setattr(topics, "RULES_S", 0.3)
    mock = Producer({**SILENT, "bootstrap.servers": "mock", "test.mock.num.brokers": 1})
    broker = next(iter(mock.list_topics("kraftcheck", timeout=10).brokers.values()))
    where = ["--bootstrap", f"{broker.host}:{broker.port}", "--existing-topic"]
    words = [*where, "--replication-factor", "1", "--min-insync-replicas", "1", "--time", "0.5"]
    result = run("record", *words, "--json", "--out", str(tmp_path / "out"))
    assert result.exit_code == HOLDS, result.output
    told = json.loads(result.stdout)
    assert told["complete"] is True
    lines = Path(told["history"]).read_text(encoding="utf-8").splitlines()
    assert len(lines) == told["lines"] > 10


def test_who_interrupts_a_recording_is_told_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise exits.Interrupted(exits.INTERRUPTED)

    monkeypatch.setattr("kraftcheck.kafka.live.recording.record", interrupted)
    result = run("record", "--bootstrap", "nowhere:1", "--out", str(tmp_path))
    assert result.exit_code == exits.INTERRUPTED
    # The same command would find its topic there.
    assert f"is kept, as incomplete: kraftcheck check {tmp_path}" in result.stderr
    assert "another --out and another --topic" in result.stderr


def test_a_requested_fault_that_never_happened_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(topic="t", faults=("kill", "pause", "kill"))
    recording = Recording(
        plan=plan,
        bootstrap="b",
        client="c",
        kafka=None,
        complete=True,
        lines=1,
        seconds=1.0,
        configuration={},
        envelope={},
        envelope_is="assumed",
        faults=(Fault("kill", 1, 0, 1500),),
    )
    clusters._show_recorded(recording, tmp_path, Screen())
    said = capsys.readouterr().out
    assert "fault     kill of node 1, 1.5 s\n" in said
    assert said.count("pause: requested, and never happened; give it more --time") == 1
    assert "kill: requested" not in said


def test_jars_that_are_not_the_known_ones_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stranger.jar").write_bytes(b"")
    monkeypatch.setattr(clusters, "libraries", lambda: tmp_path)
    result = run("cluster", "fetch")
    assert result.exit_code == BAD_INPUT
    assert str(tmp_path) in result.output and "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("fault", "layout", "secured", "said"),
    [
        ("voter", "isolated", False, ": start the cluster with --layout changing"),
        ("move", "single", False, ": the cluster has one broker"),
        ("partition", "isolated", False, ": start the cluster with --namespaces"),
        ("recreate", "changing", True, " asks brokers without TLS and SASL"),
        ("member-kill", "single", False, ": of members of groups: take --workload groups"),
    ],
)
def test_a_fault_that_a_cluster_cannot_have_is_refused(
    fault: str, layout: str, secured: bool, said: str
) -> None:
    nodes = [Node(name, at, roles, "127.0.0.1") for at, (name, roles) in enumerate(LAYOUTS[layout])]
    cluster = Cluster(Path("runs"), State("4.3.1", layout, False, {}, tuple(nodes), ()))
    with pytest.raises(exits.BadInput, match=f"--inject {fault}{said}"):
        clusters._refuse((fault,), cluster, secured, "log")
