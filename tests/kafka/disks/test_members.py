"""Who is in the ISR, by a metadata log that is written by hand, and what is asked of them."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.kafka.disks.partition import METADATA_ID
from kraftcheck.kafka.serve import codec
from kraftcheck.reference.storage.batches import CONTROL, Batch, Record, encoded
from tests.kafka.disks.written import (
    SECOND,
    write_broker,
    write_election,
    write_lines,
    write_properties,
    write_segment,
    write_topic,
)

TOPIC = bytes(range(16))
TOPIC_ID = urlsafe_b64encode(TOPIC).decode().rstrip("=")
KINDS = {"TopicRecord": 2, "PartitionRecord": 3, "PartitionChangeRecord": 5, "RemoveTopicRecord": 9}
MADE = (
    ("TopicRecord", {"name": "t", "topic_id": TOPIC}),
    (
        "PartitionRecord",
        {
            **{"partition_id": 0, "topic_id": TOPIC, "leader": 1, "leader_epoch": 3},
            **{"replicas": [1, 2, 3], "isr": [1, 2, 3], "partition_epoch": 0},
        },
    ),
)


def change(**what: Any) -> tuple[str, dict[str, Any]]:
    return "PartitionChangeRecord", {"partition_id": 0, "topic_id": TOPIC, **what}


def value(name: str, message: dict[str, Any]) -> bytes:
    version = codec.description(name).valid.last
    out = bytearray([1, KINDS[name], version])
    codec.writer(name, version)(out, message)
    return bytes(out)


def log_of(values: Sequence[bytes], base: int = 0) -> bytes:
    """A batch for each."""
    data = b""
    for at, each in enumerate(values, base):
        like = Batch(at, at, 1, 0, 0, 0, -1, -1, -1, 1, b"")
        data += encoded(like, [Record(at, 0, None, each)])
    return data


def write_metadata(
    node: Path, *records: tuple[str, dict[str, Any]], base: int = 0, voters: Sequence[int] = (1,)
) -> Path:
    """A copy of the metadata log, in the directory of a node."""
    folder = node / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    log = log_of([value(*each) for each in records], base)
    (folder / f"{base:020}.log").write_bytes(log)
    write_lines(folder / "leader-epoch-checkpoint", [f"1 {base}"])
    write_election(folder, 1, voters=voters)
    write_topic(folder, METADATA_ID)
    return folder


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """Three brokers, the second of which lacks what is committed."""
    for number in (1, 2, 3):
        partition = write_broker(tmp_path / f"b{number}")
        write_properties(tmp_path / f"b{number}", number)
        write_topic(partition, TOPIC_ID)
    short = tmp_path / "b2"
    write_segment(short / "t-0", 7, SECOND[:3])
    (short / "t-0" / f"{12:020}.snapshot").unlink()
    write_lines(short / "t-0" / "leader-epoch-checkpoint", ["0 0", "2 7"])
    for name in ("replication", "recovery-point"):
        write_lines(short / f"{name}-offset-checkpoint", ["t 0 10"])
    return [tmp_path / f"b{number}" for number in (1, 2, 3)]


def asked(folders: Sequence[Path]) -> Result:
    return CliRunner().invoke(cli, ["disk", *map(str, folders), "--topic", "t", "--json"])


def weighed(done: Result) -> list[tuple[str, str]]:
    """Of what is said of members: how it weighs, and whether it is in the ISR or the ELR."""
    (partition,) = json.loads(done.stdout)["partitions"]
    return [
        (each["weight"], "ELR" if "the ELR" in each["said"] else "ISR")
        for each in partition["together"]
        if each["invariant"] == "WeakIsr"
    ]


def roles(done: Result) -> list[str | None]:
    (partition,) = json.loads(done.stdout)["partitions"]
    return [each["role"] for each in partition["replicas"]]


OUT = change(isr=[1, 3])
GONE = ("RemoveTopicRecord", {"topic_id": TOPIC})


@pytest.mark.parametrize(
    ("more", "expected", "said"),
    [
        ((), ["leader", "isr", "isr"], [("violated", "ISR")]),
        ((OUT,), ["leader", "out", "isr"], []),
        ((OUT, change(eligible_leader_replicas=[2])), ["leader", "elr", "isr"],
         [("violated", "ELR")]),
        ((change(leader=2),), ["isr", "leader", "isr"], [("violated", "ISR")]),
        ((change(leader=2, leader_recovery_state=1), change(leader_recovery_state=0)),
         ["isr", "leader", "isr"], [("report", "ISR")]),
    ],
    ids=["in the ISR", "out", "in the ELR", "leads", "unclean election"],
)  # fmt: skip
def test_members_have_what_is_committed(
    nodes: list[Path],
    more: Sequence[tuple[str, dict[str, Any]]],
    expected: list[str],
    said: list[tuple[str, str]],
) -> None:
    write_metadata(nodes[0], *MADE, *more)
    done = asked(nodes)
    assert roles(done) == expected and weighed(done) == said
    assert done.exit_code == (1 if "violated" in dict(said) else 0)


def test_a_power_loss_takes_what_was_not_flushed(nodes: list[Path]) -> None:
    write_metadata(nodes[0], *MADE)
    (nodes[1] / ".kafka_cleanshutdown").unlink()
    assert weighed(asked(nodes)) == [("report", "ISR")]
    write_lines(nodes[1] / "recovery-point-offset-checkpoint", ["t 0 12"])
    assert weighed(asked(nodes)) == [("violated", "ISR")]


def test_the_word_of_a_minority_is_a_report(nodes: list[Path]) -> None:
    """Another copy may say later that it is out."""
    write_metadata(nodes[0], *MADE, voters=(1, 2, 3))
    assert weighed(asked(nodes)) == [("report", "ISR")]
    write_metadata(nodes[2], *MADE, OUT, voters=(1, 2, 3))
    assert weighed(asked(nodes)) == []
    assert roles(asked(nodes)) == ["leader", "out", "isr"]


def test_a_metadata_log_that_begins_with_a_snapshot(nodes: list[Path]) -> None:
    """What came before it is not known; what members themselves know to be committed is."""
    folder = write_metadata(nodes[0], OUT, base=9)
    name = f"{9:020}-{1:010}.checkpoint"
    (folder / name).write_bytes(log_of([value(*each) for each in MADE]))
    assert roles(asked(nodes)) == ["leader", "out", "isr"]
    (folder / f"{9:020}.log").write_bytes(b"")
    assert weighed(asked(nodes)) == [("violated", "ISR")]
    for node in (nodes[0], nodes[2]):
        write_lines(node / "replication-offset-checkpoint", ["t 0 10"])
    (folder / f"{9:020}.log").write_bytes(log_of([value(*change(isr=[2], leader=2))], base=9))
    write_lines(nodes[0] / "replication-offset-checkpoint", ["t 0 12"])
    assert weighed(asked(nodes)) == [("report", "ISR")]


def test_transactions_of_metadata_that_were_given_up(nodes: list[Path]) -> None:
    begin, end, abort = (bytes([1, kind, 0, 0]) for kind in (23, 24, 25))
    folder = write_metadata(nodes[0], *MADE)
    made = [value(*each) for each in MADE]
    for last, expected in ((abort, "isr"), (end, "out")):
        data = log_of([*made, begin, value(*OUT), last])
        (folder / f"{0:020}.log").write_bytes(data)
        assert roles(asked(nodes))[1] == expected


def test_a_metadata_log_that_is_cut_may_lack_the_last_word(nodes: list[Path]) -> None:
    log = write_metadata(nodes[0], *MADE, OUT) / f"{0:020}.log"
    assert weighed(asked(nodes)) == []
    log.write_bytes(log.read_bytes()[:-1])
    assert weighed(asked(nodes)) == [("report", "ISR")]


def test_a_topic_that_is_gone_has_no_members(nodes: list[Path]) -> None:
    write_metadata(nodes[0], *MADE, GONE)
    assert roles(asked(nodes)) == [None, None, None] and weighed(asked(nodes)) == []


def unsound(done: Result, node: Path) -> list[str]:
    """What is said of records that nobody can replay."""
    told = json.loads(done.stdout)["directories"].get(str(node), [])
    return [each["said"] for each in told if each["invariant"] == "ControllerStateIsReplay"]


@pytest.mark.parametrize("record", [GONE, change(isr=[1]), MADE[1]], ids=lambda each: each[0])
def test_a_record_of_a_topic_that_is_gone_is_named(
    nodes: list[Path], record: tuple[str, dict[str, Any]]
) -> None:
    """Its writer had a state that the log does not give."""
    folder = write_metadata(nodes[0], *MADE, GONE, record)
    done = asked(nodes)
    (said,) = unsound(done, nodes[0])
    assert done.exit_code == 1 and f"offset 3: {record[0]} of topic {TOPIC_ID}" in said
    log = folder / f"{0:020}.log"
    log.write_bytes(log_of([value(*each) for each in (*MADE, GONE, *MADE, record)]))
    assert not unsound(asked(nodes), nodes[0])


def test_where_the_metadata_log_begins_is_not_known(nodes: list[Path]) -> None:
    """Without the snapshot that it begins with, or with one that is damaged, nothing is claimed."""
    folder = write_metadata(nodes[0], GONE, base=9)
    assert not unsound(asked(nodes), nodes[0])
    snapshot = folder / f"{9:020}-{1:010}.checkpoint"
    snapshot.write_bytes(log_of([]))
    assert len(unsound(asked(nodes), nodes[0])) == 1
    snapshot.write_bytes(log_of([value(*each) for each in MADE])[:-1])
    assert not unsound(asked(nodes), nodes[0])


def test_metadata_of_another_format_is_unknown(nodes: list[Path]) -> None:
    folder = write_metadata(nodes[0])
    (folder / f"{0:020}.log").write_bytes(log_of([b"\1\3\77"]))
    done = asked(nodes)
    assert done.exit_code == 2 and roles(done) == [None, None, None]
    (found,) = json.loads(done.stdout)["directories"][str(nodes[0])]
    assert "0.log at byte 0: a record of another format" in found["said"]
    write_election(folder, -1)
    for text in ("[]", (folder / "quorum-state").read_text()):
        (folder / "quorum-state").write_text(text)
        (found,) = json.loads(asked(nodes).stdout)["directories"][str(nodes[0])]
        assert "quorum-state: no state of a quorum" in found["said"]
    (folder / "quorum-state").unlink()
    (folder / "quorum-state").mkdir()
    (found,) = json.loads(asked(nodes).stdout)["directories"][str(nodes[0])]
    assert "quorum-state: is a folder" in found["said"] and "Errno" not in found["said"]


def test_batches_of_the_quorum_are_none_of_the_metadata(nodes: list[Path]) -> None:
    folder = write_metadata(nodes[0], *MADE)
    control = Batch(2, 2, 1, CONTROL, 0, 0, -1, -1, -1, 1, b"")
    with (folder / f"{0:020}.log").open("ab") as file:
        file.write(encoded(control, [Record(2, 0, b"\0\0\0\2", b"\0\0")]))
    assert roles(asked(nodes)) == ["leader", "isr", "isr"]
