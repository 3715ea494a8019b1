"""The transactions of a history as columns (fates.py judges them).

    transactions_of(history)   a `Transactions`, or None: nothing was written in transactions

A transaction is told step by step (`Operation.txn`), or in one: several appends and fetches that
are one operation of a client, which is committed if it was answered, and aborted if it failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import (
    NEVER,
    UNKNOWN,
    Codes,
    Flags,
    Ints,
    answered,
    flat,
    sessions_of,
    starts_told,
    tabled,
    untold,
)
from kraftcheck.traces.checkers.settled import in_steps
from kraftcheck.traces.history import (
    COMMIT,
    FAIL,
    INDETERMINATE,
    LOG_OPERATIONS,
    OK,
    READ_UNCOMMITTED,
    History,
    HistoryError,
    Operation,
)
from kraftcheck.traces.rows import Rows, history_of, rows_of

NONE: Final = -1
"""No transaction, instance or poll: of a column that names a row of another table."""
COMMITTED: Final = 0
ABORTED: Final = 1
"""It failed, was aborted, or its end was never asked for: nothing can have committed it."""
OPEN_FATE: Final = 2
"""A commit was asked for, and nobody knows what came of it."""


class Ends(NamedTuple):
    """A row for each transaction."""

    number: Ints
    """As the history calls it."""
    instance: Ints
    """Its producer, a row of `Inits`."""
    begun: Ints
    """When it began."""
    asked: Ints
    """When its end was asked for, at the earliest."""
    ended: Ints
    """When that was answered (NEVER: not)."""
    fate: Codes
    """What the client was told, COMMITTED, ABORTED or OPEN_FATE."""
    operation: Ints
    """Its last."""


class Sends(NamedTuple):
    """A row for each record that was sent and did not fail."""

    transaction: Ints
    """NONE, if it is of none."""
    partition: Ints
    value: Ints
    offset: Ints
    """That was acknowledged, else UNKNOWN."""
    invoked: Ints
    written: Flags
    """It is in the log if its transaction was committed: it was acknowledged, or the whole
    transaction is one operation.
    """
    operation: Ints


class Polls(NamedTuple):
    """A row for each fetch of committed records that shows where it went.

    It went from `before` to `after` (exclusive), and what it showed lies in between.
    """

    partition: Ints
    before: Ints
    after: Ints
    invoked: Ints
    completed: Ints
    transaction: Ints
    """The one that it was made for: inside which it was made, or that its process began next."""
    process: Ints
    operation: Ints


POLLED_IN: Final = Polls._fields.index("transaction")


class Shown(NamedTuple):
    """A row for each record that was read."""

    poll: Ints
    """By whom; NONE: by a fetch of what was uncommitted, which tells only where the record lies."""
    partition: Ints
    offset: Ints
    value: Ints


class Inits(NamedTuple):
    """A row for each producer that was initialised."""

    id: Ints
    invoked: Ints
    completed: Ints
    """NEVER, if it was not answered."""
    operation: Ints


class Consumed(NamedTuple):
    """A row for each offset that a group consumed up to.

    It was sent within a transaction, or a stable OffsetFetch told it (transaction NONE).
    """

    transaction: Ints
    place: Ints
    """Group and topic-partition, as one number."""
    partition: Ints
    offset: Ints
    invoked: Ints
    completed: Ints
    operation: Ints


class Transactions(NamedTuple):
    """All transactions of a history. partitions, values, places: what the numbers stand for."""

    ends: Ends
    sends: Sends
    polls: Polls
    shown: Shown
    inits: Inits
    consumed: Consumed
    partitions: tuple[str | None, ...] = ()
    values: tuple[Any, ...] = ()
    places: tuple[tuple[Any, str | None], ...] = ()


def transactions_of(history: History | Rows, *, uncommitted: bool = False) -> Transactions | None:
    """Return the transactions of a history; None if it has none.

    Args:
        history: what the clients requested and received.
        uncommitted: whether fetches without an isolation level read uncommitted records.

    Raises:
        HistoryError: a transaction ends twice or did not begin, a process has two open ones, or an
            operation of a transaction is outside of it.
    """
    rows = rows_of(history)
    operations = history_of(rows).operations
    if not (in_steps(rows) or rows.f.any_of(("begin", "end")).any() or _groups(operations)):
        return None
    builder = _Builder(rows, uncommitted)
    for operation in operations:
        builder.add(operation)
    return builder.built()


# -- From operations


class _Open(NamedTuple):
    """A transaction that was begun: its row, and its process."""

    row: int
    process: int


class _Builder:
    def __init__(self, rows: Rows, uncommitted: bool) -> None:
        self._source, self._uncommitted = rows.source, uncommitted
        operations = history_of(rows).operations
        self._steps = in_steps(rows)
        # After a rebalance of which nobody told, nobody knows where a consumer stood.
        self._sessions = {} if untold(rows) else sessions_of(rows)
        self._stood: dict[int, int] = {}
        self._grouped = _groups(operations)
        self._starts = starts_told(rows)
        self._open: dict[int, _Open] = {}
        self._by_process: dict[int, int] = {}
        self._of_group: dict[int, int] = {}
        self._ended: set[int] = set()
        self._producer: dict[int, int] = {}
        self._partitions: dict[str | None, int] = {}
        self._values: dict[Any, int] = {}
        self._places: dict[tuple[Any, str | None], int] = {}
        self._ids: dict[Any, int] = {}
        self._ends: list[list[int]] = []
        self._sends, self._shown = flat(), flat()
        self._polls: list[list[int]] = []
        self._waiting: dict[int, list[int]] = {}
        self._inits: list[tuple[int, ...]] = []
        self._consumed: list[tuple[int, ...]] = []

    def add(self, each: Operation) -> None:
        if each.f == "append":
            self._send(each)
        elif each.f == "fetch":
            self._poll(each)
        elif each.f == "init":
            self._init(each)
        elif each.f == "begin":
            self._begin(each)
        elif each.f == "end":
            self._end(each)
        elif each.f == "send-offsets":
            row = self._transaction(each)
            if each.outcome != FAIL:
                self._consume(row, each, each.argument[0], each.argument[1])
        elif each.f == "committed":
            self._consume(NONE, each, each.argument, each.result or ())

    def _refuse(self, each: Operation, what: str) -> HistoryError:
        return HistoryError(self._source, each.line, what)

    def _init(self, each: Operation) -> None:
        number = self._ids.setdefault(each.argument, len(self._ids))
        before = self._inits[self._producer[each.process]] if each.process in self._producer else ()
        self._inits.append((number, each.invoked, answered(each), each.index))
        self._producer[each.process] = len(self._inits) - 1
        left = self._by_process.get(each.process)
        if left is not None and each.outcome == OK and before[:1] == (number,):
            # The same producer once more: what it left open is aborted (X8).
            self._close(left)

    def _close(self, number: int) -> None:
        self._ended.add(number)
        self._by_process.pop(self._open.pop(number).process, None)

    def _begin(self, each: Operation) -> None:
        number = each.txn
        if number is None:
            raise self._refuse(each, "begin without the number of its transaction")
        if each.outcome == FAIL:
            return
        if number in self._open or number in self._ended:
            raise self._refuse(each, f"transaction {number} begins a second time")
        other = self._by_process.get(each.process)
        if other is not None:
            what = f"process {each.process} begins transaction {number} while {other} is open"
            raise self._refuse(each, what)
        self._open[number] = _Open(len(self._ends), each.process)
        self._by_process[each.process] = number
        instance = self._producer.get(each.process, NONE)
        never = (NEVER, NEVER, ABORTED)
        for poll in self._waiting.pop(each.process, ()):
            self._polls[poll][POLLED_IN] = len(self._ends)
        self._ends.append([number, instance, each.invoked, *never, each.index])

    def _end(self, each: Operation) -> None:
        row = self._transaction(each)
        if row == NONE:
            raise self._refuse(each, "end without the number of its transaction")
        assert each.txn is not None
        fate = OPEN_FATE if each.outcome == INDETERMINATE else COMMITTED
        if each.argument != COMMIT or each.outcome == FAIL:
            fate = ABORTED
        self._ends[row][3:] = [each.invoked, answered(each), fate, each.index]
        self._close(each.txn)

    def _transaction(self, each: Operation) -> int:
        """The transaction of an operation; NONE: it is of none."""
        if each.txn is None:
            if each.group not in self._grouped or each.f not in ("append", "fetch"):
                return NONE
            if self._steps:
                if each.f != "fetch":
                    return NONE
                what = "reads and writes are one operation, where transactions are told by steps"
                raise self._refuse(each, f"{what}: a history does the one or the other")
            row = self._of_group.get(each.group)
            if row is None:
                row = self._of_group[each.group] = len(self._ends)
                fate = {OK: COMMITTED, FAIL: ABORTED, INDETERMINATE: OPEN_FATE}[each.outcome]
                instance = self._producer.get(each.process, NONE)
                times = (each.invoked, each.invoked, answered(each))
                self._ends.append([each.group, instance, *times, fate, each.index])
            return row
        found = self._open.get(each.txn)
        if found is None:
            why = "has ended" if each.txn in self._ended else "was not begun"
            raise self._refuse(each, f"{each.f} of transaction {each.txn}, which {why}")
        return found.row

    def _send(self, each: Operation) -> None:
        row = self._transaction(each)
        partition, value = self._partition(each.key), self._value(each.argument)
        written = each.outcome == OK or not self._steps
        if each.outcome == FAIL and self._steps:
            return
        offset = UNKNOWN if each.result is None or each.outcome != OK else each.result
        place = (row, partition, value, offset)
        self._sends.extend((*place, each.invoked, int(written), each.index))

    def _poll(self, each: Operation) -> None:
        row, inside = self._transaction(each), self._by_process.get(each.process)
        if row == NONE and inside is not None:
            row = self._open[inside].row
        if each.result is None and each.to is None:
            return
        partition, poll = self._partition(each.key), NONE
        said = each.isolation
        if not self._uncommitted if said is None else said != READ_UNCOMMITTED:
            before, after = self._went(each)
            if after > before:
                poll = len(self._polls)
                times = (each.invoked, answered(each))
                if row == NONE and self._steps:
                    self._waiting.setdefault(each.process, []).append(poll)
                self._polls.append(
                    [partition, before, after, *times, row, each.process, each.index]
                )
        for offset, value in each.result or ():
            self._shown.extend((poll, partition, offset, self._value(value)))

    def _went(self, each: Operation) -> tuple[int, int]:
        """From where to where a fetch surely went: what it left out there, it passed over."""
        offsets = [offset for offset, _ in each.result or ()]
        session = self._sessions.get(each.index, NONE)
        before = each.argument if each.argument is not None else self._stood.get(session)
        # Where it stood says what it passed over only if it was told what it was shown.
        after = each.to if each.outcome == OK else None
        if offsets:
            first, last = min(offsets), max(offsets)
            before = first if before is None else min(before, first)
            after = last + 1 if after is None else max(after, last + 1)
        if after is not None and session != NONE:
            self._stood[session] = after
        if before is None or after is None:
            return 0, 0
        # What lies before the log's start is gone, not passed over.
        return max(before, min(self._starts.get(each.key, 0), *offsets, after)), after

    def _consume(
        self, row: int, each: Operation, group: Any, offsets: Sequence[tuple[str | None, int]]
    ) -> None:
        for key, offset in offsets:
            place = self._places.setdefault((group, key), len(self._places))
            times = (each.invoked, answered(each))
            self._consumed.append((row, place, self._partition(key), offset, *times, each.index))

    def _partition(self, key: str | None) -> int:
        return self._partitions.setdefault(key, len(self._partitions))

    def _value(self, value: Any) -> int:
        return self._values.setdefault(value, len(self._values))

    def built(self) -> Transactions | None:
        if not self._ends:
            return None
        sends = tabled(self._sends, 7)
        sends[5] = sends[5].astype(bool)
        ends = tabled(self._ends, 7)
        ends[5] = ends[5].astype(np.int8)
        return Transactions(
            Ends._make(ends),
            Sends._make(sends),
            Polls._make(tabled(self._polls, 8)),
            Shown._make(tabled(self._shown, 4)),
            Inits._make(tabled(self._inits, 4)),
            Consumed._make(tabled(self._consumed, 7)),
            tuple(self._partitions),
            tuple(self._values),
            tuple(self._places),
        )


def _groups(operations: Sequence[Operation]) -> set[int]:
    """The client's operations of several parts, with an append among them."""
    sizes: dict[int, int] = {}
    appending: set[int] = set()
    for each in operations:
        if each.f in LOG_OPERATIONS:
            sizes[each.group] = sizes.get(each.group, 0) + 1
        if each.f == "append":
            appending.add(each.group)
    return {group for group in appending if sizes[group] > 1}
