"""Elections of a chosen broker: who may be elected, and under which constants its step stands."""

from __future__ import annotations

from kraftcheck.reference.partition.messages import CONTROLLER, ElectLeaders, SessionTimeout
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.runner.scripted import Replayed, recorded
from kraftcheck.traces.steps import check
from kraftcheck.traces.steps.record import Part

FIRST = "the controller ElectLeaders election=PREFERRED"


def begin(unclean: bool = False) -> PartitionSchedule:
    """Three replicas in the ISR; broker 0 leads."""
    schedule = PartitionSchedule(PartitionOptions(unclean=unclean, idempotence=False))
    while schedule.calm():
        pass
    return schedule


def make(schedule: PartitionSchedule, words: str) -> None:
    next(move for move in schedule.possible() if move.words == words).make()


def leader(schedule: PartitionSchedule) -> int:
    return schedule.controller.partition.leader


def test_a_member_of_the_isr_may_be_elected_and_another_one_after_it() -> None:
    schedule = begin()
    assert schedule.electable() == [("PREFERRED", 1), ("PREFERRED", 2)]
    make(schedule, f"{FIRST} of broker 2")
    assert leader(schedule) == 2
    assert schedule.electable() == [("PREFERRED", 1)]
    make(schedule, f"{FIRST} of broker 1")
    make(schedule, FIRST)
    assert (leader(schedule), schedule.controller.partition.leader_epoch) == (0, 4)


def test_who_is_fenced_may_not_be_elected() -> None:
    schedule = begin()
    schedule.do(CONTROLLER, SessionTimeout(1))
    assert schedule.electable() == [("PREFERRED", 2)]


def test_an_unclean_election_may_choose_while_nobody_leads() -> None:
    schedule = begin(unclean=True)
    for node in schedule.brokers:
        schedule.do(CONTROLLER, SessionTimeout(node))
    assert leader(schedule) < 0 and schedule.electable() == []
    while leader(schedule) < 0:
        assert schedule.calm()
    assert all(election == "PREFERRED" for election, _ in schedule.electable())


def orders_and_findings(schedule: PartitionSchedule) -> tuple[set[tuple[int, ...]], int]:
    """In which orders the recorded steps list the replicas; how many findings there are of it."""
    _, recorder = recorded(Replayed(schedule, (), (), None))
    orders = {step.before.machine.constants.replicas for step in recorder.distinct}
    return orders, len(list(check.constants_agree(Part(recorder.tables()))))


def test_an_election_may_list_the_replicas_anew() -> None:
    schedule = begin()
    schedule.elect("PREFERRED", 2)
    schedule.do(CONTROLLER, ElectLeaders("PREFERRED"))
    assert orders_and_findings(schedule) == ({(0, 1, 2), (2, 0, 1)}, 0)


def test_no_other_step_may() -> None:
    schedule = begin()
    schedule.stand(schedule._listing_first(2))
    schedule.do(CONTROLLER, SessionTimeout(1))
    assert orders_and_findings(schedule) == ({(0, 1, 2), (2, 0, 1)}, 1)
