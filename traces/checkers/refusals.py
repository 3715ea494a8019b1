"""Transactions that their producers were not let go on with, or could not end.

    refused-transaction   an operation of a transaction was refused as one of none, though it was
                          under way: begun, younger than its timeout, its end not asked for, and no
                          other producer of its id had come
    stuck-producer        again and again, for longer than a transaction and its end may last,
                          nobody answered its end, or whether a producer of its id may begin

Kafka says INVALID_TXN_STATE of an operation that its sender should not have made [KIP-98, KIP-890].
A transaction that is over its timeout is aborted by its coordinator, and what comes then is refused
rightly. In time, somebody may always end a transaction, or begin the next one of its id, where
nothing has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.verdict import shown
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, Operation

REFUSALS: Final = (
    "INVALID_TXN_STATE",
    "InvalidTxnState",
    "The producer attempted a transactional operation in an invalid state",
)
"""The error, as librdkafka calls it; as exceptions of Kafka's own clients and kafka-python do; as
the Java client puts it where it did not expect the error (`Errors` of Kafka)."""


class Limits(NamedTuple):
    """In the history's unit."""

    open: int
    """transaction.timeout.ms."""
    ending: int
    """For how long a producer may wait for an end, or for its turn."""


def refusals(history: History, limits: Limits) -> Iterator[Broken]:
    """Yield the anomalies refused-transaction and stuck-producer.

    Args:
        history: with retried ends of transactions.
        limits: times after which a producer counts as stuck.
    """
    refused = list(_refused(history.operations, limits.open))
    yield Broken("refused-transaction", refused, _refusal)
    stuck = list(_stuck(history.operations, limits.ending))
    yield Broken("stuck-producer", stuck, partial(_waited, limits.ending))


def _refused(operations: Iterable[Operation], within: int) -> Iterator[tuple[Operation, Operation]]:
    """The beginning of a transaction, and what was refused."""
    ids: dict[int, Any] = {}
    begun: dict[int, Operation] = {}
    told: set[int] = set()
    for each in operations:
        number = each.txn
        if each.f == "init":
            ids[each.process] = each.argument
            fenced = [
                at
                for at, one in begun.items()
                if one.process != each.process and ids.get(one.process) == each.argument
            ]
            for at in fenced:
                del begun[at]
        elif each.f == "begin" and each.outcome == OK and number is not None:
            begun[number] = each
        elif _blames(each) and each.group not in told and each.completed is not None:
            told.add(each.group)  # a transaction that is one operation is refused once
            first = each if number is None else begun.get(number)
            if first is not None and each.completed - first.invoked < within:
                yield first, each
        if each.f == "end" and number is not None:
            begun.pop(number, None)


def _blames(each: Operation) -> bool:
    said = each.error or ""
    return each.outcome == FAIL and any(name in said for name in REFUSALS)


def _refusal(found: tuple[Operation, Operation]) -> Evidence:
    first, each = found
    what = "a transaction" if each.txn is None else f"transaction {each.txn}"
    said = f"{each.f} was refused as one of no transaction, though {what} was under way"
    return (first.index, each.index), said, None


class _Wait(NamedTuple):
    """By whom it was asked first and last without an answer."""

    whose: str
    first: Operation
    last: Operation

    @property
    def lasted(self) -> int:
        return (self.last.completed or self.last.invoked) - self.first.invoked


def _stuck(operations: Iterable[Operation], within: int) -> Iterator[_Wait]:
    ids: dict[int, str] = {}
    """By process, whose producer it is."""
    of: dict[int, str] = {}
    """By transaction, likewise; else the transaction itself."""
    waits: dict[str, _Wait] = {}
    for each in operations:
        if each.f == "init":
            ids[each.process] = shown(each.argument)
        if each.f == "begin" and each.txn is not None:
            of[each.txn] = ids.get(each.process, f"of transaction {each.txn}")
        if each.f == "init":
            whose = ids[each.process]
        elif each.f == "end" and each.txn is not None:
            whose = of.get(each.txn, f"of transaction {each.txn}")
        else:
            continue
        if each.outcome != INDETERMINATE:
            if whose in waits and waits[whose].lasted > within:
                yield waits[whose]
            waits.pop(whose, None)
        else:
            waits[whose] = waits.get(whose, _Wait(whose, each, each))._replace(last=each)
    yield from (each for each in waits.values() if each.lasted > within)


def _waited(within: int, wait: _Wait) -> Evidence:
    said = f"the producer {wait.whose} could neither end its transaction nor begin another for "
    said += f"{wait.lasted / within:.1f} times as long as that may take"
    return (wait.first.index, wait.last.index), said, None
