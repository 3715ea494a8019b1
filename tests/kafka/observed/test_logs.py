"""What lies on disks: each thing that may be wrong with it is planted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.live import datalog, metadata
from kraftcheck.kafka.observed.logs import Replica, judge, read
from kraftcheck.kafka.observed.records import ObservedError
from kraftcheck.kafka.observed.verdicts import Defect, first_of_each

WHOLE = [(0, 0, "a"), (1, 0, "b"), (2, 2, "c"), (3, 3, "d")]
CACHE = [(0, 0), (1, 2), (2, 2), (3, 3)]
"""Epoch 1 wrote nothing; that it began is known all the same (KAFKA-7415)."""
READ = {offset: value for offset, _, value in WHOLE}


def replica(broker: int = 1, **changes: Any) -> Replica:
    return msgspec.structs.replace(Replica(broker, "t-0", WHOLE, CACHE), **changes)


def names(*replicas: Replica, final: dict[int, str] | None = None) -> set[str]:
    return {each.name for each in judge(replicas, {"t-0": final} if final else None)}


def test_three_of_the_same_are_fine() -> None:
    assert names(replica(1), replica(2), replica(3), final=READ) == set()
    assert names(replica(records=[], epochs=[])) == set()


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"records": [WHOLE[0], *WHOLE[2:]]}, "gap"),
        ({"records": [*WHOLE[:3], (3, 1, "d")]}, "epoch falls"),
        ({"epochs": [(0, 0), (2, 2), (3, 4)]}, "epoch cache unsound"),
        ({"epochs": [(0, 0), (3, 3)]}, "epoch cache unsound"),
        ({"epochs": []}, "epoch cache unsound"),
        ({"epochs": [(0, 0), (2, 2), (2, 3), (3, 3)]}, "epoch cache disordered"),
        ({"epochs": [(0, 0), (2, 3), (3, 2)]}, "epoch cache disordered"),
    ],
)
def test_what_is_wrong_with_one_log_is_found(changes: dict[str, Any], found: str) -> None:
    assert found in names(replica(**changes))


def test_a_cache_out_of_order_is_not_looked_up() -> None:
    (found,) = judge([replica(epochs=[(0, 0), (2, 3), (3, 2)])], None)
    assert found.name == "epoch cache disordered"


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ([*WHOLE[:3], (3, 3, "x")], {"LogMatching", "not the same"}),
        ([WHOLE[0], (1, 1, "x"), *WHOLE[2:]], {"LogMatching", "not the same"}),
        (WHOLE[:3], {"not the same"}),
        ([*WHOLE[:3], (3, 4, "x")], {"not the same"}),
    ],
    ids=["another value", "the past differs", "shorter", "another epoch"],
)
def test_what_is_wrong_between_two_is_found(other: list[Any], found: set[str]) -> None:
    cache = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)]
    assert (
        names(replica(), replica(2, records=other, epochs=cache))
        - {
            "epoch cache unsound",
            "epoch cache disordered",
        }
        == found
    )


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (WHOLE[:3], set()),
        ([*WHOLE[:3], (3, 4, "x")], set()),
        ([*WHOLE[:3], (3, 3, "x")], {"LogMatching"}),
    ],
    ids=["shorter", "another epoch", "another value"],
)
def test_a_cluster_that_is_not_at_rest_may_have_different_ends(
    other: list[Any], found: set[str]
) -> None:
    cache = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)]
    replicas = [replica(), replica(2, records=other, epochs=cache)]
    defects = {each.name for each in judge(replicas, at_rest=False)}
    assert defects - {"epoch cache unsound", "epoch cache disordered"} == found


@pytest.mark.parametrize("final", [{**READ, 4: "e"}, {0: "a", 1: "b", 2: "c"}, {**READ, 2: "x"}])
def test_what_was_read_must_lie_there(final: dict[int, str]) -> None:
    assert names(replica(), final=final) == {"not as read"}


DUMPED = """\
Dumping b1/t-0/00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 1 count: 2 baseSequence: 0 lastSequence: 1 producerId: 6 \
producerEpoch: 0 partitionLeaderEpoch: 4 isTransactional: false isControl: false
| offset: 0 CreateTime: 7 keySize: -1 valueSize: 1 sequence: 0 headerKeys: [] payload: 8
| offset: 1 CreateTime: 7 keySize: -1 valueSize: 1 sequence: 1 headerKeys: [] payload: x y
Dumping b1/t-0/00000000000000000002.log
baseOffset: 2 lastOffset: 2 count: 1 baseSequence: 0 lastSequence: 0 producerId: 7 \
producerEpoch: 0 partitionLeaderEpoch: 5 isTransactional: true isControl: false
| offset: 2 CreateTime: 8 keySize: -1 valueSize: 1 sequence: 0 headerKeys: [] payload: 9
baseOffset: 3 lastOffset: 3 count: 1 baseSequence: -1 lastSequence: -1 producerId: 7 \
producerEpoch: 0 partitionLeaderEpoch: 5 isTransactional: true isControl: true
| offset: 3 CreateTime: 9 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] \
endTxnMarker: COMMIT coordinatorEpoch: 0
"""


def test_what_the_tool_prints_is_taken_apart_and_read_again(tmp_path: Path) -> None:
    found = datalog.parse(DUMPED.splitlines())
    content = found[Path("b1/t-0")]
    assert content.records == [(0, 4, 8), (1, 4, "x y"), (2, 5, 9), (3, 5, "COMMIT")]
    assert content.transactions == [(2, 7, False), (3, 7, True)]
    (tmp_path / "cache").write_text("0\n2\n4 0\n5 2\n", encoding="utf-8")
    epochs = datalog.epochs_in(tmp_path / "cache")
    assert epochs == [(4, 0), (5, 2)]
    assert datalog.epochs_in(tmp_path / "none") == []
    replica = datalog.Replica(1, "t-0", content.records, epochs, content.transactions)
    metadata.write([replica], tmp_path / "logs.jsonl")
    (again,) = read(tmp_path / "logs.jsonl")
    assert (again.records, again.epochs) == (content.records, epochs)
    assert again.transactions == content.transactions
    assert judge([again], {"t-0": {0: 8, 1: "x y", 2: 9}}) == []


ENDED = replica(
    records=[
        (at, 0, value) for at, value in enumerate(["a", "b", "COMMIT", "c", "ABORT", "d", "e"])
    ],
    epochs=[(0, 0)],
    transactions=[
        *((0, 7, False), (1, 8, False), (2, 7, True), (3, 8, False), (4, 8, True), (6, 7, False)),
    ],
)
"""Producer 7 commits a, producer 8 aborts b and c, nobody has ended e, and d is in none."""


@pytest.mark.parametrize(
    ("final", "found"),
    [
        ({0: "a", 5: "d"}, set()),
        ({0: "a", 1: "b", 5: "d"}, {"not as read"}),
        ({0: "a", 2: "COMMIT", 5: "d"}, {"not as read"}),
        ({0: "a", 5: "d", 6: "e"}, {"not as read"}),
        ({5: "d"}, {"not as read"}),
    ],
    ids=["committed", "aborted", "marker", "open", "missing"],
)
def test_readers_are_shown_what_is_committed(final: dict[int, str], found: set[str]) -> None:
    assert names(ENDED, final=final) == found


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "logs.jsonl").write_text('{"broker":1}\n', encoding="utf-8")
    with pytest.raises(ObservedError, match=":1: no replica"):
        read(tmp_path / "logs.jsonl")
    with pytest.raises(ObservedError, match="No such file"):
        read(tmp_path / "none")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (["a"], set()),
        (["b", "c"], set()),  # aborted
        (["x", "y"], set()),  # never sent
        (["a", "d"], set()),
        (["a", "b"], {"part of a transaction"}),
        (["d", "e"], {"part of a transaction"}),
        (["a", "x"], {"part of a transaction"}),
    ],
)
def test_of_a_transaction_all_is_shown_or_nothing(written: list[str], found: set[str]) -> None:
    transactions = [[("t-0", value) for value in written]]
    assert {each.name for each in judge([ENDED], None, transactions)} == found


def test_partitions_of_other_brokers_are_not_missed() -> None:
    assert judge([ENDED], None, [[("t-0", "a"), ("t-1", "x")]]) == []


def test_of_each_partition_the_first_of_a_kind_is_told() -> None:
    found = [Defect("gap", key, (1,), reason) for key in ("t-0", "t-1") for reason in "ab"]
    assert first_of_each(found) == [found[0], found[2]]
