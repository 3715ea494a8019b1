"""A member of a share group that tells what it is shown, and what became of its acknowledgements.

It acknowledges each record by itself, explicitly or implicitly, and sends that with a commit or
with its next poll. A renewed record comes back with a later poll; that is no delivery.
traces/history.py describes the operations.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping
from typing import Any, Final

from kraftcheck.kafka.live.clients import POLL_S, Setting, value_of
from kraftcheck.kafka.live.library import ClientError, LibraryError, Sharer, Sharing, Shown

KINDS: Final = (*("accept",) * 14, *("release",) * 3, "reject", *("renew",) * 2)
"""What a member says of a record, as often as it stands here."""
REFUSED: Final = frozenset(
    {
        "InvalidRecordStateException",
        "ShareSessionNotFoundException",
        "InvalidShareSessionEpochException",
    }
)
"""Errors of acknowledgements that had no effect; after any other one they may have (SH53)."""
EXPLICIT: Final = {"share.acknowledgement.mode": "explicit"}
QUIET_S: Final = 35.0
"""Without a record for so long nothing is left: a lock lasts 30 s."""
DRAIN_S: Final = 300.0


class Member:
    """Joins the group as it is made. explicit: whether it says of each record what it is to be."""

    def __init__(
        self, setting: Setting, group: str, options: Mapping[str, Any], *, explicit: bool
    ) -> None:
        library = setting.library
        if not isinstance(library, Sharing):
            raise LibraryError("only Apache Kafka's client has share groups: --client java")
        self._setting, self._group, self._explicit = setting, group, explicit
        self._process = setting.processes.next()
        self._due: list[tuple[int, int, str]] = []
        self._open: dict[tuple[int, int], str] = {}
        """Acknowledgements that were sent, by partition and offset."""
        self._counts: dict[tuple[int, int], int] = {}
        """Of each record, how often it was delivered when it was shown last."""
        self._renewed: dict[tuple[int, int], int] = {}
        """Records that are to come back, with their delivery counts."""
        more = EXPLICIT if explicit else {}
        self._sharer: Sharer = library.sharer(setting.bootstrap, group, {**options, **more})
        self._sharer.subscribe(setting.topic)

    def poll(self, draw: random.Random | None = None) -> int:
        """Poll once, and choose acknowledgements; return the number of delivered records.

        Args:
            draw: Chooses the types; without it, all are accepted.
        """
        self._send()
        self._event("invoke", "share-poll", None)
        try:
            records = self._sharer.poll(POLL_S)
        except ClientError as error:
            self._hear()
            self._event("fail", "share-poll", None, error=str(error))
            return 0
        self._hear()
        news = [each for each in records if self._renewed.pop(_place(each), None) != each.times]
        self._event("ok", "share-poll", self._by_key(news))
        self._due = [(each.partition, each.offset, self._kind(draw)) for each in records]
        self._counts.update((_place(each), each.times) for each in records)
        if self._explicit and self._due:
            self._sharer.acknowledge(self._due)
        return len(news)

    def commit(self) -> None:
        """Sends what is to be said, and waits for the answer."""
        sent = {(partition, offset) for partition, offset, _ in self._send()}
        if not sent:
            return
        try:
            self._sharer.commit()
        except ClientError:
            sent = set()
        self._hear(sent)

    def leave(self) -> None:
        """The consumer is closed. An implicit one does not acknowledge its last poll by that."""
        if self._explicit:
            self._send()
        self._event("invoke", "leave", None)
        try:
            self._sharer.close()
            kind = "ok"
        except ClientError:
            kind = "info"
        self._hear()
        self._event(kind, "leave", None)

    def _kind(self, draw: random.Random | None) -> str:
        return KINDS[0] if draw is None or not self._explicit else draw.choice(KINDS)

    def _send(self) -> list[tuple[int, int, str]]:
        """Writes down what the next request sends."""
        sent, self._due = self._due, []
        for partition, offset, kind in sent:
            self._open[partition, offset] = kind
            self._acknowledge("invoke", partition, offset)
        return sent

    def _hear(self, committed: Collection[tuple[int, int]] = ()) -> None:
        """Writes down what was answered. committed: what the last commit sent."""
        for each in self._sharer.answered:
            alone = [(each.partition, each.offset or 0)]
            those = alone if each.offset is not None else sorted(committed)
            for partition, offset in those:
                if partition != each.partition or (partition, offset) not in self._open:
                    continue
                if each.error is None:
                    self._acknowledge("ok", partition, offset)
                    if self._open[partition, offset] == "renew":
                        self._renewed[partition, offset] = self._counts[partition, offset]
                else:
                    kind = "fail" if each.error in REFUSED else "info"
                    self._acknowledge(kind, partition, offset, error=each.error)
                del self._open[partition, offset]
        self._sharer.answered.clear()

    def _acknowledge(self, kind: str, partition: int, offset: int, **more: str) -> None:
        row = [self._setting.key(partition), offset, self._open[partition, offset]]
        self._event(kind, "acknowledge", [row], **more)

    def _event(self, kind: str, f: str, value: Any, **more: str) -> None:
        self._setting.journal.event(self._process, kind, f, [self._group, value], **more)

    def _by_key(self, records: list[Shown]) -> dict[str, list[list[Any]]]:
        found: dict[str, list[list[Any]]] = {}
        for each in records:
            row: list[Any] = [each.offset, value_of(each.value)]
            row += [each.times] if each.times else []
            found.setdefault(self._setting.key(each.partition), []).append(row)
        return found


def _place(each: Shown) -> tuple[int, int]:
    return each.partition, each.offset


def drain(setting: Setting, group: str, options: Mapping[str, Any]) -> bool:
    """Accept records until none has come for as long as a lock lasts; False: not in time."""
    member = Member(setting, group, options, explicit=True)
    last = begun = time.monotonic()
    try:
        while time.monotonic() < last + QUIET_S:
            if time.monotonic() > begun + DRAIN_S:
                return False
            if member.poll():
                last = time.monotonic()
            member.commit()
        return True
    finally:
        member.leave()
