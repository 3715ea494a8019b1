"""Transactions over append-only lists: a read shows all versions that went before.

So the order of an object's versions is known from its longest read. An appended element that no
read shows comes after all that were read, since its transaction committed and lists only grow; the
order among several such elements is not known, and no read depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kraftcheck.traces.checkers.isolation.dependencies import RW, WR, WW, Dependencies, Reason
from kraftcheck.traces.checkers.isolation.findings import (
    Evidence,
    Finding,
    Writes,
    shown_transaction,
)
from kraftcheck.traces.checkers.isolation.transactions import Transaction
from kraftcheck.traces.checkers.verdict import shown

Elements = tuple[Any, ...]
# A read of an object's state before the transaction's own appends: transaction, its version.
Read = tuple[Transaction, Elements]


def evidence_of(transactions: list[Transaction]) -> Evidence:
    """The anomalies and dependencies of a history of lists."""
    writes = Writes(transactions)
    findings: list[Finding] = []
    reads: dict[str | None, list[Read]] = {}
    states: dict[str | None, list[Read]] = {}
    for each in transactions:
        if each.is_committed:
            findings += _own(each, reads, writes)
            for micro in each.micros:
                if micro.is_read:
                    states.setdefault(micro.key, []).append((each, micro.value or ()))
    longest = {key: max((state for _, state in seen), key=len) for key, seen in states.items()}
    committed = {each.number for each in transactions if each.is_committed}
    for key, seen in states.items():
        findings += _read(key, seen, longest[key], transactions, writes)
        findings += _intermediate(key, reads.get(key, []), longest[key], transactions, writes)
        for element in longest[key]:
            writer = writes.writer.get((key, element))
            if writer is not None and not transactions[writer].is_aborted:
                committed.add(writer)
    findings += _lost_updates(reads)
    graph = Dependencies(len(transactions))
    unread = _unread(transactions, committed, longest)
    for key in dict.fromkeys([*longest, *unread]):
        seen_of, order = reads.get(key, []), longest.get(key, ())
        _connect(graph, key, seen_of, order, unread.get(key, []), writes)
    return Evidence(findings, graph, committed, writes.twice, 0)


def _own(
    each: Transaction, reads: dict[str | None, list[Read]], writes: Writes
) -> Iterator[Finding]:
    """What contradicts a transaction's own reads and appends. Collects the states it began with."""
    began: dict[str | None, Elements] = {}
    added: dict[str | None, list[Any]] = {}
    appended: dict[str | None, list[Any]] = {}
    for micro in each.micros:
        if not micro.is_read:
            appended.setdefault(micro.key, []).append(micro.value)
    for micro in each.micros:
        key, own = micro.key, added.setdefault(micro.key, [])
        if not micro.is_read:
            own.append(micro.value)
            continue
        state: Elements = micro.value or ()
        later = [e for e in appended.get(key, [])[len(own) :] if (key, e) not in writes.twice]
        if later and any(element in later for element in state):
            yield Finding(
                *("future-read", (each.number,), key),
                f"the {shown_transaction(each)} read {shown(state)}, which has an element that it "
                "appended only afterwards",
            )
            continue
        tail = tuple(own)
        if key in began:
            if state != began[key] + tail:
                yield Finding(
                    *("internal", (each.number,), key),
                    f"the {shown_transaction(each)} read {shown(state)}, where its own reads and "
                    f"appends before make {shown(began[key] + tail)}",
                )
        elif tail and state[-len(tail) :] != tail:
            yield Finding(
                *("internal", (each.number,), key),
                f"the {shown_transaction(each)} read {shown(state)}, which does not end with what "
                f"it had appended, {shown(tail)}",
            )
        else:
            began[key] = state[: len(state) - len(tail)]
            reads.setdefault(key, []).append((each, began[key]))


def _read(
    key: str | None,
    seen: list[Read],
    longest: Elements,
    transactions: list[Transaction],
    writes: Writes,
) -> Iterator[Finding]:
    """What is wrong with the states that were read of one list."""
    told: set[tuple[str, Any]] = set()
    for each, state in seen:
        if longest[: len(state)] != state:
            other = next(who for who, what in seen if what == longest)
            if ("order", other.number) not in told:
                told.add(("order", other.number))
                yield Finding(
                    *("incompatible-order", (other.number, each.number), key),
                    f"the {shown_transaction(each)} read {shown(state)} and the "
                    f"{shown_transaction(other)} {shown(longest)}: neither continues the other",
                )
            yield from _elements(key, each, state, transactions, writes, told)
    first = next(each for each, state in seen if len(state) == len(longest))
    yield from _elements(key, first, longest, transactions, writes, told)


