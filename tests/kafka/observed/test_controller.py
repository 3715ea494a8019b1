"""Metadata logs of real Apache Kafka are steps of our rules; with anything changed, they are not.

`data/busy.metadata.jsonl.gz` is of Kafka 4.3.1 with three brokers, some ten faults, clean and
unclean elections, and eligible leader replicas.
"""

from __future__ import annotations

import gzip
import random
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.observed import blocks, controller
from kraftcheck.kafka.observed.blocks import broker_event
from kraftcheck.kafka.observed.controller import Report, judge
from kraftcheck.kafka.observed.records import NAME, ObservedError, Record, read
from kraftcheck.reference.partition.messages import Partition
from kraftcheck.reference.partition.rules import PartitionRules
from tests.live.samples import DATA, FINDS

BUSY = Path(__file__).parent / "data" / "busy.metadata.jsonl.gz"
BACK = BUSY.with_name("back.metadata.jsonl.gz")
REFUSED = {
    "z130": [60],
    "z131": [107],
    "z133": [128],
    "z133-given-up": [194],
    "z160": [174],
}
"""Samples of finds, and the records that no rule explains."""
SAMPLES = [
    path
    for path in sorted([*DATA.glob("*.zip"), *FINDS.glob("*/*.zip")])
    if NAME in zipfile.ZipFile(path).namelist()
]
"""Z110's have the logs of two controllers, and no reading of one."""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    path = tmp_path_factory.mktemp("busy") / NAME
    path.write_bytes(gzip.decompress(BUSY.read_bytes()))
    return read(path)


def test_every_record_of_a_busy_log_is_a_step(busy: list[Record]) -> None:
    report = judge(busy)
    assert report.findings == []
    assert report.judged > 1000
    wanted = {
        *(blocks.FENCE, blocks.UNFENCE, controller.FIRST, controller.RESTART),
        *(controller.AFTER_KILL, controller.REPEATED, controller.FAILOVER),
        *(f"change by {each}" for each in (controller.ALTER, controller.PREFERRED)),
        *(f"change by {each}" for each in (blocks.FENCE, blocks.UNFENCE)),
    }
    assert wanted <= report.steps.keys()


