"""Which records of a reassignment follow from a request, and which do not."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kraftcheck.kafka.observed.controller import judge
from kraftcheck.kafka.observed.records import Record

TOPIC: Final = {"topicId": "T", "partitionId": 0}


def record(offset: int, kind: str, **data: Any) -> Record:
    return Record(offset=offset, epoch=1, time=0, kind=kind, version=0, data=data, end=offset + 1)


def change(**data: Any) -> dict[str, Any]:
    return {**TOPIC, **data}


BEGUN: Final = change(replicas=[1, 2, 4, 3], addingReplicas=[4], removingReplicas=[3])
MOVED: Final = change(replicas=[3, 4, 1, 2], addingReplicas=[3, 4], removingReplicas=[1, 2])


def findings(replicas: list[int], min_isr: int, *changes: dict[str, Any]) -> list[int]:
    """Which of the changes of a partition that has these replicas nothing leads to."""
    records: list[Record] = []
    for b in (1, 2, 3, 4):
        known = {"brokerId": b, "incarnationId": str(b), "brokerEpoch": len(records)}
        records.append(record(len(records), "REGISTER_BROKER_RECORD", **known))
        epoch = records[-1].offset
        unfenced = {"brokerId": b, "brokerEpoch": epoch, "fenced": -1}
        records.append(record(len(records), "BROKER_REGISTRATION_CHANGE_RECORD", **unfenced))
    config = {"resourceType": 2, "resourceName": "t"}
    begin: list[tuple[str, dict[str, Any]]] = [
        ("FEATURE_LEVEL_RECORD", {"name": "eligible.leader.replicas.version", "featureLevel": 1}),
        ("TOPIC_RECORD", {"topicId": "T", "name": "t"}),
        ("CONFIG_RECORD", {**config, "name": "min.insync.replicas", "value": str(min_isr)}),
        (
            "PARTITION_RECORD",
            {
                **{
                    **TOPIC,
                    "partitionId": changes[0]["partitionId"],
                    "replicas": replicas,
                    "isr": replicas,
                    "leader": replicas[0],
                },
                **{"leaderEpoch": 0, "partitionEpoch": 0},
            },
        ),
        *(("PARTITION_CHANGE_RECORD", each) for each in changes),
    ]
    for kind, data in begin:
        records.append(record(len(records), kind, **data))
    first = len(records) - len(changes)
    return [each.offset - first for each in judge(records).findings]


@pytest.mark.parametrize(
    ("replicas", "changes"),
    [
        # Begun, ended, given up; taken back, and a target over another.
        ([1, 2, 3], [BEGUN]),
        (
            [1, 2, 3],
            [
                BEGUN,
                change(
                    replicas=[1, 2, 4],
                    isr=[1, 2, 4],
                    addingReplicas=[],
                    removingReplicas=[],
                    leader=1,
                ),
            ],
        ),
        (
            [1, 2, 3],
            [
                BEGUN,
                change(replicas=[1, 2, 3], addingReplicas=[], removingReplicas=[], leader=1),
            ],
        ),
        ([1, 2], [MOVED, change(replicas=[1, 2, 3, 4], removingReplicas=[])]),
        ([1, 2, 3], [change(replicas=[3, 1, 2])]),
        # There is no record of the topic's first partition.
        ([1, 2, 3], [{**BEGUN, "partitionId": 1}]),
    ],
)
def test_what_may_have_been_asked_is_explained(
    replicas: list[int], changes: list[dict[str, Any]]
) -> None:
    assert findings(replicas, 2, *changes) == []


def test_what_is_taken_back_and_never_ends_is_refused() -> None:
    """Z130: added and removed."""
    back = change(replicas=[1, 2, 3, 4], removingReplicas=[4])
    assert findings([1, 2, 3], 2, BEGUN, back) == [1]


def test_more_than_the_running_target_that_is_forgotten_is_refused() -> None:
    """Z131: both lists stay."""
    assert findings([1, 2], 1, MOVED, change(replicas=[1, 2, 3, 4])) == [1]


def test_an_end_without_a_new_leader_epoch_is_refused() -> None:
    """Z134."""
    ended = change(replicas=[1, 2, 4], isr=[1, 2, 4], addingReplicas=[], removingReplicas=[])
    assert findings([1, 2, 3], 2, BEGUN, ended) == [1]


@pytest.mark.parametrize(
    "replicas", [[1, 2, 5, 3], [1, 2, 4, 5, 3]], ids=["not registered", "not of the target"]
)
def test_a_broker_that_nobody_may_have_asked_for_is_refused(replicas: list[int]) -> None:
    begun = {**BEGUN, "replicas": replicas, "addingReplicas": [replicas[2]]}
    assert findings([1, 2, 3], 2, begun) == [0]
