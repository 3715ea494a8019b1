"""A cluster of Kafka's classes: faults in what joins them are found, and the same seed has the same
bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import to_builtins

from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT
from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.witness.cluster import KAFKA_CLUSTER, component
from kraftcheck.kafka.witness.driving import drive, host_of, traces_of
from kraftcheck.kafka.witness.following import follow
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.replaying import played
from kraftcheck.reference.steered.scripts import Script, read, write
from kraftcheck.traces.foreign.batch import judge_batch
from kraftcheck.traces.foreign.reading import read_foreign
from tests.live.patched import Plant, compiled, seen, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("cluster-plants"),
]

HOST = Path(jars.__file__).parent / "java" / "cluster"
METADATA = "org/apache/kafka/common/metadata"
VOTER_CONTROLLER = "org/apache/kafka/controller/VoterController.java"
CORPUS = Path(__file__).resolve().parents[1] / "corpus"
KAFKA = Kafka(VERSION, None, "", files=True)

PLANTS = [
    Plant(
        "a change of a partition is read without its leader",
        f"{METADATA}/PartitionChangeRecord.java",
        "this.leader = _readable.readInt();",
        "_readable.readInt();",
        "HandleMetadataUpdate HandleControllerFailover",
        "partition.leader",
    ),
    Plant(
        "a registration is read without its epoch",
        f"{METADATA}/RegisterBrokerRecord.java",
        "this.brokerEpoch = _readable.readLong();",
        "_readable.readLong();",
        "HandleMetadataUpdate HandleControllerFailover",
        "epoch",
    ),
]
HOSTS = [
    Plant(
        "the host leaves records of a decision out of the log",
        VOTER_CONTROLLER,
        "for (ApiMessageAndVersion each : written) {",
        "for (ApiMessageAndVersion each : written.subList(0, Math.min(1, written.size()))) {",
        "HandleMetadataUpdate HandleControllerFailover",
        "offset",
        run=4,
    ),
    Plant(
        "the host counts what the quorum itself has written",
        VOTER_CONTROLLER,
        "        stands = committed.size();\n",
        "        stands = committed.size() + 1;\n",
        "HandleControllerFailover",
        "after.offset",
    ),
    Plant(
        "the host gives brokers the record before",
        VOTER_CONTROLLER,
        "log.putIfAbsent(stands, message);",
        "log.putIfAbsent(stands + 1, message);",
        "HandleMetadataUpdate",
        "after.image",
        run=4,
    ),
]
ALL = [*PLANTS, *HOSTS]
STAYS = Plant(
    "who is deposed does not go back to what is committed",
    VOTER_CONTROLLER,
    "if (active && !leads) {\n            goBack();",
    "if (active && !leads) {\n            active = false;",
    "HandleControllerFailover",
    "after.offset",
)
"""Seen where it leads again: in the schedule, which runs by chance hardly come to."""


@pytest.fixture(scope="session")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp
    metadata = sources(folder("kafka"), "kafka-metadata")
    classes = compiled(PLANTS, metadata, folder("plant"), KAFKA_CLUSTER.protocol.name)
    classes += compiled(HOSTS, HOST, folder("host"), KAFKA_CLUSTER.protocol.name)
    return seen(ALL, KAFKA_CLUSTER, classes, folder("plants"))


@pytest.mark.parametrize("plant", ALL, ids=[plant.name.replace(" ", "-") for plant in ALL])
def test_a_fault_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def test_a_run_is_followed_as_it_was_made() -> None:
    """And breaks no invariant, which are asked then."""
    setting = KAFKA_CLUSTER.settings(3, 5)
    with host_of(KAFKA, KAFKA_CLUSTER.protocol, KAFKA_CLUSTER.constants(setting)) as host:
        made = KAFKA_CLUSTER.begin(setting, host, watched=False)
        KAFKA_CLUSTER.walk(made, 5, 250)
        script = Script(machine="cluster", moves=tuple(made.moves), options=made.setting())
        again = KAFKA_CLUSTER.begin(KAFKA_CLUSTER.setting(script.options), host, watched=True)
        followed = follow(script, again)
    assert (followed.left_out, followed.failure) == ([], None)
    assert [part.lines for part in again.parts] == [part.lines for part in made.parts]


def test_the_same_seed_has_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.jsonl"
        driven = drive(path, KAFKA, KAFKA_CLUSTER, 3, runs=3, seed=5, moves=200)
        assert all(len(part.places) > 100 for part in driven.parts)
        texts.append([each.read_bytes() for each in traces_of(path, KAFKA_CLUSTER)])
    assert texts[0] == texts[1]


def test_clusters_of_other_releases_are_judged_by_their_profiles(tmp_path: Path) -> None:
    """In the run of 4.0.2 a controller takes over that counts on a fenced broker. Those that take
    the same steps, by the same profile, are judged once.
    """
    newest = Kafka(VERSION, None, "", files=True).allowed("partition")
    judged: set[tuple[str, str]] = set()
    for version in (each for each in jars.versions() if each != VERSION):
        kafka, trace = Kafka(version, None, "", files=True), tmp_path / f"{version}.jsonl"
        cluster = component(kafka)
        driven = drive(trace, kafka, cluster, 3, runs=1, first=1, seed=5, moves=200)
        assert all(part.places for part in driven.parts)
        for part, path in zip(cluster.parts, traces_of(trace, cluster), strict=True):
            profile = kafka.allowed(part.protocol.name)
            key = str(profile), path.read_text("utf-8").partition("\n")[2]
            if key in judged:
                continue
            judged.add(key)
            assert judge_batch(read_foreign(path), profile=profile).rejections == [], version
            if part.protocol.name == "partition" and str(profile) != str(newest):
                refused = judge_batch(read_foreign(path), profile=newest).rejections
                assert version.startswith("4.0.")
                assert [each.action for each in refused] == ["HandleControllerFailover"]


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        (["quorum: 0 Fly"], "none of its moves is possible on Kafka, the first is 'quorum: 0 Fly'"),
        (["quorum: 0 ElectionTimeout"], "its moves take no step of a partition"),
    ],
)
def test_a_schedule_of_which_nothing_can_be_judged(
    moves: list[str], said: str, tmp_path: Path
) -> None:
    options = KAFKA_CLUSTER.settings(3, 5)
    schedule = tmp_path / "few.moves"
    script = Script(machine="cluster", moves=tuple(moves), options=to_builtins(options))
    schedule.write_text(write(script), "utf-8")
    result = CliRunner().invoke(cli, ["witness", "replay", str(schedule), "--quiet"])
    assert (result.exit_code, result.output.count("\n")) == (BAD_INPUT, 1), result.output
    assert said in result.output


@pytest.mark.parametrize(
    ("bug", "violates", "bugs"),
    [
        ("Z26-PartitionLogMatching", "", set()),
        ("Z34-WeakIsr", "", set()),
        ("Z35-LeaderCandidateCompleteness", "", set()),
        ("Z67-WeakIsr", "WeakIsr", {"keeps-end-offsets"}),
        ("Z69-LeaderCandidateCompleteness", "", {"clears-proposal"}),
    ],
)
def test_a_bugs_schedule_does_harm_only_where_kafka_has_the_bug(
    bug: str, violates: str, bugs: set[str], tmp_path: Path
) -> None:
    """What is left out are answers of the quorum that say otherwise since 4.1, and few."""
    path = CORPUS / f"cluster-{bug}.moves"
    script, _ = read(path.read_text("utf-8"))
    profile = KAFKA.allowed(*(part.protocol.name for part in KAFKA_CLUSTER.parts))
    made = played(KAFKA_CLUSTER, script, path.name, KAFKA, tmp_path / "trace.jsonl", profile)
    assert (made.violates, made.refused) == (violates, {})
    assert {met.name for met in made.met if met.of == "bug"} == bugs
    assert len(made.followed.left_out) < len(script.moves) / 8


def test_a_broker_stops_cleanly_and_comes_back() -> None:
    """It reads metadata from the beginning then."""
    setting = KAFKA_CLUSTER.settings(3, 5)
    with host_of(KAFKA, KAFKA_CLUSTER.protocol, KAFKA_CLUSTER.constants(setting)) as host:
        made = KAFKA_CLUSTER.begin(setting, host, watched=True)
        expiries = made.voters.expiries()
        next(each for each in expiries if each.words.endswith("0 ElectionTimeout")).make()
        assert calmly(made, lambda: made.controllers.active() is not None)
        [stop] = [each for each in made.stops() if "broker 2" in each.words]
        stop.make()
        [partition] = made.partitions
        assert calmly(made, lambda: partition.row(2).status == "Down")
        assert made.brokers.unread(2).start == 0
        [restart] = [each for each in made.restarts() if each.words == "restart broker 2"]
        restart.make()
        assert calmly(made, lambda: partition.row(2).status == "Running")
        assert partition.row(2).image.offset > 1


def calmly(made: Any, until: Callable[[], bool]) -> bool:
    return any(until() or not made.calm() for _ in range(400)) and until()


def test_who_is_deposed_goes_back(tmp_path: Path) -> None:
    """A session that it has ended is not committed; it leads again, and knows nothing of that."""
    script, _ = read((Path(__file__).parent / "data" / "deposed.moves").read_text("utf-8"))
    profile = KAFKA.allowed(KAFKA_CLUSTER.parts[0].protocol.name)
    [classes] = compiled([STAYS], HOST, tmp_path, KAFKA_CLUSTER.protocol.name)
    refused = []
    for kafka in (KAFKA, Kafka(VERSION, classes, "", files=True)):
        trace = tmp_path / "trace.jsonl"
        made = played(KAFKA_CLUSTER, script, "deposed.moves", kafka, trace, profile)
        assert made.followed.left_out == []
        refused.append(made.refused)
    assert refused == [{}, {STAYS.action: 1}]
    told = [each for of in made.found for one in of.found.rejections for each in one.differences]
    assert any(STAYS.field in str(each) for each in told), told
