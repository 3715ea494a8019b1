"""The state machine of a whole cluster: several partitions, a controller quorum, clients.

What it shares with a partition's, and how moves are drawn, is in broker_machine.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller
from typing import Any, Final, Literal, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.cluster.sim.options import OF_QUORUM
from kraftcheck.reference.cluster.steered.moving import (
    directory_failures,
    reads,
    reassignments,
    shutdowns,
    topic_changes,
    unregistrations,
)
from kraftcheck.reference.partition.directories.protocol import DIRECTORIES
from kraftcheck.reference.quorum.snapshots.sim.changes import taken_by
from kraftcheck.reference.steered.moves import Move
from tests.stateful import reached
from tests.stateful.broker_machine import (
    BrokerMachine,
    Makes,
    Offering,
    Offers,
    moves,
    of_schedule,
    offers,
    possible,
    posts,
)
from tests.stateful.cluster_schedule import ClusterSchedule, cluster_of, judge_cluster
from tests.stateful.machine import by_position

Fault: TypeAlias = Literal[
    "crash",
    "loss",
    "again",
    "delay",
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
    *("crash", "loss", "again", "delay", "drop", "partition", "session", "election"),
    *("failover", "give-up", "slow", "clock", "disk", "delete", "retry"),
)


def of_voters(name: str) -> Offering:
    """What there is to draw from of voters."""
    return lambda machine: methodcaller(name)(machine.schedule.voters)


timers = of_voters("expiries")
endings = offers("endings")
elections = offers("elections")


def cuts(machine: ClusterMachine) -> Offers:
    return [*machine.schedule.cuts(), *machine.schedule.voters.cuts()]


def questions(machine: ClusterMachine) -> Offers:
    asks = machine.schedule.asks()
    if "delete" in machine.off:
        return [move for move in asks if "DeleteRecords" not in move.words]
    return asks


def produces(machine: ClusterMachine) -> Offers:
    asks = [move for move in machine.schedule.asks() if "ProduceRequest" in move.words]
    return [*machine.schedule.sends(), *asks]


def voter_crashes(machine: ClusterMachine) -> Offers:
    return machine.schedule.voters.crashes(lossy="loss" not in machine.off)


reassigned = of_schedule(reassignments)
changed_topics = of_schedule(topic_changes)
forgettings = of_schedule(unregistrations)
readers = of_schedule(reads)
clean_stops = of_schedule(shutdowns)
failing_directories = of_schedule(directory_failures)
resignations = of_voters("resignations")
slownesses = offers("slownesses")
clocks = of_voters("clocks")
stalls = of_voters("stalls")
BEGINNING: Final[dict[str, Any]] = {
    "partitions": st.sampled_from([2, 2, 1, 3]),
    "replicas": st.sampled_from([3, 3, 2]),
    "voters": st.sampled_from([3, 3, 1]),
    "elr": st.sampled_from([True, True, False]),
    "unclean": st.sampled_from([False, False, True]),
    "idempotence": st.booleans(),
    "off": st.frozensets(st.sampled_from(FAULTS), max_size=9),
    "records": st.integers(0, 2),
}


class ClusterMachine(BrokerMachine):
    """A cluster with the correct rules or those of a bug."""

    name = "cluster"
    longest_calm = 15
    moving = False
    """Whether replicas move."""
    directories = 1
    """Of each broker."""
    changes: Mapping[str, Any]
    """Of the quorum, besides who leads: options of its runs."""

    def __init__(self) -> None:
        super().__init__()
        reached.begin(self.name, self.bug is None)
        self.changes = {}
        # Under no options may one have the bug of whatever changes.
        self.schedule: ClusterSchedule = cluster_of(moving=self.moving)
        self.off: frozenset[str] = frozenset()

    @initialize(**BEGINNING)
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
        of_data = (partitions, replicas, voters, elr, unclean, self.bug, idempotence)
        self.schedule = cluster_of(*of_data, self.moving, self.changes, self.directories)
        self.off = off
        self.let_time_pass(60)
        for _ in range(records):
            self.first(produces(self))
            self.let_time_pass(12)

    # --- Messages, and the disks of voters

    def arrivals(self) -> Offers:
        schedule = self.schedule
        mail = [*schedule.between(held=False), *schedule.posts()]
        return [*mail, *schedule.data(held=False), *schedule.voters.arrivals(held=False)]

    def late_arrivals(self) -> Offers:
        of = self.schedule
        return [*of.between(held=True), *of.data(held=True), *of.voters.arrivals(held=True)]

    def arrivals_again(self) -> Offers:
        of = self.schedule
        return [*of.data(again=True), *of.voters.arrivals(again=True)]

    def session_ends(self, node: int) -> None:
        self.first(endings(self), f"the session of broker {node}")

    def flushes(self) -> Offers:
        return self.schedule.voters.flushes()

    # --- Voters

    time_out = Makes(timers, "failover")

    # --- Clients

    @rule(move=moves(produces), at_once=st.booleans())
    @possible(produces)
    def produce(self, move: Move, at_once: bool) -> None:
        """Of an idempotent producer it is on its way then, and perhaps arrives at once."""
        move.make()
        self.first(posts(self)[:at_once])

    ask = Makes(questions)
    """Reads from anywhere up to what some client has seen, asks for the end, deletes."""

    # --- The controller

    end_session = Makes(endings, "session")

    elect = Makes(elections, "election", told=True)

    resign = Makes(resignations, "failover")

    crash_voter = Makes(voter_crashes, "failover")

    # --- Faults

    cut = Makes(cuts, "partition")

    slow_down = Makes(slownesses, "slow")

    set_clock = Makes(clocks, "clock")

    stall_disk = Makes(stalls, "disk")

    # --- The end

    def steered(self) -> ClusterSchedule:
        return self.schedule

    def judge(self) -> str:
        return judge_cluster(self.schedule)


CHANGES: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"observers": 1},
    {"observers": 1, "snapshots": 0},
    {"observers": 1, "snapshots": 0, "state_machines": True},
    {"observers": 2, "auto_join": True},
    {"observers": 1, "kraft_version": 0},
    {"observers": 1, "listeners_change": True},
    {"observers": 2, "unformatted": 2},
)
"""What may change in a quorum; when, is a move."""


def changes_with(id: str | None) -> list[Mapping[str, Any]]:
    """Those under which a reference may have this bug: of a partition under all."""
    of = None if id is None else bug(id).protocol
    own = [each for each in CHANGES if taken_by(each) == of]
    return own or [*CHANGES]


OF_DIRECTORIES: Final = (DIRECTORIES.name, *DIRECTORIES.asks)


def directories_with(id: str | None) -> list[int]:
    """So many of each broker; of several, where a reference under one cannot have this bug."""
    of = None if id is None else bug(id).protocol
    return [2, 3] if of in OF_DIRECTORIES else [1, 2, 3]


def campaign_options(id: str | None) -> dict[str, Any]:
    """Runs of the simulator in which as much changes as in examples of the machine."""
    changes = {"voter_changes": 6, **changes_with(id)[-1]}
    if "snapshots" in changes:
        changes["snapshots"] = 8
    found = {f"{OF_QUORUM}{name}": each for name, each in changes.items()}
    if min(directories_with(id)) > 1:
        found |= {"directories": 2, "directory_failures": 6}
    return {"reassignments": 6, **found}


def administrator(machine: ClusterMachine) -> Offers:
    """Answered at the controllers' quorum."""
    return machine.schedule.changes()


