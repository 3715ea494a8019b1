"""What is found about transactions, before it is a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kraftcheck.traces.checkers.isolation.dependencies import Dependencies
from kraftcheck.traces.checkers.isolation.transactions import Transaction

Version = tuple[str | None, object]
"""Of an object: its key, and the value that was written or the element appended."""


class Finding(NamedTuple):
    """One anomaly of single reads or writes.

    Attributes:
        name: the anomaly (levels.MEANINGS).
        transactions: those concerned, the victim last.
        key: the object.
        sentence: what happened.
    """

    name: str
    transactions: tuple[int, ...]
    key: str | None
    sentence: str


class Evidence(NamedTuple):
    """What an object type says of a history's transactions.

    Attributes:
        findings: anomalies that no cycle is needed for.
        graph: the dependencies that follow from what was read.
        committed: transactions that took effect, as far as is known.
        twice: versions that two writes made, with both writers: nobody can tell them apart.
        unordered: objects with versions whose order is not known.
    """

    findings: list[Finding]
    graph: Dependencies
    committed: set[int]
    twice: Mapping[Version, tuple[int, int]]
    unordered: int


class Writes:
    """Who wrote which version of which object.

    Versions of an object are told apart by their values. What was written twice has no one writer:
    reads of it give no dependency and no anomaly.
    """

    def __init__(self, transactions: list[Transaction]) -> None:
        self.writer: dict[Version, int] = {}
        self.overwritten: set[Version] = set()
        """Versions that their own transaction wrote over."""
        self.twice: dict[Version, tuple[int, int]] = {}
        """Versions that were written twice, with both writers."""
        for each in transactions:
            last: dict[str | None, object] = {}
            for micro in each.micros:
                if micro.is_read:
                    continue
                version = micro.key, micro.value
                if version in self.writer:
                    self.twice.setdefault(version, (self.writer[version], each.number))
                else:
                    self.writer[version] = each.number
                if micro.key in last:
                    self.overwritten.add((micro.key, last[micro.key]))
                last[micro.key] = micro.value
        for version in self.twice:
            del self.writer[version]


def shown_transaction(each: Transaction) -> str:
    """How a sentence names a transaction."""
    return f"transaction of operation {each.operation}"
