"""The verbs of a witness on Kafka's classes, as docs/witness.md shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT, HOLDS, VIOLATED
from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness import histories, walking
from kraftcheck.kafka.witness.covering import BEHIND
from kraftcheck.kafka.witness.driving import host_of
from kraftcheck.kafka.witness.histories import UNSENT
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.partition import Walk as PartitionWalk
from kraftcheck.kafka.witness.quorum_graphs import NOTHING_TO_LOSE, Walk
from kraftcheck.kafka.witness.speech import Speech
from kraftcheck.known_bugs import schedules
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import dump_graph, read_covers
from kraftcheck.traces.foreign.reading import read_foreign
from tests.live.patched import Plant, compiled, run, sources
from tests.live.test_witness_partition import PLANTS
from tests.live.test_witness_plants import HOST, PLANTS as OF_VOTERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
]
ROOT = Path(__file__).resolve().parents[2]
RANDOM = "Uuid.randomUuid()"


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
    schedule = str(ROOT / f"kraftcheck/known_bugs/schedules/{bug}.moves")
    found = run(VIOLATED, "replay", schedule)
    assert (found["violates"], found["as_said"], found["left_out"]) == (violates, True, [])
    assert entry in {each["entry"] for each in found["known"] if each["class"] == "bug"}
    strict = run(VIOLATED, "replay", schedule, "--as", "specs")["found"]["rejections"]
    assert "HandleMetadataUpdate" in {each["action"] for each in strict}


@pytest.mark.parametrize(
    ("bug", "code", "differing"), [("Z69", VIOLATED, ["HandleMetadataUpdate"]), ("Z60", HOLDS, [])]
)
def test_a_schedule_beside_the_reference(bug: str, code: int, differing: list[str]) -> None:
    """What differs is what TLC, asked of all steps, refuses; where nothing does it is not asked."""
    schedule = str(ROOT / f"kraftcheck/known_bugs/schedules/{bug}.moves")
    found = run(code, "replay", schedule, "--differential")
    assert [each["action"] for each in found["differing"]] == differing
    assert found["forbidden"] == len(differing)
    strict = run(VIOLATED if differing else HOLDS, "replay", schedule, "--as", "specs")
    lines = [each["line"] for each in strict["found"]["rejections"]]
    assert lines == [each["line"] for each in found["differing"]]


def test_stored_schedules_by_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of them; all take minutes."""
    stored = {name: script for name, script in schedules.every("partition")}
    few = [(f"{name}.moves", stored[f"{name}.moves"]) for name in ("Z35", "Z60", "Z69")]
    monkeypatch.setattr(schedules, "every", lambda machine: few)
    words = ("bugs", "partition", "--differential", "--out", str(tmp_path / "out"))
    found = run(VIOLATED, *words)
    of = {each["schedule"]: each for each in found["schedules"]}
    assert {name: each["violates"] for name, each in of.items()} == {
        **{"Z35": "", "Z60": "", "Z69": "StrongIsr"}
    }
    assert [each["bugs"] for each in of.values()] == [[], [], ["clears-proposal"]]
    assert [each["refused"] for each in of.values()] == [{}, {}, {}]
    assert len(read_foreign(tmp_path / "out" / "Z69.jsonl").steps) == of["Z69"]["steps"]


