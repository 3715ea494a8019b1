"""Transactions with Kafka's coordinators: faults planted in them, and in the host, are found at
their step.

Beside them Z70, Z71 and Z80 on the unchanged release, by the specs without any profile, and the fix
of Z70, which must be accepted.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT, HOLDS, VIOLATED
from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.live.witness import jars
from kraftcheck.kafka.witness.coordinator_graphs import ANSWERED_ONCE, COMPLETED_TOGETHER
from kraftcheck.kafka.witness.covering import BEHIND
from kraftcheck.kafka.witness.driving import drive, host_of
from kraftcheck.kafka.witness.following import follow
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.transactions import TRANSACTION_COORDINATORS
from kraftcheck.reference.steered.scripts import read
from kraftcheck.reference.transactions.protocol import COORDINATOR_KIND, TRANSACTIONS
from tests.live.patched import Plant, compiled, edited, run, seen, sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tlc,
    pytest.mark.kafka,
    pytest.mark.xdist_group("transactions-plants"),
]

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "witness"
HOST = Path(jars.__file__).parent / "java" / "transactions"
KAFKA = Kafka(VERSION, None, "", files=True)
ROW = "org/apache/kafka/coordinator/transaction/TransactionMetadata.java"
MARKERS = "kafka.coordinator.transaction.TransactionMarkerChannelManager"

PLANTS = [
    Plant(
        "an end does not raise the epoch",
        ROW,
        "                data.producerEpoch = (short) (producerEpoch + 1);",
        "                data.producerEpoch = producerEpoch;",
        "HandleEndTxn HandleFence",
        "pending.epoch",
    ),
    Plant(
        "a partition that is added takes the place of the others",
        ROW,
        "        HashSet<TopicPartition> newTopicPartitions = new HashSet<>(topicPartitions);",
        "        HashSet<TopicPartition> newTopicPartitions = new HashSet<>();",
        "HandleAddPartitions",
        "pending.partitions",
    ),
    Plant(
        "a marker that is acknowledged takes nothing out",
        ROW,
        "        topicPartitions.remove(topicPartition);",
        "",
        "HandleMarkerReply",
        "toMark",
    ),
    Plant(
        "a new instance is given the epoch of the one before",
        ROW,
        "        short bumpedEpoch = (short) (producerEpoch + 1);\n",
        "        short bumpedEpoch = producerEpoch;\n",
        "HandleInitProducerId",
        "pending.epoch",
    ),
    Plant(
        "what is to be committed completes as aborted",
        ROW,
        "state == TransactionState.PREPARE_COMMIT ?",
        "state == TransactionState.PREPARE_EPOCH_FENCE ?",
        "HandleAcknowledged",
        "pending.state",
    ),
]
SCALA = [
    Plant(
        "a completion waits for no marker",
        MARKERS,
        "hasPendingMarkersToWrite",
        "return false;",
        "HandleAcknowledged",
        "sent",
    ),
    Plant(
        "a completion that could not be written is not written again",
        MARKERS,
        "retryLogAppends",
        "{}",
        "HandleMarkersDone",
        "pending.logged",
        run=2,
    ),
    Plant(
        "who is deposed forgets nothing",
        "kafka.coordinator.transaction.TransactionCoordinator",
        "onResignation",
        "{}",
        "HandleElect",
        "active",
        run=3,
    ),
]
"""Of classes that are not Java."""
HOSTS = [
    Plant(
        "the host reads the row's partitions for those of its record",
        "kafka/coordinator/transaction/Coordinators.java",
        "c.isMarking() ? c.made().partitions() : Row",
        "Row",
        "HandleMarkerReply",
        "txn.partitions",
    ),
    Plant(
        "the host forgets who waits",
        "kafka/coordinator/transaction/Coordinator.java",
        "host.request(), told)",
        "null, told)",
        "HandleAddPartitions HandleEndTxn",
        "pending.request",
    ),
    Plant(
        "the host's log does not commit what is acknowledged",
        "kafka/coordinator/transaction/Coordinators.java",
        "            log.commit();\n",
        "",
        "HandleAcknowledged",
        "log.committed",
    ),
    Plant(
        "the host lets nobody in between the locks of a fence",
        "kafka/coordinator/transaction/Coordinator.java",
        "Thread.currentThread() == running && isFencing()",
        "Thread.currentThread() != running && isFencing()",
        "HandleTransactionTimeout HandleInitProducerId",
        "pending.state",
        run=2,
    ),
    Plant(
        "the host takes any marker for the one that is answered",
        "kafka/coordinator/transaction/Coordinators.java",
        "            if (form(each).equals(said)) {",
        "            if (said != null) {",
        "HandleMarkerReply",
        "toMark",
        run=3,
    ),
    Plant(
        "the host counts the epochs of ids otherwise",
        "kafka/coordinator/transaction/Coordinators.java",
        "(epoch < skipped ? epoch : epoch - skipped);",
        "Math.min(epoch, 1);",
        "HandleEndTxn HandleFence HandleInitProducerId",
        "pending.epoch",
    ),
]
VERSION_1 = [
    Plant(
        "the host says of a verification what the coordinator says",
        "kafka/coordinator/transaction/Coordinators.java",
        "return error == Errors.PRODUCER_FENCED ? Errors.INVALID_PRODUCER_EPOCH : error;",
        "return error;",
        "HandleVerify",
        "ignored",
    ),
    Plant(
        "the host answers an end of version 1 with another epoch",
        "kafka/coordinator/transaction/Coordinators.java",
        '(long) id < 0 ? in.get("epoch").asLong() :',
        '(long) id < 0 ? in.get("epoch").asLong() + 1 :',
        "HandleAcknowledged",
        "sent",
    ),
]
"""Met by no transaction of version 2."""
RECOVERING = [
    Plant(
        "a repeated request for an epoch is fenced",
        ROW,
        "            data.lastProducerEpoch = producerEpoch;\n"
        "        } else if (expectedProducerEpoch.get() == lastProducerEpoch) {",
        "        } else if (expectedProducerEpoch.get() == lastProducerEpoch) {",
        "HandleAcknowledged",
        "coordinators",
    ),
    Plant(
        "an id that comes back begins with another epoch",
        ROW,
        "        short bumpedEpoch = (short) (producerEpoch + 1);\n",
        "        short bumpedEpoch = (short) (producerEpoch < 0 ? 1 : producerEpoch + 1);\n",
        "HandleInitProducerId",
        "coordinators",
    ),
    Plant(
        "the host reads the row of an id that is not back yet",
        "kafka/coordinator/transaction/Coordinators.java",
        "        if (Row.isGone(row)) {",
        "        if (row == null) {",
        "HandleInitProducerId",
        "coordinators",
    ),
    Plant(
        "the host says of every refusal the same",
        "kafka/coordinator/transaction/Coordinators.java",
        'tell("Refused", request, "request", request, "error", error.name());',
        'tell("Refused", request, "request", request, "error", "UNKNOWN_SERVER_ERROR");',
        "HandleAddPartitions HandleBumpEpoch HandleEndTxn",
        "sent",
    ),
]
"""Met where producers hear every error, and ids are forgotten."""
ENDING = [
    Plant(
        "an id is given its very last epoch",
        ROW,
        "return producerEpoch >= Short.MAX_VALUE - 1;",
        "return producerEpoch >= Short.MAX_VALUE;",
        "HandleEndTxn HandleInitProducerId",
        "coordinators",
    ),
    Plant(
        "the host does not wait for who asks again for the end that has begun an id",
        "kafka/coordinator/transaction/Coordinators.java",
        "row.producerEpoch() == 0 && knows",
        "row.producerEpoch() < 0 && knows",
        "HandleEndTxn",
        "ignored",
    ),
]
"""Met where producer ids come to their end."""
GOING_ON = ("version=1", "recovers=true", "ids_expire=true")
ALL = [*PLANTS, *SCALA, *HOSTS]
FIXED = Plant(
    "z70-fixed",
    "org/apache/kafka/metadata/KRaftMetadataCache.java",
    ".flatMap(partition -> Optional.ofNullable(image.cluster().broker(partition.leader))\n"
    "                .map(broker -> broker.node(listenerName.value()).orElse(Node.noNode())));",
    ".map(partition -> Optional.ofNullable(image.cluster().broker(partition.leader))\n"
    "                .flatMap(broker -> broker.node(listenerName.value())).orElse(Node.noNode()));",
    "",
    "",
)


@pytest.fixture(scope="session")
def transaction_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    artifacts = ("kafka-transaction-coordinator", "kafka-metadata")
    return sources(tmp_path_factory.mktemp("kafka"), *artifacts)


@pytest.fixture(scope="session")
def said(
    transaction_sources: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, set[str]]:
    folder, of = tmp_path_factory.mktemp, TRANSACTIONS.name
    classes = compiled(PLANTS, transaction_sources, folder("plant"), of)
    classes += edited(SCALA, folder("scala"), of)
    classes += compiled(HOSTS, HOST, folder("host"), of)
    return seen(ALL, TRANSACTION_COORDINATORS, classes, folder("plants"))


@pytest.mark.parametrize("plant", ALL, ids=[plant.name.replace(" ", "-") for plant in ALL])
def test_a_fault_is_refused_at_its_step(plant: Plant, said: dict[str, set[str]]) -> None:
    assert any(plant.field in line for line in said[plant.name]), said[plant.name]


def refused(classes: Path, out: Path, runs: int, *options: str) -> set[tuple[str, str]]:
    """Where runs of so changed classes differ: action and field."""
    given = [word for each in options for word in ("--option", each)]
    found = run(
        VIOLATED,
        *("transactions", "--runs", str(runs), "--moves", "200", "--seed", "1", "--differential"),
        *(*given, "--jars", str(classes), "--out", str(out)),
    )
    return {
        (each["action"], difference["field"])
        for each in found["differing"]
        for difference in each["differences"]
    }


def test_a_fault_of_version_1_is_refused_at_its_step(tmp_path: Path) -> None:
    for plant, classes in zip(
        VERSION_1, compiled(VERSION_1, HOST, tmp_path, TRANSACTIONS.name), strict=True
    ):
        found = refused(classes, tmp_path / "out", 8, "version=1")
        assert (plant.action, plant.field) in found


@pytest.mark.parametrize("plant", RECOVERING, ids=[p.name.replace(" ", "-") for p in RECOVERING])
def test_a_fault_where_producers_go_on_is_refused(
    plant: Plant, transaction_sources: Path, tmp_path: Path
) -> None:
    root = HOST if plant.file.startswith("kafka") else transaction_sources
    [classes] = compiled([plant], root, tmp_path, TRANSACTIONS.name)
    found = refused(classes, tmp_path / "out", 6, *GOING_ON)
    assert any(
        action in plant.action.split() and plant.field in field for action, field in found
    ), found


@pytest.mark.parametrize("plant", ENDING, ids=[p.name.replace(" ", "-") for p in ENDING])
def test_a_fault_at_the_end_of_an_id_is_refused(
    plant: Plant, transaction_sources: Path, tmp_path: Path
) -> None:
    root = HOST if plant.file.startswith("kafka") else transaction_sources
    [classes] = compiled([plant], root, tmp_path, TRANSACTIONS.name)
    found = refused(classes, tmp_path / "out", 12, "max_epoch=2")
    assert any(
        action in plant.action.split() and plant.field in field for action, field in found
    ), found


def test_runs_by_chance_and_what_is_refused_again_and_small(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("transactions", "--runs", "6", "--moves", "150", "--seed", "3", "--out", str(out))
    found = run(HOLDS, *words)
    assert found["found"]["steps"] > 600
    assert "acts-on-tail" in {each["entry"] for each in found["known"]}

    beside = run(HOLDS, *words, "--differential")
    assert len(beside["differing"]) == beside["forbidden"] == found["forbidden"]

    strict = run(VIOLATED, *words, "--as", "specs")
    again = strict["schedules"][0]
    assert run(VIOLATED, "replay", again, "--as", "specs")["found"]["rejections"]
    small = run(VIOLATED, "shrink", again, "--as", "specs", "--attempts", "20")
    assert small["moves"] < 150


def test_version_1_by_chance(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    found = run(
        HOLDS,
        *("transactions", "--runs", "12", "--moves", "200", "--seed", "3"),
        *("--option", "version=1", "--differential", "--out", out),
    )
    met = {each["entry"] for each in found["known"]}
    assert met == {"acts-on-tail", "fenced-once", "leaderless-is-deleted"}


@pytest.mark.parametrize("version", [1, 2])
def test_producers_that_go_on_and_ids_that_are_forgotten(version: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given, seed = (f"version={version}", *GOING_ON[1:]), str(3 - version)
    found = run(
        HOLDS,
        *("transactions", "--runs", "8", "--moves", "200", "--seed", seed, "--out", str(out)),
        *[word for each in given for word in ("--option", each)],
    )
    assert found["found"]["steps"] > 800
    text = (out / "trace.jsonl").read_text("utf-8")
    wanted = ["Expire", "Refused", "NotAllowed", *(["BumpEpoch", "Bumped"] if version == 1 else [])]
    assert {each for each in wanted if f'"type":"{each}"' in text} == {*wanted}


@pytest.mark.parametrize("version", [1, 2])
def test_producer_ids_that_come_to_their_end(version: int, tmp_path: Path) -> None:
    """Of three epochs each, by what the host passes over, and a fourth one that fences."""
    out = tmp_path / "out"
    given = (f"version={version}", *GOING_ON[1:], "max_epoch=2")
    run(
        HOLDS,
        *("transactions", "--runs", "20", "--moves", "200", "--seed", "1", "--out", str(out)),
        *[word for each in given for word in ("--option", each)],
    )
    text = (out / "trace.jsonl").read_text("utf-8")
    assert all(f'"epoch":{epoch}' in text for epoch in range(2 * 4 + 1))


FINDS = {
    "Z70": ("LogMatchesMarkers", "HandleAcknowledged"),
    "Z70-again": ("LogMatchesMarkers", "HandleMarkersAgain"),
    "Z71": ("DecidedBeforeMarked", "HandleLoaded"),
    "Z80": ("EndNotRefused", "HandleEndTxn"),
}


@pytest.mark.parametrize("bug", FINDS)
def test_a_bug_of_the_release_is_refused_at_its_step(bug: str) -> None:
    violates, action = FINDS[bug]
    found = run(VIOLATED, "replay", str(EXAMPLES / f"{bug}.moves"), "--as", "specs")
    assert (found["violates"], found["left_out"]) == (violates, [])
    assert [each["action"] for each in found["found"]["rejections"]] == [action]


def followed(bug: str, version: str) -> tuple[str, list[str]]:
    """What is violated on the schedule of a bug, and the steps of a release; nobody judges them."""
    script, _ = read((EXAMPLES / f"{bug}.moves").read_text("utf-8"))
    kafka = Kafka(version, None, "", files=True)
    setting = TRANSACTION_COORDINATORS.setting(script.options)
    constants = TRANSACTION_COORDINATORS.constants(setting)
    with host_of(kafka, TRANSACTIONS, constants) as host:
        made = follow(script, TRANSACTION_COORDINATORS.begin(setting, host, watched=True))
    return made.failure.name if made.failure else "", [text for text, _ in made.schedule.lines]


def test_z70_is_new_in_4_3_and_the_others_are_not(tmp_path: Path) -> None:
    """KAFKA-17573, in 4.3.0, lost a case of `KRaftMetadataCache` (finds/Z70/README.md). One release
    is judged, by its profile; those before 4.3 take the same steps.
    """
    schedules = [str(EXAMPLES / f"{bug}.moves") for bug in FINDS]
    words = ("--kafka", "4.0.2", "--differential", "--out", str(tmp_path / "out"))
    found = run(VIOLATED, "bugs", *schedules, *words)["schedules"]
    assert {each["schedule"]: each["violates"] for each in found} == {
        bug: "" if bug.startswith("Z70") else violates for bug, (violates, _) in FINDS.items()
    }
    assert [each["bugs"] for each in found] == [[], [], ["acts-on-tail"], ["abort-is-not-told"]]
    for bug in ("Z70", "Z71"):
        first, *others = [followed(bug, version) for version in ("4.0.2", "4.1.2", "4.2.2")]
        assert all(other == first for other in others)


def test_other_releases_take_the_same_steps(tmp_path: Path) -> None:
    """Until 4.1 with rows in Scala, until 4.0 with states in it as well."""
    texts = {}
    for version in jars.versions():
        path, kafka = tmp_path / f"{version}.jsonl", Kafka(version, None, "", files=True)
        drive(path, kafka, TRANSACTION_COORDINATORS, 2, runs=3, seed=1, moves=150)
        texts[version] = path.read_text("utf-8").splitlines()[1:]
    assert len(texts[VERSION]) == 575
    # Z70 is met, which is new in 4.3.
    first = {version: VERSION if version >= "4.3" else "4.0.2" for version in texts}
    assert all(text == texts[first[version]] for version, text in texts.items())
    assert texts["4.0.2"] != texts[VERSION]


def test_the_fix_of_z70_is_accepted(transaction_sources: Path, tmp_path: Path) -> None:
    [classes] = compiled([FIXED], transaction_sources, tmp_path, TRANSACTIONS.name)
    words = ("--as", "specs", "--jars", str(classes))
    found = run(HOLDS, "replay", str(EXAMPLES / "Z70.moves"), *words)
    assert (found["violates"], found["found"]["rejections"]) == ("", [])


def test_every_edge_of_a_graph() -> None:
    """Of the coordinator's, those that Kafka does not take are told apart; its bug is the model's
    refusal."""
    [graph] = run(HOLDS, "cover", "transactions-timeout")["graphs"]
    assert graph["taken"] + sum(graph["not_taken"].values()) == graph["kafkas"]
    assert set(graph["not_taken"]) == {"acts-on-tail", COMPLETED_TOGETHER, ANSWERED_ONCE, BEHIND}


def test_a_fault_is_refused_at_edges(transaction_sources: Path, tmp_path: Path) -> None:
    plant = next(each for each in PLANTS if "completes as aborted" in each.name)
    [classes] = compiled([plant], transaction_sources, tmp_path, TRANSACTIONS.name)
    words = ("cover", "transactions-timeout", "--jars", str(classes))
    [graph] = run(VIOLATED, *words)["graphs"]
    refused = [each for each in graph["refused"] if each.startswith(f"{plant.action}:")]
    assert any(plant.field in each for each in refused)


def test_the_same_seed_has_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.jsonl"
        driven = drive(path, KAFKA, TRANSACTION_COORDINATORS, 2, runs=3, seed=4, moves=100)
        assert len(driven.places) > 100
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--option", "version=3"), "--option: Invalid enum value 3"),
        (("--option", "max_epoch=32765"), "max_epoch: Kafka's is 32766; or say 1 to 1000"),
        (("--option", "markers_refused=true"), "markers_refused: Kafka's host refuses none"),
        (("--option", "brokers=1"), "--option brokers: no such option"),
        (("--option", "version"), "--option 'version': write NAME=VALUE"),
        (("--kafka", "3.9.1"), "no hashes for Apache Kafka 3.9.1"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    asked = ["witness", "transactions", "--runs", "1", "--as", "specs", *words]
    result = CliRunner().invoke(cli, [*asked, "--out", str(tmp_path / "out"), "--quiet"])
    assert (result.exit_code, said in result.output) == (BAD_INPUT, True), result.output


def test_every_action_of_kafkas_is_named() -> None:
    assert {f"Handle{of.__name__}" for of in COORDINATOR_KIND.inputs} == set(
        TRANSACTION_COORDINATORS.methods
    )
