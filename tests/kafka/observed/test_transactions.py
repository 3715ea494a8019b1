"""Transactions of a recording: each rule is refused with one line that is altered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.live import metadata, txnlog as written
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.observed import transaction_answers, transactions, txnlog, txnrows, views
from kraftcheck.kafka.observed.answers import Answer
from kraftcheck.kafka.observed.logs import Replica
from kraftcheck.kafka.observed.records import ObservedError, Record
from kraftcheck.kafka.observed.txnlog import Row

KEY, ID = "t-0", "p"


def row(offset: int, state: str, of: int, *partitions: str, **more: Any) -> Row:
    """of: the producer epoch."""
    given = {"offset": offset, "epoch": 3, "time": 1_000 + offset, "id": ID, "state": state}
    whose = {"producer": 7, "producer_epoch": of, "version": 2}
    return Row(**{**given, **whose, **more}, partitions=[*partitions])


ROWS = [
    row(0, "Empty", 0),
    row(1, "Ongoing", 0, KEY),
    row(2, "PrepareCommit", 1, KEY),
    row(3, "CompleteCommit", 1),
    row(4, "Ongoing", 1, KEY),
    row(5, "PrepareAbort", 2, KEY),
    row(6, "CompleteAbort", 2),
]
"""A TV2 client commits a and b, and aborts c."""
RECORDS = [(0, 0, "a"), (1, 0, "b"), (2, 0, "COMMIT"), (3, 0, "c"), (4, 0, "ABORT")]
INSIDE = [(0, 7, False), (1, 7, False), (2, 7, True), (3, 7, False), (4, 7, True)]
BATCHES = [
    (0, 0, 7, 0, 0, -1),
    (1, 1, 7, 0, 1, -1),
    (2, 2, 7, 1, -1, 3),
    (3, 3, 7, 1, 0, -1),
    (4, 4, 7, 2, -1, 3),
]
READ_MS = 100_000


def log(rows: list[Row] = ROWS, gone: list[Row] | None = None) -> list[txnlog.Replica]:
    return [txnlog.Replica(1, 0, READ_MS, rows, gone or [])]


def data(**changes: Any) -> list[Replica]:
    whole = Replica(1, KEY, RECORDS, [(0, 0)], INSIDE, BATCHES)
    return [msgspec.structs.replace(whole, **changes)]


def names(report: transactions.Report) -> set[str]:
    return {each.name for each in report.defects}


def changed(things: list[Any], at: int, new: Any) -> list[Any]:
    return [*things[:at], new, *things[at + 1 :]]


def test_a_commit_and_an_abort_are_fine_and_every_rule_is_asked() -> None:
    report = transactions.judge(log(), data())
    assert (report.defects, report.left) == ([], {})
    assert {*report.asked} == transactions.RULES.keys() - {transactions.HANGING}


def tv1(rows: list[Row]) -> list[Row]:
    """Of a client whose epoch stays."""
    return [msgspec.structs.replace(each, version=0, producer_epoch=0) for each in rows]


def test_a_client_of_one_epoch_is_fine_and_is_fenced_by_its_coordinator() -> None:
    batches = [(*each[:3], 0, *each[4:]) for each in BATCHES]
    batches[3] = (3, 3, 7, 0, 2, -1)
    assert transactions.judge(log(tv1(ROWS)), data(batches=batches)).defects == []
    fenced = [
        *tv1(ROWS[:5]),
        row(5, "PrepareAbort", 1, KEY, version=0),
        row(6, "CompleteAbort", 1, version=0),
    ]
    batches[4] = (4, 4, 7, 1, -1, 3)
    assert transactions.judge(log(fenced), data(batches=batches)).defects == []


def test_an_exhausted_producer_goes_on_with_the_next_id() -> None:
    last = [
        row(0, "Empty", 0),
        row(1, "Empty", 1),
        row(2, "Ongoing", 1, KEY),
        row(3, "PrepareCommit", 2, KEY, next=9),
        row(4, "CompleteCommit", 0, producer=9, previous=7),
        row(5, "Empty", 1, producer=9),
    ]
    assert transactions.judge(log(last), []).defects == []
    last[4] = row(4, "CompleteCommit", 0, producer=8)
    assert names(transactions.judge(log(last), [])) == {txnrows.EPOCHS}


def ended(*kinds: str) -> Replica:
    """The partition of a TV1 client, a record before each marker, but none before "REPEATED"."""
    records: list[tuple[int, int, Any]] = []
    inside, batches, number = [], [], 0
    for kind in kinds:
        at, last = len(records), kind.removeprefix("REPEATED ")
        if last == kind:
            records.append((at, 0, "x"))
            inside.append((at, 7, False))
            batches.append((at, at, 7, 0, number, -1))
            number += 1
        at = len(records)
        records.append((at, 0, last))
        inside.append((at, 7, True))
        batches.append((at, at, 7, 0, -1, 3))
    return Replica(1, KEY, records, [(0, 0)], inside, batches)


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (("COMMIT", "ABORT"), set()),
        (("COMMIT", "REPEATED COMMIT", "ABORT", "REPEATED ABORT"), set()),
        (("COMMIT", "REPEATED ABORT"), set()),  # nothing was written in the second
        (("COMMIT",), {"LogMatchesMarkers"}),
        (("ABORT",), {"LogMatchesMarkers"}),
        (("COMMIT", "COMMIT"), {"DecidedBeforeMarked", "LogMatchesMarkers"}),
        (("COMMIT", "ABORT", "ABORT"), {"DecidedBeforeMarked"}),
        (("COMMIT", "ABORT", "REPEATED COMMIT"), {"DecidedBeforeMarked"}),
    ],
)
def test_markers_of_one_epoch_come_in_the_order_of_decisions(
    kinds: tuple[str, ...], found: set[str]
) -> None:
    assert names(transactions.judge(log(tv1(ROWS)), [ended(*kinds)])) == found


OTHER = row(7, "Empty", 0, id="q")
ALTERED_ROWS = {
    "a decision is missing": (
        [*ROWS[:2], row(2, "CompleteCommit", 1), *ROWS[3:]],
        "TransactionStates",
    ),
    "begun after a decision": (changed(ROWS, 3, row(3, "Ongoing", 1, KEY)), "TransactionStates"),
    "the other decision completed": (
        changed(ROWS, 3, row(3, "CompleteAbort", 1)),
        "TransactionStates",
    ),
    "a partition is left out": (changed(ROWS, 2, row(2, "PrepareCommit", 1)), "TransactionStates"),
    "decided of a partition that it has not": (
        [ROWS[0], row(1, "PrepareAbort", 1, KEY), row(2, "CompleteAbort", 1)],
        "TransactionStates",
    ),
    "begins under way": ([row(0, "Ongoing", 0, KEY)], "TransactionStates"),
    "the epoch stays": (changed(ROWS, 2, row(2, "PrepareCommit", 0, KEY)), "EpochMonotonic"),
    "the epoch falls": (changed(ROWS, 4, row(4, "Ongoing", 0, KEY)), "EpochMonotonic"),
    "one producer is two": ([*ROWS, OTHER], "EpochHeldOnce"),
    "waits for its markers": (ROWS[:6], "stuck"),
}


@pytest.mark.parametrize(("rows", "found"), ALTERED_ROWS.values(), ids=ALTERED_ROWS)
def test_one_wrong_row_is_found(rows: list[Row], found: str) -> None:
    assert found in names(transactions.judge(log(rows), data()))


ALTERED_DATA = {
    "a marker of the other type": (
        {"records": changed(RECORDS, 2, (2, 0, "ABORT"))},
        {"DecidedBeforeMarked", "LogMatchesMarkers"},
    ),
    "a marker of another epoch": (
        {"batches": changed(BATCHES, 2, (2, 2, 7, 3, -1, 3))},
        {"DecidedBeforeMarked", "LogMatchesMarkers"},
    ),
    "a marker of an earlier coordinator": (
        {"batches": changed(BATCHES, 4, (4, 4, 7, 2, -1, 2))},
        {"DecidedBeforeMarked", "LogMatchesMarkers", "CoordinatorEpochMonotonic"},
    ),
    "a marker is missing": (
        {
            "records": RECORDS[:4],
            "transactions": INSIDE[:4],
            "batches": BATCHES[:4],
        },
        {"LogMatchesMarkers", "NoHanging"},
    ),
    "a transaction is taken along": (
        {
            "records": changed(RECORDS, 2, (2, 0, "x")),
            "transactions": changed(INSIDE, 2, (2, 7, False)),
            "batches": changed(BATCHES, 2, (2, 2, 7, 0, 2, -1)),
        },
        {"LogMatchesMarkers", "OneEpochPerTransaction"},
    ),
    "a number is left out": (
        {"batches": changed(BATCHES, 1, (1, 1, 7, 0, 2, -1))},
        {"SequencesWithoutGap"},
    ),
    "a number is there twice": (
        {"batches": changed(BATCHES, 1, (1, 1, 7, 0, 0, -1))},
        {"SequencesWithoutGap"},
    ),
    "does not begin with 0": (
        {"batches": changed(BATCHES, 3, (3, 3, 7, 1, 1, -1))},
        {"SequencesWithoutGap"},
    ),
    "another partition": ({"key": "t-1"}, {"PartitionAdded", "DecidedBeforeMarked"}),
}


@pytest.mark.parametrize(("changes", "found"), ALTERED_DATA.values(), ids=ALTERED_DATA)
def test_one_wrong_batch_is_found(changes: dict[str, Any], found: set[str]) -> None:
    assert names(transactions.judge(log(), data(**changes))) == found


def test_outside_transactions_a_first_batch_may_have_any_number() -> None:
    outside = [(3, 3, 8, 0, 5, -1), (4, 4, 8, 0, 6, -1)]
    changes: dict[str, Any] = {"transactions": INSIDE[:3], "batches": [*BATCHES[:3], *outside]}
    assert transactions.SEQUENCES not in names(transactions.judge(log(), data(**changes)))


def test_a_marker_of_a_decision_that_is_gone_is_told_with_its_place() -> None:
    """As Z71 does it: the next coordinator saw the abort of another one, and decides otherwise."""
    lost = row(2, "PrepareAbort", 1, KEY, epoch=2)
    records = changed(RECORDS, 2, (2, 0, "ABORT"))
    report = transactions.judge(log(gone=[lost]), data(records=records))
    assert names(report) == {"DecidedBeforeMarked", "LogMatchesMarkers", "TailNotActedOn"}
    (tail,) = [each for each in report.defects if each.name == "TailNotActedOn"]
    assert "offset 2 of __transaction_state-0, epoch 2, which broker 1 had" in tail.reason
    assert transactions.judge(log(gone=[lost]), data()).defects == []


def test_replicas_of_the_log_that_differ_are_found() -> None:
    other = txnlog.Replica(2, 0, READ_MS, ROWS[:6])
    report = transactions.judge([*log(), other], data())
    assert [(each.name, each.brokers) for each in report.defects] == [("not the same", (1, 2))]
    assert transactions.judge([*log(), other], data(), at_rest=False).defects == []


def test_what_cannot_be_judged_is_named() -> None:
    nothing = transactions.judge(None, [])
    assert nothing.left.keys() == transactions.RULES.keys()
    old = transactions.judge(log(), data(batches=[]))
    assert {*old.left.values()} == {"the recording has no producer epochs of batches"}
    cleaned = transactions.judge(log(ROWS[3:]), data())
    assert {*cleaned.left.values()} == {
        "the transaction log was cleaned, so it no longer has every row"
    }
    assert cleaned.defects == []
    busy = transactions.judge(log(ROWS[:6]), data(), at_rest=False)
    assert busy.left == dict.fromkeys(("stuck", "NoHanging"), "the cluster did not come to rest")
    young = [txnlog.Replica(1, 0, 1_100, ROWS[:6])]
    assert "95 ms before the end" in transactions.judge(young, data()).left["stuck"]


def test_what_was_decided_of_a_topic_before_it_was_made_again_is_not_asked_of_it() -> None:
    """Its rows are there still, its markers went with it."""
    new = data(records=[], transactions=[], batches=[])
    assert names(transactions.judge(log(), new)) == {transactions.MARKED}
    report = transactions.judge(log(), new, anew=frozenset({"t"}))
    assert report.defects == []
    assert report.left[transactions.MARKED] == "not asked of t, which was made again"
    wrong = data(batches=changed(BATCHES, 1, (1, 1, 7, 0, 3, -1)))
    assert names(transactions.judge(log(), wrong, anew=frozenset({"t"}))) == {
        transactions.SEQUENCES
    }


def test_a_topic_was_made_again_where_its_name_was_given_twice() -> None:
    made = [Record(at, 1, 0, "TOPIC_RECORD", 0, {"name": name}) for at, name in enumerate("tut")]
    assert views.made_again(made[:2]) == frozenset()
    assert views.made_again(made) == {"t"}


def test_a_transaction_under_way_may_be_open_and_one_that_nobody_knows_may_not() -> None:
    still = [
        {"records": RECORDS[:4], "transactions": INSIDE[:4], "batches": BATCHES[:4]},
        log(ROWS[:5]),
    ]
    assert transactions.judge(still[1], data(**still[0])).defects == []  # type: ignore[arg-type]
    for ended in (ROWS[:4], changed(ROWS[:4], 3, row(3, "CompleteCommit", 1, KEY))):
        report = transactions.judge(log(ended), data(**still[0]))  # type: ignore[arg-type]
        assert "NoHanging" in names(report)
    unknown = data(transactions=[*INSIDE, (5, 8, False)])
    (hanging,) = transactions.judge(log(), unknown).defects
    assert hanging.reason.endswith("no row is of it")
    elsewhere = [*ROWS[:4], row(4, "Ongoing", 1, "t-1")]
    report = transactions.judge(log(elsewhere), data(**still[0]))  # type: ignore[arg-type]
    assert names(report) == {"NoHanging", "PartitionAdded"}


# -- What brokers said


def answer(what: str, at: int, **more: Any) -> Answer:
    """Of the leader, in epoch 0 unless said otherwise."""
    given = {"broker": 1, "key": KEY, "epoch": 0, **more}
    return Answer(what=what, begin=at * 1_000_000_000, end=at * 1_000_000_000 + 1, **given)


def producers(at: int, *known: tuple[int, int, int, int, int], **more: Any) -> Answer:
    return answer("producers", at, **{"epoch": -1, "producers": [*known], **more})


def transaction(at: int, state: str, epoch: int, **more: Any) -> Answer:
    said = {"id": ID, "state": state, "producer": 7, "producer_epoch": epoch}
    return answer("transaction", at, **{"key": "", "epoch": -1, **said, **more})


TOLD = [
    answer("partition", 0, leader=1),
    transaction(0, "Empty", -1),
    producers(1, (7, 0, 0, -1, 0)),
    transaction(1, "Ongoing", 0),
    answer("stable", 2, offset=0),
    answer("high-watermark", 3, offset=2),
    transaction(4, "CompleteCommit", 1),
    producers(4, (7, 1, -1, 3, -1)),
    answer("stable", 5, offset=3),
    answer("high-watermark", 6, offset=4),
    producers(7, (7, 2, -1, 3, -1)),
    answer("stable", 8, offset=5),
    answer("high-watermark", 9, offset=5),
    transaction(9, "CompleteAbort", 2),
]


def said(told: list[Answer] = TOLD, **more: Any) -> transactions.Report:
    return transaction_answers.judge(told, data(), txnlog.log_of(log()), **more)


def test_right_answers_are_fine_and_every_rule_is_asked() -> None:
    report = said()
    assert (report.defects, report.left) == ([], {})
    assert {*report.asked} == {*transaction_answers.RULES, "stuck"}


ALTERED_ANSWERS = {
    "another epoch": (2, producers(1, (7, 1, 0, -1, 0)), "ProducerStateIsOfLog"),
    "another sequence": (2, producers(1, (7, 0, 5, -1, 0)), "ProducerStateIsOfLog"),
    "another coordinator": (7, producers(4, (7, 1, -1, 4, -1)), "ProducerStateIsOfLog"),
    "still open": (10, producers(7, (7, 2, -1, 3, 3)), "ProducerStateIsOfLog"),
    "an unknown producer": (10, producers(7, (8, 0, 0, -1, 0)), "ProducerStateIsOfLog"),
    "another state": (6, transaction(4, "CompleteAbort", 1), "TransactionIsOfLog"),
    "above the high watermark": (8, answer("stable", 5, offset=5), "LsoBounds"),
    "falls": (11, answer("stable", 8, offset=2), "LsoMonotonic"),
    "stands still": (11, answer("stable", 8, offset=3), "LsoProgress"),
}


@pytest.mark.parametrize(("at", "new", "found"), ALTERED_ANSWERS.values(), ids=ALTERED_ANSWERS)
def test_one_wrong_answer_is_found(at: int, new: Answer, found: str) -> None:
    assert found in names(said(changed(TOLD, at, new)))


def test_within_an_epoch_a_fall_is_told_once() -> None:
    more = [*TOLD[:11], answer("high-watermark", 7, offset=4), answer("stable", 8, offset=2)]
    assert [each.name for each in said(more).defects if each.name == "LsoMonotonic"] == [
        "LsoMonotonic"
    ]


def later(watermark: int, stable: int) -> list[Answer]:
    """Another broker leads."""
    of: dict[str, Any] = {"broker": 2, "epoch": 1}
    return [
        answer("partition", 10, **{**of, "leader": 2}),
        answer("high-watermark", 11, **of, offset=watermark),
        answer("stable", 12, **of, offset=stable),
        answer("high-watermark", 13, **of, offset=5),
    ]


@pytest.mark.parametrize(
    ("watermark", "stable", "found"),
    [(4, 3, set()), (5, 5, set()), (5, 3, {"LsoMonotonic"})],
    ids=["behind", "the same", "shown undecided again"],
)
def test_the_next_leader_is_held_to_what_was_shown_once_its_high_watermark_is_as_far(
    watermark: int, stable: int, found: set[str]
) -> None:
    report = said([*TOLD, *later(watermark, stable)], at_rest=False)
    assert names(report) == found


def test_what_a_deposed_leader_said_of_what_is_cut_off_is_counted() -> None:
    told = changed(TOLD, 2, producers(1, (7, 0, 9, -1, 0)))
    report = said([*told, *later(5, 5)], at_rest=False)
    assert report.defects == []
    assert report.left[transaction_answers.PRODUCER_STATE].startswith("1 answers of what is in no")


def test_a_decision_that_stays_to_the_end_is_stuck() -> None:
    waiting = [transaction(at, "PrepareAbort", 2) for at in (10, 12, 16)]
    assert names(said([*TOLD, *waiting])) == {"stuck"}
    assert names(said([*TOLD, *waiting[:2]])) == set()
    assert names(said([*TOLD, *waiting, transaction(17, "CompleteAbort", 2)])) == set()


def test_of_brokers_that_were_not_asked_every_rule_is_named() -> None:
    report = said([answer("partition", 0, leader=1)])
    assert report.left.keys() == transaction_answers.RULES.keys()
    bare = transaction_answers.judge(TOLD, [], None)
    assert bare.left.keys() == {"ProducerStateIsOfLog", "TransactionIsOfLog", "LsoProgress"}


# -- Files

DUMPED = """\
Dumping b1/__transaction_state-4/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 \
producerEpoch: -1 partitionLeaderEpoch: 3 isTransactional: false isControl: false
| offset: 0 CreateTime: 1000 keySize: 4 valueSize: 9 sequence: -1 headerKeys: [] \
key: {"type":"0","data":{"transactionalId":"p"}} payload: {"version":"1","data":{"producerId":7,\
"previousProducerId":7,"nextProducerId":-1,"producerEpoch":0,"transactionTimeoutMs":60000,\
"transactionStatus":1,"transactionPartitions":[{"topic":"t","partitionIds":[0,1]}],\
"transactionLastUpdateTimestampMs":1,"transactionStartTimestampMs":1,"clientTransactionVersion":2}}
| offset: 1 CreateTime: 1001 keySize: 4 valueSize: -1 sequence: -1 headerKeys: [] \
key: {"type":"0","data":{"transactionalId":"p"}} payload: <DELETE>
"""


def test_what_the_tool_prints_is_taken_apart_and_read_again(tmp_path: Path) -> None:
    ((directory, rows),) = written.parse(DUMPED.splitlines()).items()
    assert directory == Path("b1/__transaction_state-4")
    line = {"broker": 1, "partition": 4, "time": 5, "rows": rows, "gone": []}
    metadata.write([line], tmp_path / "transactions.jsonl")
    (again,) = txnlog.read(tmp_path / "transactions.jsonl")
    given = row(0, "Ongoing", 0, "t-0", "t-1", time=1000, previous=7, timeout_ms=60_000)
    assert again.rows == [given, Row(offset=1, epoch=3, time=1001, id="p")]
    named = DUMPED.replace('Status":1', 'Status":"Ongoing"')
    assert written.parse(named.splitlines()) == {directory: rows}, "as 4.4 has it"
    for other in ('producerEpoch"', 'Status":1'):
        with pytest.raises(ClusterError, match="__transaction_state"):
            written.parse(DUMPED.replace(other, 'Status":"Odd').splitlines())
    (tmp_path / "transactions.jsonl").write_text('{"broker":1}\n', encoding="utf-8")
    with pytest.raises(ObservedError, match=":1: no replica of the transaction log"):
        txnlog.read(tmp_path / "transactions.jsonl")


class State(msgspec.Struct):
    nodes: list[Any]


class Node(msgspec.Struct):
    name: str = "b1"
    number: int = 1


class Disk(msgspec.Struct):
    """As much of a Cluster as is looked at."""

    directory: Path
    state: State = msgspec.field(default_factory=lambda: State([Node()]))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "b1" / "__transaction_state-0" / "00000000000000000000.log"
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        (lambda data: data + b"more", []),
        (lambda data: data[:9000], [True]),
        (lambda data: data[:9000] + b"y" * 3000, [True]),
    ],
    ids=["grows", "is cut", "is cut and grows"],
)
def test_what_is_cut_off_a_file_is_kept(
    file: Path, tmp_path: Path, after: Callable[[bytes], bytes], kept: list[bool]
) -> None:
    whole = b"x" * 10_000
    watch = written.Watch(Disk(tmp_path))  # type: ignore[arg-type]
    file.write_bytes(whole)
    watch.look()
    file.write_bytes(after(whole))
    watch.look()
    assert [each.data == whole for each in watch.cut] == kept
    assert watch._known[file] == after(whole)
