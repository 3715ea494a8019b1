"""A seed means the same examples, whatever the process has loaded besides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRAWN = """
import sys
from hypothesis import given, seed, settings, strategies
from tests.steady import draw_no_local_constants
if {steady}:
    draw_no_local_constants()
if {more}:
    import kraftcheck.reference.clients.partitioner, kraftcheck.reference.runner.run
drawn = []
@seed(1)
@settings(max_examples=300, database=None)
@given(strategies.integers(0, 10**6))
def draw(number):
    drawn.append(number)
draw()
print(drawn)
"""


@pytest.mark.parametrize("steady", [True, False])
def test_the_examples_of_a_seed_are_the_same_beside_other_modules(
    steady: bool, repo_root: Path
) -> None:
    """Without it they are not: that is what it is for."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", DRAWN.format(steady=steady, more=more)],
            cwd=repo_root,
            env={"PATH": "", "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for more in (True, False)
    }
    assert (len(printed) == 1) is steady
