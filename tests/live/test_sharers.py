"""Members of share groups, and what a recording has of them. The library is made of lists."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.kafka.live import sharers
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.confluent import Confluent
from kraftcheck.kafka.live.journal import HISTORY, Journal
from kraftcheck.kafka.live.library import (
    Answered,
    ClientError,
    LibraryError,
    Options,
    Reader,
    Sender,
    Shown,
)
from kraftcheck.kafka.live.sharers import Member
from kraftcheck.traces.checkers.shares import shares_of
from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.rows import rows_of

ONE, TWO = Shown(0, 7, 1, b"41"), Shown(0, 8, 1, b"42")


class Scripted:
    """Polls and answers as they are told; what was acknowledged is kept."""

    def __init__(self, polls: Sequence[Any], answers: Sequence[Sequence[Answered]] = ()) -> None:
        self.polls, self.answers = list(polls), list(answers)
        self.answered: list[Answered] = []
        self.said: list[tuple[int, int, str]] = []

    version = "scripted"

    def sharer(self, bootstrap: str, group: str, options: Options) -> Scripted:
        self.mode = options.get("share.acknowledgement.mode")
        return self

    def sender(self, bootstrap: str, options: Options) -> Sender:
        raise NotImplementedError

    def reader(self, bootstrap: str, group: str, options: Options) -> Reader:
        raise NotImplementedError

    def subscribe(self, topic: str) -> None: ...

    def poll(self, seconds: float) -> list[Shown]:
        found = self.polls.pop(0) if self.polls else []
        if isinstance(found, ClientError):
            raise found
        self._answer()
        return list(found)

    def acknowledge(self, records: Sequence[tuple[int, int, str]]) -> None:
        self.said += records

    def commit(self) -> None:
        self._answer()

    def close(self) -> None: ...

    def _answer(self) -> None:
        self.answered += self.answers.pop(0) if self.answers else ()


class Always(random.Random):
    """Draws one kind."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def choice(self, seq: Any) -> Any:
        return self.kind


def told(tmp_path: Path, library: Any, act: Any, *, explicit: bool = True) -> list[tuple[Any, ...]]:
    """The lines that a member leaves: type, f, value and error."""
    with Journal(tmp_path / HISTORY) as journal:
        setting = Setting(journal, "nowhere:1", "t", 1, library=library)
        member = Member(setting, "g", {}, explicit=explicit)
        act(member)
        member.leave()
    lines = (tmp_path / HISTORY).read_bytes().splitlines()
    rows = [msgspec.json.decode(line) for line in lines]
    return [(row["type"], row["f"], row["value"][1], row.get("error")) for row in rows]


def test_what_a_commit_sends_ends_with_it(tmp_path: Path) -> None:
    library = Scripted([[ONE, TWO]], [(), (Answered(0, None, None),)])

    def act(member: Member) -> None:
        member.poll(Always("accept"))
        member.commit()

    rows = told(tmp_path, library, act)
    assert library.mode == "explicit"
    assert library.said == [(0, 7, "accept"), (0, 8, "accept")]
    first, second = [["t-0", 7, "accept"]], [["t-0", 8, "accept"]]
    assert rows == [
        ("invoke", "share-poll", None, None),
        ("ok", "share-poll", {"t-0": [[7, 41, 1], [8, 42, 1]]}, None),
        ("invoke", "acknowledge", first, None),
        ("invoke", "acknowledge", second, None),
        ("ok", "acknowledge", first, None),
        ("ok", "acknowledge", second, None),
        ("invoke", "leave", None, None),
        ("ok", "leave", None, None),
    ]
    assert shares_of(rows_of(jsonlines.read(tmp_path / HISTORY))) is not None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("InvalidRecordStateException", "fail"),
        ("CoordinatorNotAvailableException", "info"),
        ("NotLeaderOrFollowerException", "info"),
    ],
)
def test_what_the_next_poll_sends_ends_with_its_callback(
    error: str, kind: str, tmp_path: Path
) -> None:
    library = Scripted([[ONE], []], [(), (Answered(0, 7, error),)])

    def act(member: Member) -> None:
        member.poll()
        member.poll()

    rows = told(tmp_path, library, act, explicit=False)
    assert library.mode is None
    assert rows[2:6] == [
        ("invoke", "acknowledge", [["t-0", 7, "accept"]], None),
        ("invoke", "share-poll", None, None),
        (kind, "acknowledge", [["t-0", 7, "accept"]], error),
        ("ok", "share-poll", {}, None),
    ]


def test_a_renewed_record_that_comes_back_is_no_delivery(tmp_path: Path) -> None:
    again = ONE._replace(times=2)
    library = Scripted([[ONE], [ONE], [again]], [(), (Answered(0, None, None),), ()])

    def act(member: Member) -> None:
        member.poll(Always("renew"))
        member.commit()
        member.poll()
        member.poll()

    shown = [value for kind, f, value, _ in told(tmp_path, library, act) if f == "share-poll"]
    assert [each for each in shown if each is not None] == [
        {"t-0": [[7, 41, 1]]},
        {},
        {"t-0": [[7, 41, 2]]},
    ]


def test_a_poll_that_fails_says_nothing(tmp_path: Path) -> None:
    rows = told(tmp_path, Scripted([ClientError("timed-out")]), lambda member: member.poll())
    assert rows[:2] == [
        ("invoke", "share-poll", None, None),
        ("fail", "share-poll", None, "timed-out"),
    ]


def test_only_a_library_with_share_groups_has_members(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="--client java"):
        told(tmp_path, Confluent(), lambda member: None)


def test_draining_ends_when_nothing_has_come_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharers, "QUIET_S", 0.05)
    library = Scripted([[ONE], [], [TWO]])
    with Journal(tmp_path / HISTORY) as journal:
        setting = Setting(journal, "nowhere:1", "t", 1, library=library)
        assert sharers.drain(setting, "g", {})
        monkeypatch.setattr(sharers, "DRAIN_S", -1.0)
        assert not sharers.drain(setting, "g", {})
    assert [offset for _, offset, _ in library.said] == [7, 8]
