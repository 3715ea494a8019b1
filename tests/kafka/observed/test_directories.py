"""A directory that fails takes its broker out of what was in it, and of nothing else."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kraftcheck.kafka.observed.controller import judge
from kraftcheck.kafka.observed.records import Record
from tests.kafka.observed.test_moves import record

PARTITION: Final = {"topicId": "T", "partitionId": 0}
CHANGE: Final = "PARTITION_CHANGE_RECORD"
BROKER: Final = "BROKER_REGISTRATION_CHANGE_RECORD"
FIRST: Final = "first"
"""What is left of broker 1's directories: `second`, where the partition is, fails."""
Step = tuple[str, dict[str, Any]]


def changed(**data: Any) -> Step:
    return CHANGE, {**PARTITION, **data}


def broker(**data: Any) -> Step:
    return BROKER, {"brokerId": 1, "brokerEpoch": 0, **data}


def findings(replicas: list[int], *steps: Step) -> list[str]:
    """What is found in these steps, after a partition was made that broker 1 leads."""
    records: list[Record] = []
    for b, directories in ((1, [FIRST, "second"]), (2, ["other"])):
        epoch = len(records)
        known = {"brokerId": b, "incarnationId": str(b), "brokerEpoch": epoch}
        records.append(record(epoch, "REGISTER_BROKER_RECORD", **known, logDirs=directories))
        records.append(record(epoch + 1, BROKER, brokerId=b, brokerEpoch=epoch, fenced=-1))
    made = {"replicas": replicas, "isr": replicas, "leader": 1, "leaderEpoch": 0}
    where = {"partitionEpoch": 0, "directories": ["second", "other"][: len(replicas)]}
    before: list[Step] = [
        ("TOPIC_RECORD", {"topicId": "T", "name": "t"}),
        ("PARTITION_RECORD", {**PARTITION, **made, **where}),
    ]
    for kind, data in (*before, *steps):
        records.append(record(len(records), kind, **data))
    return [each.subject for each in judge(records).findings]


@pytest.mark.parametrize(
    ("replicas", "steps"),
    [
        # Another one leads; nobody does; who comes back does not lead there; another directory.
        ([1, 2], [changed(isr=[2], leader=2), broker(logDirs=[FIRST])]),
        ([1], [changed(leader=-1), broker(logDirs=[FIRST])]),
        (
            [1],
            [changed(leader=-1), broker(fenced=1), broker(logDirs=[FIRST]), broker(fenced=-1)],
        ),
        ([1, 2], [broker(logDirs=["second"])]),
        # Where it is, is said of before in the same run of changes.
        (
            [1, 2],
            [
                changed(directories=[FIRST, "other"]),
                changed(directories=["second", "other"]),
                changed(isr=[2], leader=2),
                broker(logDirs=[FIRST]),
            ],
        ),
    ],
)
def test_a_directory_that_fails(replicas: list[int], steps: list[Step]) -> None:
    assert findings(replicas, *steps) == []


@pytest.mark.parametrize(
    ("replicas", "steps"),
    [
        # It leads on; it leaves the ISR for another one's directory; it leads what it has lost.
        ([1, 2], [broker(logDirs=[FIRST])]),
        ([1, 2], [changed(isr=[2], leader=2), broker(logDirs=["second"])]),
        (
            [1],
            [changed(leader=-1), broker(logDirs=[FIRST]), changed(leader=1)],
        ),
        # Z160: two changes of one heartbeat.
        (
            [1],
            [
                *(changed(leader=-1), broker(fenced=1), broker(fenced=-1), changed(leader=1)),
                broker(logDirs=[FIRST]),
            ],
        ),
    ],
)
def test_what_does_not_follow_is_found(replicas: list[int], steps: list[Step]) -> None:
    assert findings(replicas, *steps) == ["t-0"]
