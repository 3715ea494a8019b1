"""Which functions each test calls: a plugin of pytest, and what marked modules import (marking.py).

A line in the file that REACHED_TO names: a test, or nothing, and a function. Nothing stands for
what all tests of the file may rest on: what is called while they are collected, by a fixture that
several share, or by another process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import pytest

_OUT: Final = os.open(os.environ["REACHED_TO"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
_seen: set[str] = set()
_test = ""


def reached(function: str) -> None:
    if function not in _seen:
        _seen.add(function)
        os.write(_OUT, f"{_test}\t{function}\n".encode())


def _belongs_to(test: str) -> str:
    """What is called from now on; says what it was before."""
    global _test
    before, _test = _test, test
    _seen.clear()
    return before


os.register_at_fork(after_in_child=lambda: _belongs_to(""))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = _belongs_to(item.nodeid)
    try:
        return (yield)
    finally:
        _belongs_to(before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    before = _belongs_to(_test if fixturedef.scope == "function" else "")
    try:
        return (yield)
    finally:
        _belongs_to(before)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The seconds of each phase."""
    os.write(_OUT, f"{report.nodeid}\t{report.duration:.3f}\n".encode())
