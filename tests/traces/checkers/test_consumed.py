"""Offsets committed within transactions: what is no anomaly, beside the planted ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.checkers.test_transactions import Txns, again, names


def test_an_offset_that_a_committed_transaction_sent_too_is_not_torn(tmp_path: Path) -> None:
    """One transaction that sent it was aborted, and another one was not."""
    told = Txns().txn(0, 1, (0, 0, 1))
    for txn, end in (("2", ":abort"), ("3", ":commit")):
        told.op(1, "begin", txn=txn).op(1, "send-offsets", '["g" [[0 1]]]', txn=txn)
        told.op(1, "end", end, txn=txn)
    told.op(1, "committed", '["g" nil]', '["g" [[0 1]]]')
    assert "torn-offsets" not in names(told.report(tmp_path / "history.edn"))


SKIPPED = again(3, 4)
"""Transactions 2 and 3 consumed partition 0 up to 2, and from 3 on."""


@pytest.mark.parametrize(
    ("poll", "found"),
    [
        (("{0 [[2 3]]}", "{0 2}", "{0 3}"), True),
        (("{0 [[1 2]]}", "{0 1}", "{0 2}"), False),
        (("{0 [[3 4]]}", "{0 3}", "{0 4}"), False),
        (("{1 [[2 8]]}", "{1 2}", "{1 3}"), False),
    ],
)
def test_only_a_record_between_them_is_left_out(
    poll: tuple[str, str, str], found: bool, tmp_path: Path
) -> None:
    """Offset 2 has a record, and no marker, if somebody was shown it: there, and nowhere else."""
    told = Txns().txn(0, 7, (1, 2, 8))
    told.op(0, "begin", txn="9").send(0, 9, 0, 3, 4).op(0, "end", ":commit", txn="9")
    told.lines += SKIPPED.lines
    told.poll(9, *poll)
    assert ("input-skipped" in names(told.report(tmp_path / "history.edn"))) is found


def test_what_was_sent_and_shown_to_nobody_is_not_left_out(tmp_path: Path) -> None:
    """A send says where its record is; whether that was committed it does not say."""
    told = Txns().txn(0, 9, (0, 3, 4))
    told.lines += SKIPPED.lines
    assert "input-skipped" not in names(told.report(tmp_path / "history.edn"))


def test_what_was_shown_to_who_reads_all_is_not_left_out(tmp_path: Path) -> None:
    """Who reads what is uncommitted, too, is shown where a record is, and no more."""
    told = Txns().txn(0, 9, (0, 3, 4))
    told.lines += SKIPPED.lines
    told.poll(9, "{0 [[2 3]]}", "{0 2}", "{0 3}", isolation=":read_uncommitted")
    assert "input-skipped" not in names(told.report(tmp_path / "history.edn"))
