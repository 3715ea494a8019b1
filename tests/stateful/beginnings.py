"""Moments at which examples begin: in the middle of TLC's shortest counterexamples.

An example of some dozen rules seldom gets to where a protocol is in the middle of something rare: a
proposal on its way, two candidates, a leader that does not know it leads no more. TLC does: it goes
the shortest way to what each known bug breaks (tests/corpus/tlc-*.moves, made by `kraftcheck
shrink --model`). Every other draw for a quorum and for a partition begins with the moves of one of
these, but for the last few; of examples it is about a fourth, since Hypothesis varies what it has
drawn. This is how fuzzers use a corpus (Zalewski, "AFL", 2013), with a model
checker in the place of the runs that found something new.

Law of this file: what is measured of a bug must not begin with its own counterexample.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from kraftcheck.reference.steered.moves import Steered
from kraftcheck.reference.steered.scripts import Script, read
from kraftcheck.traces.counterexamples.moves import make

KEPT = Path(__file__).resolve().parents[1] / "corpus"
LEFT_OUT = 12
"""So many moves at the end are left out at most."""


@cache
def counterexamples() -> tuple[Script, ...]:
    """All of them, by the names of their files."""
    return tuple([read(path.read_text("utf-8"))[0] for path in sorted(KEPT.glob("tlc-*.moves"))])


def choices(machine: str, bug: str | None) -> list[Script | None]:
    """What an example may begin with; None, in half of the cases, is nothing."""
    of = [each for each in counterexamples() if each.machine == machine]
    found = [each for each in of if bug is None or each.bug != bug]
    return [*[None] * len(found), *found]


def drawn() -> st.SearchStrategy[Script | None]:
    """For the machine that is about to begin."""

    def of(machine: Any) -> st.SearchStrategy[Script | None]:
        found = choices(machine.name, machine.bug)
        return st.sampled_from(range(len(found))).map(found.__getitem__)

    return st.runner().flatmap(of)


def follow(schedule: Steered, script: Script, left_out: int) -> None:
    """Makes the moves of a script but for the last ones, up to one that is not possible."""
    for words in script.moves[: max(0, len(script.moves) - left_out)]:
        if not make(schedule, words):
            return
