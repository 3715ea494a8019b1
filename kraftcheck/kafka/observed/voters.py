"""Is every set of voters in a real metadata log a change that the rules allow (KIP-853)?

Of the rules V14 to V18 and V22 the log shows: sets that follow each other differ by one voter,
whose key is an id and a directory; and who changes the set leads, by a record before it in the same
epoch that is not of the same batch (V14: that record is committed first). What a leader writes in
one batch with its first record is the set as it was (V22). Whether a set was committed before the
next is not in the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kraftcheck.kafka.observed.records import Record

Key: TypeAlias = tuple[int, str]
"""The id of a voter, and of its directory."""

TOLD, ADDED, REMOVED, UPDATED = (
    "voters as they were",
    "a voter added",
    "a voter removed",
    "a voter updated",
)


@dataclass
class Voters:
    """What the log has said so far."""

    known: frozenset[Key] | None = None
    """The last set; None: that of the bootstrap snapshot."""
    epoch: int = -1
    opened: int = -1
    """The end of the batch in which the leader of that epoch has its first record."""

    def led(self, record: Record) -> None:
        self.epoch, self.opened = record.epoch, record.end

    def changed(self, record: Record) -> tuple[str, str]:
        """What the record does, and why no rule allows it; empty: one does."""
        voters = [(v["voterId"], v["voterDirectoryId"]) for v in record.data["voters"]]
        new, old = frozenset(voters), self.known
        self.known = new
        first = record.end == self.opened
        if old is None or new == old:
            step = TOLD if first or old is None else UPDATED
        else:
            step = ADDED if new > old else REMOVED
        ids = [id for id, _ in voters]
        if not voters or len(set(ids)) != len(ids):
            return step, f"no set, or an id twice: {sorted(ids)}"
        if record.epoch != self.epoch:
            return step, f"in epoch {record.epoch}, of which no leader has written before"
        if old is not None and len(new ^ old) > 1:
            return step, f"{_ids(old)} becomes {_ids(new)}, which is more than one change"
        if old is not None and new != old and first:
            return step, f"{_ids(old)} becomes {_ids(new)} with the first record of a leader"
        return step, ""


def _ids(voters: frozenset[Key]) -> str:
    return "voters " + ", ".join(str(id) for id, _ in sorted(voters))
