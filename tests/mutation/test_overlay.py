"""What is recorded of the tests of a file: who calls what, and how long it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.overlay import overlay

MODULE = '''"""Words."""

from __future__ import annotations


def at_import():
    return 1


ONE = at_import()
TWICE = lambda n: 2 * n  # noqa: E731


class Of:
    def shared(self):
        """Words."""
        return [n for n in (1, 2)]

    async def waits(self):
        return 1


def once():
    def inner():
        return 3

    return inner()


def elsewhere():
    return 4


def never():
    return 5
'''
TESTS = """
import multiprocessing

import pytest
from planted import checker

@pytest.fixture(scope="module")
def shared():
    return checker.Of().shared()

def test_once(shared):
    assert checker.once() == 3

def test_twice(shared):
    assert checker.TWICE(1) == 2

@pytest.mark.parametrize("n", ["a::b", "c d"])
def test_elsewhere(n):
    process = multiprocessing.get_context("fork").Process(target=checker.elsewhere)
    process.start()
    process.join()
"""


def test_who_calls_what(tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "planted/checker.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "planted/bare.py").write_text("ONE = 1\n", encoding="utf-8")
    (tmp_path / "tests/test_checker.py").write_text(TESTS, encoding="utf-8")
    with overlay(tmp_path) as copy:
        ran, calls = copy.recorded(
            "tests/test_checker.py", ["planted/checker.py", "planted/bare.py"]
        )
        assert ran.code == 0
        assert not [*copy.root.rglob("planted/*.pyc")], "what is marked is gone"
    named = "tests/test_checker.py::test_"
    assert {function.partition("::")[2]: tests for function, tests in calls.of.items()} == {
        "at_import": {""},
        "Of.shared": {""},
        "once": {f"{named}once"},
        "lambda": {f"{named}twice"},
        "elsewhere": {""},
    }
    assert sorted(calls.seconds) == sorted(
        [f"{named}once", f"{named}twice", f"{named}elsewhere[a::b]", f"{named}elsewhere[c d]"]
    )
    assert min(calls.seconds.values()) >= 0


@pytest.mark.parametrize("ended", [True, False])
def test_a_limit_is_of_processor_time(tmp_path: Path, ended: bool) -> None:
    (tmp_path / "test_it.py").write_text(
        f"import time\n\n\ndef test_it():\n    end = time.process_time() + {9 if ended else 0}\n"
        "    while time.process_time() < end:\n        pass\n",
        encoding="utf-8",
    )
    with overlay(tmp_path) as copy:
        ran = copy.pytest(["test_it.py"], 3)
    assert (ran.code is None) == ended and ran.failed == ""


def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    """Where what is mutated runs at import, no test of the file has a name."""
    (tmp_path / "test_it.py").write_text("assert False\n", encoding="utf-8")
    with overlay(tmp_path) as copy:
        assert copy.pytest(["test_it.py::test_one"]).failed == "test_it.py"
        assert not copy.passes("test_it.py")
