"""The rules that a partition alone and a whole cluster share: messages between brokers, what
brokers do by themselves, connections of producers, and brokers that start again.

As in machine.py, a rule draws one move among those that are possible now, by its position, and each
run switches off some kinds of fault as a whole. Nothing is checked here: the invariants are judged
after every step; at the end everybody must get on, and clients must have been shown what was
promised to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any, ClassVar, Protocol, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from kraftcheck.reference.partition.steered.told import DISK, FAILED, LATE, PROMPT, name_of
from kraftcheck.reference.steered.moves import Move, Steered
from tests.stateful.gifts import SteeredMachine
from tests.stateful.machine import Decorator, by_position

Offers: TypeAlias = Sequence[Move]
Offering: TypeAlias = Callable[[Any], Offers]
"""Of a machine."""
ALTER_PARTITION = ("AlterPartitionRequest", "AlterPartitionResponse")
BROKER = re.compile(r"broker (\d+)")
FETCH = ("ReplicaFetchRequest", "ReplicaFetchResponse")
CONFERRING = {
    "SendRegistration": ("RegisterBrokerRequest", "RegisterBrokerResponse"),
    "SendHeartbeat": ("HeartbeatRequest", "HeartbeatResponse"),
    "SendAlterPartition": ALTER_PARTITION,
}
"""What brokers do by themselves that the controller hears: with the request and its answer."""
COMING_BACK = ("session", "SendRegistration", "metadata", "SendHeartbeat", "SendHeartbeat")
"""What happens to a broker that has started again, until it is unfenced. As long as the session of
its process before has not ended, it may not register.
"""


def moves(of: Offering) -> st.SearchStrategy[Move]:
    """One of the moves that a machine has now; the first ones are the simplest."""
    return st.runner().flatmap(lambda machine: by_position(of(machine)))


def possible(of: Callable[[Any], Sequence[Any]], fault: str = "") -> Decorator:
    """The precondition that there is such a move, and that its kind of fault is on."""
    return precondition(lambda machine: fault not in machine.off and bool(of(machine)))


class Makes:
    """The rule that makes one of these moves. told: all brokers hear of it, perhaps."""

    def __init__(self, of: Offering, fault: str = "", told: bool = False) -> None:
        self._of, self._fault, self._told = of, fault, told

    def __set_name__(self, machine: type[Any], name: str) -> None:
        def makes(self: BrokerMachine, move: Move, told: bool = False) -> None:
            move.make()
            if told:
                self.all_read()

        makes.__name__ = name
        given: dict[str, Any] = {"told": st.booleans()} if self._told else {}
        made: Any = rule(move=moves(self._of), **given)
        setattr(machine, name, made(possible(self._of, self._fault)(makes)))


def of_schedule(of: Offering) -> Offering:
    """What there is to draw from of a machine's schedule."""
    return lambda machine: of(machine.schedule)


def offers(name: str, *given: str) -> Offering:
    """The same, as the schedule itself says it."""
    return of_schedule(methodcaller(name, *given))


def on(fault: str) -> Decorator:
    return precondition(lambda machine: fault not in machine.off)


def mail(machine: BrokerMachine) -> Offers:
    return machine.arrivals()


def mail_again(machine: BrokerMachine) -> Offers:
    return machine.arrivals_again()


def on_time(machine: BrokerMachine) -> Sequence[Callable[[], None]]:
    return machine.schedule.delays()


def slow_mail(machine: BrokerMachine) -> Offers:
    return machine.late_arrivals()


drops = offers("drops")
metadata = offers("readings")
prompt = offers("wants", *PROMPT)
fetches = offers("wants", "SendReplicaFetch")
questions_to_controller = offers("wants", *CONFERRING)
late = offers("wants", *LATE)
lags = offers("wants", "ReplicaLagTimeout")
failed = offers("wants", *FAILED)


def disk(machine: BrokerMachine) -> Offers:
    return [*machine.flushes(), *machine.schedule.wants(*DISK)]


posts = offers("posts")
sends = offers("sends")
breakages = offers("breakages")
restarts = offers("restarts")


def broker_crashes(machine: BrokerMachine) -> Offers:
    return machine.schedule.crashes(lossy="loss" not in machine.off)


def heals(machine: BrokerMachine) -> Offers:
    return machine.schedule.heals() if machine.schedule.is_cut() else []


class Brokers(Steered, Protocol):
    """The schedule of a partition or of a cluster."""

    def calm(self) -> bool: ...
    def delays(self) -> Sequence[Callable[[], None]]: ...
    def drops(self) -> Offers: ...
    def readings(self) -> Offers: ...
    def wants(self, *kinds: str) -> Offers: ...
    def posts(self) -> Offers: ...
    def sends(self) -> Offers: ...
    def breakages(self) -> Offers: ...
    def crashes(self, lossy: bool) -> Offers: ...
    def restarts(self) -> Offers: ...
    def is_cut(self) -> bool: ...
    def heals(self) -> Offers: ...


