"""The verbs of a witness, as far as they go without Kafka."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT, HOLDS, VIOLATED, BadInput
from kraftcheck.reference.quorum.cover.composition import QuorumComposition
from kraftcheck.reference.quorum.messages import ElectionTimeout
from kraftcheck.reference.quorum.types import Constants, initial_row
from kraftcheck.witness import asking
from kraftcheck.witness.kafka import Kafka
from kraftcheck.witness.speech import Outcome, Speech

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "traces" / "foreign" / "data"
Z67 = str(ROOT / "kraftcheck/known_bugs/schedules/Z67.moves")
QUORUM = ("quorum", "--runs", "1", "--out", "out")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*QUORUM, "--kafka", "9.9.9"), "no hashes are known of Apache Kafka 9.9.9; known are"),
        ((*QUORUM, "--as", "kafka-9"), "no profile 'kafka-9'; there are kafka-4.0, kafka-4.3"),
        ((*QUORUM, "--voters", "1"), "1 is not in the range 2<=x<=9"),
        (("versions", "--kafka", "3.9.9", "--out", "out"), "3.9.9"),
        (("replay", f"{ROOT}/README.md"), "line 1: no moves"),
        (("shrink", f"{ROOT}/README.md"), "line 1: no moves"),
        (("shrink", Z67, "--out", str(ROOT / "docs")), "docs: it is a folder: name a file"),
        (("cover", "partition-isr", "quorum-handover"), "graphs of several protocols: name those"),
        (("bugs", "classic", "--out", "out"), "classic; a witness has quorum, partition"),
        (("bugs", "transactions", "--out", "out"), "no schedule of a transactions is stored"),
        (("cover", "quorum-nothing"), "there is no graph 'quorum-nothing'"),
        (("cover",), "no graph: name one, or a --tier"),
        (
            ("cover", "quorum-retries"),
            "(KIP-1166): take quorum41-search, quorum41-record, or",
        ),
        (("cover", "quorum41-search", "--kafka", "4.0.2"), "has those before (KIP-1166): take"),
    ],
)
def test_what_cannot_be_driven_is_said_in_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("witness", *words)
    assert result.exit_code == BAD_INPUT
    assert said in result.output
    assert result.output.count("\n") == 1
    assert [*tmp_path.iterdir()] == []


def test_a_version_that_no_profile_is_about_is_named() -> None:
    with pytest.raises(BadInput, match=r"no profile for Kafka 4\.0\.2: say --as with one of"):
        Kafka("4.0.2", None, "", files=False).allowed("quorum41")


def test_each_part_of_a_cluster_has_the_profile_of_its_version() -> None:
    allowed = Kafka("4.0.2", None, "", files=True).allowed("quorum", "partition")
    assert allowed is not None and allowed.name == "kafka-4.0 and kafka-4.3"
    assert [part.protocol for part in allowed.parts] == ["quorum", "partition"]
    newer = Kafka("4.2.1", None, "", files=True).allowed("quorum41", "partition")
    assert newer is not None and newer.name == "kafka-4.3"
    assert {*newer.entries} - {*allowed.entries} >= {newer.entries[-1]}


def test_a_profile_is_for_steps_of_another_implementation(tmp_path: Path) -> None:
    result = run("conform", str(tmp_path), "--as", "kafka-4.3")
    assert result.exit_code == BAD_INPUT
    assert "a .jsonl file" in result.output
    partial = ROOT / "examples" / "foreign" / "voter-partial.jsonl"
    result = run("conform", str(partial), "--as", "kafka-4.3")
    assert result.exit_code == BAD_INPUT
    assert "--as is for full rows" in result.output


@pytest.mark.tlc
def test_conform_allows_what_kafka_does_when_it_is_told_to() -> None:
    path = str(DATA / "kafka-departures.jsonl")
    strict = run("conform", path, "--json", "--quiet")
    assert strict.exit_code == VIOLATED
    allowed = run("conform", path, "--as", "kafka-4.3", "--json", "--quiet")
    assert allowed.exit_code == HOLDS, allowed.output
    document = json.loads(allowed.output)
    assert (document["profile"], document["rejections"]) == ("kafka-4.3", [])


def test_what_kafka_has_no_use_for_is_a_step_in_which_nothing_happens() -> None:
    """The reference takes the input: whether nothing may come of it is TLC's to say."""
    constants = Constants((1, 2, 3), 2)
    row, speech = initial_row(constants), Speech(constants)
    there = speech.line(1, row, ElectionTimeout(), Outcome(row, (), ""))
    host: Any = SimpleNamespace(ask=lambda lines: ["", there, ""])
    composition = QuorumComposition(constants, ("HandleElectionTimeout",), {}, 1)
    matcher: Any = SimpleNamespace(composition=composition)
    asked = [(1, row, ElectionTimeout())]
    found = asking.ask(asked, matcher, host, speech, lambda one, other: one.row == other.row)
    assert (found.differing, found.reasons, found.alike) == ([there], {}, {})
    host.ask = lambda lines: ["", there, "!not possible"]
    found = asking.ask(asked, matcher, host, speech, lambda one, other: False)
    assert found.reasons == {f"{asking.HOST}not possible": 1}


def test_attempts_of_which_none_is_made_are_no_answer() -> None:
    """Kafka is brought to none of the rows: nothing was asked of it."""
    stand_in: Any = SimpleNamespace(
        ask=lambda lines: ["" for _ in lines],
        step_text=lambda *_: "{}",
        text=lambda *_: "{}",
    )
    found = asking.ask([(0, None, None)] * 3, stand_in, stand_in, stand_in, lambda *_: True)
    assert found.reasons == {asking.NOT_THERE: 3}
    assert found.wrong == [f"none of 3 attempts was made: {asking.NOT_THERE}"]
