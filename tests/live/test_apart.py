"""Clients in processes of their own: what they ask is written before they are killed."""

from __future__ import annotations

import json
import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.kafka.live.apart import Apart
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.crew import Crew
from kraftcheck.kafka.live.faults import NOBODY, Nemesis
from kraftcheck.kafka.live.java_client import Java
from kraftcheck.kafka.live.journal import HISTORY, Journal
from kraftcheck.kafka.live.library import ClientError, Got

PATIENCE_S = 60.0


def asks(setting: Setting, at: int, options: Any) -> None:
    """One question after the other, each answered by who asks; the last one never."""
    me = setting.processes.next()
    setting.note_epoch(Got(0, 0, b"", 3))
    setting.journal.event(me, "invoke", "pid", os.getpid())
    setting.journal.event(me, "ok", "pid", os.getpid())
    if options.get("waits"):
        setting.journal.event(me, "invoke", "wait", None)
        time.sleep(PATIENCE_S)
    while not setting.done.is_set():
        setting.journal.event(me, "invoke", "ask", None)
        setting.journal.event(me, "ok", "ask", None)


def fails(setting: Setting, at: int, options: Any) -> None:
    raise ClientError("as it must")


def vanishes(setting: Setting, at: int, options: Any) -> None:
    os._exit(7)


@contextmanager
def running(folder: Path, role: Callable[..., None], **options: Any) -> Iterator[tuple[Any, ...]]:
    """The history so far, who runs there, and the setting."""
    path, apart, crew = folder / HISTORY, Apart(), Crew()
    with Journal(path) as journal:
        setting = Setting(journal, "nowhere:1", "t", 1)

        def history() -> list[dict[str, Any]]:
            journal.flush()
            return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

        crew.start(apart.run, role, setting, 0, options)
        try:
            yield history, apart, setting
        finally:
            setting.done.set()
            apart.end()
        crew.join(PATIENCE_S)


def until(what: Callable[[], bool]) -> None:
    begin = time.monotonic()
    while not what():
        assert time.monotonic() - begin < PATIENCE_S
        time.sleep(0.02)


def told(history: Callable[[], list[dict[str, Any]]], f: str, kind: str) -> list[Any]:
    return [each["value"] for each in history() if (each["f"], each["type"]) == (f, kind)]


def test_who_is_killed_has_asked_what_it_asked_and_another_comes(tmp_path: Path) -> None:
    with running(tmp_path, asks, waits=True) as (history, apart, _):
        until(lambda: len(told(history, "wait", "invoke")) == 1)
        assert apart.numbers() == [0]
        apart.kill(0)
        (first,) = told(history, "pid", "ok")
        until(lambda: not Path(f"/proc/{first}").exists())
        assert told(history, "wait", "invoke") == [None]  # held: nobody takes its place
        apart.release(0)
        until(lambda: len(told(history, "wait", "invoke")) == 2)
        assert first not in told(history, "pid", "ok")[1:]
    lines = [json.loads(line) for line in (tmp_path / HISTORY).read_text("utf-8").splitlines()]
    assert len({each["process"] for each in lines if each["f"] == "pid"}) == 2
    assert [each["f"] for each in lines].count("leader-epoch") == 1
    assert [each["index"] for each in lines] == [*range(len(lines))]


def test_who_is_paused_says_nothing_and_goes_on(tmp_path: Path) -> None:
    with running(tmp_path, asks) as (history, apart, _):
        until(lambda: len(told(history, "ask", "ok")) > 3)
        apart.pause(0)
        time.sleep(0.1)
        before = len(history())
        time.sleep(0.3)
        assert len(history()) <= before + 1
        apart.resume(0)
        until(lambda: len(history()) > before + 5)


@pytest.mark.parametrize(("role", "said"), [(fails, "as it must"), (vanishes, "with 7")])
def test_what_ends_by_itself_is_told(role: Any, said: str, tmp_path: Path) -> None:
    with Journal(tmp_path / HISTORY) as journal, pytest.raises(ClientError, match=said):
        Apart().run(role, Setting(journal, "nowhere:1", "t", 1), 0, {})


def test_a_member_is_hurt_and_the_fault_is_told(tmp_path: Path) -> None:
    with Journal(tmp_path / HISTORY) as journal:
        apart = Apart()
        nemesis = Nemesis(Cluster.__new__(Cluster), journal, ("t",), apart)
        nemesis.start("member-kill", "0")
        assert nemesis.going == "member-kill 0"
        nemesis.stop_all()
    assert [(each.kind, each.node) for each in nemesis.faults] == [("member-kill", NOBODY)]
    lines = [json.loads(line) for line in (tmp_path / HISTORY).read_text("utf-8").splitlines()]
    verbs = ["start-member-kill", "start-member-kill", "stop-member-kill", "stop-member-kill"]
    assert [each["f"] for each in lines] == verbs


def test_the_library_of_another_process_is_another() -> None:
    """What runs here, threads and a program, is not taken there."""
    assert type(pickle.loads(pickle.dumps(Java()))) is Java
