"""A history for who knows of no transactions (log.py), and one whose ends are told once.

proven(history)       the same history, what must have been written as written
settled(rows)         the same columns, as seen by who reads only what is committed
ended_once(history)   the same history, ends that were asked for again as one
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from kraftcheck.traces.checkers.columns import indices
from kraftcheck.traces.history import (
    ABORT,
    COMMIT,
    FAIL,
    INDETERMINATE,
    OK,
    OUTCOMES,
    History,
    Operation,
)
from kraftcheck.traces.rows import NEVER, NULL, Rows, Words, history_of


def ended_once(history: History) -> History:
    """The history, in which an end that was not acknowledged and was asked for again is one end.

    A commit that failed may be followed by an abort, and one that nobody answered by either, which
    is how the clients of Kafka do it (X36). What they come to is in the place of the last of them;
    what can be no repetition stays, for `transactions_of` to refuse.
    """
    ends: dict[int, Operation] = {}
    repeated: set[int] = set()
    for each in history.operations:
        if each.f != "end" or each.txn is None:
            continue
        before = ends.get(each.txn)
        one = None if before is None else _as_one(before, each)
        if before is not None and one is not None:
            repeated.add(before.index)
        ends[each.txn] = each if one is None else one
    if not repeated:
        return history
    last = {each.index: each for each in ends.values()}
    told = (last.get(each.index, each) for each in history.operations if each.index not in repeated)
    return msgspec.structs.replace(history, operations=tuple(told))


def _as_one(before: Operation, after: Operation) -> Operation | None:
    """What two ends of a transaction come to; None: the second is no repetition of the first."""
    outcomes = (before.outcome, after.outcome)
    if before.outcome == OK or (before.argument == ABORT and after.argument != ABORT):
        return None
    one = msgspec.structs.replace(after, invoked=before.invoked)
    if after.outcome == OK or before.argument == ABORT:
        return one
    # The commit that was asked for first may have been done, unless both failed.
    outcome = INDETERMINATE if INDETERMINATE in outcomes else FAIL
    if after.argument == ABORT and before.outcome == FAIL:
        outcome = FAIL
    return msgspec.structs.replace(one, argument=COMMIT, outcome=outcome)


def proven(history: History) -> History:
    """The history, in which a record whose append was not answered is there, if it must be.

    A client that gives up knows the offsets which it was told before (`:info` completions of
    jepsen.tests.kafka). They count once a consumer was shown a record of the same operation: its
    transaction was committed, and a record with an offset was acknowledged. Values are told apart
    by key; one that was appended twice proves nothing.
    """
    appends = [each for each in history.operations if each.f == "append"]
    told = {e.group for e in appends if e.outcome == INDETERMINATE and e.result is not None}
    if not told:
        return history
    writers: dict[tuple[str | None, Any], set[int]] = {}
    for each in appends:
        writers.setdefault((each.key, each.argument), set()).add(each.group)
    sure: set[int] = set()
    for each in history.operations:
        if each.f == "fetch" and each.outcome == OK:
            for _, value in each.result or ():
                found = writers.get((each.key, value), set())
                sure |= found if len(found) == 1 else set()
    sure &= told
    replace = msgspec.structs.replace
    operations = tuple(
        replace(each, outcome=OK, completed=None)
        if each.f == "append" and each.group in sure and each.result is not None
        else each
        for each in history.operations
    )
    return replace(history, operations=operations)


def settled(rows: Rows) -> Rows:
    """The columns as seen by who reads only what is committed, and knows of no transactions.

    An append of a transaction that is told step by step is there at some time after the end of that
    was asked for, and has its outcome: what was never asked to be committed has failed. It is the
    producer's, who is nobody that reads. Any append may be hidden for as long as a transaction
    before it is open, so that none is known to be there when it was answered.
    """
    if not in_steps(rows):
        return rows
    append = rows.f.are("append")
    ends = {e.txn: e for e in history_of(rows, indices(rows.f.are("end"))).operations}
    commits = [e for e in ends.values() if e.argument == COMMIT and e.txn is not None]
    last = {each.txn: at for at, each in enumerate(commits)}
    number, of = np.unique(rows.txn, return_inverse=True)
    at = np.array([last.get(each, NULL) for each in number.tolist()], np.int64)[of.ravel()]
    asked = np.array([*(each.invoked for each in commits), 0], np.int64)[at]
    names = tuple(dict.fromkeys((*rows.outcome.names, *OUTCOMES)))
    ok, fail, unknown = map(names.index, OUTCOMES)
    said = np.array([*(names.index(each.outcome) for each in commits), fail], np.int64)[at]
    # What was not acknowledged need not have been written, whatever its transaction came to.
    outcome = rows.outcome.codes
    sure = (said == fail) | (outcome == ok)
    came = np.where(sure, said, unknown)
    came = np.where((at == NULL) | (outcome == fail), fail, came)
    sent = append & (rows.txn != NULL)
    begins = sent & (at != NULL) & (outcome != fail)
    return rows._replace(
        process=np.where(sent, -1 - rows.process, rows.process),
        invoked=np.where(begins, asked, rows.invoked),
        completed=np.where(append, NEVER, rows.completed),
        outcome=Words(np.where(sent, came, outcome), names),
        operation=np.where(sent, -1 - rows.txn, rows.operation),
        # What a fetch passed over decides transactions, and is judged with them.
        to=np.full(len(rows.to), NULL),
    )


def in_steps(rows: Rows) -> bool:
    """Whether transactions are told step by step."""
    return bool((rows.txn != NULL).any() or rows.f.are("init").any())