class ChangingClusterMachine(ClusterMachine):
    """The same where replicas move, topics come and go, brokers stop or are forgotten, and who
    votes changes.
    """

    name = "changing-cluster"
    steers = "cluster"
    moving = True

    @initialize(
        changes=st.runner().flatmap(lambda machine: by_position(changes_with(machine.bug))),
        directories=st.runner().flatmap(lambda machine: by_position(directories_with(machine.bug))),
        **BEGINNING,
    )
    def start(self, changes: Mapping[str, Any], directories: int, **beginning: Any) -> None:
        self.changes, self.directories = changes, directories
        super().start(**beginning)

    reassign = Makes(reassigned, told=True)

    @rule(kind=st.integers(0, 99), place=st.integers(0, 99))
    @possible(administrator)
    def change(self, kind: int, place: int) -> None:
        """A kind of change first: of some there are many, of others one."""
        found: dict[str, list[Move]] = {}
        for move in administrator(self):
            found.setdefault(move.words.split()[2], []).append(move)
        kinds = [*found.values()]
        among = kinds[kind % len(kinds)]
        among[place % len(among)].make()

    change_topic = Makes(changed_topics, told=True)

    forget_broker = Makes(forgettings)

    @rule(move=moves(failing_directories), told=st.booleans())
    @possible(failing_directories)
    def fail_directory(self, move: Move, told: bool) -> None:
        """told: the controller hears of it, and all brokers of what that makes of it."""
        move.make()
        if told:
            self.let_time_pass(15)

    read = Makes(readers)

    stop_broker = Makes(clean_stops)
