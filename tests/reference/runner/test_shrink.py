"""Failing runs get smaller and fail alike; schedules are read back as they were written."""

from __future__ import annotations

import pytest

from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.runner.shrink import failure_of, replayed, shrink, zeroed
from kraftcheck.reference.sim.choices import Choice, RecordingChooser, SeededChooser, run_seed
from kraftcheck.reference.sim.schedules import Schedule, read, write
from kraftcheck.traces.schema import PROGRESSED

A_SCHEDULE = Schedule(
    scenario="quorum",
    bug="Z01",
    violates="VoteOnce",
    options={"voters": 3},
    choices=(Choice("faults", 2, 1), Choice("network", 1000, 17)),
)


def failing(scenario: str, bug: str) -> Schedule:
    """The first run of a campaign that violates something."""
    for number in range(300):
        recording = RecordingChooser(SeededChooser(run_seed(1, number)))
        run = simulate_run(scenario, 1, number, bug, chooser=recording)
        if failure_of(run.result):
            choices = tuple(recording.choices)
            return Schedule(scenario=scenario, bug=bug, choices=choices)
    raise AssertionError("none fails")


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "bug"), [("quorum", "Z02"), ("partition", "Z34")])
def test_what_is_shrunk_fails_alike_with_fewer_choices(scenario: str, bug: str) -> None:
    schedule = failing(scenario, bug)
    before, _ = replayed(schedule)
    found = shrink(schedule, attempts=400)
    after, chooser = replayed(found.schedule)
    assert failure_of(after.result) == failure_of(before.result) == found.schedule.violates
    drawn, kept = (
        sum(choice.value > 0 for choice in each.choices) for each in (schedule, found.schedule)
    )
    assert kept < min(drawn, 30)
    assert (chooser.missing, chooser.misfits) == (0, 0)
    assert after.steps == found.run.steps


def test_the_limit_is_kept() -> None:
    assert shrink(failing("quorum", "Z02"), attempts=5).attempts == 5


def test_a_run_without_fault_is_not_shrunk() -> None:
    schedule = Schedule(scenario="quorum", choices=())
    assert replayed(schedule)[0].result.verdict == PROGRESSED
    with pytest.raises(ValueError, match="nothing to shrink"):
        shrink(schedule)


def test_what_is_simple_already_is_not_tried() -> None:
    assert zeroed((Choice("faults", 2, 0),), 0, 1) is None


def test_a_schedule_is_read_back() -> None:
    assert read(write(A_SCHEDULE)) == A_SCHEDULE
    plain = Schedule(scenario="partition", choices=())
    assert read(write(plain)) == plain


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("schedule 1", "schedule 9"), "line 1: version 9, this kraftcheck reads 1"),
        (("kraftcheck schedule 1", "hello"), "line 1: no schedule"),
        (("scenario  quorum", "scene quorum"), "line 2: 'scene quorum' is not `scenario …`"),
        (('{"voters":3}', "{"), "line 5: options"),
        (("17 of 1000", "1700 of 1000"), "line 8: not a choice: 'network 1700 of 1000'"),
    ],
)
def test_what_is_no_schedule_is_refused(changed: tuple[str, str], said: str) -> None:
    text = write(A_SCHEDULE)
    assert changed[0] in text
    with pytest.raises(ValueError, match="line") as refused:
        read(text.replace(*changed))
    assert said in str(refused.value)


def test_a_schedule_that_is_cut_off_is_refused() -> None:
    head = "\n".join(write(A_SCHEDULE).splitlines()[:3])
    with pytest.raises(ValueError, match=r"line 4: the head ends before `violates …`"):
        read(head)
