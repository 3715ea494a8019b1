"""The two walks of docs/architecture.md are what happens, in the order that the page gives."""

from __future__ import annotations

import re
import sys
import threading
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli

MOST = 12
"""The files that a newcomer opens for one walk."""
STAGE = re.compile(r"^\d+\. `([\w/]+\.py)` `(\w+)`", re.MULTILINE)


class Entered:
    """When each function of the checkout was entered first. Use as a context."""

    def __init__(self, root: Path) -> None:
        self._prefix, self._known = f"{root}/", dict[object, tuple[str, str]]()
        self.order: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Entered:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in self._known:
            return
        file = str(Path(code.co_filename).resolve()).removeprefix(self._prefix)
        self._known[code] = file, code.co_name
        self.order.setdefault(self._known[code], len(self.order))


def walks(page: str) -> list[list[tuple[str, str]]]:
    """The stages of each walk, as (file, function)."""
    section = page.partition("## Two walks\n")[2].partition("\n## ")[0]
    _, *lists = re.split(r"^(?=1\. )", section, flags=re.MULTILINE)
    found = [STAGE.findall(each) for each in lists]
    numbered = [len(re.findall(r"^\d+\. ", each, re.MULTILINE)) for each in lists]
    assert [*map(len, found)] == numbered, "a stage names a file and a function"
    return found


def misplaced(stages: list[tuple[str, str]], order: dict[tuple[str, str], int]) -> list[str]:
    """What no run enters, or enters before the stage that stands above it."""
    found = [f"{file} {name}: never" for file, name in stages if (file, name) not in order]
    if found:
        return found
    return [f"{b[1]} before {a[1]}" for a, b in pairwise(stages) if order[b] < order[a]]


@pytest.mark.tlc
@pytest.mark.slow
def test_the_walks_are_what_happens(repo_root: Path, tmp_path: Path) -> None:
    words = ["--scenario", "partition", "--option", "loss=50", "--runs", "2"]
    with Entered(repo_root) as entered:
        made = CliRunner().invoke(cli, ["simulate", *words, "--out", str(tmp_path / "runs")])
        checked = CliRunner().invoke(cli, ["conform", str(tmp_path / "runs")])
    assert (made.exit_code, checked.exit_code) == (0, 0), made.output + checked.output
    option, message = walks((repo_root / "docs" / "architecture.md").read_text("utf-8"))
    # The loop ends the first walk, and begins the second.
    for stages in (option, message):
        assert misplaced(stages, entered.order) == []
        assert len({file for file, _ in stages}) == len(stages) <= MOST


def test_a_walk_that_goes_elsewhere_is_noticed() -> None:
    order = {("a.py", "one"): 0, ("b.py", "two"): 1}
    page = "## Two walks\n\n1. `a.py` `one`: here.\n2. `b.py` `two`: there.\n\n## More\n"
    ((first, second),) = walks(page)
    assert misplaced([first, second], order) == []
    assert misplaced([second, first], order) == ["one before two"]
    assert misplaced([first, ("c.py", "three")], order) == ["c.py three: never"]
