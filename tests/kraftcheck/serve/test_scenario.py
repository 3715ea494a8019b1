"""A scenario says in a file what a served cluster is; and input that means nothing: one line, 3."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.kafka.serve import command
from kraftcheck.kafka.serve.admin import Process
from kraftcheck.kafka.serve.judging import ServedVerdict
from kraftcheck.screen import Screen

MOVE = "[[move]]\ndo = 'kill'\nbroker = 1\n"
TOPIC = "[[topic]]\nname = 't'\n"


def refused(tmp_path: Path, option: str, text: str) -> str:
    """The one line."""
    path = tmp_path / "file.toml"
    path.write_text(text)
    done = CliRunner().invoke(cli, ["serve", "--out", str(tmp_path / "out"), option, str(path)])
    assert done.exit_code == 3, done.output
    (line,) = done.output.splitlines()
    return line.removeprefix("kraftcheck: ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "an empty scenario"),
        ("protocol = 'raft'", "protocol 'raft': there is none; there are classic, cluster, "),
        ("protocol = 'quorum'", "protocol 'quorum': is not served: serve has 'partition'"),
        ("brokerz = 3", "no option 'brokerz'; did you mean 'brokers'?"),
        ("json = true", "no option 'json'; there are admin-port, brokers, "),
        ("brokers = 9", "Invalid value for '--brokers': 9 is not in the range 1<=x<=7"),
        ("brokers = 'x'", "Invalid value for '--brokers': 'x' is no whole number"),
        ("user = ['ann']", "'ann' is no NAME:PASSWORD"),
        ("super-user = ['eve']", "--super-user eve: no such user; there are: ANONYMOUS"),
        ("topic = 3", "topic: a plan has [[topic]] and [[move]]"),
        ("brokers = 1\n" + MOVE, "the plan: kill: no broker 1, in "),
        ("brokers =", "Invalid value"),
    ],
)
def test_scenarios_that_mean_nothing(text: str, why: str, tmp_path: Path) -> None:
    assert why in refused(tmp_path, "--scenario", text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MOVE + "when = { topic = 'u', watermark = 3 }", "no partition u-0"),
        (MOVE + "when = { api = 'Send' }", "no API 'Send' is served; there are "),
        (MOVE.replace("1", "9"), "kill: no broker 9"),
        (MOVE.replace("1", "'leader of u-0'"), "kill: no partition u-0"),
        (MOVE + "when = 3", "kill: when is a table"),
        (MOVE + "when = { nth = 0 }", "nth and times count from 1"),
        (MOVE + "times = 0\nwhen = { nth = 1 }", "nth and times count from 1"),
        (MOVE + "when = { at = -1.5 }", "at -1.5: seconds since the cluster began"),
        ("[[move]]\nbroker = 1", "no command None"),
        ("[[move]]\ndo = 'heal'", "heal is a part of `end`"),
        (TOPIC + "partitions = 'many'\n" + MOVE, "create: partitions = 'many' is no number"),
        (TOPIC + "configs = 3\n" + MOVE, "create: configs = 3 are no names with values"),
        (TOPIC + "assignments = 3\n" + MOVE, "create: assignments = 3 are no lists of brokers"),
        (TOPIC + "replicas = 7\n" + MOVE, "INVALID_REPLICATION_FACTOR"),
    ],
)
def test_plans_that_mean_nothing(text: str, why: str, tmp_path: Path) -> None:
    said = refused(tmp_path, "--plan", text)
    assert said.startswith("the plan: ") and why in said and ", in {" in said


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"kraftcheck tape 1\n", "a tape of another version: play it with the kit that wrote it"),
        (b"", "no tape: `kraftcheck serve` writes them"),
        (b"kraftcheck tape 5\n", "an empty tape"),
        (b"kraftcheck tape 5\n\xff\xff\xff\xff", "an entry of 4294967295 bytes"),
        (b"kraftcheck tape 5\n\x00\x00\x00\x01\x01", "Expected `object`"),
    ],
)
def test_tapes_that_are_none(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "tape"
    path.write_bytes(data)
    done = CliRunner().invoke(cli, ["serve", "--replay", str(path)])
    assert done.exit_code == 3
    (line,) = done.output.splitlines()
    assert line.startswith(f"kraftcheck: {path}: ") and why in line


def test_a_host_that_is_none(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["serve", "--out", str(tmp_path), "--host", "192.0.2.1"])
    assert done.exit_code == 3
    assert done.output.startswith("kraftcheck: 192.0.2.1: no place to listen: ")


def test_a_scenario_is_served(tmp_path: Path) -> None:
    """What the command line says counts before it; and every cluster of a session begins so."""
    path = tmp_path / "scenario.toml"
    path.write_text(
        "protocol = 'partition'\nbrokers = 2\nseed = 9\njudge = 0\nno-auto-create = true\n"
        f"[[topic]]\nname = 't'\npartitions = 3\n{MOVE}when = {{ api = 'Produce' }}\n"
    )
    process = Process("--scenario", str(path), "--brokers", "4")
    try:
        for _ in range(2):
            cluster = process.cluster
            assert len(cluster.bootstrap_servers.split(",")) == 4
            said = cluster.describe()
            assert (len(said["topics"]["t"]), len(said["moves"])) == (3, 1)
            assert cluster.end().verdict == "holds"
    finally:
        process.close()


@pytest.mark.parametrize("option", [("--bug", "Z58"), ("--port", "9"), ("--log",)])
def test_a_recording_says_itself_what_was_served(option: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "tape"
    path.write_bytes(b"")
    done = CliRunner().invoke(cli, ["serve", "--replay", str(path), *option])
    assert done.exit_code == 3
    assert f"{option[0]} is not for --replay" in done.output


def test_what_an_earlier_cluster_violated_is_not_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ctl end` ends one, and the process goes on with the next."""
    holds = ServedVerdict("holds", [], "tape-2", 0, 0, 0, 0, "")
    broken = ServedVerdict("violated", ["NoDuplicate is violated"], "tape-1", 9, 9, 9, 0, "")
    screen = Screen(json=False, quiet=True)
    assert command._tell(holds, tmp_path, 0, screen) == 0
    assert command._tell(holds, tmp_path, 0, screen, [broken]) == 1
    assert "tape-1: NoDuplicate is violated" in capsys.readouterr().out
