"""The transactions of a history: micro-operations in their order, with one outcome.

An indeterminate transaction counts as committed once somebody read what it wrote. Otherwise it may
have been aborted, or may take effect after everything else, and so says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kraftcheck.traces.history import FAIL, OK, History, Operation

READS = ("read", "r")


class Micro(NamedTuple):
    """One read or write inside a transaction.

    Attributes:
        is_read: whether it reads; a write appends to a list or sets a register.
        key: the object.
        value: the element or value written; of a read, the list or value returned.
        operation: its number in the history.
    """

    is_read: bool
    key: str | None
    value: Any
    operation: int


class Transaction(NamedTuple):
    """A client's transaction.

    Attributes:
        number: its place among the history's transactions, in order of invocation.
        process: the client.
        invoked: when it began.
        completed: when it was answered; None: never.
        outcome: one of the history's outcomes.
        micros: what it did, in order.
    """

    number: int
    process: int
    invoked: int
    completed: int | None
    outcome: str
    micros: tuple[Micro, ...]

    @property
    def is_committed(self) -> bool:
        """Whether it was answered as committed. An observed write may show it otherwise."""
        return self.outcome == OK

    @property
    def is_aborted(self) -> bool:
        return self.outcome == FAIL

    def first_of(self, key: str | None) -> int:
        """The number of its first operation on an object, for evidence."""
        return next((micro.operation for micro in self.micros if micro.key == key), self.operation)

    @property
    def operation(self) -> int:
        """The number of its first operation."""
        return self.micros[0].operation


def transactions_of(history: History) -> list[Transaction]:
    """The history's transactions: operations of one group belong together."""
    groups: dict[int, list[Operation]] = {}
    for operation in history.operations:
        groups.setdefault(operation.group, []).append(operation)
    found: list[Transaction] = []
    for parts in groups.values():
        each = _transaction(len(found), parts)
        # One that only read, and was not answered, says nothing.
        if each.micros:
            found.append(each)
    return found


def _transaction(number: int, parts: Sequence[Operation]) -> Transaction:
    first = parts[0]
    ended = first.outcome == OK
    micros = tuple(
        Micro(True, each.key, each.result, each.index)
        if each.f in READS
        else Micro(False, each.key, each.argument, each.index)
        for each in parts
        # What a transaction read that was not answered is not known.
        if ended or each.f not in READS
    )
    return Transaction(number, first.process, first.invoked, first.completed, first.outcome, micros)


def spans_several(history: History) -> bool:
    """Whether some transaction has more than one operation, so that atomicity matters."""
    operations = history.operations
    return any(one.group == two.group for one, two in pairwise(operations))