class BrokerMachine(SteeredMachine):
    """Brokers, alone or in a cluster. off: the kinds of fault that this run has not.
    longest_calm: how many moves a calm moment has at most.
    """

    schedule: Brokers
    off: frozenset[str]
    longest_calm: ClassVar[int]

    def arrivals(self) -> Offers:
        """Of what is not slow, the latest first: what answers a move can come at once."""
        raise NotImplementedError

    def late_arrivals(self) -> Offers:
        """Of what is slow."""
        raise NotImplementedError

    def arrivals_again(self) -> Offers:
        raise NotImplementedError

    def flushes(self) -> Offers:
        """Of others than brokers."""
        return ()

    def first(self, offers: Offers, words: str = "") -> None:
        """Makes the first of these moves with these words, if there is one."""
        for move in offers:
            if words in move.words:
                move.make()
                return

    # --- Messages arrive, or do not

    deliver = Makes(mail)

    deliver_again = Makes(mail_again, "again")

    @rule(slow=st.runner().flatmap(lambda machine: by_position(on_time(machine))))
    @possible(on_time, "delay")
    def delay(self, slow: Callable[[], None]) -> None:
        """A message is slow: calm moments pass without it."""
        slow()

    deliver_late = Makes(slow_mail)

    lose = Makes(drops, "drop")

    @rule(count=st.runner().flatmap(lambda machine: st.integers(1, machine.longest_calm)))
    def let_time_pass(self, count: int) -> None:
        """A calm moment: nothing comes too late or out of order."""
        for _ in range(count):
            self.schedule.calm()

    # --- What brokers do

    read_metadata = Makes(metadata)

    act = Makes(prompt)

    @rule(move=moves(fetches), rounds=st.integers(1, 3))
    @possible(fetches)
    def replicate(self, move: Move, rounds: int) -> None:
        """A follower fetches and is answered, so many times, while everything else waits."""
        for _ in range(rounds):
            self.first(fetches(self), move.words)
            for kind in FETCH:
                self.first(self.arrivals(), kind)

    @rule(move=moves(questions_to_controller))
    @possible(questions_to_controller)
    def confer(self, move: Move) -> None:
        """A broker asks the controller and is answered, while everything else waits."""
        self.confers(move.words)

    def confers(self, words: str) -> None:
        self.first(questions_to_controller(self), words)
        for kind, exchange in CONFERRING.items():
            for each in exchange if kind in words else ():
                self.first(self.arrivals(), each)

    def session_ends(self, node: int) -> None:
        """Of a broker."""
        raise NotImplementedError

    def come_back(self, node: int, far: int) -> None:
        """A broker that has stopped starts again at once, and gets so far in COMING_BACK."""
        broker = name_of(node)
        self.first(self.schedule.restarts(), broker)
        for what in COMING_BACK[:far]:
            if what == "session":
                self.session_ends(node)
            elif what == "metadata":
                self.first(metadata(self), broker)
            else:
                self.confers(f"{broker} {what}")

    def all_read(self) -> None:
        """Every broker reads all metadata that there is."""
        for broker in dict.fromkeys(each.words.partition(" reads ")[0] for each in metadata(self)):
            self.first(metadata(self), broker)

    lose_patience = Makes(late)

    @rule(move=moves(lags), heard=st.integers(0, len(ALTER_PARTITION)))
    @possible(lags)
    def drop_from_isr(self, move: Move, heard: int) -> None:
        """A replica lags for too long, and its leader asks at once to go on without it. heard: the
        request, and its answer, come at once as well.
        """
        move.make()
        for kind in ("IsrShrinkTimeout", "SendAlterPartition"):
            self.first(self.schedule.wants(kind))
        for kind in ALTER_PARTITION[:heard]:
            self.first(self.arrivals(), kind)

    give_up_on_request = Makes(failed, "give-up")

    write_to_disk = Makes(disk)

    restart = Makes(restarts)

    crash = Makes(broker_crashes, "crash")

    @rule(move=moves(broker_crashes), far=st.integers(0, len(COMING_BACK)))
    @possible(broker_crashes, "crash")
    def bounce(self, move: Move, far: int) -> None:
        """A process ends and is there again at once, before anybody has noticed."""
        broker = BROKER.search(move.words)
        assert broker is not None
        move.make()
        self.come_back(int(broker[1]), far)

    heal = Makes(heals)

    # --- Idempotent producers

    @rule(move=moves(breakages), at_once=st.booleans())
    @possible(breakages, "retry")
    def break_connection(self, move: Move, at_once: bool) -> None:
        """Of a producer, which may then send again, perhaps at once; or it gives up a value."""
        move.make()
        for again in self.schedule.sends()[-1:] if at_once else ():
            again.make()

    @rule(
        move=moves(sends),
        more=st.integers(0, 2),
        arrive=st.integers(0, 3),
        late=st.booleans(),
        anew=st.booleans(),
    )
    @possible(sends, "retry")
    def lose_answers(self, move: Move, more: int, arrive: int, late: bool, anew: bool) -> None:
        """A connection breaks under what a producer has just sent, of which some has arrived; the
        rest comes late, or never. It sends again, perhaps grouped anew, and that arrives.
        """
        move.make()
        for _ in range(more):
            self.first(sends(self))
        for _ in range(arrive):
            self.first(posts(self))
        breaks = breakages(self)
        self.first(breaks if late else breaks[::-1], "breaks")
        if anew:
            self.first(breakages(self), "makes one batch")
        self.first(sends(self), "sends again")
        self.first(posts(self))
