"""The state machine of a partition: rules are the verbs of the protocol and the faults around it.

As in machine.py, a rule draws one move among those that are possible now, by its position, and each
run switches off some kinds of fault as a whole. Nothing is checked here: the invariants are judged
after every step by the schedule; at the end it demands progress, and that clients were shown what
was promised to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from reference.core.partition_messages import (
    CONTROLLER,
    BrokerRestart,
    ControlledShutdown,
    ControllerFailover,
    ElectLeaders,
    Input,
    SessionTimeout,
)
from reference.sim.narrate import render_input
from reference.sim.partition.options import PartitionOptions
from tests.stateful import reached
from tests.stateful.gifts import SteeredMachine
from tests.stateful.machine import Decorator, by_position
from tests.stateful.partition_schedule import (
    DISK,
    FAILED,
    LATE,
    PROMPT,
    PartitionSchedule,
    judge_history,
)

Fault: TypeAlias = Literal[
    "crash",
    "loss",
    "again",
    "drop",
    "partition",
    "session",
    "shutdown",
    "election",
    "failover",
    "give-up",
    "delete",
    "retry",
]
FAULTS: tuple[Fault, ...] = (
    *("crash", "loss", "again", "drop", "partition", "session", "shutdown", "election"),
    *("failover", "give-up", "delete", "retry"),
)


class Move(NamedTuple):
    """An input of a node, which prints in words."""

    node: int
    input: Input

    def __repr__(self) -> str:
        return f"<{self.node} {render_input(self.input)}>"


Moves: TypeAlias = list[tuple[int, Input]]
Clients: TypeAlias = Literal["plain", "idempotent", "acks=1"]


class Change(NamedTuple):
    """What is no input of a node alone, which prints in words."""

    words: str
    make: Callable[[], None]

    def __repr__(self) -> str:
        return f"<{self.words}>"


Changes: TypeAlias = list[tuple[str, Callable[[], None]]]


def changes(of: Callable[[PartitionMachine], Changes]) -> st.SearchStrategy[Change]:
    """As `moves`."""
    return st.runner().flatmap(lambda machine: by_position([Change(*each) for each in of(machine)]))


def moves(of: Callable[[PartitionMachine], Moves]) -> st.SearchStrategy[Move]:
    """One of the moves that a machine has now; the first ones are the simplest."""
    return st.runner().flatmap(
        lambda machine: by_position([Move(n, input) for n, input in of(machine)])
    )


def mail(machine: PartitionMachine) -> Moves:
    """The latest first: what is sent in answer to a move can come at once."""
    waiting = machine.schedule.deliverable()
    return [(m.value.destination, m.value) for m in waiting[::-1]]


def mail_again(machine: PartitionMachine) -> Moves:
    delivered = machine.schedule.deliverable(again=True)
    return [(m.value.destination, m.value) for m in delivered[::-1]]


def metadata(machine: PartitionMachine) -> Moves:
    return machine.schedule.unread()


def prompt(machine: PartitionMachine) -> Moves:
    return machine.schedule.wants(*PROMPT)


def late(machine: PartitionMachine) -> Moves:
    return machine.schedule.wants(*LATE)


def failed(machine: PartitionMachine) -> Moves:
    return machine.schedule.wants(*FAILED)


def disk(machine: PartitionMachine) -> Moves:
    return machine.schedule.wants(*DISK)


def restarts(machine: PartitionMachine) -> Moves:
    return [(n, BrokerRestart()) for n in machine.schedule.with_status("Down")]


def shutdowns(machine: PartitionMachine) -> Moves:
    return [(n, ControlledShutdown()) for n in machine.schedule.with_status("Running")]


def sends(machine: PartitionMachine) -> Changes:
    return machine.schedule.sends()


def posts(machine: PartitionMachine) -> Changes:
    return machine.schedule.posts()


def breakages(machine: PartitionMachine) -> Changes:
    return machine.schedule.breakages()


def elections(machine: PartitionMachine) -> Changes:
    return machine.schedule.other_elections()


nodes = st.runner().flatmap(lambda machine: st.sampled_from(machine.schedule.brokers))
running = st.runner().flatmap(
    lambda machine: st.sampled_from(
        [n for n in machine.schedule.brokers if machine.schedule.is_running(n)]
    )
)
leaders = st.runner().flatmap(lambda machine: st.sampled_from(machine.schedule.leaders()))


def possible(of: Callable[[PartitionMachine], Moves], fault: str = "") -> Decorator:
    """The precondition that there is such a move, and that its kind of fault is on."""
    return precondition(lambda machine: fault not in machine.off and bool(of(machine)))


def on(fault: Fault) -> Decorator:
    return precondition(lambda machine: fault not in machine.off)


class PartitionMachine(SteeredMachine):
    """Brokers and the controller of one partition, with the correct rules or those of a bug."""

    name = "partition"

    def __init__(self) -> None:
        super().__init__()
        reached.begin(self.name, self.bug is None)
        self.schedule = PartitionSchedule(PartitionOptions(idempotence=False), self.bug)
        self.off: frozenset[str] = frozenset()

    @initialize(
        replicas=st.sampled_from([3, 3, 2]),
        elr=st.sampled_from([True, True, False]),
        unclean=st.sampled_from([False, False, True]),
        clients=st.sampled_from(["plain", "idempotent", "acks=1"]),
        off=st.frozensets(st.sampled_from(FAULTS), max_size=7),
        records=st.integers(0, 2),
    )
    def start(
        self,
        replicas: int,
        elr: bool,
        unclean: bool,
        clients: Clients,
        off: frozenset[str],
        records: int,
    ) -> None:
        """A leader with some committed records, so that faults have something to hurt."""
        options = PartitionOptions(
            replicas=replicas,
            elr=elr,
            unclean=unclean,
            acks="1" if clients == "acks=1" else "all",
            idempotence=clients == "idempotent",
        )
        self.schedule = PartitionSchedule(options, self.bug)
        self.off = off
        self.let_time_pass(20)
        for _ in range(records):
            for words, make in sends(self)[:1]:
                self.schedule.of_producer(words, make)
            for leader in () if options.idempotence else self.schedule.leaders():
                self.schedule.produce(leader, -1)
            self.let_time_pass(12)

    # --- Messages arrive, or do not

    @rule(move=moves(mail))
    @possible(mail)
    def deliver(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(mail_again))
    @possible(mail_again, "again")
    def deliver_again(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(data=st.data())
    @possible(mail, "drop")
    def lose(self, data: st.DataObject) -> None:
        self.schedule.drop(data.draw(by_position(self.schedule.deliverable())))

    @rule(count=st.integers(1, 10))
    def let_time_pass(self, count: int) -> None:
        """A calm moment: nothing comes too late or out of order."""
        for _ in range(count):
            self.schedule.calm()

    # --- What brokers do

    @rule(move=moves(metadata))
    @possible(metadata)
    def read_metadata(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(prompt))
    @possible(prompt)
    def act(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(late))
    @possible(late)
    def lose_patience(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(failed))
    @possible(failed, "give-up")
    def give_up_on_request(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(disk))
    @possible(disk)
    def write_to_disk(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    # --- Clients

    @rule(change=changes(sends), at_once=st.booleans())
    @precondition(lambda self: bool(sends(self)))
    def send(self, change: Change, at_once: bool) -> None:
        """A value of the idempotent producer, or a retry; and perhaps it arrives at once."""
        self.schedule.of_producer(*change)
        for _, make in posts(self)[:at_once]:
            make()

    @rule(change=changes(posts))
    @precondition(lambda self: bool(posts(self)))
    def deliver_request(self, change: Change) -> None:
        """Of the idempotent producer: now, or late."""
        change.make()

    @rule(change=changes(breakages), at_once=st.booleans())
    @on("retry")
    @precondition(lambda self: bool(breakages(self)))
    def break_connection(self, change: Change, at_once: bool) -> None:
        """Of the idempotent producer, which may then send again, perhaps at once; or it gives up a
        value.
        """
        self.schedule.of_producer(*change)
        for again in sends(self)[-1:] if at_once else ():
            self.schedule.of_producer(*again)

    @rule(node=leaders, acks=st.sampled_from([-1, -1, 1]))
    @precondition(lambda self: not self.schedule.options.idempotence)
    @precondition(lambda self: self.schedule.leaders())
    def produce(self, node: int, acks: int) -> None:
        self.schedule.produce(node, -1 if self.schedule.options.acks == "all" else acks)

    @rule(node=leaders, data=st.data())
    @precondition(lambda self: self.schedule.leaders())
    def consume(self, node: int, data: st.DataObject) -> None:
        """From anywhere up to what some client has seen."""
        self.schedule.consume(node, data.draw(st.integers(0, self.schedule.seen)))

    @rule(node=leaders)
    @precondition(lambda self: self.schedule.leaders())
    def list_offsets(self, node: int) -> None:
        self.schedule.list_offsets(node)

    @rule(node=leaders, data=st.data())
    @precondition(lambda self: "delete" not in self.off)
    @precondition(lambda self: self.schedule.leaders())
    def delete_records(self, node: int, data: st.DataObject) -> None:
        """Up to anywhere that is committed, or to what was deleted already."""
        self.schedule.delete_records(
            node, data.draw(st.integers(0, self.schedule.row(node).high_watermark))
        )

    # --- The controller

    @rule(node=nodes)
    @on("session")
    def end_session(self, node: int) -> None:
        self.schedule.do(CONTROLLER, SessionTimeout(node))

    @rule(unclean=st.booleans())
    @on("election")
    def elect(self, unclean: bool) -> None:
        allowed = unclean and self.schedule.options.unclean
        self.schedule.do(CONTROLLER, ElectLeaders("UNCLEAN" if allowed else "PREFERRED"))

    @rule(change=changes(elections))
    @on("election")
    @precondition(lambda self: bool(elections(self)))
    def elect_another(self, change: Change) -> None:
        """Another replica than the one that stands first in the assignment."""
        change.make()

    @rule()
    @on("failover")
    def fail_over(self) -> None:
        self.schedule.do(CONTROLLER, ControllerFailover())

    # --- Faults

    @rule(node=running, data=st.data())
    @precondition(lambda self: "crash" not in self.off)
    @precondition(lambda self: any(map(self.schedule.is_running, self.schedule.brokers)))
    def crash(self, node: int, data: st.DataObject) -> None:
        damages = self.schedule.damages(node, "loss" not in self.off)
        keep, corrupt = data.draw(by_position(damages))
        self.schedule.crash(node, keep, corrupt)

    @rule(move=moves(restarts))
    @possible(restarts)
    def restart(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(shutdowns))
    @possible(shutdowns, "shutdown")
    def shut_down(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(node=nodes, controller=st.booleans())
    @on("partition")
    def isolate(self, node: int, controller: bool) -> None:
        """From the other brokers, or from the controller. Clients reach everybody."""
        others = [n for n in self.schedule.brokers if n != node]
        cut = [CONTROLLER] if controller else others
        self.schedule.sever({(node, n) for n in cut} | {(n, node) for n in cut})

    @rule(source=nodes, destination=nodes)
    @on("partition")
    def cut_one_way(self, source: int, destination: int) -> None:
        if source != destination:
            self.schedule.sever({(source, destination)})

    @rule()
    @precondition(lambda self: self.schedule.cut)
    def heal(self) -> None:
        self.schedule.heal()

    # --- The end

    def steered(self) -> PartitionSchedule:
        return self.schedule

    def judge(self) -> str:
        return judge_history(self.schedule)
