"""The verbs of a witness, as far as they go without Kafka."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT, HOLDS, VIOLATED, BadInput
from kraftcheck.kafka.witness import asking, driving, following
from kraftcheck.kafka.witness.departures import Witnessed
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.quorum import VOTERS
from kraftcheck.kafka.witness.speech import Outcome, Speech, Unspoken
from kraftcheck.reference.quorum.messages import BeginQuorumEpochRequest, ElectionTimeout
from kraftcheck.reference.quorum.protocol import QUORUM as OF_VOTERS
from kraftcheck.reference.quorum.types import Constants, initial_row
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.cover.rulebook import RuleBook, everything
from kraftcheck.traces.foreign.verdicts import ForeignVerdict

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "traces" / "foreign" / "data"
Z67 = str(ROOT / "kraftcheck/known_bugs/schedules/Z67.moves")
QUORUM = ("quorum", "--runs", "1", "--out", "out")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*QUORUM, "--kafka", "9.9.9"), "no hashes for Apache Kafka 9.9.9; known versions:"),
        ((*QUORUM, "--as", "kafka-9"), "no profile 'kafka-9'; there are kafka-4.0, kafka-4.3"),
        ((*QUORUM, "--voters", "1"), "1 is not in the range 2<=x<=9"),
        (("versions", "--kafka", "3.9.9", "--out", "out"), "3.9.9"),
        (("replay", f"{ROOT}/README.md"), "line 1: no moves"),
        (("shrink", f"{ROOT}/README.md"), "line 1: no moves"),
        (("shrink", Z67, "--out", str(ROOT / "docs")), "docs: it is a folder: name a file"),
        (("cover", "partition-isr", "quorum-handover"), "graphs of several protocols: name those"),
        (("bugs", "classic", "--out", "out"), "classic; a witness has quorum, partition"),
        (("bugs", "shares", "--out", "out"), "no schedule of a shares is stored"),
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


@pytest.mark.slow
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
    matcher: Any = SimpleNamespace(book=RuleBook(OF_VOTERS, constants, everything(OF_VOTERS)))
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


# -- What no row and no message of the specs can say: a violation, and its schedule is kept


def beyond(constants: Constants) -> tuple[Speech, str]:
    """A step of voter 1 that parks what is no fetch: a line that has no words in the specs."""
    speech, row = Speech(constants), initial_row(constants)
    line = json.loads(speech.line(1, row, ElectionTimeout(), Outcome(row, (), "")))
    begin = BeginQuorumEpochRequest(3, 1, 6)
    line["after"]["parked"] = [json.loads(speech.text(begin))]
    return speech, json.dumps(line)


def test_what_may_not_be_parked_has_no_words() -> None:
    speech, line = beyond(Constants((1, 2, 3), 2))
    with pytest.raises(Unspoken, match=r"^parked: BeginQuorumEpochRequest, where FetchRequest"):
        speech.taken(line)
    sent = json.loads(line) | {"sent": [{"type": "ElectionTimeout"}]}
    with pytest.raises(Unspoken, match=r"sent what is no message: .*ElectionTimeout"):
        speech.taken(json.dumps(sent))
    with pytest.raises(Unspoken, match="there is no message NoSuchRequest"):
        speech.input('{"type":"NoSuchRequest"}')


def test_an_attempt_that_goes_beyond_the_specs_is_wrong() -> None:
    constants = Constants((1, 2, 3), 2)
    row = initial_row(constants)
    speech, line = beyond(constants)
    there = speech.line(1, row, ElectionTimeout(), Outcome(row, (), ""))
    host: Any = SimpleNamespace(ask=lambda lines: ["", there, line])
    matcher: Any = SimpleNamespace(book=RuleBook(OF_VOTERS, constants, everything(OF_VOTERS)))
    found = asking.ask([(1, row, ElectionTimeout())], matcher, host, speech, lambda *_: True)
    [wrong] = found.wrong
    assert wrong.startswith("ElectionTimeout: Kafka comes to what the specs have no word for")


class _Beyond:
    """A schedule whose second move ends beyond the specs."""

    def __init__(self) -> None:
        self.moves: list[str] = []
        self.lines, self.thrown, self.differing = [("{}", 1)], [], []  # type: ignore[var-annotated]
        self.parts = (self,)

    def attempt(self, words: str, later: Any) -> int:
        self.moves.append(words)
        if len(self.moves) == 2:
            raise Unspoken("parked: X, where Y may be")
        return 1

    def setting(self) -> dict[str, Any]:
        return {"voters": (1, 2, 3), "fetch_max_records": 2}


def test_a_replay_that_goes_beyond_the_specs_fails_there() -> None:
    script = Script(machine="quorum", moves=("a", "b", "c"))
    schedule: Any = _Beyond()
    followed = following.follow(script, schedule)
    assert followed.failure is not None and followed.made == 2
    assert followed.failure.name == "a step beyond the spec"
    assert followed.failure.what == "parked: X, where Y may be"
    assert followed.failure.moves == ["a", "b"]


def test_a_run_that_goes_beyond_the_specs_is_violated_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "host_of", lambda *_: nullcontext())
    monkeypatch.setattr(driving, "class_path", lambda *_: None)
    monkeypatch.setattr(VOTERS, "begin", lambda *_: _Beyond(), raising=False)

    def walk(schedule: Any, seed: int, moves: int) -> None:
        for move in ("1 ElectionTimeout", "3 -> 1 BeginQuorumEpochRequest epoch=6"):
            schedule.attempt(move, ())

    monkeypatch.setattr(VOTERS, "walk", walk, raising=False)
    holds = Witnessed(
        ForeignVerdict(
            mode="batch", producer="", steps=1, nodes=3, distinct=1, rejections=[], findings=[],
            doubts=[], chains=[], not_asked=[], runs_of_tlc=0, cpu_seconds=0.0,
        ),
        0, [], [],
    )  # fmt: skip
    monkeypatch.setattr(driving, "all_judged", lambda *_: [holds])
    done = run("witness", "quorum", "--runs", "2", "--out", str(tmp_path / "out"))
    assert done.exit_code == VIOLATED, done.output
    said = "beyond the spec  run 1, move 2: parked: X, where Y may be"
    assert said in done.output and "verdict" in done.output
    assert "3 -> 1 BeginQuorumEpochRequest" in (tmp_path / "out" / "run-0.moves").read_text()
    document = json.loads((tmp_path / "out" / "witness.json").read_text())
    assert document["verdict"] == "violated" and len(document["beyond"]) == 2
