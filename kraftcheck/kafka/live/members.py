"""A member of a consumer group that tells its rebalances, what it processed and what it commits.

Its commits bear a mark as their metadata, so that the group's own log says whose they are
(traces/history.py describes the operations).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from kraftcheck.kafka.live.clients import Setting, opened, poll
from kraftcheck.kafka.live.library import ClientError, Got

Offsets = dict[int, int]
"""By partition, the first offset that is not processed, or committed, yet."""


class Member:
    """Joins the group as it is made; whoever polls it runs its callbacks.

    commits: whether it commits what it gives up.
    """

    def __init__(
        self, setting: Setting, group: str, options: Mapping[str, Any], *, commits: bool = True
    ) -> None:
        self._setting, self._group, self._commits = setting, group, commits
        self._process = setting.processes.next()
        self._marks = count(1)
        self._have: set[int] = set()
        self._processed: Offsets = {}
        self._committed: Offsets = {}
        self.reader = opened(setting, group, options)
        keys = [setting.key(partition) for partition in range(setting.partitions)]
        setting.journal.event(self._process, "invoke", "subscribe", keys)
        self.reader.subscribe(setting.topic, self)
        setting.journal.event(self._process, "ok", "subscribe", keys)

    # -- Callbacks

    def assigned(self, partitions: Sequence[int]) -> None:
        """What was given anew."""
        self._callback("partitions-assigned", partitions, ())
        self._have.update(partitions)

    def revoked(self, partitions: Sequence[int]) -> None:
        """What is to be given up: what was processed of it is committed before."""
        self._callback("partitions-revoked", partitions, partitions if self._commits else ())
        self._forget(partitions)

    def lost(self, partitions: Sequence[int]) -> None:
        """What is somebody else's already, perhaps."""
        self._callback("partitions-lost", partitions, ())
        self._forget(partitions)

    def _callback(self, f: str, partitions: Sequence[int], commit: Iterable[int]) -> None:
        if not partitions:
            return
        keys = [self._setting.key(at) for at in sorted(partitions)]
        id = self.reader.member()
        more = {} if id is None else {"mark": id}
        self._setting.journal.event(self._process, "invoke", f, [self._group, keys], **more)
        self.commit(commit)
        self._setting.journal.event(self._process, "ok", f, [self._group, keys], **more)

    def _forget(self, partitions: Iterable[int]) -> None:
        for at in partitions:
            self._have.discard(at)
            self._processed.pop(at, None)
            self._committed.pop(at, None)

    # -- Work

    def poll(self) -> list[Got]:
        """Poll once, and process what it gave before returning.

        Records of partitions that a callback has taken meanwhile are left: they are the next
        member's.
        """
        records = poll(self._setting, self._process, self.reader)
        done = {each.partition: each.offset + 1 for each in records if each.partition in self._have}
        if done:
            self._tell("processed", self._named(done))
            self._processed.update(done)
        return records

    def commit(self, among: Iterable[int] | None = None) -> None:
        """What was processed and is not committed, of all partitions or of some."""
        wanted = set(self._processed if among is None else among)
        due = {
            at: offset
            for at, offset in self._processed.items()
            if at in wanted and self._committed.get(at) != offset
        }
        if not due:
            return
        mark = f"{self._process}:{next(self._marks)}"
        value = [self._group, self._named(due)]
        self._setting.journal.event(self._process, "invoke", "commit-offsets", value, mark=mark)
        try:
            self.reader.commit(self._setting.topic, due, mark)
        except ClientError as problem:
            # An attempt before the one that was refused may have been heard.
            more = {"mark": mark, "error": str(problem)}
            self._setting.journal.event(self._process, "info", "commit-offsets", value, **more)
            return
        self._setting.journal.event(self._process, "ok", "commit-offsets", value, mark=mark)
        self._committed.update(due)

    def leave(self) -> None:
        """The consumer is closed, which runs its last callback."""
        self.reader.close()
        self._tell("leave", None)

    def _tell(self, f: str, said: list[list[Any]] | None) -> None:
        value = [self._group, said]
        self._setting.journal.event(self._process, "invoke", f, value)
        self._setting.journal.event(self._process, "ok", f, value)

    def _named(self, offsets: Offsets) -> list[list[Any]]:
        return [[self._setting.key(at), offset] for at, offset in sorted(offsets.items())]
