"""What is read out of a metadata log, and that promises can be asked with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.live import facts, metadata
from kraftcheck.kafka.live.facts import Move, Outage
from kraftcheck.kafka.live.metadata import Record
from kraftcheck.kafka.live.recording import Plan, _configuration
from kraftcheck.reference.clients.promises import Configuration, Envelope, promised

FROM_OUTSIDE = {"leaderRecoveryState": facts.RECOVERING}
DUMPED = """\
Dumping n1/__cluster_metadata-0/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 partitionLeaderEpoch: 4 isControl: true
| offset: 0 CreateTime: 70 keySize: 4 headerKeys: [] LeaderChange: {"version":0,"leaderId":1}
baseOffset: 1 lastOffset: 2 count: 2 baseSequence: -1 partitionLeaderEpoch: 4 isControl: false
| offset: 1 CreateTime: 71 keySize: -1 headerKeys: [] payload: {"type":"NO_OP_RECORD","version":0,\
"data":{}}
| offset: 2 CreateTime: 72 keySize: -1 headerKeys: [] payload: {"type":"TOPIC_RECORD","version":0,\
"data":{"name":"t","topicId":"x"}}
| offset: 3 CreateTime: 73 keySize: 4 headerKeys: [] KRaftVoters {"version":0,"voters":[]}
"""


def test_what_the_tool_prints_is_taken_apart() -> None:
    assert list(metadata.parse(DUMPED.splitlines())) == [
        Record(0, 4, 70, "LEADER_CHANGE", 0, {"version": 0, "leaderId": 1}, end=1),
        Record(2, 4, 72, "TOPIC_RECORD", 0, {"name": "t", "topicId": "x"}, end=3),
        Record(3, 4, 73, "KRAFT_VOTERS", 0, {"version": 0, "voters": []}, end=3),
    ]


def test_who_leads_is_not_printed_by_kafka_3_9() -> None:
    said = "| offset: 0 CreateTime: 70 keySize: 4 valueSize: 19 sequence: -1 headerKeys: [] "
    batch = DUMPED.splitlines()[2]
    assert list(metadata.parse([batch, f"{said}controlType: LEADER_CHANGE(2)"])) == [
        Record(0, 4, 70, "LEADER_CHANGE", 0, {}, end=1)
    ]


def record(time: int, kind: str, **data: Any) -> Record:
    return Record(time, 1, time, f"{kind}_RECORD", 0, data, time + 1)


def log(*changes: dict[str, Any]) -> list[Record]:
    """A partition led by 1, in sync with 2 and 3, and then what changes at times 10, 20 ..."""
    here = {"topicId": "x", "partitionId": 0}
    return [
        record(1, "TOPIC", name="t", topicId="x"),
        record(2, "PARTITION", **here, leader=1, isr=[1, 2, 3]),
        *(record(10 * at, "PARTITION_CHANGE", **here, **c) for at, c in enumerate(changes, 1)),
    ]


@pytest.mark.parametrize(
    ("changes", "moves"),
    [
        ([{"isr": [1, 2]}], []),
        ([{"isr": [2, 3], "leader": 2}], [Move(0, 10, 1, 2, unclean=False)]),
        (
            [{"isr": [1]}, {"isr": [3], "leader": 3, **FROM_OUTSIDE}],
            [Move(0, 20, 1, 3, unclean=True)],
        ),
        (
            [{"isr": [1]}, {"replicas": [4], "isr": [4], "leader": 4}],
            [Move(0, 20, 1, 4, unclean=False)],
        ),
        (
            [{"isr": [], "eligibleLeaderReplicas": [1], "leader": -1}, {"isr": [1], "leader": 1}],
            [Move(0, 20, 1, 1, unclean=False)],
        ),
        (
            [
                {"isr": [], "eligibleLeaderReplicas": [1], "leader": -1},
                {"isr": [2], "leader": 2, **FROM_OUTSIDE},
            ],
            [Move(0, 20, 1, 2, unclean=True)],
        ),
    ],
    ids=["shrink", "clean", "unclean", "added", "back", "not from the ELR"],
)
def test_leaders_are_followed(changes: list[dict[str, Any]], moves: list[Move]) -> None:
    assert facts.moves_of("t", log(*changes)) == moves


def test_a_topic_made_again_begins_anew() -> None:
    first = log({"isr": [2], "leader": 2})
    again = [record(50, "TOPIC", name="t", topicId="y")]
    assert facts.moves_of("t", [*first, *again]) == []
    assert facts.moves_of("other", first) == []


@pytest.mark.parametrize(
    ("outages", "zombie"),
    [
        ([], True),
        ([Outage(1, 5, 8)], False),
        ([Outage(2, 5, 8)], True),
        ([Outage(1, 11, 15)], True),
        ([Outage(1, 1, 4)], True),
    ],
    ids=["alive", "killed", "another was killed", "killed later", "long back"],
)
def test_who_was_replaced_alive_may_serve_on(outages: list[Outage], zombie: bool) -> None:
    moves = [Move(0, 10, 1, 2, unclean=False)]
    found = facts.envelope(moves, ["kill"], outages, session_ms=3)
    assert found["zombie"] is zombie
    assert found["leader_moves"] == 1


def test_the_worst_partition_counts() -> None:
    moves = [Move(0, 1, 1, 2, False), Move(1, 2, 1, 2, False), Move(1, 3, 2, 3, False)]
    found = facts.envelope([*moves, Move(2, 4, 1, 2, True)], ["partition"], [], session_ms=3)
    assert (found["leader_moves"], found["unclean_moves"]) == (2, 1)
    assert found["network_partitions"] == 1


def test_promises_are_asked_with_these_names() -> None:
    told = _configuration(Plan(acks="1", idempotent=False), log())
    configuration = msgspec.convert(told, Configuration)
    assert told.keys() == set(Configuration.__struct_fields__)
    for envelope in (facts.ASSUMED, facts.envelope([], [], [], 1)):
        assert envelope.keys() == set(Envelope.__struct_fields__)
        promised(configuration, msgspec.convert(envelope, Envelope))


def test_eligible_leaders_are_a_feature() -> None:
    name = "eligible.leader.replicas.version"
    assert not facts.eligible_leaders([])
    on = record(1, "FEATURE_LEVEL", name=name, featureLevel=1)
    assert facts.eligible_leaders([on])
    assert not facts.eligible_leaders([on, record(2, "FEATURE_LEVEL", name=name, featureLevel=0)])