def test_releases_beside_each_other(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--kafka", "4.3.1", "--runs", "1", "--moves", "60", "--out", str(out))
    [found] = run(VIOLATED, "versions", *words)["versions"]
    assert {name for name, each in found["finds"].items() if each["there"]} == {"Z67", "Z68", "Z69"}
    for of in ("quorum", "partition"):
        assert found[of]["steps"] > 20 and found[of]["refused"] == {}
        assert (found[of]["beside"], found[of]["first_differing"]) == ("4.3.1", None)
    assert found["transactions"]["refused"] == {} and found["groups"]["refused"] == {}
    assert found["log"] == {"operations": 40, "differ": [], "not_driven": ""}
    assert json.loads((out / "versions.json").read_text("utf-8"))["verdict"] == "violated"
    page = (out / "versions.md").read_text("utf-8").splitlines()
    assert page[0] == "|  | 4.3.1 |" and "| Z68 | NoIllegalState |" in page


def test_z68_by_one_command() -> None:
    found = run(VIOLATED, "replay", str(ROOT / "kraftcheck/known_bugs/schedules/Z68.moves"))
    assert (found["violates"], found["as_said"], found["left_out"]) == ("NoIllegalState", True, [])
    assert [each["entry"] for each in found["known"]] == ["candidate-again"]
    assert "Received unexpected invalid request error" in found["stopped"][0]


@pytest.mark.parametrize(
    ("schedule", "wrong", "moves"),
    [
        ("kraftcheck/known_bugs/schedules/Z67.moves", "WeakIsr", 25),
        # Nothing is broken: a step needs a bug of the profile.
        ("kraftcheck/known_bugs/schedules/Z69.moves", "StrongIsr", 30),
        ("tests/corpus/quorum-none-slow-clock.moves", "", 0),
    ],
)
def test_a_schedule_is_made_small_on_kafka(
    schedule: str, wrong: str, moves: int, tmp_path: Path
) -> None:
    out = tmp_path / "small.moves"
    # After 60 attempts they are nearly as small as they become.
    words = ("shrink", str(ROOT / schedule), "--out", str(out), "--attempts", "60")
    if not wrong:
        result = CliRunner().invoke(cli, ["witness", *words, "--quiet"])
        assert result.exit_code == BAD_INPUT and "Kafka does nothing wrong on it" in result.output
        return
    found = run(VIOLATED, *words)
    assert (found["wrong"], found["violates"], found["as_said"]) == (wrong, wrong, True)
    assert len(found["shrunk"]) <= moves < found["moves_before"]
    again = run(VIOLATED, "replay", str(out))
    assert (again["violates"], again["made"], again["as_said"]) == (wrong, again["moves"], True)


def test_a_step_that_is_refused_is_what_is_left(tmp_path: Path) -> None:
    """Of a fault in a class of Kafka: its action is one of which a profile allows other steps."""
    plant = next(each for each in OF_VOTERS if each.name == "a follower does not flush")
    [classes] = compiled([plant], sources(tmp_path / "kafka", "kafka-raft"), tmp_path, "quorum")
    own = ("--jars", str(classes))
    words = (
        "quorum",
        "--runs",
        "1",
        "--seed",
        "5",
        "--moves",
        "200",
        "--out",
        str(tmp_path / "out"),
    )
    [saved] = run(VIOLATED, *words, *own)["schedules"]
    small = tmp_path / "small.moves"
    found = run(VIOLATED, "shrink", saved, "--out", str(small), *own)
    assert found["wrong"] == f"rejected step: {plant.action}"
    assert len(found["shrunk"]) < found["moves_before"]
    fields = [each for of in found["found"]["rejections"] for each in of["differences"]]
    assert any(plant.field in each for each in fields)
    assert run(VIOLATED, "replay", str(small), *own)["as_said"]
    assert not run(HOLDS, "replay", str(small))["as_said"]


def test_kafka_20914_by_one_command() -> None:
    found = run(VIOLATED, "replay", str(ROOT / "examples/witness/KAFKA-20914.moves"))
    assert (found["violates"], found["left_out"]) == ("ValidRolesAndStates", [])
    assert "stale-fetches" in {each["entry"] for each in found["known"]}


def test_every_edge_of_a_graph() -> None:
    [graph] = run(HOLDS, "cover", "quorum-handover")["graphs"]
    assert (graph["edges"], graph["taken"], graph["not_taken"]) == (1104, 1104, {})
    [gap] = run(HOLDS, "cover", "quorum-few-restarts")["graphs"]
    assert gap["taken"] + sum(gap["not_taken"].values()) == gap["edges"]
    assert gap["not_taken"] == {NOTHING_TO_LOSE: 360, UNSENT: 196, BEHIND: 4392}


def test_who_is_alone_takes_all_edges_that_whole_walks_take() -> None:
    dumped = dump_graph(read_covers()["quorum-three-restart"])
    matcher, constants = Matcher(dumped.dump, dumped.book), dumped.book.constants
    matcher.explore()
    kafka, speech = Kafka(VERSION, None, "", files=True), Speech(constants)
    found = []
    for drive in (walking.drive, histories.drive):
        with host_of(kafka, QUORUM, constants, answers="content") as host:
            found.append(drive(matcher, host, speech, Walk, lambda done: None))
    whole, alone = found
    assert whole.taken <= alone.taken and len(alone.taken) == len(alone.asked)
    assert alone.moves < whole.moves / 5


def test_a_graph_with_records_by_the_rules_since_4_1(tmp_path: Path) -> None:
    """It begins behind an election. Kafka sends what it appended before it has flushed it."""
    [graph] = run(HOLDS, "cover", "quorum41-record")["graphs"]
    assert (graph["edges"], graph["not_taken"]) == (9066, {"answers-before-flush": 2})
    plant = next(each for each in OF_VOTERS if each.name == "an append wakes nobody")
    [classes] = compiled([plant], sources(tmp_path / "kafka", "kafka-raft"), tmp_path, "quorum")
    [graph] = run(VIOLATED, "cover", "quorum41-record", "--jars", str(classes))["graphs"]
    assert {each.split(":")[0] for each in graph["refused"]} == {plant.action}
    assert any(plant.field in each for each in graph["refused"])


def test_edges_at_which_a_walk_parts_are_tried_on_others() -> None:
    """A host that has no use for the first of each input: every edge is taken on another walk."""
    dumped = dump_graph(read_covers()["partition-one-record"])
    matcher, constants = Matcher(dumped.dump, dumped.book), dumped.book.constants
    matcher.explore()
    kafka, speech = Kafka(VERSION, None, "", files=True), Speech(constants)
    with host_of(kafka, PARTITION, constants, answers="content") as host:
        forgetful = Forgetful(host)
        found = walking.drive(matcher, forgetful, speech, PartitionWalk, lambda done: None)
    assert found.parted and len(found.taken) == len(found.asked) == 245


class Forgetful(Host):
    """It does not do the first of several inputs, though Kafka would."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._seen: set[str] = set()

    def ask(self, moves: Sequence[str]) -> list[str]:
        answers = self._host.ask(moves)
        for at, move in enumerate(moves):
            if "ReplicaFetch" in move and move not in self._seen:
                self._seen.add(move)
                answers[at] = ""
        return answers


def test_messages_of_two_runs_that_read_alike_are_alike(tmp_path: Path) -> None:
    """Else what a node does would hang on which of them it is given: a voter's id is random."""
    plant = Plant("an id", "org/apache/kafka/raft/Voter.java", "new Uuid(7, id)", RANDOM, "", "")
    [classes] = compiled([plant], HOST, tmp_path, "quorum")
    words = ("cover", "quorum-handover", "--jars", str(classes), "--quiet")
    result = CliRunner().invoke(cli, ["witness", *words])
    assert result.exit_code == BAD_INPUT
    assert "of two runs Kafka's messages differ that read alike" in result.output


def test_every_edge_of_a_graph_of_a_partition() -> None:
    """What Kafka does not take as in the model needs an entry of the profile, or is behind."""
    [graph] = run(HOLDS, "cover", "partition-isr")["graphs"]
    assert (graph["edges"], graph["taken"]) == (2309, 2201)
    assert set(graph["not_taken"]) == {"clears-proposal", "one-proposal", BEHIND}
    assert sum(graph["not_taken"].values()) == 2309 - 2201
    # Its controller is brought to where the model is, so that nothing is behind.
    [graph] = run(HOLDS, "cover", "partition-unclean")["graphs"]
    assert (graph["taken"], graph["not_taken"]) == (1117, {"forgets-metadata-offset": 460})
    # And what the graph does not have was attempted there.
    assert sum(graph["as_the_reference"].values()) + sum(graph["otherwise"].values()) == 1680
    assert {"disabled", "error", "accepted"} <= graph["as_the_reference"].keys()
    assert graph["otherwise"].keys() == {"forgets-metadata-offset", "session-of-unfenced"}


def test_a_fault_in_kafka_is_refused_at_edges(tmp_path: Path) -> None:
    """The controller does not compare partition epochs; no profile allows it."""
    plant = next(each for each in PLANTS if "partition epochs" in each.name)
    texts = sources(tmp_path / "kafka", "kafka-metadata")
    [classes] = compiled([plant], texts, tmp_path, "partition")
    [graph] = run(VIOLATED, "cover", "partition-isr", "--jars", str(classes))["graphs"]
    assert {each.split(":")[0] for each in graph["refused"]} == {plant.action}
    assert graph["not_taken"]["refused"] > 0 and graph["otherwise"]["refused"] > 0
