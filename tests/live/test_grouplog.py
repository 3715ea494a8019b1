"""What Kafka's tool prints of the log of consumer groups, in its own words."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.live import grouplog, txnlog
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.traces import grouplog as read

ID = "Xp8k209FRyqV_LNRq5dzww"
GIVEN = [{"topic": "t", "partitions": [0, 1]}, {"topic": "u", "partitions": [5]}]
MEMBER = '{"type":"8","data":{"groupId":"g","memberId":"m"}}'


def record(offset: int, key: str, payload: str) -> str:
    """As DumpLogSegments 4.3.1 has it."""
    head = f"| offset: {offset} CreateTime: 1795488235032 keySize: 5 valueSize: 24 sequence: 0"
    return f"{head} headerKeys: [] key: {key} payload: {payload}"


def committed(topic: str) -> str:
    return json.dumps({"type": "1", "data": {"group": "g", "topic": topic, "partition": 2}})


def value(data: dict[str, object]) -> str:
    return json.dumps({"version": "0", "data": data})


def named(id: str, partition: int) -> dict[str, object]:
    return {"topicId": id, "partitions": [partition], "assignmentEpochs": [1]}


LINES = [
    "Dumping /data/b1/__consumer_offsets-7/00000000000000000000.log",
    "Log starting offset: 0",
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequence: 0 producerId: -1",
    record(
        0,
        '{"type":"2","data":{"group":"g"}}',
        value(
            {
                "members": [
                    {
                        "memberId": "c",
                        "assignment": {"assignedPartitions": GIVEN, "userData": None},
                    },
                    {"memberId": "d", "assignment": None},
                ]
            }
        ),
    ),
    record(1, '{"type":"2","data":{"group":"g"}}', "<DELETE>"),
    record(2, '{"type":"3","data":{"groupId":"g"}}', value({"epoch": 1})),
    record(
        3,
        MEMBER,
        value(
            {
                "memberEpoch": 1,
                "assignedPartitions": [named(ID, 0), named("other", 0)],
                "partitionsPendingRevocation": [named(ID, 4)],
            }
        ),
    ),
    record(4, committed("t"), value({"offset": 12, "metadata": "2:1\0"})),
    record(5, committed("u"), value({"offset": 9, "metadata": ""})),
    record(6, committed("t"), "<DELETE>"),
    record(7, MEMBER, "<DELETE>"),
    "| offset: 8 CreateTime: 1795488235032 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] "
    "endTxnMarker: COMMIT coordinatorEpoch: 0",
]
EXPECTED: list[dict[str, object]] = [
    {"what": "generation", "group": "g", "all": {"c": ["t-0", "t-1"], "d": []}},
    {"what": "generation", "group": "g", "all": {}},
    {"what": "epoch", "group": "g", "epoch": 1, "topics": 0},
    {"what": "member", "group": "g", "member": "m", "has": ["t-0", "t-4"]},
    {"what": "committed", "group": "g", "key": "t-2", "committed": 12, "mark": "2:1"},
    {"what": "other"},
    {"what": "committed", "group": "g", "key": "t-2"},
    {"what": "removed", "group": "g", "member": "m"},
    {"what": "other"},
]


def test_each_record_is_told_as_it_is() -> None:
    found = list(grouplog.parse(LINES, "t", {ID: "t", "other": "u"}))
    assert found == [{"partition": 7, "offset": at, **each} for at, each in enumerate(EXPECTED)]


def test_what_is_written_is_read() -> None:
    assert grouplog.GROUPS == read.GROUPS
    for entry in grouplog.parse(LINES, "t", {ID: "t"}):
        msgspec.json.decode(msgspec.json.encode(entry), type=read.Entry)


def test_another_form_is_an_error_that_names_it() -> None:
    lines = [LINES[0], record(0, MEMBER, value({"epoch": 1}))]
    with pytest.raises(ClusterError, match=r"__consumer_offsets-7: .*assignedPartitions"):
        list(grouplog.parse(lines, "t", {}))


@pytest.mark.parametrize("of", [grouplog, txnlog])
def test_a_replica_that_is_being_deleted_is_not_read(of: Any, tmp_path: Path) -> None:
    """It was moved away; Kafka keeps its folder for a minute, under another name."""
    for end in ("0", "0.5f0c-delete"):
        folder = tmp_path / "b1" / f"{of.TOPIC}-{end}"
        folder.mkdir(parents=True)
        (folder / f"{0:020}.log").write_bytes(b"x")
    asked: list[str] = []

    def run_tool(*words: str) -> str:
        asked.extend(words)
        return ""

    nodes = [SimpleNamespace(name="b1", number=1)]
    state = SimpleNamespace(nodes=nodes, version="4.3.1")
    cluster: Any = SimpleNamespace(
        directory=tmp_path, state=state, is_running=lambda _: True, run_tool=run_tool
    )
    assert not (grouplog.dump(cluster, "t", []) if of is grouplog else txnlog.dump(cluster))
    assert f"{of.TOPIC}-0/" in asked[-1] and "delete" not in asked[-1]
