"""The state machine: rules are the verbs of the protocol and the faults around it.

Law of this file: a rule draws one move among those that are possible now, by its position, so that
shrinking takes moves away instead of making them impossible. Each prints as a line of a script:
`state.deliver_request(move=<2 -> 1 VoteRequest ...>)`. Nothing is checked here: after every step
the schedule checks the named invariants, and at the end it demands progress.

Swarm: each run switches off some kinds of fault as a whole, and so do whole kinds of moves. A run
without crashes goes deeper into elections than one in which everything happens now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from kraftcheck.reference.quorum.messages import (
    MESSAGES,
    REQUESTS,
    RESPONSES,
    Crash,
    ElectionTimeout,
    FetchTimeout,
    Flush,
    Input,
    RequestTimeout,
    Resign,
    Restart,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.sim.words import move_words
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.jobs.steered import broken_promise
from tests.stateful import beginnings, reached
from tests.stateful.gifts import SteeredMachine
from tests.stateful.schedule import RATES, Schedule, schedule_by

Fault: TypeAlias = Literal[
    "crash", "loss", "again", "delay", "request-timeout", "partition", "resign", "clock", "disk"
]
FAULTS: tuple[Fault, ...] = (
    *("crash", "loss", "again", "delay", "request-timeout", "partition", "resign", "clock", "disk"),
)

Moves: TypeAlias = list[tuple[int, Input]]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class Decorator(Protocol):
    def __call__(self, function: F, /) -> F: ...


def by_position(among: Sequence[T]) -> st.SearchStrategy[T]:
    """One of these. Hypothesis tells draws apart by the hashes of what is drawn from, so it must
    not see more than positions: what hashes by its address makes each search another.
    """
    return st.sampled_from(range(len(among))).map(among.__getitem__)


class Move(NamedTuple):
    """An input of a node, which prints in words."""

    node: int
    input: Input
    constants: Constants

    def __repr__(self) -> str:
        return f"<{move_words(self.constants, self.node, self.input)}>"


def moves(of: Callable[[QuorumMachine], Moves]) -> st.SearchStrategy[Move]:
    """One of the moves that a machine has now; the first ones are the simplest."""

    def among(machine: QuorumMachine) -> st.SearchStrategy[Move]:
        constants = machine.schedule.constants
        return by_position([Move(n, input, constants) for n, input in of(machine)])

    return st.runner().flatmap(among)


def requests(machine: QuorumMachine) -> Moves:
    return [(m.destination, m) for m in machine.schedule.deliverable(*REQUESTS)]


def answers(machine: QuorumMachine) -> Moves:
    return [(m.destination, m) for m in machine.schedule.deliverable(*RESPONSES)]


def slow_mail(machine: QuorumMachine) -> Moves:
    held = machine.schedule.mail.held
    return [(m.destination, m) for m in machine.schedule.deliverable() if m in held]


def mail_again(machine: QuorumMachine) -> Moves:
    return [(m.destination, m) for m in machine.schedule.deliverable(again=True)]


def patience(machine: QuorumMachine) -> Moves:
    """Armed timers other than those of requests."""
    timers = machine.schedule.timers()
    return [(n, timer) for n, timer in timers if not isinstance(timer, RequestTimeout)]


def lone(machine: QuorumMachine) -> Moves:
    """The end of the patience of those who do not lead and do not ask for votes yet."""
    schedule = machine.schedule
    return [
        (n, timer)
        for n, timer in schedule.timers()
        if isinstance(timer, ElectionTimeout | FetchTimeout)
        and schedule.rows[n].role not in ("Prospective", "Resigned")
    ]


def slow_requests(machine: QuorumMachine) -> Moves:
    return [(n, t) for n, t in machine.schedule.timers() if isinstance(t, RequestTimeout)]


def flushes(machine: QuorumMachine) -> Moves:
    return [(n, Flush()) for n in machine.schedule.unflushed()]


def crashes(machine: QuorumMachine) -> Moves:
    """What is flushed stays. Of the rest all stays, or, with loss, any part."""
    listed: Moves = []
    for n in machine.schedule.nodes():
        row = machine.schedule.rows[n]
        first = len(row.log) if "loss" in machine.off else row.flushed
        listed += [(n, Crash(keep)) for keep in range(first, len(row.log) + 1)]
    return listed


def restarts(machine: QuorumMachine) -> Moves:
    return [(n, Restart()) for n in machine.schedule.nodes("Down")]


def resignations(machine: QuorumMachine) -> Moves:
    return [(n, Resign()) for n in machine.schedule.nodes("Leader")]


nodes = st.runner().flatmap(lambda machine: st.sampled_from(machine.schedule.constants.voters))
leaders = st.runner().flatmap(lambda machine: st.sampled_from(machine.schedule.nodes("Leader")))


def possible(of: Callable[[QuorumMachine], Moves], fault: str = "") -> Decorator:
    """The precondition that there is such a move, and that its kind of fault is on."""
    return precondition(lambda machine: fault not in machine.off and bool(of(machine)))


def on(fault: Fault) -> Decorator:
    return precondition(lambda machine: fault not in machine.off)


class QuorumMachine(SteeredMachine):
    """Voters of one quorum, with the correct rules or those of a bug."""

    name = "quorum"
    decisions: ClassVar[type[QuorumRules]] = QuorumRules

    def __init__(self) -> None:
        super().__init__()
        reached.begin(self.name, self.decisions is QuorumRules)
        self.schedule = schedule_by(self.decisions, Constants((1, 2, 3), 2))
        self.off: frozenset[str] = frozenset()

    @initialize(
        voters=st.sampled_from([3, 3, 3, 2, 5, 1]),
        fetch_max=st.sampled_from([2, 1]),
        off=st.frozensets(st.sampled_from(FAULTS), max_size=5),
        head_start=st.sampled_from([0, 10, 20, 30, 40]),
        begins=beginnings.drawn(),
        left_out=st.integers(0, beginnings.LEFT_OUT),
    )
    def start(
        self,
        voters: int,
        fetch_max: int,
        off: frozenset[str],
        head_start: int,
        begins: Script | None,
        left_out: int,
    ) -> None:
        """How many calm moves come first decides whether the faults meet a leader; or it begins in
        the middle of something.
        """
        constants = Constants(tuple(range(1, voters + 1)), fetch_max)
        if begins is not None:
            setting = begins.options
            constants = Constants(tuple(setting["voters"]), setting["fetch_max_records"])
        self.schedule = schedule_by(self.decisions, constants)
        self.off = off
        if begins is not None:
            beginnings.follow(self.schedule, begins, left_out)
        else:
            self.let_time_pass(head_start)

    # --- Messages arrive

    @rule(move=moves(requests))
    @possible(requests)
    def deliver_request(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(answers))
    @possible(answers)
    def deliver_answer(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(mail_again))
    @possible(mail_again, "again")
    def deliver_again(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(lambda machine: [*requests(machine), *answers(machine)]))
    @possible(lambda machine: [*requests(machine), *answers(machine)], "delay")
    def delay(self, move: Move) -> None:
        """A message is slow: calm moments pass without it."""
        assert isinstance(move.input, MESSAGES)
        self.schedule.mail.held.add(move.input)

    @rule(move=moves(slow_mail))
    @possible(slow_mail)
    def deliver_late(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(count=st.integers(1, 8))
    def let_time_pass(self, count: int) -> None:
        """A calm moment: nothing comes too late or out of order."""
        for _ in range(count):
            self.schedule.calm()

    # --- Clients, disks, clocks

    @rule(node=leaders)
    @precondition(lambda self: self.schedule.nodes("Leader"))
    def append(self, node: int) -> None:
        self.schedule.append(node)

    @rule(data=st.data())
    @precondition(lambda self: self.schedule.readable())
    def read(self, data: st.DataObject) -> None:
        """What a node knows to be committed, whether or not it leads."""
        self.schedule.read(*data.draw(by_position(self.schedule.readable())))

    @rule(move=moves(flushes))
    @possible(flushes)
    def flush(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(patience))
    @possible(patience)
    def time_out(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule()
    @possible(lone)
    def everybody_times_out(self) -> None:
        """After a stall of the network nobody has heard from anybody, and all ask for votes."""
        for node, timer in lone(self):
            self.schedule.do(node, timer)

    @rule(move=moves(slow_requests))
    @possible(slow_requests, "request-timeout")
    def give_up_on_request(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    # --- Faults

    @rule(move=moves(crashes))
    @possible(crashes, "crash")
    def crash(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(crashes))
    @possible(crashes, "crash")
    def bounce(self, move: Move) -> None:
        """A process ends and is there again at once, before anybody has noticed."""
        self.schedule.do(move.node, move.input)
        self.schedule.do(move.node, Restart())

    @rule(move=moves(restarts))
    @possible(restarts)
    def restart(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(move=moves(resignations))
    @possible(resignations, "resign")
    def resign(self, move: Move) -> None:
        self.schedule.do(move.node, move.input)

    @rule(node=nodes, rate=st.sampled_from(tuple(RATES)))
    @on("clock")
    def set_clock(self, node: int, rate: int) -> None:
        self.schedule.set_clock(node, rate)

    @rule(node=nodes)
    @on("disk")
    def stall_disk(self, node: int) -> None:
        self.schedule.stall(node)

    @rule(source=nodes, destination=nodes)
    @on("partition")
    def cut_one_way(self, source: int, destination: int) -> None:
        if source != destination:
            self.schedule.sever({(source, destination)})

    @rule(node=nodes)
    @on("partition")
    @precondition(lambda self: len(self.schedule.constants.voters) > 1)
    def isolate(self, node: int) -> None:
        others = self.schedule.constants.others(node)
        self.schedule.sever({(node, n) for n in others} | {(n, node) for n in others})

    @rule()
    @precondition(lambda self: self.schedule.cut)
    def heal(self) -> None:
        self.schedule.heal()

    # --- The end

    def steered(self) -> Schedule:
        return self.schedule

    def judge(self) -> str:
        return broken_promise([self.schedule])
