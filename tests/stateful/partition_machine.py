"""The state machine of a partition: rules are the verbs of the protocol and the faults around it.

What it shares with a cluster's, and how moves are drawn, is in broker_machine.py.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    ControllerFailover,
    ElectLeaders,
    SessionTimeout,
    Timestamp,
)
from kraftcheck.reference.partition.sim.options import ACKS, PartitionOptions
from kraftcheck.reference.steered.moves import Move
from kraftcheck.reference.steered.scripts import Script
from tests.stateful import beginnings, reached
from tests.stateful.broker_machine import (
    BrokerMachine,
    Makes,
    Offers,
    moves,
    offers,
    on,
    possible,
    posts,
    sends,
)
from tests.stateful.partition_schedule import PartitionSchedule, judge_history

Fault: TypeAlias = Literal[
    "crash",
    "loss",
    "again",
    "delay",
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
    *("crash", "loss", "again", "delay", "drop", "partition", "session", "shutdown"),
    *("election", "failover", "give-up", "delete", "retry"),
)


Clients: TypeAlias = Literal["plain", "idempotent", "acks=1", "acks=0"]


shutdowns = offers("shutdowns")
cuts = offers("cuts")
elections = offers("other_elections")
nodes = st.runner().flatmap(lambda machine: st.sampled_from(machine.schedule.brokers))
leaders = st.runner().flatmap(lambda machine: st.sampled_from(machine.schedule.leaders()))


class PartitionMachine(BrokerMachine):
    """Brokers and the controller of one partition, with the correct rules or those of a bug."""

    name = "partition"
    longest_calm = 10

    def __init__(self) -> None:
        super().__init__()
        reached.begin(self.name, self.bug is None)
        options = PartitionOptions(idempotence=False)
        self.schedule: PartitionSchedule = PartitionSchedule(options, self.bug)
        self.off: frozenset[str] = frozenset()

    @initialize(
        replicas=st.sampled_from([3, 3, 2]),
        elr=st.sampled_from([True, True, False]),
        unclean=st.sampled_from([False, False, True]),
        clients=st.sampled_from(get_args(Clients)),
        off=st.frozensets(st.sampled_from(FAULTS), max_size=7),
        records=st.integers(0, 2),
        begins=beginnings.drawn(),
        left_out=st.integers(0, beginnings.LEFT_OUT),
    )
    def start(
        self,
        replicas: int,
        elr: bool,
        unclean: bool,
        clients: Clients,
        off: frozenset[str],
        records: int,
        begins: Script | None,
        left_out: int,
    ) -> None:
        """A leader with some committed records, so that faults have something to hurt; or it begins
        in the middle of something.
        """
        self.off = off
        if begins is not None:
            options = msgspec.convert(dict(begins.options), PartitionOptions)
            self.schedule = PartitionSchedule(options, self.bug)
            beginnings.follow(self.schedule, begins, left_out)
            return
        options = PartitionOptions(
            replicas=replicas,
            elr=elr,
            unclean=unclean,
            acks="1" if clients == "acks=1" else "0" if clients == "acks=0" else "all",
            idempotence=clients == "idempotent",
        )
        self.schedule = PartitionSchedule(options, self.bug)
        self.let_time_pass(20)
        for _ in range(records):
            self.first(sends(self))
            for leader in () if options.idempotence else self.schedule.leaders():
                self.schedule.ask(self.schedule.produce(leader, -1))
            self.let_time_pass(12)

    # --- What there is to draw from

    def arrivals(self) -> Offers:
        return self.schedule.data(held=False)

    def late_arrivals(self) -> Offers:
        return self.schedule.data(held=True)

    def arrivals_again(self) -> Offers:
        return self.schedule.data(again=True)

    def session_ends(self, node: int) -> None:
        self.schedule.do(CONTROLLER, SessionTimeout(node))

    # --- Clients

    @rule(move=moves(sends), at_once=st.booleans())
    @possible(sends)
    def send(self, move: Move, at_once: bool) -> None:
        """A value of the idempotent producer, or a retry; and perhaps it arrives at once."""
        move.make()
        self.first(posts(self)[:at_once])

    deliver_request = Makes(posts)
    """Of the idempotent producer: now, or late."""

    @rule(node=leaders, waits=st.sampled_from([True, True, False]))
    @precondition(lambda self: not self.schedule.options.idempotence)
    @precondition(lambda self: self.schedule.leaders())
    def produce(self, node: int, waits: bool) -> None:
        """waits: for all in-sync replicas, whatever others do."""
        self.schedule.ask(
            self.schedule.produce(node, ACKS["all" if waits else self.schedule.options.acks])
        )

    @rule(node=leaders, data=st.data())
    @precondition(lambda self: self.schedule.leaders())
    def consume(self, node: int, data: st.DataObject) -> None:
        """From anywhere up to what some client has seen."""
        self.schedule.ask(
            self.schedule.consume(node, data.draw(st.integers(0, self.schedule.seen)))
        )

    @rule(node=leaders, timestamp=st.sampled_from(get_args(Timestamp)))
    @precondition(lambda self: self.schedule.leaders())
    def list_offsets(self, node: int, timestamp: Timestamp) -> None:
        self.schedule.ask(self.schedule.list_offsets(node, timestamp))

    @rule(node=leaders, data=st.data())
    @precondition(lambda self: "delete" not in self.off)
    @precondition(lambda self: self.schedule.leaders())
    def delete_records(self, node: int, data: st.DataObject) -> None:
        """Up to anywhere that is committed, or to what was deleted already."""
        offset = data.draw(st.integers(0, self.schedule.row(node).high_watermark))
        self.schedule.ask(self.schedule.delete_records(node, offset))

    # --- The controller

    @rule(node=nodes)
    @on("session")
    def end_session(self, node: int) -> None:
        self.session_ends(node)

    @rule(unclean=st.booleans(), told=st.booleans())
    @on("election")
    def elect(self, unclean: bool, told: bool) -> None:
        """told: all brokers hear of it at once."""
        allowed = unclean and self.schedule.options.unclean
        self.schedule.do(CONTROLLER, ElectLeaders("UNCLEAN" if allowed else "PREFERRED"))
        if told:
            self.all_read()

    elect_another = Makes(elections, "election", told=True)

    @rule()
    @on("failover")
    def fail_over(self) -> None:
        self.schedule.do(CONTROLLER, ControllerFailover())

    # --- Faults

    shut_down = Makes(shutdowns, "shutdown")

    cut = Makes(cuts, "partition")

    # --- The end

    def steered(self) -> PartitionSchedule:
        return self.schedule

    def judge(self) -> str:
        return judge_history(self.schedule)
