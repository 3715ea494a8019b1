"""What lies beside the partitions, and what is noted of elections: each planted fault is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.kafka.disks.partition import METADATA_ID
from tests.kafka.disks.test_members import MADE, OUT, TOPIC_ID, change, write_metadata
from tests.kafka.disks.test_voters import SNAPSHOT
from tests.kafka.disks.written import (
    write_broker,
    write_election,
    write_lines,
    write_properties,
    write_topic,
)

Plant = Callable[[Path], object]
META, CLEAN, STATE = "b1/meta.properties", "b1/.kafka_cleanshutdown", "c/quorum-state"


def text(name: str, said: str) -> Plant:
    return lambda folder: (folder / name).write_text(said)


def replaced(name: str, old: str, new: str) -> Plant:
    def plant(folder: Path) -> None:
        there = (folder / name).read_text()
        assert old in there
        (folder / name).write_text(there.replace(old, new))

    return plant


def gone(name: str) -> Plant:
    return lambda folder: (folder / name).unlink()


def bootstrap(data: bytes) -> Plant:
    return lambda folder: (folder / "b1" / "bootstrap.checkpoint").write_bytes(data)


FAULTS: dict[str, tuple[Plant, str, str]] = {
    "no node": (replaced(META, "node.id=1\n", ""), "violated", "has no node.id"),
    "no cluster": (replaced(META, "cluster.id=c", ""), "violated", "has no cluster.id"),
    "a node that is none": (replaced(META, "id=1\n", "id=x\n"), "violated", "'x' is no number of"),
    "a directory that is none": (
        replaced(META, "directory.id=A", "directory.id="), "violated", "is no id of a directory",
    ),
    "another cluster": (replaced(META, "=c\n", "=d\n"), "report", "ids of several clusters: "),
    "another node": (
        replaced(META, "node.id=1", "node.id=7"), "report", "of node 7, which is to have no replic",
    ),
    "properties that are cut": (replaced(META, "=c\n", "=c"), "report", "line has no end"),
    "no properties": (gone(META), "report", "meta.properties: is missing: a broker takes"),
    "no topic id": (
        text("b1/t-0/partition.metadata", "version: 0\n"), "violated", "has no topic id",
    ),
    "a topic id that is cut": (
        text("b1/t-0/partition.metadata", f"version: 0\ntopic_id: {TOPIC_ID[:-1]}"), "violated",
        "has no topic id",
    ),
    "a topic id and a blank": (
        text("b1/t-0/partition.metadata", f"version: 0\ntopic_id: {TOPIC_ID}\x1c"), "violated",
        "has no topic id",
    ),
    "a topic id twice": (
        text("b1/t-0/partition.metadata", 2 * f"version: 0\ntopic_id: {TOPIC_ID}"), "violated",
        "has no topic id",
    ),
    "no partition.metadata": (gone("b1/t-0/partition.metadata"), "report", "no id says which"),
    "another metadata log": (
        lambda folder: write_topic(folder / "c", TOPIC_ID), "violated", "not the id of the metad",
    ),
    "a bootstrap that is altered": (
        bootstrap(SNAPSHOT[:90] + b"\1" + SNAPSHOT[91:]), "violated", "does not fit",
    ),
    "a bootstrap without its end": (bootstrap(b""), "violated", "a snapshot without its end"),
    "a bootstrap of another epoch": (bootstrap(SNAPSHOT), "violated", "in a snapshot of epoch 0"),
    "a marker that says nothing": (text(CLEAN, ""), "report", "takes the stop for an unclean one"),
    "a marker without an epoch": (text(CLEAN, '{"version":0}'), "report", "no epoch of its broker"),
    "no recovery points": (
        gone("b1/recovery-point-offset-checkpoint"), "report", "begins without what it notes",
    ),
    "empty log starts": (
        text("b1/log-start-offset-checkpoint", ""), "report", "is empty: a start begins without",
    ),
    "a checkpoint that is cut": (
        text("b1/replication-offset-checkpoint", "0\n1\nt 0 1"), "violated", "last line is cut",
    ),
    "a checkpoint of another partition": (
        lambda folder: write_lines(folder / "b1/replication-offset-checkpoint", ["u 0 12"]),
        "report", "names u-0, which is not there",
    ),
    "an index without its log": (
        text(f"b1/t-0/{99:020}.index", ""), "report", "has no log: a start deletes it",
    ),
    "index entries that do not ascend": (
        lambda folder: swap(folder / f"b1/t-0/{7:020}.index", 8), "violated", "do not ascend",
    ),
    "a state of elections that is none": (text(STATE, "{"), "violated", "no state of a quorum"),
    "a later state of elections": (text(STATE, '{"data_version":2}'), "unknown", "of version 2"),
    "no state of elections": (gone(STATE), "report", "may vote twice in an epoch"),
    "an epoch that is behind the log": (
        lambda folder: write_election(folder / "c", 0, voters=[1]), "violated",
        "epoch 0 is noted, and the log goes on in 1",
    ),
    "two leaders": (
        lambda folder: write_election(folder / "c", 1, leader=2, voters=[1]), "violated",
        "epoch 1 has the leaders",
    ),
    "other voters": (
        lambda folder: write_election(folder / "c", 1, voters=[1, 2]), "report", "the voters are 1",
    ),
    "a leader epoch that nobody gave": (
        lambda folder: write_lines(
            folder / "b1/t-0/leader-epoch-checkpoint", ["0 0", "2 7", "3 10", "9 12"]
        ),
        "violated", "has epoch 9, and 3 is the latest of all",
    ),
}  # fmt: skip


def swap(path: Path, size: int) -> None:
    """The first two entries."""
    data = path.read_bytes()
    path.write_bytes(data[size : 2 * size] + data[:size] + data[2 * size :])


@pytest.fixture
def brokers(tmp_path: Path) -> Path:
    """Two, of whose partition a metadata log says that both are in the ISR, and c leads there."""
    for number in (1, 2):
        partition = write_broker(tmp_path / f"b{number}")
        write_properties(tmp_path / f"b{number}", number)
        write_topic(partition, TOPIC_ID)
        metadata = write_metadata(tmp_path / f"b{number}", *MADE)
        write_election(metadata, 1, leader=1, voters=[1])
    (tmp_path / "c").symlink_to("b1/__cluster_metadata-0")
    return tmp_path


def told(folder: Path) -> tuple[int, list[tuple[str, str]]]:
    """The exit code; each finding, how it weighs and what it says."""
    words = ["disk", str(folder / "b1"), str(folder / "b2"), "--json"]
    done = CliRunner().invoke(cli, words)
    said = json.loads(done.stdout)
    found = [each for of in said["directories"].values() for each in of]
    for of in said["partitions"]:
        found += of["together"]
        found += [each for replica in of["replicas"] for each in replica["findings"]]
    return done.exit_code, [(e["weight"], f"{e['file']}: {e['said']}") for e in found]


MISSING = [("report", f"{0:020}.{end}: is missing") for end in ("index", "timeindex")]
"""Of the metadata logs, which are written by hand."""


def test_brokers_without_a_fault_hold(brokers: Path) -> None:
    assert told(brokers) == (0, MISSING * 2)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_beside_the_logs_is_named(name: str, brokers: Path) -> None:
    plant, weight, said = FAULTS[name]
    plant(brokers)
    code, found = told(brokers)
    assert any(each == weight and said in words for each, words in found), found
    assert code == {"violated": 1, "unknown": 2, "report": 0}[weight]


def test_a_leader_epoch_rises_with_each_leader(brokers: Path) -> None:
    """Of the metadata log: with a change that names one, and with no other."""
    for number in (1, 2):
        (brokers / f"b{number}" / "__cluster_metadata-0").rename(brokers / f"old{number}")
        write_metadata(brokers / f"b{number}", *MADE, OUT, change(isr=[1, 2, 3]), change(leader=2))
    epochs = brokers / "b1" / "t-0" / "leader-epoch-checkpoint"
    write_lines(epochs, ["0 0", "2 7", "3 10", "4 12"])
    assert told(brokers) == (0, MISSING * 2)
    write_lines(epochs, ["0 0", "2 7", "3 10", "5 12"])
    assert told(brokers)[0] == 1


def test_the_id_of_the_metadata_log_is_kafkas() -> None:
    assert METADATA_ID == "AAAAAAAAAAAAAAAAAAAAAQ"
