"""The transaction log as it lies on brokers' disks at rest, as `kraftcheck record` writes it.

A line is one broker's replica of one partition of `__transaction_state`: `broker`, `partition`,
`time` (when it was read; ms, as the rows'), `rows`, and `gone`: rows that were seen on that
broker's disk while it was recorded, and were cut off. A row is the whole state of one transactional
id (TransactionLogValue of Kafka); without `state` the id is taken back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kraftcheck.kafka.observed.records import decoded
from kraftcheck.kafka.observed.verdicts import Defect

NAME = "transactions.jsonl"
TOPIC = "__transaction_state"
EMPTY, ONGOING = "Empty", "Ongoing"
PREPARED: Final = {"PrepareCommit": "COMMIT", "PrepareAbort": "ABORT"}
"""Decided, with the type of its markers."""
COMPLETED: Final = {"CompleteCommit": "COMMIT", "CompleteAbort": "ABORT"}
TAKEN_BACK: Final = ""


class Row(msgspec.Struct, frozen=True):
    """offset, epoch: its place, and the epoch of the leader that wrote it."""

    offset: int
    epoch: int
    time: int
    id: str
    state: str = TAKEN_BACK
    producer: int = -1
    producer_epoch: int = -1
    previous: int = -1
    next: int = -1
    """The producer id to be had once it is complete, or -1."""
    version: int = 0
    """Of the client's transactions."""
    timeout_ms: int = 0
    partitions: list[str] = []
    """keys."""

    @property
    def identity(self) -> tuple[int, int]:
        return self.producer, self.producer_epoch


class Replica(msgspec.Struct, frozen=True):
    """One partition on one broker's disk."""

    broker: int
    partition: int
    time: int
    rows: list[Row]
    gone: list[Row] = []


class Gone(NamedTuple):
    """A row that was on a broker's disk, and is on none at rest."""

    broker: int
    partition: int
    row: Row


class Log(NamedTuple):
    """The log as it is at rest."""

    rows: dict[str, list[Row]]
    """By transactional id, in order."""
    partition_of: dict[str, int]
    gone: list[Gone]
    time: int
    """Ms, when it was read."""
    whole: bool
    """Whether nothing was cleaned away from it."""


def read(path: Path) -> list[Replica]:
    """Raises ObservedError: no such file, or a line that is no replica."""
    return decoded(path, Replica, "replica of the transaction log")


def log_of(replicas: Sequence[Replica]) -> Log:
    """By the longest replica of each partition."""
    best: dict[int, Replica] = {}
    for each in replicas:
        if each.partition not in best or len(each.rows) > len(best[each.partition].rows):
            best[each.partition] = each
    rows: dict[str, list[Row]] = defaultdict(list)
    partition_of = {}
    for partition, replica in sorted(best.items()):
        for row in replica.rows:
            rows[row.id].append(row)
            partition_of[row.id] = partition
    there = {(p, row.offset, row.epoch) for p, replica in best.items() for row in replica.rows}
    gone = {
        (replica.partition, row.offset, row.epoch): Gone(replica.broker, replica.partition, row)
        for replica in replicas
        for row in replica.gone
        if (replica.partition, row.offset, row.epoch) not in there
    }
    whole = all(
        not replica.rows
        or (
            not replica.rows[0].offset
            and all(n.offset == o.offset + 1 for o, n in pairwise(replica.rows))
        )
        for replica in best.values()
    )
    time = max((replica.time for replica in replicas), default=0)
    return Log(dict(rows), partition_of, list(gone.values()), time, whole)


def differing(replicas: Sequence[Replica]) -> list[Defect]:
    """Replicas of one partition that are not the same at rest."""
    found = []
    for one, other in combinations(replicas, 2):
        if one.partition == other.partition and one.rows != other.rows:
            at = next(
                (a.offset for a, b in zip(one.rows, other.rows, strict=False) if a != b),
                min(len(one.rows), len(other.rows)),
            )
            key, brokers = f"{TOPIC}-{one.partition}", (one.broker, other.broker)
            found.append(Defect("not the same", key, brokers, f"they differ at offset {at}"))
    return found
