"""A run told by its transactions: what became of each, and in which steps.

Everything is read off the rows of producers and the logs of partitions. What is decided is not: of
version 1 a coordinator's record does not say of which transaction it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kraftcheck.reference.transactions.types import Client, PartitionLeader

Steps = Iterable[tuple[int, Any, Any]]
"""Of each step the node, its row before and after."""

ENDING = ("Ending", "Recovering")
HEARD = {
    **{"Ready": "so", "Bumping": "so", "Fenced": "that it is fenced"},
    **{"Failed": "that it may not", "Unusable": "what it does not survive"},
}


class _TransactionStory:
    """One transaction.

    ends: in words; written: by partition, in which steps; fates: by what became of it and where, in
    which step.
    """

    def __init__(self, client: int, epoch: int, begun: int) -> None:
        self.begins = f"of producer {client} in epoch {epoch}, from step {begun}"
        self.ends: list[str] = []
        self.written: dict[int, list[int]] = {}
        self.fates: dict[tuple[str, int], int] = {}
        self.open: set[int] = set()
        """The partitions in which no marker follows its last batch."""

    def __str__(self) -> str:
        said = [self.begins, *self.ends]
        if self.written:
            places = [f"{p} ({_listed(steps)})" for p, steps in sorted(self.written.items())]
            said.insert(1, f"is written to {', '.join(places)}")
        for fate, word in (("Commit", "committed"), ("Abort", "aborted")):
            places = [f"{p} ({s})" for (f, p), s in sorted(self.fates.items()) if f == fate]
            if places:
                said.append(f"{word} in {', '.join(places)}")
        if self.open:
            said.append(f"open in {_listed(sorted(self.open))}")
        return "; ".join(said)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def transactions_told(steps: Steps) -> Iterator[str]:
    """Write a line for each transaction that a producer has begun, in their order.

    Nothing where there is none.
    """
    found: dict[int, _TransactionStory] = {}
    for number, (node, before, after) in enumerate(steps):
        if isinstance(after, Client):
            _by_its_producer(found, number, node, before, after)
        elif isinstance(after, PartitionLeader):
            _by_a_partition(found, number, node, before, after)
    if found:
        yield "what became of each transaction (in which step):"
        yield from (f"transaction {txn} {told}" for txn, told in found.items())


def _by_its_producer(
    found: dict[int, _TransactionStory], number: int, c: int, before: Client, after: Client
) -> None:
    if after.status == "Open" and before.status != "Open":
        found[after.txn] = _TransactionStory(c, after.epoch, number)
    elif after.status == "Abortable" and before.status == "Open":
        found[after.txn].ends.append(f"is refused or given up ({number})")
    elif after.status in ENDING and before.status not in ENDING:
        found[after.txn].ends.append(f"{after.decision} is asked for ({number})")
    elif before.status in ("Open", *ENDING) and after.status in HEARD:
        found[before.txn].ends.append(f"its producer is told {HEARD[after.status]} ({number})")


def _by_a_partition(
    found: dict[int, _TransactionStory],
    number: int,
    p: int,
    before: PartitionLeader,
    after: PartitionLeader,
) -> None:
    kept = len(before.log)
    if len(after.log) < kept:
        # Another replica leads, and lacks what was written to this one only.
        lost = {e.txn for e in before.log[len(after.log) :] if e.kind == "Batch"}
        marks = any(e.kind == "Marker" for e in before.log[len(after.log) :])
        for txn, told in found.items():
            if txn in lost:
                told.open.discard(p)
                told.ends.append(f"lost in {p} with its leader ({number})")
            elif marks and p in told.written and _is_open(after, txn):
                told.fates = {at: s for at, s in told.fates.items() if at[1] != p}
                told.open.add(p)
    for entry in after.log[kept:]:
        if entry.kind == "Batch":
            found[entry.txn].written.setdefault(p, []).append(number)
            found[entry.txn].open.add(p)
            continue
        for told in found.values():
            if p in told.open:
                told.open.discard(p)
                told.fates[entry.decision, p] = number


def _is_open(row: PartitionLeader, txn: int) -> bool:
    own = [i for i, e in enumerate(row.log) if e.kind == "Batch" and e.txn == txn]
    return bool(own) and all(e.kind != "Marker" for e in row.log[own[-1] :])
