"""Campaigns side by side find what each finds alone, and TLC is started seldom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.known_bugs import hunting, oracles
from kraftcheck.known_bugs.hunting import first_refused, hunt_down
from kraftcheck.known_bugs.runs import consult, record_numbers
from kraftcheck.known_bugs.witnesses import WATCHED, Hunt, hunt_of
from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.traces.counterexamples.departures import departures
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.steps.symmetry import Step

CORRECT = Hunt(scenario="quorum", bug=None)
NEVER_ASKED = Hunt(scenario="quorum", bug="Z10", options={"voters": 3})


def hunts(bug: str, *seeds: int) -> list[Hunt]:
    found = [hunt_of(known_bug(bug), seed) for seed in seeds]
    return [hunt for hunt in found if hunt is not None]


class Scripted:
    """Verdicts by script, in the place of TLC. rounds: about how many steps each time."""

    def __init__(self, refused: set[bytes], known: dict[bytes, bool]) -> None:
        self.refused = refused
        self.known = known
        self.waiting: list[bytes] = []
        self.rounds: list[int] = []

    def name(self, _: Any, step: bytes) -> bytes:
        if step not in self.known:
            self.waiting.append(step)
        return step

    def refuses(self, key: bytes) -> bool | None:
        return self.known.get(key)

    def ask(self) -> None:
        self.rounds.append(len(self.waiting))
        self.known |= {key: key in self.refused for key in self.waiting}
        self.waiting = []


def scripted(
    monkeypatch: pytest.MonkeyPatch, refused: set[bytes], known: dict[bytes, bool]
) -> tuple[Scripted, dict[int, int | None]]:
    """First refused runs of seeds 1 to 3, where each run has the one departure `<seed>-<run>`."""
    monkeypatch.setattr(Hunt, "run", lambda self, _, number: _Run(self.seed, number))
    monkeypatch.setattr(hunting, "departures", lambda run: [run.name])
    allowed, found = Scripted(refused, known), dict[int, int | None]()
    campaigns = [Hunt(scenario="quorum", bug="Z06", seed=seed) for seed in (1, 2, 3)]
    said: Any = allowed
    assert first_refused(campaigns, 20, said, lambda hunt, run: found.update({hunt.seed: run}))
    return allowed, found


class _Run:
    def __init__(self, seed: int, number: int) -> None:
        self.name = f"{seed}-{number}".encode()
        self.result = self
        self.constants = None


def test_a_refused_step_is_led_back_to_its_campaign_and_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed, found = scripted(monkeypatch, {b"1-9", b"1-10", b"2-0", b"3-99"}, {})
    assert found == {1: 9, 2: 0, 3: None}
    # Run 0 of three; then 2, 4 and 8 runs of two, and 1-9 is among the last; of one the rest.
    assert allowed.rounds == [3, 4, 8, 16, 5]


def test_what_is_known_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {b"%d-%d" % (seed, run): False for seed in (1, 2, 3) for run in range(20)}
    allowed, found = scripted(monkeypatch, set(), known | {b"1-4": True, b"2-19": True})
    assert found == {1: 4, 2: 19, 3: None}
    assert allowed.rounds == [0]


def test_time_that_is_up_decides_nothing(tmp_path: Path) -> None:
    decided: list[object] = []
    allowed = Allowed(tmp_path)
    assert not first_refused(
        hunts("Z06", 1), 5, allowed, lambda *said: decided.append(said), lambda: False
    )
    assert not decided and not allowed.asked


def test_a_bug_that_is_never_consulted_is_not_found_and_nobody_is_asked(tmp_path: Path) -> None:
    allowed, found = Allowed(tmp_path), list[int | None]()
    assert first_refused([NEVER_ASKED], 5, allowed, lambda _, run: found.append(run))
    assert found == [None] and not allowed.starts
    assert not any(consult(NEVER_ASKED, range(5)).asked.values())


def test_departures_are_the_bugs() -> None:
    assert not departures(CORRECT.run(WATCHED, 0))
    (hunt,) = hunts("Z06", 1)
    runs = [hunt.run(WATCHED, number) for number in range(5)]
    effective = [consult(hunt, [number]).effective for number in range(5)]
    assert [bool(departures(run)) for run in runs] == effective and any(effective)
    assert {step.action for run in runs for step in departures(run)} == {"HandleVoteRequest"}


@pytest.mark.slow
def test_side_by_side_is_as_one_by_one(tmp_path: Path) -> None:
    seeds, limit = (1, 2), 4
    alone: dict[int, int | None] = {}
    for hunt in hunts("Z06", *seeds):
        # As any trace is judged.
        place = record_numbers(tmp_path / str(hunt.seed), hunt, WATCHED, range(limit))
        alone[hunt.seed] = min(oracles.judge("steps", place, explain=0).found_runs)
    together: dict[int, int | None] = {}
    allowed = Allowed(tmp_path)
    first_refused(
        hunts("Z06", *seeds), limit, allowed, lambda hunt, run: together.update({hunt.seed: run})
    )
    assert together == alone == {1: 0, 2: 3}
    # What is stored is not asked about again, whoever asks.
    assert 0 < allowed.starts < 4
    (second,) = hunts("Z06", 2)
    assert hunt_down(second, ["steps"], limit)["steps"].run == 3
    again, found = Allowed(tmp_path), list[int | None]()
    first_refused(hunts("Z06", 2), limit, again, lambda _, run: found.append(run))
    assert found == [3] and not again.starts


def test_a_correct_step_is_allowed_and_a_damaged_one_refused(tmp_path: Path) -> None:
    run = CORRECT.run(WATCHED, 0)
    constants: Any = run.result.constants
    taken = next(each for each in run.steps if each.sent)
    good = Step(
        taken.action,
        taken.node,
        taken.before,
        taken.input,
        taken.after,
        taken.sent,
        taken.ignored,
    )
    allowed = Allowed(tmp_path)
    keys = [allowed.name(constants, step) for step in (good, good._replace(sent=()))]
    assert None not in keys and len(set(keys)) == 2
    assert [allowed.refuses(key) for key in keys if key] == [None, None]
    allowed.ask()
    assert [allowed.refuses(key) for key in keys if key] == [False, True]
    assert (allowed.asked, allowed.starts) == (2, 1)
    # A row that is none of the cluster's cannot be said in the spec.
    assert allowed.name(constants, good._replace(after=replace(good.after, end_offsets=()))) is None
