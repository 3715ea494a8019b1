"""Searches for a schedule under which a partition breaks a promise; and shows that it finds one.

As in test_quorum_machine.py: the first test is the search, as hard as the profile says; the others
hold the searcher to account, always with the same examples.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from kraftcheck.reference.clients import promises
from kraftcheck.reference.partition.messages import CLIENTS, BrokerCrash
from kraftcheck.reference.partition.sim.options import ACKS, PartitionOptions
from tests.reference.clients.tables import another_table
from tests.stateful import searching
from tests.stateful.partition_machine import PartitionMachine
from tests.stateful.partition_schedule import PartitionSchedule, judge_history
from tests.stateful.schedule import NoProgress, Violation
from tests.stateful.test_quorum_machine import BUDGET

SEED = 6
"""With which the bugs below are found soon; docs/measured/detection.md says of any seed."""


@pytest.mark.slow
def test_the_search_finds_nothing() -> None:
    searching.search(PartitionMachine)
    searching.refuse_few([PartitionMachine.name])


def search(bug: str | None, budget: settings = BUDGET) -> None:
    machine = seed(SEED)(type("PartitionMachine", (PartitionMachine,), {"bug": bug}))
    run_state_machine_as_test(machine, settings=budget)


@pytest.mark.slow
@pytest.mark.parametrize("id", ["Z23", "Z29", "Z34", "Z41", "Z42", "Z48"])
def test_a_known_bug_is_found_within_the_budget(id: str) -> None:
    # Hypothesis draws constants of the modules that are loaded as well, so other tests in the same
    # process change the examples. The limit costs nothing where the bug is found before.
    with pytest.raises(Violation):
        search(id, settings(BUDGET, max_examples=1500))


def test_a_follower_that_never_comes_back_is_found() -> None:
    """Z26: a follower that nobody fences asks a leader that is none any more."""
    with pytest.raises((NoProgress, Violation)):
        search("Z26")


@pytest.mark.slow
def test_what_is_found_shrinks_to_a_script() -> None:
    """A beginning and one move are enough for Z48; the schedule that is found first has nine."""
    with pytest.raises(Violation) as found:
        search("Z48", settings(BUDGET, phases=[Phase.generate, Phase.shrink]))
    steps = [line for note in found.value.__notes__ for line in note.splitlines()]
    script = [line for line in steps if line.startswith("state.")]
    assert len(script) <= 4, str(found.value)


def test_a_drawn_move_prints_in_words() -> None:
    schedule = PartitionSchedule(PartitionOptions(idempotence=False))
    assert repr(schedule.step_of(2, BrokerCrash(1, -1))) == "<broker 2 BrokerCrash keep=1>"


def test_anomalies_that_nothing_allows_are_held_against_the_history() -> None:
    """With acks=0, a new leader has not deleted as much as the old one: allowed since it moved."""
    schedule = PartitionSchedule(PartitionOptions(idempotence=False, acks="0"))
    calm(schedule)
    for _ in range(2):
        schedule.ask(schedule.produce(0, ACKS["0"]))
        calm(schedule)
    schedule.ask(schedule.delete_records(0, 1))
    schedule.ask(schedule.list_offsets(0, "Earliest"))
    arrive(schedule)
    next(move for move in schedule.other_elections() if "of broker 1" in move.words).make()
    for node in (0, 1):
        schedule.do(*next(each for each in schedule.unread() if each[0] == node))
    schedule.ask(schedule.list_offsets(1, "Earliest"))
    arrive(schedule)
    begins = [each.offset for each in schedule.close_history() if each.op == "earliest"]
    assert begins == [1, 0] and not schedule.losses.envelope().zombie
    assert judge_history(schedule) == ""
    silent = tuple(row for row in promises.TABLE if row.id != "moved")
    with another_table(silent):
        told = judge_history(schedule)
    assert "that was told, and the earliest that began later read below it" in told


def calm(schedule: PartitionSchedule) -> None:
    while schedule.calm():
        pass


def arrive(schedule: PartitionSchedule) -> None:
    """What is on its way to clients."""
    while answers := [m for m in schedule.mail.deliverable() if m.value.destination == CLIENTS]:
        schedule.do(CLIENTS, answers[0].value)


def test_what_is_promised_is_held_against_the_history() -> None:
    """A client that was told of an offset which another one reads otherwise."""
    schedule = PartitionSchedule(PartitionOptions(idempotence=False))
    calm(schedule)
    for _ in range(2):
        schedule.ask(schedule.produce(0, -1))
        calm(schedule)
    assert judge_history(schedule) == ""
    first, second = schedule.history
    first.offset, second.offset = second.offset, first.offset
    schedule.ask(schedule.consume(0, 0))
    calm(schedule)
    assert "were promised" in judge_history(schedule)
