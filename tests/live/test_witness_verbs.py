"""The verbs of a witness on Kafka's classes, as docs/witness.md shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import HOLDS, VIOLATED
from tests.live.patched import missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]
ROOT = Path(__file__).resolve().parents[2]


def run(code: int, *words: str) -> Any:
    result = CliRunner().invoke(cli, ["witness", *words, "--json", "--quiet"])
    assert result.exit_code == code, result.output
    return json.loads(result.output)


def test_runs_by_chance(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("quorum", "--runs", "4", "--moves", "80", "--seed", "7", "--out", str(out))
    found = run(HOLDS, *words)
    assert found["profile"] == "kafka-4.3"
    assert found["found"]["steps"] > 200
    assert {each["entry"] for each in found["known"]} >= {"asks-at-once"}
    assert json.loads((out / "witness.json").read_text("utf-8"))["verdict"] == "holds"

    beside = run(HOLDS, *words, "--differential")
    assert len(beside["differing"]) == beside["forbidden"] == found["forbidden"]

    strict = run(VIOLATED, *words, "--as", "specs")
    assert strict["found"]["rejections"]
    again = strict["schedules"][0]
    assert run(VIOLATED, "replay", again, "--as", "specs")["found"]["rejections"]


def test_leaders_of_a_partition_by_chance(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("partition", "--runs", "4", "--moves", "80", "--seed", "1", "--out", str(out))
    found = run(HOLDS, *words)
    assert 0 < found["steps_of_others"] < found["found"]["steps"]
    assert "caught-up-before" in {each["entry"] for each in found["known"]}

    strict = run(VIOLATED, *words, "--as", "specs")
    again = strict["schedules"][0]
    assert run(VIOLATED, "replay", again, "--as", "specs")["found"]["rejections"]


@pytest.mark.parametrize(
    ("bug", "violates", "entry"),
    [
        ("Z67", "WeakIsr", "keeps-end-offsets"),
        ("Z69", "StrongIsr", "clears-proposal"),
    ],
)
def test_bugs_of_the_partition_by_one_command(bug: str, violates: str, entry: str) -> None:
    schedule = str(ROOT / f"kraftcheck/zoo/schedules/{bug}.moves")
    found = run(VIOLATED, "replay", schedule)
    assert (found["violates"], found["as_said"], found["left_out"]) == (violates, True, [])
    assert entry in {each["entry"] for each in found["known"] if each["class"] == "bug"}
    strict = run(VIOLATED, "replay", schedule, "--as", "specs")["found"]["rejections"]
    assert "HandleMetadataUpdate" in {each["action"] for each in strict}


def test_releases_beside_each_other(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--kafka", "4.3.1", "--runs", "1", "--moves", "60", "--out", str(out))
    [found] = run(VIOLATED, "versions", *words)["versions"]
    assert {name for name, each in found["finds"].items() if each["there"]} == {"Z67", "Z68", "Z69"}
    for of in ("quorum", "partition"):
        assert found[of]["steps"] > 20 and found[of]["refused"] == {}
        assert (found[of]["beside"], found[of]["first_differing"]) == ("4.3.1", None)
    assert json.loads((out / "versions.json").read_text("utf-8"))["verdict"] == "violated"


def test_z68_by_one_command() -> None:
    found = run(VIOLATED, "replay", str(ROOT / "kraftcheck/zoo/schedules/Z68.moves"))
    assert (found["violates"], found["as_said"], found["left_out"]) == ("NoIllegalState", True, [])
    assert [each["entry"] for each in found["known"]] == ["candidate-again"]
    assert "Received unexpected invalid request error" in found["stopped"][0]


def test_kafka_20914_by_one_command() -> None:
    found = run(VIOLATED, "replay", str(ROOT / "examples/witness/KAFKA-20914.moves"))
    assert (found["violates"], found["left_out"]) == ("ValidRolesAndStates", [])
    assert "stale-fetches" in {each["entry"] for each in found["known"]}


def test_every_edge_of_a_graph() -> None:
    [graph] = run(HOLDS, "cover", "quorum-handover")["graphs"]
    assert (graph["edges"], graph["taken"], graph["not_taken"]) == (1104, 1104, {})
    [gap] = run(HOLDS, "cover", "quorum-three-restart")["graphs"]
    assert gap["taken"] + sum(gap["not_taken"].values()) == gap["edges"]
    assert len(gap["not_taken"]) == 2
