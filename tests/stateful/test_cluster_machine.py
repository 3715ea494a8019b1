"""Searches for a schedule under which a cluster breaks a promise; and shows that it finds one.

As in test_quorum_machine.py: the first test is the search, as hard as the profile says; the others
hold the searcher to account, always with the same examples.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import seed, settings
from hypothesis.stateful import run_state_machine_as_test

from kraftcheck.reference.cluster.sim.controllers import REPLAY_AGREES
from kraftcheck.reference.cluster.sim.past import READS_COMMITTED
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.steered.moves import Move
from tests.stateful import searching
from tests.stateful.cluster_machine import ClusterMachine
from tests.stateful.cluster_schedule import ClusterSchedule, cluster_of, judge_cluster
from tests.stateful.schedule import Violation
from tests.stateful.test_quorum_machine import BUDGET


@pytest.mark.slow
def test_the_search_finds_nothing() -> None:
    searching.search(ClusterMachine)
    searching.refuse_few([ClusterMachine.name])


def search(bug: str | None, budget: settings) -> None:
    machine = seed(2)(type("ClusterMachine", (ClusterMachine,), {"bug": bug}))
    run_state_machine_as_test(machine, settings=budget)


@pytest.mark.slow
@pytest.mark.parametrize("id", ["Z41", "Z16"])
def test_a_known_bug_of_either_part_is_found_within_the_budget(id: str) -> None:
    with pytest.raises(Violation):
        search(id, settings(BUDGET, max_examples=200))


def test_a_move_of_replicas_is_said_in_words_and_carried_out() -> None:
    schedule = calm(cluster_of(moving=True))
    the([*schedule.possible()], "partition 0: ReassignReplicas target=1,2,3").make()
    calm(schedule)
    assert schedule.progress() == ""
    known: Any = schedule.partitions[0].controller.partition
    assert (known.replicas, known.isr) == ((1, 2, 3), (1, 2, 3))
    assert schedule.partitions[0].row(0).log == ()


def test_a_topic_is_deleted_and_made_again_by_moves() -> None:
    schedule = calm(cluster_of(partitions=1, moving=True))
    the(schedule.asks(), "ProduceRequest").make()
    calm(schedule)
    the([*schedule.possible()], "topic 0 is deleted").make()
    the([*schedule.possible()], "topic 0 has new partition 1 on 1, 2, 3").make()
    calm(schedule)
    assert schedule.progress() == ""
    old, new, spare = [each.controller.partition for each in schedule.partitions]
    assert (replicas_of(old), replicas_of(new), replicas_of(spare)) == ((), (1, 2, 3), ())
    assert {schedule.partitions[0].row(n).log for n in range(4)} == {()}
    assert [len(schedule.partitions[1].row(n).log) for n in range(4)] == [0, 1, 1, 1]


def test_a_broker_that_leads_stops_when_it_is_let_and_one_is_forgotten_by_moves() -> None:
    schedule = calm(cluster_of(moving=True))
    leader = schedule.partitions[1].controller.partition.leader
    the([*schedule.possible()], f"broker {leader} is to stop").make()
    calm(schedule)
    assert {each.row(leader).status for each in schedule.partitions} == {"Down"}
    assert {each.row(leader).clean_shutdown for each in schedule.partitions} == {0}
    other = schedule.partitions[1].controller.partition.leader
    the([*schedule.possible()], f"the controller is to forget broker {other}").make()
    calm(schedule)
    assert schedule.partitions[1].controller.partition.leader not in (leader, other)
    assert schedule.progress() == ""
    assert judge_cluster(schedule) == ""


def replicas_of(partition: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = partition.replicas
    return found


def calm(schedule: ClusterSchedule) -> ClusterSchedule:
    while schedule.calm():
        pass
    return schedule


def the(moves: list[Move], words: str) -> Move:
    """The first of these moves with these words."""
    return next(move for move in moves if words in move.words)


def test_words_say_all_about_a_move() -> None:
    schedule = calm(cluster_of())
    the(schedule.asks(), "ProduceRequest").make()
    the(schedule.crashes(), "crash broker 1").make()
    words = [move.words for move in schedule.possible()]
    assert len(words) == len(set(words))


def read(schedule: ClusterSchedule) -> list[Any]:
    """What controllers have answered."""
    steps = [each for each in schedule.steps() if each.action == "HandleListReassignments"]
    return [answer for step in steps for answer in step.sent]


def test_any_controller_is_asked_by_moves_and_says_what_it_knows_to_be_committed() -> None:
    schedule = calm(cluster_of(moving=True))
    the([*schedule.possible()], "partition 0: ReassignReplicas target=3,2,1").make()
    active = schedule.controllers.active()
    assert active is not None
    for node in range(3):
        the([*schedule.possible()], f"controller {node} is asked what is under way").make()
    # What the active one has written is not committed yet.
    known: Any = schedule.controllers.known(0)
    assert known.adding == (3,)
    assert {each.adding for each in read(schedule)} == {()}
    assert (3, 2, 1) not in {each.replicas for each in read(schedule)}
    calm(schedule)
    the([*schedule.possible()], f"controller {active} is asked what is under way").make()
    assert (3, 2, 1) in {each.replicas for each in read(schedule)}


def test_what_is_read_and_is_not_committed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MovingRules, "read_from", lambda self, stable, ahead: ahead)
    schedule = calm(cluster_of(moving=True))
    the([*schedule.possible()], "partition 0: ReassignReplicas target=1,2,3").make()
    active = schedule.controllers.active()
    with pytest.raises(Violation) as found:
        the([*schedule.possible()], f"controller {active} is asked what is under way").make()
    assert found.value.name == READS_COMMITTED


def test_a_failover_leaves_the_cluster_able_to_go_on() -> None:
    schedule = calm(cluster_of())
    first = schedule.controllers.active()
    the(schedule.voters.crashes(), f"{first} Crash").make()
    the(schedule.crashes(), "crash broker 0").make()
    assert schedule.progress() == ""
    assert schedule.controllers.failovers == 1
    assert judge_cluster(schedule) == ""


def test_what_a_log_says_otherwise_than_its_controller_is_found() -> None:
    schedule = calm(cluster_of())
    with pytest.raises(Violation) as found:
        schedule.violated(REPLAY_AGREES, "planted")
    assert found.value.name == REPLAY_AGREES


def test_a_cluster_without_a_controller_gets_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = calm(cluster_of())
    monkeypatch.setattr(ClusterSchedule, "ask_controller", lambda *_: None)
    the(schedule.crashes(), "crash broker 0").make()
    monkeypatch.setattr("kraftcheck.reference.partition.steered.told.MOVES_TO_PROGRESS", 50)
    assert "partition" in schedule.progress()


def test_clients_that_are_shown_less_are_found_in_any_partition() -> None:
    schedule = calm(cluster_of())
    partition = schedule.partitions[1]
    for _ in range(2):
        the(schedule.asks(), "partition 1: ProduceRequest").make()
        calm(schedule)
    first, second = partition.history
    first.offset, second.offset = second.offset, first.offset
    the(schedule.asks(), "partition 1: ConsumerFetchRequest").make()
    calm(schedule)
    assert "clients of partition 1 were promised" in judge_cluster(schedule)
