"""The state machine of a whole cluster: several partitions, a controller quorum, clients.

As in machine.py, a rule draws one move among those that are possible now, by its position, and each
run switches off some kinds of fault as a whole. Nothing is checked here: the invariants of quorum
and partitions are judged after every step; at the end everybody must get on, and every partition
must have shown its clients what was promised to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from reference.sim.steered.moves import Move
from reference.sim.steered.steering import DISK, FAILED, LATE, PROMPT
from tests.stateful import reached
from tests.stateful.cluster_schedule import ClusterSchedule, cluster_of, judge_cluster
from tests.stateful.gifts import SteeredMachine
from tests.stateful.machine import Decorator, by_position

Fault: TypeAlias = Literal[
    "crash",
    "loss",
    "again",
    "drop",
    "partition",
    "session",
    "election",
    "failover",
    "give-up",
    "slow",
    "clock",
    "disk",
    "delete",
    "retry",
]
FAULTS: tuple[Fault, ...] = (
    *("crash", "loss", "again", "drop", "partition", "session", "election"),
    *("failover", "give-up", "slow", "clock", "disk", "delete", "retry"),
)

Moves: TypeAlias = list[Move]


def moves(of: Callable[[ClusterMachine], Moves]) -> st.SearchStrategy[Move]:
    """One of the moves that a machine has now; the first ones are the simplest."""
    return st.runner().flatmap(lambda machine: by_position(of(machine)))


def mail(machine: ClusterMachine) -> Moves:
    schedule = machine.schedule
    return [*schedule.between(), *schedule.posts(), *schedule.data(), *schedule.votes()]


def mail_again(machine: ClusterMachine) -> Moves:
    return [*machine.schedule.data(again=True), *machine.schedule.votes(again=True)]


def losses(machine: ClusterMachine) -> Moves:
    return machine.schedule.losses()


def metadata(machine: ClusterMachine) -> Moves:
    return machine.schedule.readings()


def prompt(machine: ClusterMachine) -> Moves:
    return machine.schedule.wants(*PROMPT)


def late(machine: ClusterMachine) -> Moves:
    return machine.schedule.wants(*LATE)


def lags(machine: ClusterMachine) -> Moves:
    return machine.schedule.wants("ReplicaLagTimeout")


def failed(machine: ClusterMachine) -> Moves:
    return machine.schedule.wants(*FAILED)


def disk(machine: ClusterMachine) -> Moves:
    return [*machine.schedule.flushes(), *machine.schedule.wants(*DISK)]


def timers(machine: ClusterMachine) -> Moves:
    return machine.schedule.timers()


def endings(machine: ClusterMachine) -> Moves:
    return machine.schedule.endings()


def elections(machine: ClusterMachine) -> Moves:
    return machine.schedule.elections()


def questions(machine: ClusterMachine) -> Moves:
    asks = machine.schedule.asks()
    if "delete" in machine.off:
        return [move for move in asks if "DeleteRecords" not in move.words]
    return asks


def produces(machine: ClusterMachine) -> Moves:
    asks = [move for move in machine.schedule.asks() if "ProduceRequest" in move.words]
    return [*machine.schedule.sends(), *asks]


def breakages(machine: ClusterMachine) -> Moves:
    return machine.schedule.breakages()


def broker_crashes(machine: ClusterMachine) -> Moves:
    return machine.schedule.crashes(lossy="loss" not in machine.off)


def voter_crashes(machine: ClusterMachine) -> Moves:
    return machine.schedule.voter_crashes(lossy="loss" not in machine.off)


def restarts(machine: ClusterMachine) -> Moves:
    return machine.schedule.restarts()


def resignations(machine: ClusterMachine) -> Moves:
    return machine.schedule.resignations()


def cuts(machine: ClusterMachine) -> Moves:
    return machine.schedule.cuts()


def heals(machine: ClusterMachine) -> Moves:
    schedule = machine.schedule
    return schedule.heals() if schedule.cut or schedule.voters.cut else []


def slownesses(machine: ClusterMachine) -> Moves:
    return machine.schedule.slownesses()


def clocks(machine: ClusterMachine) -> Moves:
    return machine.schedule.clocks()


def stalls(machine: ClusterMachine) -> Moves:
    return machine.schedule.stalls()


def possible(of: Callable[[ClusterMachine], Moves], fault: Fault | None = None) -> Decorator:
    """The precondition that there is such a move, and that its kind of fault is on."""
    return precondition(lambda machine: fault not in machine.off and bool(of(machine)))


class ClusterMachine(SteeredMachine):
    """A cluster with the correct rules or those of a bug."""

    name = "cluster"

    def __init__(self) -> None:
        super().__init__()
        reached.begin(self.name, self.bug is None)
        self.schedule: ClusterSchedule = cluster_of(bug=self.bug)
        self.off: frozenset[str] = frozenset()

    @initialize(
        partitions=st.sampled_from([2, 2, 1, 3]),
        replicas=st.sampled_from([3, 3, 2]),
        voters=st.sampled_from([3, 3, 1]),
        elr=st.sampled_from([True, True, False]),
        unclean=st.sampled_from([False, False, True]),
        idempotence=st.booleans(),
        off=st.frozensets(st.sampled_from(FAULTS), max_size=9),
        records=st.integers(0, 2),
    )
    def start(
        self,
        partitions: int,
        replicas: int,
        voters: int,
        elr: bool,
        unclean: bool,
        idempotence: bool,
        off: frozenset[str],
        records: int,
    ) -> None:
        """A controller, leaders, and some committed records, so that faults have something to
        hurt.
        """
        self.schedule = cluster_of(
            partitions, replicas, voters, elr, unclean, self.bug, idempotence
        )
        self.off = off
        self.let_time_pass(60)
        for _ in range(records):
            for move in produces(self)[:1]:
                move.make()
            self.let_time_pass(12)

    # --- Messages arrive, or do not

    @rule(move=moves(mail))
    @possible(mail)
    def deliver(self, move: Move) -> None:
        move.make()

    @rule(move=moves(mail_again))
    @possible(mail_again, "again")
    def deliver_again(self, move: Move) -> None:
        move.make()

    @rule(move=moves(losses))
    @possible(losses, "drop")
    def lose(self, move: Move) -> None:
        move.make()

    @rule(count=st.integers(1, 15))
    def let_time_pass(self, count: int) -> None:
        """A calm moment: nothing comes too late or out of order."""
        for _ in range(count):
            self.schedule.calm()

    # --- What brokers and voters do

    @rule(move=moves(metadata))
    @possible(metadata)
    def read_metadata(self, move: Move) -> None:
        move.make()

    @rule(move=moves(prompt))
    @possible(prompt)
    def act(self, move: Move) -> None:
        move.make()

    @rule(move=moves(late))
    @possible(late)
    def lose_patience(self, move: Move) -> None:
        move.make()

    @rule(move=moves(lags))
    @possible(lags)
    def drop_from_isr(self, move: Move) -> None:
        """A replica lags for too long, and its leader asks at once to go on without it."""
        move.make()
        for kind in ("IsrShrinkTimeout", "SendAlterPartition"):
            for follows in self.schedule.wants(kind)[:1]:
                follows.make()

    @rule(move=moves(failed))
    @possible(failed, "give-up")
    def give_up_on_request(self, move: Move) -> None:
        move.make()

    @rule(move=moves(disk))
    @possible(disk)
    def write_to_disk(self, move: Move) -> None:
        move.make()

    @rule(move=moves(timers))
    @possible(timers, "failover")
    def time_out(self, move: Move) -> None:
        move.make()

    # --- Clients

    @rule(move=moves(produces), at_once=st.booleans())
    @possible(produces)
    def produce(self, move: Move, at_once: bool) -> None:
        """Of an idempotent producer it is on its way then, and perhaps arrives at once."""
        move.make()
        for post in self.schedule.posts()[:at_once]:
            post.make()

    @rule(move=moves(questions))
    @possible(questions)
    def ask(self, move: Move) -> None:
        """Reads from anywhere up to what some client has seen, asks for the end, deletes."""
        move.make()

    @rule(move=moves(breakages), at_once=st.booleans())
    @possible(breakages, "retry")
    def break_connection(self, move: Move, at_once: bool) -> None:
        """Of a producer, which may then send again, perhaps at once; or it gives up a value."""
        move.make()
        for again in self.schedule.sends()[-1:] if at_once else ():
            again.make()

    # --- The controller

    @rule(move=moves(endings))
    @possible(endings, "session")
    def end_session(self, move: Move) -> None:
        move.make()

    @rule(move=moves(elections))
    @possible(elections, "election")
    def elect(self, move: Move) -> None:
        move.make()

    @rule(move=moves(resignations))
    @possible(resignations, "failover")
    def resign(self, move: Move) -> None:
        move.make()

    @rule(move=moves(voter_crashes))
    @possible(voter_crashes, "failover")
    def crash_voter(self, move: Move) -> None:
        move.make()

    # --- Faults

    @rule(move=moves(broker_crashes))
    @possible(broker_crashes, "crash")
    def crash(self, move: Move) -> None:
        move.make()

    @rule(move=moves(restarts))
    @possible(restarts)
    def restart(self, move: Move) -> None:
        move.make()

    @rule(move=moves(cuts))
    @possible(cuts, "partition")
    def cut(self, move: Move) -> None:
        move.make()

    @rule(move=moves(heals))
    @possible(heals)
    def heal(self, move: Move) -> None:
        move.make()

    @rule(move=moves(slownesses))
    @possible(slownesses, "slow")
    def slow_down(self, move: Move) -> None:
        move.make()

    @rule(move=moves(clocks))
    @possible(clocks, "clock")
    def set_clock(self, move: Move) -> None:
        move.make()

    @rule(move=moves(stalls))
    @possible(stalls, "disk")
    def stall_disk(self, move: Move) -> None:
        move.make()

    # --- The end

    def steered(self) -> ClusterSchedule:
        return self.schedule

    def judge(self) -> str:
        return judge_cluster(self.schedule)
