"""A long search says how far it is, on a terminal and elsewhere."""

from __future__ import annotations

import os
import pty
import time

import pytest

from tests.stateful import reached
from tests.stateful.telling import Telling


def said_by(end: int, told: str) -> str:
    """What arrives at a descriptor until `told` has come twice, or ten seconds are over."""
    found, until = "", time.monotonic() + 10
    while found.count(told) < 2 and time.monotonic() < until:
        found += os.read(end, 4096).decode()
    return found


def test_one_line_of_a_terminal_moves_on() -> None:
    ours, theirs = pty.openpty()
    telling = Telling(theirs, lambda: "examples of quorum 7", beat=0.01)
    os.close(theirs)
    assert "\r\x1b[Kchaos: examples of quorum 7, 0 s " in said_by(ours, "quorum 7")
    telling.end()
    os.close(ours)


def test_elsewhere_lines_come_more_and_more_seldom() -> None:
    ours, theirs = os.pipe()
    telling = Telling(theirs, lambda: "examples of quorum 7", beat=0.01)
    os.close(theirs)
    assert "chaos: examples of quorum 7, 0 s\n" in said_by(ours, "quorum 7")
    telling.end()
    rest = b"".join(iter(lambda: os.read(ours, 4096), b"")).decode()
    os.close(ours)
    assert "\r" not in rest and rest.count("chaos") < 20


def test_a_test_that_is_no_search_is_named() -> None:
    ours, theirs = os.pipe()
    telling = Telling(theirs, lambda: "", beat=0.01)
    os.close(theirs)
    assert "chaos: the tests are collected, 0 s\n" in said_by(ours, "collected")
    telling.testing = "test_corpus.py"
    assert "chaos: test_corpus.py, " in said_by(ours, "corpus")
    telling.end()
    os.close(ours)


def test_what_has_begun_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reached, "counts", {})
    assert reached.said() == ""
    reached.of("quorum")["examples"] += 1200
    assert reached.said() == "examples of quorum 1,200"