def test_a_broker_that_is_back_before_it_was_fenced(tmp_path: Path) -> None:
    """Killed, and registered again within its session: what its registration changes stands before
    it, and a leader could have asked for the same; its epoch says whose changes they are.
    """
    (tmp_path / NAME).write_bytes(gzip.decompress(BACK.read_bytes()))
    records = read(tmp_path / NAME)
    report = judge(records)
    assert report.findings == []
    assert report.steps[controller.AFTER_KILL] == 1
    at = places(records, lambda r: broker_event(r) == blocks.REGISTER)[-1]
    later = replaced(records, at, with_data(records[at], brokerEpoch=records[at].offset - 1))
    assert any("its records begin at" in each.reason for each in later.findings)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_s_metadata_are_steps(sample: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(sample) as archive:
        archive.extract(NAME, tmp_path)
    report = judge(read(tmp_path / NAME))
    assert [each.offset for each in report.findings] == REFUSED.get(sample.stem, [])
    # One broker that nobody harms registers and is unfenced, and no more.
    assert report.judged > 2


# -- Planted faults


def with_data(record: Record, **data: Any) -> Record:
    return msgspec.structs.replace(record, data={**record.data, **data})


def places(records: list[Record], wanted: Callable[[Record], bool]) -> list[int]:
    return [at for at, record in enumerate(records) if wanted(record)]


def fenced_out(records: list[Record]) -> list[int]:
    """Changes before a fencing that take the broker out of an ISR: what the rules demand then."""
    found = []
    for at in places(records, lambda r: broker_event(r) == blocks.FENCE):
        victim, before = records[at].data["brokerId"], at - 1
        while records[before].kind == blocks.CHANGE:
            if victim not in (records[before].data.get("isr") or [victim]):
                found.append(before)
            before -= 1
    return found


def replaced(records: list[Record], at: int, *by: Record) -> Report:
    return judge([*records[:at], *by, *records[at + 1 :]])


def test_a_change_that_is_missing_is_found(busy: list[Record]) -> None:
    draw = random.Random(1)
    for at in draw.sample(fenced_out(busy), 6):
        report = replaced(busy, at)
        assert report.findings, busy[at]


def test_a_change_that_something_lies_behind_is_not_of_the_fencing(busy: list[Record]) -> None:
    """A record that says nothing of brokers (NoOpRecord): the two are of different batches."""
    at = fenced_out(busy)[0]
    later = [msgspec.structs.replace(each, offset=each.offset + 1) for each in busy[at + 1 :]]
    assert judge([*busy[: at + 1], *later]).findings[0].reason.startswith("nothing leads to")


@pytest.mark.parametrize(
    "field",
    ["leader", "isr", "eligibleLeaderReplicas", "lastKnownElr", "leaderRecoveryState"],
)
def test_a_change_that_says_something_else_is_found(busy: list[Record], field: str) -> None:
    other = {
        "leader": 9,
        "isr": [1, 2, 3],
        "eligibleLeaderReplicas": [3],
        "lastKnownElr": [2],
        "leaderRecoveryState": 1,
    }
    draw = random.Random(2)
    for at in draw.sample(fenced_out(busy), 6):
        report = replaced(busy, at, with_data(busy[at], **{field: other[field]}))
        assert report.findings, busy[at]


def test_a_leader_that_is_alive_but_not_the_next_is_found(busy: list[Record]) -> None:
    """C9: the first in assignment order."""
    for at in fenced_out(busy):
        isr = busy[at].data.get("isr") or []
        if "leader" in busy[at].data and len(isr) == 2:
            (other,) = {*isr} - {busy[at].data["leader"]}
            first = replaced(busy, at, with_data(busy[at], leader=other)).findings[0]
            assert first.reason.startswith(f"nothing leads to leader {other} in epoch ")
            return
    raise AssertionError("no such election in the sample")


@pytest.mark.parametrize(
    ("event", "data", "said"),
    [
        (blocks.FENCE, {"brokerEpoch": 5}, "a record for its epoch 5"),
        (blocks.UNFENCE, {"brokerEpoch": 5}, "a record for its epoch 5"),
        (blocks.REGISTER, {"brokerEpoch": 5}, "its epoch is 5"),
    ],
)
def test_a_broker_s_record_with_another_epoch_is_found(
    busy: list[Record], event: str, data: dict[str, Any], said: str
) -> None:
    at = places(busy, lambda r: broker_event(r) == event)[-1]
    report = replaced(busy, at, with_data(busy[at], **data))
    assert any(said in finding.reason for finding in report.findings)


def test_unfencing_twice_is_found(busy: list[Record]) -> None:
    at = places(busy, lambda r: broker_event(r) == blocks.UNFENCE)[-1]
    report = replaced(busy, at, busy[at], busy[at])
    assert any("unfence, and it was fenced: False" in each.reason for each in report.findings)


def test_a_change_out_of_nowhere_is_found(busy: list[Record]) -> None:
    """A leader gives way although nobody asked, and nothing happened to it."""
    last = places(busy, lambda r: r.kind == blocks.CHANGE)[-1]
    here = {each: busy[last].data[each] for each in ("topicId", "partitionId")}
    change = msgspec.structs.replace(busy[last], data={**here, "leader": -1})
    assert "nothing leads to no leader" in judge([*busy, change]).findings[-1].reason


def test_a_topic_is_removed_once(busy: list[Record]) -> None:
    """Z128: a controller that has forgotten a deletion writes it again."""
    made = places(busy, lambda r: r.kind == "TOPIC_RECORD")[-1]
    gone = msgspec.structs.replace(busy[-1], kind="REMOVE_TOPIC_RECORD", data=busy[made].data)
    assert not judge([*busy, gone]).findings
    assert (
        "the deletion of a topic that there is not" in judge([*busy, gone, gone]).findings[0].reason
    )


def test_a_new_partition_is_led_by_its_first_replica(busy: list[Record]) -> None:
    at = places(busy, lambda r: r.kind == "PARTITION_RECORD")[0]
    _, second, *_ = busy[at].data["replicas"]
    report = replaced(busy, at, with_data(busy[at], leader=second))
    assert any("were taken" in finding.reason for finding in report.findings)


# -- Other rules than Kafka's are refuted by Kafka's log


class LastInLine(PartitionRules):
    def leader_choices(self, candidates: Collection[int]) -> tuple[int, ...]:
        return tuple(b for b in self.constants.replicas if b in candidates)[-1:]


class NobodyEligible(PartitionRules):
    def target_elr(
        self, partition: Partition, target_isr: tuple[int, ...], unclean: Collection[int]
    ) -> tuple[int, ...]:
        return ()


class SilentEpoch(PartitionRules):
    def leader_epoch_bumped(self, partition: Partition, leader: int) -> bool:
        return False


@pytest.mark.parametrize("rules", [LastInLine, NobodyEligible, SilentEpoch])
def test_other_rules_are_refuted(busy: list[Record], rules: type[PartitionRules]) -> None:
    assert judge(busy, rules=rules).findings


# -- Bad input


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("{", ":1: no metadata record"),
        ('{"offset":1,"epoch":1,"time":1,"kind":"X","version":0,"data":{}}\n' * 2, ":2: offset 1"),
    ],
)
def test_a_damaged_log_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / NAME).write_text(text, encoding="utf-8")
    with pytest.raises(ObservedError) as caught:
        read(tmp_path / NAME)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_no_log_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ObservedError, match="No such file"):
        read(tmp_path / NAME)
