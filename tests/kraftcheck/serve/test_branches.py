"""Shared logs say what tuples say."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kraftcheck.kafka.serve.branches import BranchLog
from kraftcheck.reference.partition.log import Record

RECORDS = [Record(epoch, value, -1, -1, -1, -1, -1) for epoch in range(2) for value in range(2)]
APPENDED = st.lists(st.sampled_from(RECORDS), max_size=3).map(tuple)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), APPENDED), max_size=25))
def test_logs_that_are_cut_and_appended_to_are_as_tuples_are(
    moves: list[tuple[int, int, tuple[Record, ...]]],
) -> None:
    """Replicas cut their logs and go on; none sees what another does."""
    logs: list[BranchLog] = [BranchLog.from_records()]
    tuples: list[tuple[Record, ...]] = [()]
    for of, keep, records in moves:
        at = of % len(logs)
        logs.append(logs[at][:keep] + records)
        tuples.append((*tuples[at][:keep], *records))
        assert list(map(tuple, logs)) == tuples
    for log, known in zip(logs, tuples, strict=True):
        assert (len(log), bool(log), list(log)) == (len(known), bool(known), list(known))
        assert log == known and known == log and log[1:3] == known[1:3] and log[::-1] == known[::-1]
        assert [log == other for other in logs] == [known == other for other in tuples]
        assert [log[at] for at in range(-len(log), len(log))] == [*known, *known]
        assert log.__radd__(tuple(RECORDS)) == (*RECORDS, *known)
    with pytest.raises(IndexError):
        logs[0][0]


def test_replicas_that_agree_hold_their_entries_once() -> None:
    leader = follower = BranchLog.from_records()
    for at in range(5):
        leader += (RECORDS[at % 4],)
        follower += leader[at : at + 1]
    other, again = follower[:3], leader[:3]
    other += (RECORDS[0],)
    again += (RECORDS[0],)
    assert follower._branch is leader._branch
    assert other._branch is again._branch is not leader._branch
