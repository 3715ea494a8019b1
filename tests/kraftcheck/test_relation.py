"""Steps of steered runs are put to TLC: the first refused one is found, and TLC is asked seldom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck import exits, schedules, shrink_counterexample
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.quorum.messages import Flush
from kraftcheck.reference.quorum.types import Constants, initial_row
from kraftcheck.reference.steered.failures import REJECTED, Failure, StepRejected
from kraftcheck.reference.steered.moves import NodeStep
from kraftcheck.reference.steered.scripts import Script, read, write
from kraftcheck.screen import Screen
from kraftcheck.traces.counterexamples.minimising import minimised, minimised_step
from kraftcheck.traces.counterexamples.relation import Relation
from kraftcheck.traces.jobs.allowed import Allowed
from tla_utils import CheckOptions, ToolError

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
REFUSED_VOTE = CORPUS / "quorum-Z12-rejected-step-HandleVoteRequest.moves"
NOTHING = Script(machine="quorum", moves=())
FORMLESS = 99
"""A step with a row that is none of the spec."""
CONSTANTS = Constants((1, 2, 3), 2)


class Scripted:
    """Verdicts by the number of a step, in the place of TLC. asked: about how many, each time."""

    def __init__(self, refused: set[int]) -> None:
        self._refused = refused
        self._known: dict[int, bool] = {}
        self._waiting: set[int] = set()
        self.asked: list[int] = []

    def name(self, _: Any, step: Any) -> int | None:
        if step.ignored == FORMLESS:
            return None
        if step.ignored not in self._known:
            self._waiting.add(step.ignored)
        return int(step.ignored)

    def refuses(self, key: int) -> bool | None:
        return self._known.get(key)

    def ask(self, most: int | None = None) -> None:
        some = sorted(self._waiting)[:most]
        self.asked.append(len(some))
        self._known |= {key: key in self._refused for key in some}
        self._waiting = set()


def steps(*numbers: int) -> Iterator[NodeStep]:
    """Steps that differ in their row, and so in their class."""
    row = initial_row(CONSTANTS)
    for number in numbers:
        before: Any = (row, number)
        ignored: Any = number
        yield NodeStep(CONSTANTS, 1, "HandleFlush", before, Flush(), row, (), ignored)


def relation(refused: set[int], first: int = 1) -> tuple[Relation, Scripted]:
    allowed: Any = Scripted(refused)
    return Relation(allowed, None, first), allowed


def found(of: Relation) -> int | None:
    return of.found.number if of.found else None


def test_the_first_run_with_a_refused_step_is_found() -> None:
    of, allowed = relation({7, 9}, first=3)
    of.put(steps(1, 2), NOTHING)
    of.put(steps(7), NOTHING)
    assert found(of) is None and allowed.asked == []
    of.put(steps(9), NOTHING)
    assert found(of) == 1 and allowed.asked == [4]
    of.put(steps(9), NOTHING)
    assert found(of) == 1, "the first one stays"


def test_tlc_is_asked_about_so_many_classes_and_the_others_are_not_judged() -> None:
    of, allowed = relation(set(), first=9)
    of.put(steps(1, 2, 3), NOTHING)
    assert of.ask(2) is None and allowed.asked == [2]
    assert (of.judged(), len(of.classes)) == (2, 3)


def test_tlc_is_asked_about_twice_as_many_runs_each_time() -> None:
    of, allowed = relation(set())
    for number in range(15):
        of.put(steps(number), NOTHING)
    assert allowed.asked == [1, 2, 4, 8]
    of.put(steps(3, 4), NOTHING)
    assert allowed.asked == [1, 2, 4, 8], "what is allowed is not asked about again"
    assert of.ask() is None


def test_a_run_that_is_known_to_be_refused_does_not_wait_but_an_earlier_one_goes_first() -> None:
    of, _ = relation({7, 8}, first=3)
    of.learn()
    of.suspects(steps(7))
    of.learn()
    of.put(steps(8), NOTHING)
    of.put(steps(7), NOTHING)
    assert found(of) == 0


def test_a_row_that_the_spec_does_not_have_is_refused_without_tlc() -> None:
    of, _ = relation(set(), first=5)
    of.put(steps(1), NOTHING)
    of.put(steps(2, FORMLESS), NOTHING)
    assert found(of) == 1


def test_what_tlc_could_not_judge_is_an_error(
    tmp_path: Path,
) -> None:
    """Planted: a TLC that has no time."""
    of = Relation(Allowed(tmp_path, CheckOptions(parallel=1, timeout_s=0.001)), None)
    schedule = schedules.made(REFUSED_VOTE, schedules.load(REFUSED_VOTE), skip=False).schedule
    with pytest.raises(ToolError, match="steps were not judged"):
        of.put(schedule.steps(), NOTHING)


def test_a_long_batch_of_metadata_is_judged(tmp_path: Path) -> None:
    """It took Java's stack, and TLC's words for that were taken for a refusal: 50 records are
    enough where the stack has its usual size.
    """
    schedule = PartitionSchedule(PartitionOptions(idempotence=False))
    for _ in range(70):
        schedule.elect(*schedule.electable()[0])
    schedule.readings()[0].make()
    of = Relation(Allowed(tmp_path), None)
    of.put([list(schedule.steps())[-1]], NOTHING)
    assert of.ask() is None


# --- Schedules that say that they hold a refused step


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(schedules, "TRACES", tmp_path)
    monkeypatch.setattr(shrink_counterexample, "FOLDER", tmp_path)
    return tmp_path


def test_such_a_schedule_is_replayed_shrunk_and_refused_in_the_end(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, _ = read(REFUSED_VOTE.read_text("utf-8"))
    assert schedules.replay(REFUSED_VOTE, Screen(), False) == exits.VIOLATED
    assert f"!! {script.violates}" in capsys.readouterr().out
    longer = here / "longer.moves"
    more = ("clock of 3 runs true", *script.moves, "disk of 2 stalls")
    longer.write_text(write(replace(script, moves=more)), encoding="utf-8")
    assert shrink_counterexample.moves(longer, None, 200, Screen(quiet=True)) == exits.VIOLATED
    small, _ = read((here / "longer.small.moves").read_text("utf-8"))
    assert small.violates == script.violates and len(small.moves) <= len(script.moves)


def test_one_whose_steps_are_allowed_is_unknown(here: Path) -> None:
    script, _ = read(REFUSED_VOTE.read_text("utf-8"))
    correct = here / "correct.moves"
    correct.write_text(write(replace(script, bug=None)), encoding="utf-8")
    assert schedules.replay(correct, Screen(quiet=True), skip=True) == exits.UNKNOWN


def test_shrinking_keeps_the_kind_of_step_and_what_it_cannot_shrink_is_said(tmp_path: Path) -> None:
    script, _ = read(REFUSED_VOTE.read_text("utf-8"))
    of = Relation(Allowed(tmp_path), script.bug)
    small = minimised_step(script, of, 100)
    assert small.failure.name == script.violates == f"{REJECTED}HandleVoteRequest"
    with pytest.raises(ValueError, match="nothing to shrink"):
        minimised_step(replace(script, moves=()), of, 100)
    with pytest.raises(ValueError, match="nothing to shrink"):
        minimised(Script(machine="quorum", moves=(), options=script.options), 10)


class Hoped:
    """Moves are steps, and what begins with x is of the action X. TLC refuses x only; without b it
    is another step, xx.
    """

    hopeful = True

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._met: set[str] = set()

    def run(
        self, script: Script, moves: Sequence[str], hoped: str = ""
    ) -> tuple[tuple[str, ...], Failure | None]:
        for at, words in enumerate(moves, 1):
            step = words if words != "x" or "b" in moves else "xx"
            self._met.add(step)
            unknown = step not in self._known and step.startswith("x")
            if (step == "x" and step in self._known) or (unknown and hoped == "X"):
                return tuple(moves[:at]), StepRejected("X", step, list(moves[:at]))
        return tuple(moves), None

    def learn(self) -> None:
        self._known |= self._met


def test_what_was_hoped_for_in_vain_is_not_kept() -> None:
    script = replace(NOTHING, moves=("a", "b", "c", "x", "d"), violates=f"{REJECTED}X")
    of = Hoped()
    small = minimised_step(script, of)
    assert (small.script.moves, small.failure.what) == (("b", "x"), "x")
    of.hopeful = False
    assert minimised_step(script, of).script.moves == ("b", "x")


class Earlier(Hoped):
    """TLC refuses x after y, and y without a before it, which differs in other fields than x."""

    def run(
        self, script: Script, moves: Sequence[str], hoped: str = ""
    ) -> tuple[tuple[str, ...], Failure | None]:
        for at, words in enumerate(moves, 1):
            lacks = {"x": "y", "y": "a"}.get(words, "") not in ("", *moves)
            step = f"{words}-" if lacks else words
            self._met.add(step)
            if step == "x" or (step == "y-" and step in self._known):
                return tuple(moves[:at]), StepRejected("X", step, list(moves[:at]))
        return tuple(moves), None


@pytest.mark.parametrize("hopeful", [True, False])
@pytest.mark.parametrize("attempts", [1, 3, 100])
def test_what_was_found_ends_with_the_first_refused_step(hopeful: bool, attempts: int) -> None:
    """Also if it is refused only since the moves before it are gone; replay says the same."""
    of = Earlier()
    of.hopeful = hopeful
    script = replace(NOTHING, moves=("a", "y", "x"), violates=f"{REJECTED}X")
    small = minimised_step(script, of, attempts)
    kept, failure = of.run(small.script, small.script.moves)
    assert failure is not None and failure.what == small.failure.what
    assert kept == small.script.moves


def test_moves_that_come_by_themselves_are_no_gain() -> None:
    """As where a cluster of Kafka's goes on until a move is possible."""

    def runner(_: Script, moves: Sequence[str]) -> tuple[tuple[str, ...], Failure | None]:
        kept = ("q", *[each for each in moves if each != "q"])
        return kept, StepRejected("X", "", list(kept))

    small = minimised(replace(NOTHING, moves=("q", "a", "b")), 100, runner=runner)
    assert (small.script.moves, small.attempts) == (("q",), 4)
