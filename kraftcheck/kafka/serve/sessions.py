"""Fetch sessions: a consumer names its partitions once, and is told of those that changed (W11).

KIP-227; Kafka's FetchSession. A slot that is not free is taken from the session that was used
least recently: there, 1,000 slots and two minutes keep that rare.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.kafka.serve.codec import Message

SLOTS: Final = 1000
_FINAL, _INITIAL = -1, 0
_EPOCH_MAX: Final = (1 << 31) - 1

Key: TypeAlias = tuple[Any, int]
"""The topic, by name or id, and the partition."""


class Wanted(NamedTuple):
    """What is asked of a partition."""

    offset: int
    leader_epoch: int
    """-1 where the consumer knows none."""
    max_bytes: int


class Session:
    def __init__(self, id: int, by_id: bool) -> None:
        self.id = id
        self.by_id = by_id
        self.epoch = 1
        """Of the next request."""
        self.wanted: dict[Key, Wanted] = {}
        """In the order in which they are read."""
        self._told: dict[Key, tuple[Any, ...]] = {}
        self._is_full = True

    def ask(self, body: Message) -> None:
        for topic in body["forgotten_topics_data"]:
            for index in topic["partitions"]:
                key = (topic["topic_id"] if self.by_id else topic["topic"], index)
                self.wanted.pop(key, None)
                self._told.pop(key, None)
        self.wanted.update(Sessions.wanted(body))

    def changed(self, read: dict[Key, Message]) -> dict[Key, Message]:
        """What is to be told of what was read; partitions that gave data go to the back."""
        told = {}
        for key, each in read.items():
            # An error is told until it heals, and then that it has.
            said = (each["high_watermark"], each.get("log_start_offset"), each["error_code"])
            is_news = each["records"] or each["error_code"] or self._told.get(key) != said
            if self._is_full or is_news:
                told[key] = each
            self._told[key] = said
            if each["records"] and key in self.wanted:
                self.wanted[key] = self.wanted.pop(key)
        self._is_full = False
        return told


class Sessions:
    """Those of one broker."""

    def __init__(self) -> None:
        self._sessions: dict[int, Session] = {}
        """The one that was used last stands last."""
        self._made = 0

    @staticmethod
    def wanted(body: Message) -> dict[Key, Wanted]:
        return {
            (topic["topic_id"] if "topic_id" in topic else topic["topic"], asked["partition"]): (
                Wanted(
                    asked["fetch_offset"],
                    asked.get("current_leader_epoch", -1),
                    asked["partition_max_bytes"],
                )
            )
            for topic in body["topics"]
            for asked in topic["partitions"]
        }

    def begin(self, body: Message, by_id: bool) -> tuple[Session | None, str]:
        """The session of a request, if it has one; and Kafka's error."""
        id, epoch = body.get("session_id", 0), body.get("session_epoch", _FINAL)
        if epoch in (_FINAL, _INITIAL):
            self._sessions.pop(id, None)
            if epoch == _FINAL:
                return None, "NONE"
            return self._new(body, by_id), "NONE"
        session = self._sessions.get(id)
        if session is None:
            return None, "FETCH_SESSION_ID_NOT_FOUND"
        if session.epoch != epoch:
            return None, "INVALID_FETCH_SESSION_EPOCH"
        if session.by_id != by_id:
            return None, "FETCH_SESSION_TOPIC_ID_ERROR"
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        session.ask(body)
        self._sessions[id] = self._sessions.pop(id)
        return session, "NONE"

    def _new(self, body: Message, by_id: bool) -> Session:
        if len(self._sessions) == SLOTS:
            del self._sessions[next(iter(self._sessions))]
        self._made += 1
        session = self._sessions[self._made] = Session(self._made, by_id)
        session.ask(body | {"forgotten_topics_data": []})
        return session
