"""Is all of a transaction there, or nothing of it, and was it written by who might?

    fates = fates_of(transactions)    what was seen of each record
    torn(fates), zombies(fates)       what contradicts itself, each with its certificates

A record is *seen* if a fetch of committed records showed it, and *passed* if one went over its
offset without showing it. What is seen tells that the transaction was committed, what was passed
that it was not [KIP-98]. So of a transaction of unknown outcome nothing is guessed: its records
decide, and only if they contradict each other something is wrong.

    unstable-fate     one record is seen and passed
    torn-transaction  of one transaction a record is seen, and another passed
    lost-commit       a commit was answered, and a record passed
    zombie-write      a record is seen that was sent after a later producer with its transactional
                      id had been initialised
    zombie-commit     a commit was answered that was asked for after that

Records of aborted transactions that are seen (G1a), and those seen before the commit was asked for
(future-read), are found partition by partition (log.py; `settled`). O(n log n), in columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import NEVER, UNKNOWN, Flags, Ints, indices
from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.transactions import COMMITTED, NONE, Transactions
from kraftcheck.traces.checkers.verdict import shown
from kraftcheck.traces.rows import begins


class Fates(NamedTuple):
    """What was seen of records.

    send, offset: a row for each record of a transaction whose place is known; seen, passed: of
    each.
    """

    t: Transactions
    sender: Ints
    """Of each record that was shown, the row of its send in a transaction, or NONE."""
    send: Ints
    offset: Ints
    seen: Flags
    passed: Flags
    missing: Ints
    """Sends of which nothing was seen, though everything was read."""
    unattributed: int
    """How many records were shown that may be of several transactions."""

    def transactions(self, records: Flags) -> Flags:
        """Those that have such a record."""
        found = np.zeros(len(self.t.ends.number), bool)
        found[self.t.sends.transaction[self.send[records]]] = True
        return found


def fates_of(t: Transactions, *, complete: bool = False, replaced: bool = False) -> Fates:
    """Return for each record of a transaction whether fetches showed or skipped it.

    Args:
        t: the transactions.
        complete: whether everything was read in the end.
        replaced: whether later records may have replaced records (a compacted topic). Then a
            skipped record proves nothing.
    """
    sender, unattributed = _senders(t)
    mine = indices(sender != NONE)
    acked = indices((t.sends.offset != UNKNOWN) & (t.sends.transaction != NONE))
    send = np.concatenate((acked, sender[mine]))
    offset = np.concatenate((t.sends.offset[acked], t.shown.offset[mine]))
    poll = np.concatenate((np.full(len(acked), NONE), t.shown.poll[mine]))
    # One row for each record, and how many fetches showed it.
    order = np.lexsort((poll, offset, send))
    send, offset, poll = send[order], offset[order], poll[order]
    fresh = begins(send, offset)
    record = np.cumsum(fresh) - 1
    counts = (poll != NONE) & begins(send, offset, poll)
    count = np.bincount(record[counts], minlength=int(fresh.sum()))
    send, offset = send[fresh], offset[fresh]
    passed = _covered(t, t.sends.partition[send], offset) > count
    unread = t.sends.written & (t.sends.transaction != NONE)
    unread[send] = False
    if replaced:
        passed[:] = False
    if replaced or not complete:
        unread[:] = False
    return Fates(t, sender, send, offset, count > 0, passed, indices(unread), unattributed)


def _senders(t: Transactions) -> tuple[Ints, int]:
    """Give the send in a transaction that each shown record comes from, or NONE.

    Also count the records for which that is open.

    It is the one of its value that was acknowledged at its offset; else the only one of its value
    that was not acknowledged. Nobody knows whose it is if there are several.
    """
    sends, shown = t.sends, t.shown
    width = len(t.values)
    both = np.concatenate(
        (sends.partition * width + sends.value, shown.partition * width + shown.value)
    )
    _, both = np.unique(both, return_inverse=True)
    key, wanted = both[: len(sends.value)], both[len(sends.value) :]
    acked = sends.offset != UNKNOWN
    offsets = np.unique(np.concatenate((sends.offset, shown.offset)))
    exact = key * len(offsets) + np.searchsorted(offsets, sends.offset)
    wanted_exact = wanted * len(offsets) + np.searchsorted(offsets, shown.offset)
    found = _matched(exact, wanted_exact, indices(acked))
    alone = np.bincount(key[~acked], minlength=len(both)) == 1
    rest = _matched(key, wanted, indices(~acked & alone[key]))
    found = np.where(found == NONE, rest, found)
    several = np.zeros(len(both), bool)
    several[key[~acked & ~alone[key] & (sends.transaction != NONE)]] = True
    open_ones = (found == NONE) & several[wanted] & (shown.poll != NONE)
    plain = np.append(sends.transaction, NONE)[found] == NONE
    return np.where(plain, NONE, found), int(open_ones.sum())


def _matched(key: Ints, wanted: Ints, rows: Ints) -> Ints:
    """Of each wanted key, one of the rows that have it, or NONE."""
    if not len(rows):
        return np.full(len(wanted), NONE)
    rows = rows[np.argsort(key[rows], kind="stable")]
    at = np.minimum(np.searchsorted(key[rows], wanted), len(rows) - 1)
    return np.where(key[rows[at]] == wanted, rows[at], NONE)


def _covered(t: Transactions, partition: Ints, offset: Ints) -> Ints:
    """How many fetches went over each of these places."""
    polls, records = t.polls, len(offset)
    place = np.concatenate((polls.partition, polls.partition, partition))
    at = np.concatenate((polls.before, polls.after, offset))
    step = np.concatenate((np.ones_like(polls.before), -np.ones_like(polls.after)))
    kind = np.zeros(len(place), np.int8)
    kind[len(step) :] = 1
    order = np.lexsort((kind, at, place))
    depth = np.empty(len(place), np.int64)
    depth[order] = np.cumsum(np.concatenate((step, np.zeros(records, np.int64)))[order])
    return depth[len(step) :]


# -- Contradictions


def torn(f: Fates) -> Iterator[Broken]:
    """unstable-fate, torn-transaction, lost-commit."""
    t = f.t
    both = indices(f.seen & f.passed)
    yield Broken("unstable-fate", both, partial(_unstable, f))
    seen, passed = f.transactions(f.seen), f.transactions(f.passed & ~f.seen)
    passed[t.sends.transaction[f.missing]] = True
    halves = indices(seen & passed)
    yield Broken("torn-transaction", halves, partial(_torn, f))
    lost = indices(f.transactions(f.passed) & (t.ends.fate == COMMITTED))
    yield Broken("lost-commit", lost, partial(_lost, f))


def _unstable(f: Fates, record: int) -> Evidence:
    operations = (_who(f, record, showed=True), _who(f, record, showed=False))
    said = f"a fetch shows {_words(f, record)}, and another passes over it"
    return operations, said, _key(f, record)


def _torn(f: Fates, transaction: int) -> Evidence:
    seen, passed = (_record_of(f, transaction, some) for some in (f.seen, f.passed))
    said = f"of transaction {f.t.ends.number[transaction]}, {_words(f, seen)} was read"
    if passed == NONE:
        send = f.missing[f.t.sends.transaction[f.missing] == transaction][0]
        value = shown(f.t.values[f.t.sends.value[send]])
        said += f", and {value} never, though everything was"
        other = int(f.t.sends.operation[send])
    else:
        said += f", and {_words(f, passed)} was passed over"
        other = _who(f, passed, showed=False)
    return (_who(f, seen, showed=True), other), said, _key(f, seen)


def _lost(f: Fates, transaction: int) -> Evidence:
    record = _record_of(f, transaction, f.passed)
    operations = (f.t.ends.operation[transaction], _who(f, record, showed=False))
    number = f.t.ends.number[transaction]
    said = f"transaction {number} was committed, and a fetch passed over {_words(f, record)}"
    return operations, said, _key(f, record)


def _record_of(f: Fates, transaction: int, some: Flags) -> int:
    """The first record of a transaction that is one of those; NONE: it has none."""
    rows = indices(some & (f.t.sends.transaction[f.send] == transaction))
    return int(rows[0]) if len(rows) else NONE


def _who(f: Fates, record: int, *, showed: bool) -> int:
    """The first fetch that showed a record, or passed over it."""
    t = f.t
    partition, offset = t.sends.partition[f.send[record]], f.offset[record]
    value = t.sends.value[f.send[record]]
    rows = (t.shown.partition == partition) & (t.shown.offset == offset) & (t.shown.poll != NONE)
    showing = np.unique(t.shown.poll[rows & (t.shown.value == value)])
    if not showed:
        went = indices(
            (t.polls.partition == partition) & (t.polls.before <= offset) & (offset < t.polls.after)
        )
        showing = np.setdiff1d(went, showing)
    return int(t.polls.operation[showing[0]])


def _words(f: Fates, record: int) -> str:
    t, send = f.t, f.send[record]
    key = t.partitions[t.sends.partition[send]]
    return f"{shown(t.values[t.sends.value[send]])} at offset {f.offset[record]} of {key}"


def _key(f: Fates, record: int) -> str | None:
    key: str | None = f.t.partitions[f.t.sends.partition[f.send[record]]]
    return key


# -- Producers that were fenced


def zombies(f: Fates) -> Iterator[Broken]:
    """zombie-write, zombie-commit."""
    t = f.t
    fenced, by = _fenced(t)
    instance = t.ends.instance
    when = np.where(instance == NONE, NEVER, np.append(fenced, NEVER)[instance])
    late = t.sends.invoked[f.send] > when[t.sends.transaction[f.send]]
    records = indices(late & f.seen)
    yield Broken("zombie-write", records, partial(_zombie_write, f, by))
    rows = indices((t.ends.asked > when) & (t.ends.asked != NEVER) & (t.ends.fate == COMMITTED))
    yield Broken("zombie-commit", rows, partial(_zombie_commit, f, by))


def _fenced(t: Transactions) -> tuple[Ints, Ints]:
    """Of each producer, since when another one with its id surely was there, and which."""
    inits = t.inits
    since, by = np.full(len(inits.id), NEVER), np.full(len(inits.id), NONE)
    order = np.lexsort((inits.invoked, inits.id))
    first = np.append(inits.completed[order], NEVER)
    best = np.append(order, NONE)
    for at in range(len(order) - 2, -1, -1):  # the earliest of all that were asked later
        if inits.id[order[at]] == inits.id[order[at + 1]] and first[at + 1] < first[at]:
            first[at], best[at] = first[at + 1], best[at + 1]
    for at, row in enumerate(order.tolist()):
        later = at + 1
        while later < len(order) and inits.id[order[later]] == inits.id[row]:
            # Who was asked while this one was not answered yet may have come before it.
            if inits.invoked[order[later]] > inits.completed[row]:
                since[row], by[row] = first[later], best[later]
                break
            later += 1
    return since, by


def _zombie_write(f: Fates, by: Ints, record: int) -> Evidence:
    send = f.send[record]
    init = _successor(f.t, by, f.t.sends.transaction[send])
    said = f"{_words(f, record)} was read, and was sent after a later producer was initialised"
    return (init, f.t.sends.operation[send]), said, _key(f, record)


def _zombie_commit(f: Fates, by: Ints, transaction: int) -> Evidence:
    said = f"transaction {f.t.ends.number[transaction]} was committed by a producer after a later "
    said += "one with its id was initialised"
    return (_successor(f.t, by, transaction), f.t.ends.operation[transaction]), said, None


def _successor(t: Transactions, by: Ints, transaction: int) -> int:
    return int(t.inits.operation[by[t.ends.instance[transaction]]])