def _intermediate(
    key: str | None,
    seen: list[Read],
    longest: Elements,
    transactions: list[Transaction],
    writes: Writes,
) -> Iterator[Finding]:
    """Reads of a state that its writer went on to append to."""
    readers = {len(state): each for each, state in reversed(seen)}
    for length, each in sorted(readers.items()):
        state = longest[:length]
        if not state:
            continue
        version = key, state[-1]
        writer = writes.writer.get(version)
        if writer is not None and version in writes.overwritten and writer != each.number:
            yield Finding(
                *("G1b", (writer, each.number), key),
                f"the {shown_transaction(each)} read {shown(state)}, after whose last element the "
                f"{shown_transaction(transactions[writer])} appended another one",
            )


def _elements(
    key: str | None,
    each: Transaction,
    state: Elements,
    transactions: list[Transaction],
    writes: Writes,
    told: set[tuple[str, Any]],
) -> Iterator[Finding]:
    """What is wrong with the elements of a state."""
    if len({*state}) < len(state) and ("twice", each.number) not in told:
        told.add(("twice", each.number))
        again = (e for at, e in enumerate(state) if e in state[:at])
        twice = [e for e in again if (key, e) not in writes.twice][:1]
        if twice:
            yield Finding(
                *("duplicate-elements", (each.number,), key),
                f"the {shown_transaction(each)} read {shown(state)}, which has "
                f"{shown(twice[0])} twice",
            )
    aborted: int | None = None
    for element in state:
        writer = writes.writer.get((key, element))
        if writer is None:
            if ("phantom", element) not in told and (key, element) not in writes.twice:
                told.add(("phantom", element))
                yield Finding(
                    *("phantom", (each.number,), key),
                    f"the {shown_transaction(each)} read {shown(element)}, which nobody appended",
                )
        elif transactions[writer].is_aborted:
            aborted = writer
            if ("G1a", element) not in told:
                told.add(("G1a", element))
                yield Finding(
                    *("G1a", (writer, each.number), key),
                    f"the {shown_transaction(each)} read {shown(element)}, which the "
                    f"{shown_transaction(transactions[writer])} appended and was aborted",
                )
        elif aborted is not None and ("dirty", aborted) not in told:
            told.add(("dirty", aborted))
            yield Finding(
                *("dirty-update", (aborted, writer), key),
                f"the {shown_transaction(transactions[writer])} appended {shown(element)} after an "
                f"element of the {shown_transaction(transactions[aborted])}, which was aborted",
            )


def _lost_updates(reads: dict[str | None, list[Read]]) -> Iterator[Finding]:
    """Two transactions that read one state of a list first, and then both append to it."""
    for key, seen in reads.items():
        first: dict[tuple[int, Any], Transaction] = {}
        for each, state in seen:
            begins = next(micro for micro in each.micros if micro.key == key)
            if not begins.is_read or all(m.is_read for m in each.micros if m.key == key):
                continue
            other = first.setdefault((len(state), state[-1] if state else None), each)
            if other is not each:
                yield Finding(
                    *("lost-update", (other.number, each.number), key),
                    f"the {shown_transaction(each)} and the {shown_transaction(other)} both read "
                    f"{shown(state)} and then appended to it",
                )
                break


def _unread(
    transactions: list[Transaction],
    committed: set[int],
    longest: dict[str | None, Elements],
) -> dict[str | None, list[tuple[int, Any]]]:
    """By object, the transactions with an element that no read shows, and their first one."""
    shown_elements = {key: {*elements} for key, elements in longest.items()}
    found: dict[str | None, list[tuple[int, Any]]] = {}
    for number in sorted(committed):
        told: set[str | None] = set()
        for micro in transactions[number].micros:
            if micro.is_read or micro.key in told:
                continue
            if micro.value not in shown_elements.get(micro.key, ()):
                told.add(micro.key)
                found.setdefault(micro.key, []).append((number, micro.value))
    return found


def _connect(
    graph: Dependencies,
    key: str | None,
    seen: list[Read],
    order: Elements,
    unread: list[tuple[int, Any]],
    writes: Writes,
) -> None:
    """Adds the dependencies of one list."""
    writers = [writes.writer.get((key, element)) for element in order]
    for at, (first, second) in enumerate(pairwise(writers)):
        if first is not None and second is not None:
            graph.add(WW, first, second, Reason(key, order[at], order[at + 1]))
    last = writers[-1] if writers else None
    for number, element in unread:
        if last is not None:
            graph.add(WW, last, number, Reason(key, order[-1], element))
    at_end: list[tuple[int, Any]] = []
    for each, state in seen:
        if order[: len(state)] != state:
            continue
        length = len(state)
        if length:
            writer = writers[length - 1]
            if writer is not None:
                graph.add(WR, writer, each.number, Reason(key, state[-1], state[-1]))
        following = writers[length] if length < len(order) else None
        before = state[-1] if state else None
        if following is not None:
            graph.add(RW, each.number, following, Reason(key, before, order[length]))
        elif length == len(order):
            at_end.append((each.number, before))
    graph.add_all(RW, at_end, unread, key)
