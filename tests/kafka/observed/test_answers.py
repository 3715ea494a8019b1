"""What brokers said: each thing that may be wrong with it is planted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.observed import answers, marks, views
from kraftcheck.kafka.observed.answers import Answer
from kraftcheck.kafka.observed.cluster import _asked_of_views
from kraftcheck.kafka.observed.logs import Replica
from kraftcheck.kafka.observed.marks import Acked
from kraftcheck.kafka.observed.records import ObservedError, Record

KEY = "t-0"


def said(broker: int, what: str, at: int, **fields: Any) -> Answer:
    return Answer(broker=broker, what=what, begin=10 * at, end=10 * at + 5, key=KEY, **fields)


def view(broker: int, at: int, leader: int, epoch: int, isr: list[int]) -> Answer:
    return said(broker, "partition", at, leader=leader, epoch=epoch, isr=isr, elr=[])


def quorum(at: int, leader: int, epoch: int, offset: int, end: int) -> Answer:
    told = said(1, "quorum", at, leader=leader, epoch=epoch, offset=offset, ends={str(leader): end})
    return msgspec.structs.replace(told, key="__cluster_metadata")


def record(offset: int, kind: str, **data: Any) -> Record:
    return Record(offset, 4, offset, kind, 0, data, offset + 1)


HERE: dict[str, Any] = {"topicId": "x", "partitionId": 0}
LOG = [
    record(0, "LEADER_CHANGE", leaderId=9),
    record(1, "TOPIC_RECORD", name="t", topicId="x"),
    record(
        2,
        "PARTITION_RECORD",
        **HERE,
        replicas=[1, 2, 3],
        isr=[1, 2, 3],
        leader=1,
        leaderEpoch=0,
        partitionEpoch=0,
    ),
    record(3, "PARTITION_CHANGE_RECORD", **HERE, isr=[2, 3], leader=2),
    record(4, "PARTITION_CHANGE_RECORD", **HERE, isr=[1, 2, 3]),
]
VIEWS = [
    view(1, 1, 1, 0, [1, 2, 3]),
    said(1, "high-watermark", 2, offset=4, epoch=0),
    view(2, 3, 2, 1, [2, 3]),
    view(1, 4, 1, 0, [1, 2, 3]),  # has not heard yet
    said(2, "high-watermark", 5, offset=4, epoch=1),
    view(1, 6, 2, 1, [1, 2, 3]),
    quorum(7, 9, 4, 5, 5),
    quorum(8, 9, 4, 5, 6),
    said(3, "high-watermark", 9, error="NotLeaderForPartitionError"),
    said(3, "none", 10, error="timed out"),
]

MARKS = [
    *(said(1, what, at, offset=n, epoch=0) for at, (what, n) in enumerate(
        [("earliest", 0), ("high-watermark", 3), ("log-end", 5), ("high-watermark", 5)], 1
    )),
    said(2, "log-end", 5, offset=2, epoch=0),  # a follower may lag
    said(2, "earliest", 6, offset=0, epoch=1),
    said(2, "high-watermark", 7, offset=6, epoch=1),
    said(2, "epoch-end", 8, epoch=1, asked=0, found=0, offset=5),
    said(2, "epoch-end", 9, epoch=1, asked=1, found=1, offset=6),
    said(2, "epoch-end", 10, epoch=1, asked=0, found=0, offset=5),
    said(1, "high-watermark", 11, offset=5, epoch=0),  # cut off, and does not know
]  # fmt: skip
ACKED = [Acked(KEY, 2, 15), Acked(KEY, 4, 35), Acked(KEY, 5, 65)]
REPLICA = Replica(2, KEY, [(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4), (4, 0, 5), (5, 1, 6)], [])


def names_of_views(*more: Answer) -> set[str]:
    told = sorted([*VIEWS, *more], key=lambda each: each.begin)
    return {each.name for each in views.judge(told, LOG)}


def names_of_marks(*more: Answer, acked: list[Acked] = ACKED) -> set[str]:
    told = sorted([*MARKS, *more], key=lambda each: each.begin)
    return {each.name for each in marks.judge(told, acked, [REPLICA]).defects}


def test_views_that_agree_are_fine() -> None:
    assert names_of_views() == set()


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (view(3, 11, 3, 1, [2, 3]), "two leaders"),
        (said(3, "high-watermark", 11, offset=4, epoch=1), "two leaders"),
        (view(1, 11, 1, 0, [1, 2, 3]), "epoch goes back"),
        (said(2, "high-watermark", 11, offset=4, epoch=0), "epoch goes back"),
        (view(1, 11, 2, 1, [2, 3]), "metadata goes back"),
        (view(3, 11, 2, 1, [2]), "not in the metadata log"),
        (view(3, 11, 2, 7, [2, 3]), "not in the metadata log"),
        (quorum(11, 8, 4, 6, 6), "two leaders"),
        (quorum(11, 9, 4, 4, 6), "high watermark falls"),
        (quorum(11, 9, 4, 8, 7), "high watermark above the end"),
    ],
)
def test_a_view_that_disagrees_is_found(planted: Answer, found: str) -> None:
    assert found in names_of_views(planted)


def led_on(seconds: int, every: float = 1.0) -> list[Answer]:
    """Broker 1 says that 2 leads, and still leads itself. every: seconds from answer to answer."""
    nanos = 1_000_000_000
    times = [int(every * nanos * at) for at in range(int(seconds / every) + 1)]
    stale = [
        Answer(
            broker=1, what="high-watermark", begin=at + 50, end=at + 60, key=KEY, offset=4, epoch=0
        )
        for at in times
    ]
    return [view(1, 1, 2, 1, [2, 3]), *stale]


@pytest.mark.parametrize(("seconds", "found"), [(7, {"leads on"}), (4, set())])
def test_a_broker_applies_what_it_has_read(seconds: int, found: set[str]) -> None:
    """Z125, if it does not; it is given a moment."""
    assert {each.name for each in views.judge(led_on(seconds), LOG)} == found


SECOND = 1_000_000_000
BACK = [
    record(0, "REGISTER_BROKER_RECORD", brokerId=1, logDirs=["first", "second"]),
    *LOG,
    record(5, "BROKER_REGISTRATION_CHANGE_RECORD", brokerId=1, logDirs=["first"]),
    record(6, "PARTITION_CHANGE_RECORD", **HERE, replicas=[2, 3]),
    record(7, "PARTITION_CHANGE_RECORD", **HERE, replicas=[1, 2, 3], addingReplicas=[1]),
]


def offline(until: int, first: bool = True, every: int = 1) -> list[Answer]:
    """Broker 1 hears that it is no replica any more, then that it is one again, and says for so
    many seconds that the disk has failed. first: whether it ever said that it was none.
    """

    def one(at: int, what: str, **fields: Any) -> Answer:
        return Answer(broker=1, what=what, begin=at, end=at + 5, key=KEY, **fields)

    state: dict[str, Any] = {"leader": 2, "epoch": 1, "isr": [1, 2, 3]}
    told = [(10, [2, 3])] * first + [(20, [1, 2, 3])]
    return [
        *(one(at, "partition", **state, replicas=replicas) for at, replicas in told),
        *(
            one(at * SECOND + 50, "log-end", error=views.FAILED)
            for at in range(0, until + 1, every)
        ),
    ]


@pytest.mark.parametrize(("seconds", "found"), [(7, {"stays offline"}), (4, set())])
def test_a_replica_whose_disk_has_failed_may_come_back(seconds: int, found: set[str]) -> None:
    """Z139, if it does not; the broker is given a moment."""
    assert {each.name for each in views.judge(offline(seconds), BACK)} == found


SILENT = [
    Answer(broker=1, what="none", begin=at * SECOND + 60, end=at * SECOND + 70, error="timed out")
    for at in range(60)
]


@pytest.mark.parametrize(
    "answers",
    [
        offline(60, first=False),
        offline(60, every=3),
        sorted([*offline(60, every=3), *SILENT], key=lambda each: each.begin),
    ],
    ids=["was one", "stood still", "did not answer"],
)
def test_a_disk_that_has_failed_is_told_of_as_long_as_its_replica_is_there(
    answers: list[Answer],
) -> None:
    assert not views.judge(answers, BACK)


@pytest.mark.parametrize(
    "later",
    [
        record(8, "BROKER_REGISTRATION_CHANGE_RECORD", brokerId=1, logDirs=["third"]),
        record(8, "REGISTER_BROKER_RECORD", brokerId=1, logDirs=["second"]),
        record(8, "TOPIC_RECORD", name="t", topicId="y"),
    ],
    ids=["at work", "in a start", "made again"],
)
def test_another_disk_may_fail(later: Record) -> None:
    """Then nothing is known of the replica; nor is it if the topic is another one."""
    assert views.back(BACK) == {(KEY, 1)}
    assert views.back([*BACK, later]) == set()


def test_a_leader_that_was_removed_is_one_until_that_is_committed() -> None:
    """Z113, if it is one after that."""
    sets = [
        record(at, "KRAFT_VOTERS", voters=[{"voterId": each} for each in voters])
        for at, voters in ((5, [7, 9]), (6, [7]))
    ]
    for mark, found in ((6, set()), (7, {"leads on"})):
        told = [*VIEWS, quorum(11, 9, 4, mark, 8)]
        assert {each.name for each in views.judge(told, [*LOG, *sets])} == found


def test_a_broker_that_stands_still_is_given_time() -> None:
    assert not views.judge(led_on(60, every=3.0), LOG)


def test_who_refuses_does_not_say_that_it_leads() -> None:
    refused = said(1, "high-watermark", 1, epoch=0, error="NOT_LEADER_OR_FOLLOWER")
    assert views.leaders([refused, said(1, "high-watermark", 1)]) == {}


def test_a_leader_that_is_gone_need_not_be_named() -> None:
    assert names_of_views(view(3, 11, -1, 1, [2, 3])) == set()


def test_an_elr_is_held_against_the_log_where_it_is_told() -> None:
    wrong = msgspec.structs.replace(view(3, 11, 2, 1, [2, 3]), elr=[1])
    (found,) = views.judge([*VIEWS, wrong], LOG)
    assert found.name == "not in the metadata log"
    assert found.reason == "said leader 2, epoch 1, ISR [2, 3], ELR [1]"
    assert names_of_views(msgspec.structs.replace(wrong, elr=None)) == set()


def test_answers_of_the_quorum_that_overlap_have_no_order() -> None:
    after = quorum(11, 9, 4, 4, 6)
    assert names_of_views(msgspec.structs.replace(after, begin=84)) == set()
    assert names_of_views(msgspec.structs.replace(after, begin=85)) == {"high watermark falls"}


def test_what_the_log_says_one_after_the_other() -> None:
    """A topic that is made again begins anew; nobody is eligible any more once that is cleared."""
    more = [
        record(5, "PARTITION_CHANGE_RECORD", **HERE, isr=[2], eligibleLeaderReplicas=[1, 3]),
        record(6, "CONFIG_RECORD", resourceType=2, resourceName="t", name="a", value="b"),
        record(7, "CLEAR_ELR_RECORD", topicName="t"),
    ]
    before = [
        views.State(1, 0, (1, 2, 3), ()),
        views.State(2, 1, (2, 3), ()),
        views.State(2, 1, (1, 2, 3), ()),
        views.State(2, 1, (2,), (1, 3)),
    ]
    assert views.states([*LOG, *more[:2]]) == {KEY: before}
    assert views.states([*LOG, *more]) == {KEY: [*before, views.State(2, 1, (2,), ())]}
    again = [record(8, "REMOVE_TOPIC_RECORD", topicId="x"), *LOG[1:3]]
    assert views.states([*LOG, *more, *again]) == {KEY: before[:1]}


def test_marks_that_fit_are_fine_and_each_rule_was_asked() -> None:
    assert names_of_marks() == set()
    asked = marks.judge(MARKS, ACKED, [REPLICA]).asked
    assert len(asked) == 3 and all(asked.values())


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (said(1, "high-watermark", 12, offset=4, epoch=0), "high watermark falls"),
        (said(1, "log-end", 12, offset=4, epoch=0), "the leader's end falls"),
        (said(1, "log-end", 12, offset=4, epoch=0), "high watermark above the end"),
        (said(2, "earliest", 4, offset=1, epoch=0), "earliest falls"),
        (said(2, "epoch-end", 12, epoch=1, asked=1, found=1, offset=5), "epoch-end falls"),
        (
            said(2, "epoch-end", 12, epoch=1, asked=0, found=0, offset=6),
            "the end of an epoch moves",
        ),
    ],
)
def test_marks_that_do_not_fit_are_found(planted: Answer, found: str) -> None:
    assert found in names_of_marks(planted)


def test_a_high_watermark_is_above_what_was_acknowledged_in_its_epoch() -> None:
    low = said(2, "high-watermark", 6, offset=4, epoch=1)
    assert names_of_marks(low) == {"high watermark below what was acked"}
    assert names_of_marks(low, acked=[]) == set()  # where nothing was promised
    overlapping = [Acked(KEY, 4, 61)]  # the client knew after the question
    assert names_of_marks(low, acked=overlapping) == set()


def test_answers_that_overlap_have_no_order() -> None:
    late = msgspec.structs.replace(MARKS[3], begin=32, end=50, offset=4)
    assert names_of_marks(late) == set()


def test_lines_are_read_in_the_order_of_questions(tmp_path: Path) -> None:
    file = tmp_path / answers.NAME
    file.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in reversed(MARKS)))
    assert answers.read(file) == MARKS
    times = [(1, 9, 1), (2, 3, 1), (2, 4, 0), (2, 4, 2)]
    same = [Answer(broker=b, what="none", begin=begin, end=end) for begin, end, b in times]
    file.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in reversed(same)))
    assert answers.read(file) == same
    file.write_text('{"broker": 1}\n', encoding="utf-8")
    with pytest.raises(ObservedError, match=r"answers\.jsonl:1: no answer"):
        answers.read(file)
    with pytest.raises(ObservedError, match="No such file"):
        answers.read(tmp_path / "none")


def test_what_nobody_could_answer_was_not_asked() -> None:
    def said(what: str, error: str | None) -> Answer:
        return Answer(broker=1, what=what, begin=0, end=1, error=error)

    told = [said(w, e) for w in (answers.QUORUM, answers.PARTITION) for e in (None, None, "gone")]
    assert _asked_of_views(told, LOG) == {
        "state that the metadata log has": 2,
        "state of the quorum": 2,
    }
