"""Transactions over registers: a read shows one version, and not which went before.

What is known of the order of an object's versions:

* `nil` is the first one;
* a transaction that reads one version and then writes another puts its own after the one it read.
  In the other order, the writer of the version it read would overwrite it and be read by it: a G1c.
  So every model from read committed on may assume this.

More is not known. Blind writes of one object are unordered, and ordering.py looks for an order that
explains all reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from kraftcheck.traces.checkers.isolation.dependencies import RW, WR, WW, Dependencies, Reason
from kraftcheck.traces.checkers.isolation.findings import (
    Evidence,
    Finding,
    Writes,
    shown_transaction,
)
from kraftcheck.traces.checkers.isolation.transactions import Transaction
from kraftcheck.traces.checkers.verdict import shown


class Outside(NamedTuple):
    """What a transaction has to do with others: first reads of objects, and last writes."""

    reads: dict[str | None, Any]
    writes: dict[str | None, Any]


def evidence_of(transactions: list[Transaction]) -> Evidence:
    """The anomalies and dependencies of a history of registers."""
    writes = Writes(transactions)
    _nil_is_ambiguous(transactions, writes)
    findings: list[Finding] = []
    outside: dict[int, Outside] = {}
    committed = {each.number for each in transactions if each.is_committed}
    for each in transactions:
        outside[each.number] = outside_of(each)
        if not each.is_committed:
            continue
        findings += _internal(each, writes)
        for key, value in outside[each.number].reads.items():
            writer = writes.writer.get((key, value))
            if value is not None and writer is not None and not transactions[writer].is_aborted:
                committed.add(writer)
            findings += _read(each, key, value, transactions, writes)
    findings += _lost_updates(transactions, outside, writes)
    graph = Dependencies(len(transactions))
    unordered = _connect(graph, outside, committed, writes)
    findings += _cyclic(outside, committed, writes)
    return Evidence(findings, graph, committed, writes.twice, unordered)


def _nil_is_ambiguous(transactions: list[Transaction], writes: Writes) -> None:
    """Where nil is written, a read of it may be of the beginning."""
    for each in transactions:
        for micro in each.micros:
            if not micro.is_read and micro.value is None:
                writes.twice.setdefault((micro.key, None), (each.number, each.number))
                writes.writer.pop((micro.key, None), None)


def outside_of(each: Transaction) -> Outside:
    """The first read of each object that it had not written, and the last write of each."""
    reads: dict[str | None, Any] = {}
    writes: dict[str | None, Any] = {}
    for micro in each.micros:
        if not micro.is_read:
            writes[micro.key] = micro.value
        elif micro.key not in writes:
            reads.setdefault(micro.key, micro.value)
    return Outside(reads, writes)


def _internal(each: Transaction, writes: Writes) -> Iterator[Finding]:
    state: dict[str | None, Any] = {}
    for at, micro in enumerate(each.micros):
        key, value = micro.key, micro.value
        if not micro.is_read:
            state[key] = value
        elif key in state and state[key] != value:
            yield Finding(
                *("internal", (each.number,), key),
                f"the {shown_transaction(each)} read {shown(value)}, where it had written or read "
                f"{shown(state[key])} before",
            )
            return
        else:
            later = [m.value for m in each.micros[at:] if not m.is_read and m.key == key]
            unclear = (key, value) in writes.twice
            if value is not None and value in later and not unclear:
                yield Finding(
                    *("future-read", (each.number,), key),
                    f"the {shown_transaction(each)} read {shown(value)}, which it wrote only "
                    "afterwards",
                )
                return
            state[key] = value


def _read(
    each: Transaction,
    key: str | None,
    value: Any,
    transactions: list[Transaction],
    writes: Writes,
) -> Iterator[Finding]:
    if value is None or (key, value) in writes.twice:
        return
    writer = writes.writer.get((key, value))
    if writer is None:
        said = f"the {shown_transaction(each)} read {shown(value)}, which nobody wrote"
        yield Finding("phantom", (each.number,), key, said)
    elif transactions[writer].is_aborted:
        yield Finding(
            *("G1a", (writer, each.number), key),
            f"the {shown_transaction(each)} read {shown(value)}, which the "
            f"{shown_transaction(transactions[writer])} wrote and was aborted",
        )
    elif (key, value) in writes.overwritten and writer != each.number:
        yield Finding(
            *("G1b", (writer, each.number), key),
            f"the {shown_transaction(each)} read {shown(value)}, which the "
            f"{shown_transaction(transactions[writer])} itself overwrote",
        )


def _lost_updates(
    transactions: list[Transaction], outside: dict[int, Outside], writes: Writes
) -> Iterator[Finding]:
    first: dict[tuple[str | None, Any], Transaction] = {}
    told: set[str | None] = set()
    for each in transactions:
        if not each.is_committed:
            continue
        reads, wrote = outside[each.number]
        for key, value in reads.items():
            if key not in wrote or key in told or (key, value) in writes.twice:
                continue
            other = first.setdefault((key, value), each)
            if other is not each:
                told.add(key)
                yield Finding(
                    *("lost-update", (other.number, each.number), key),
                    f"the {shown_transaction(each)} and the {shown_transaction(other)} both read "
                    f"{shown(value)} and then wrote the object",
                )


def _connect(
    graph: Dependencies, outside: dict[int, Outside], committed: set[int], writes: Writes
) -> int:
    """Adds the dependencies that are known; returns the number of objects left unordered."""
    readers: dict[tuple[str | None, Any], list[tuple[int, Any]]] = {}
    next_of: dict[tuple[str | None, Any], list[tuple[int, Any]]] = {}
    blind: dict[str | None, list[tuple[int, Any]]] = {}
    for number in sorted(committed):
        reads, wrote = outside[number]
        for key, value in reads.items():
            readers.setdefault((key, value), []).append((number, value))
            writer = None if value is None else writes.writer.get((key, value))
            if writer is not None:
                graph.add(WR, writer, number, Reason(key, value, value))
        for key, value in wrote.items():
            before = reads.get(key)
            # Of a version that was written twice, nobody knows which one it comes after.
            if before is None or (key, before) in writes.twice:
                blind.setdefault(key, []).append((number, value))
                continue
            next_of.setdefault((key, before), []).append((number, value))
            writer = writes.writer.get((key, before))
            if writer is not None:
                graph.add(WW, writer, number, Reason(key, before, value))
    for version, seconds in next_of.items():
        graph.add_all(RW, readers.get(version, []), seconds, version[0])
    for key, seconds in blind.items():
        if (key, None) not in writes.twice:
            graph.add_all(RW, readers.get((key, None), []), seconds, key)
    chains = Counter({key: len(seconds) for key, seconds in blind.items()})
    for (key, _), seconds in next_of.items():
        chains[key] += len(seconds) - 1
    return sum(count > 1 for count in chains.values())


def _cyclic(outside: dict[int, Outside], committed: set[int], writes: Writes) -> Iterator[Finding]:
    """Versions that follow each other in a cycle: each is written by who read the one before."""
    following: dict[tuple[str | None, Any], tuple[Any, int]] = {}
    for number in sorted(committed):
        reads, wrote = outside[number]
        for key, value in wrote.items():
            unclear = (key, value) in writes.twice or (key, reads.get(key)) in writes.twice
            if key in reads and reads[key] is not None and reads[key] != value and not unclear:
                following.setdefault((key, reads[key]), (value, number))
    done: set[tuple[str | None, Any]] = set()
    for start in following:
        path: dict[tuple[str | None, Any], int] = {}
        version = start
        while version in following and version not in done and version not in path:
            value, number = following[version]
            path[version] = number
            version = version[0], value
        if version in path:
            names = list(path)
            around = names[names.index(version) :]
            versions = " -> ".join(shown(each[1]) for each in [*around, version])
            yield Finding(
                *("cyclic-versions", tuple(path[each] for each in around), version[0]),
                f"each of these versions was written by a transaction that had read the one "
                f"before: {versions}",
            )
        done.update(path)
