"""Logs that only grow, held once: replicas share their entries, and so do rows of one replica.

The reference's logs are tuples (reference/partition/log.py). To append to a tuple is to copy it,
and to compare two is to look at every entry; a served log has many thousands. A `BranchLog` is the
first `end` entries of a list that others have, too. Who appends what already stands there shares
it; who appends something else goes on in a branch of its own. So of logs that agree it is known
without a look at them. It says and does what the tuple would, which
tests/kraftcheck/serve/test_branches.py compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from kraftcheck.reference.partition.log import Record


class _Branch:
    """Entries from offset 0 on, and by offset the branches that go another way from there."""

    __slots__ = ("entries", "forks")

    def __init__(self, entries: list[Record]) -> None:
        self.entries = entries
        self.forks: dict[int, list[_Branch]] = {}


class BranchLog:
    """Immutable, as a tuple is: nobody sees what is behind its end."""

    __slots__ = ("_branch", "_end")

    def __init__(self, branch: _Branch, end: int) -> None:
        self._branch = branch
        self._end = end

    @classmethod
    def from_records(cls, entries: Iterable[Record] = ()) -> BranchLog:
        listed = list(entries)
        return cls(_Branch(listed), len(listed))

    def __len__(self) -> int:
        return self._end

    def __getitem__(self, at: Any) -> Any:
        """A beginning (`[:end]`) is a log, any other slice a tuple."""
        if type(at) is int and 0 <= at < self._end:
            return self._branch.entries[at]
        if isinstance(at, slice):
            start, stop = at.start, at.stop
            if stop is None:
                stop = self._end
            if at.step is None and 0 <= stop <= self._end:
                if start is None:
                    return self if stop == self._end else BranchLog(self._branch, stop)
                if start >= 0:
                    return tuple(self._branch.entries[start:stop])
            start, stop, step = at.indices(self._end)
            if at.start is None and step == 1:
                return self if stop == self._end else BranchLog(self._branch, stop)
            if step == 1:
                return tuple(self._branch.entries[start:stop])
            return tuple(self)[at]
        if -self._end <= at < self._end:
            return self._branch.entries[at if at >= 0 else at + self._end]
        raise IndexError(f"entry {at} of {self._end}")

    def __iter__(self) -> Iterator[Record]:
        return islice(self._branch.entries, self._end)

    def __add__(self, records: tuple[Record, ...]) -> BranchLog:
        if not records:
            return self
        branch, end = self._branch, self._end
        entries, after = branch.entries, end + len(records)
        if len(entries) == end:
            entries.extend(records)
            return BranchLog(branch, after)
        if not _goes_on(entries, end, records):
            forks = branch.forks.setdefault(end, [])
            for branch in forks:
                if _goes_on(branch.entries, end, records):
                    break
            else:
                branch = _Branch(entries[:end])
                forks.append(branch)
            entries = branch.entries
        if len(entries) < after:
            entries.extend(records[len(entries) - end :])
        return BranchLog(branch, after)

    def __radd__(self, before: tuple[Record, ...]) -> tuple[Record, ...]:
        return before + tuple(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, BranchLog):
            if self._end != other._end:
                return False
            return self._branch is other._branch or all(map(_same, self, other))
        if isinstance(other, tuple):
            return self._end == len(other) and all(map(_same, self, other))
        return NotImplemented

    # What may still grow is no key; typeshed has every object hashable.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


def _goes_on(entries: list[Record], end: int, records: tuple[Record, ...]) -> bool:
    """Whether, from `end` on, these records stand there, as far as there is anything."""
    there = entries[end : end + len(records)]
    return all(map(_same, there, records))


def _same(one: Record, other: Record) -> bool:
    return one is other or one == other
