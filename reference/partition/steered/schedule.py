"""A partition under a schedule: what a move does, and which moves there are.

The twin of reference/quorum/steered/schedule.py for brokers, their controller and clients, as
world.py has them. Law of this file: no choice is made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial

from kraftcheck.reference.partition.messages import (
    CLIENT_REQUESTS,
    CONTROLLER,
    BrokerCrash,
    BrokerRestart,
    ControlledShutdown,
    ControllerFailover,
    Election,
    ElectLeaders,
    Input,
    MetadataUpdate,
    ProduceRequest,
    SessionTimeout,
)
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions, constants_of
from kraftcheck.reference.partition.sim.scenario import PARTITION
from kraftcheck.reference.partition.steered.told import (
    DISK,
    FAILED,
    LATE,
    PROMPT,
    ToldPartitions,
    name_of,
)
from kraftcheck.reference.partition.steered.world import (
    Chosen,
    NoChoice,
    Steering,
    appending_words,
    breaking_words,
    resending_words,
)
from kraftcheck.reference.partition.system import listing_first
from kraftcheck.reference.partition.types import INITIAL_OFFSET, UNDEFINED
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Memos, State, Step
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.mail import Lost
from kraftcheck.reference.steered.moves import Move

MEMO_STEPS = 200_000

memos = Memos(MEMO_STEPS)
"""By bug."""


class PartitionSchedule(ToldPartitions, Steering):
    """A partition alone: links that are cut, metadata that is unread, and the moves so far."""

    def __init__(
        self, options: PartitionOptions, bug: str | None = None, memo: PartitionMemo | None = None
    ) -> None:
        """memo: with the nodes, if they are not those of the reference."""
        constants = constants_of(options)
        self.recorder = Recorder(0)
        memo = self._memo = memo or memos.memo(bug, lambda: PartitionMemo(bug))
        super().__init__(PARTITION.paces, options, constants, memo, self.recorder, NoChoice())
        self.partitions = (self,)
        self.be_told(options, options)
        self.do(CONTROLLER, ElectLeaders("PREFERRED"))
        self.moves.clear()

    # --- What run.py leaves to be decided

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        for _, message in sent:
            self.post(message)

    def follow_controller(self, step: Step) -> None:
        """Sessions end when they are told to."""

    def began(self, node: int) -> None:
        """Metadata is read when it is told to be."""

    def stepped(self, step: Step) -> None:
        """Nothing follows."""

    # --- One move

    def wordings(self, node: int, input: Input | Lost | Chosen) -> Iterator[str]:
        """The moves that give a node this input, each asked for when those before it were made."""
        if isinstance(input, Lost):
            yield self.losing_words(self._intern(input.message))
        elif isinstance(input, Chosen):
            yield self.electing_words(input.election, input.broker)
        elif isinstance(input, ProduceRequest) and input.producer != UNDEFINED:
            yield from self._produced(input)
        elif isinstance(input, CLIENT_REQUESTS):
            yield self.asking_words(input)
        else:
            yield self.words(node, input)

    def _produced(self, request: ProduceRequest) -> Iterator[str]:
        """The idempotent producer sends a value, again if it had sent it before, and it arrives."""
        (value,), node = request.values, request.destination
        if value > self.values:
            yield appending_words(value, node)
        else:
            if flight := self.producer.flight(value):
                yield breaking_words(*flight)
            yield resending_words(node)
        yield self.posting_words(value, node) or f"{name_of(node)} {render_input(request)}"

    def crashing(self, node: int, keep: int, corrupt: int) -> Move:
        input = BrokerCrash(keep, corrupt)

        def make() -> None:
            self.has_crashed(node, keep, corrupt)
            self._take(node, input)

        return self.move(partial(self.words, node, input), make)

    def crash(self, node: int, keep: int, corrupt: int) -> None:
        self.crashing(node, keep, corrupt).make()

    def electing(self, election: Election, broker: int) -> Move:
        """An election before which the replicas were listed anew, this one first."""

        def make() -> None:
            self.stand(self._listing_first(broker))
            try:
                self._take(CONTROLLER, ElectLeaders(election))
            finally:
                self.stand(self._machine.state(CONTROLLER, self.state(CONTROLLER).known))

        return self.move(self.electing_words(election, broker), make)

    def elect(self, election: Election, broker: int) -> None:
        self.electing(election, broker).make()

    def electing_words(self, election: Election, broker: int) -> str:
        return f"{self.words(CONTROLLER, ElectLeaders(election))} of broker {broker}"

    def _listing_first(self, broker: int) -> State:
        """The controller as it is, where the assignment begins with this broker."""
        listed = listing_first(self.constants, broker)
        return self._memo.machine(listed).state(CONTROLLER, self.state(CONTROLLER).known)

    # --- Which moves there are

    def electable(self) -> list[tuple[Election, int]]:
        """Whom an election would elect that listed them first, and does not as it is."""
        asked: list[Election] = ["PREFERRED", "UNCLEAN"] if self.options.unclean else ["PREFERRED"]
        found = []
        for election in asked:
            usual = self._elected(self.state(CONTROLLER), election)
            for broker in self.brokers:
                known = broker in (usual, self.controller.partition.leader)
                if not known and self._elected(self._listing_first(broker), election) == broker:
                    found.append((election, broker))
        return found

    def other_elections(self) -> list[Move]:
        return [self.electing(*each) for each in self.electable()]

    def _elected(self, state: State, election: Election) -> int:
        """Who leads after this election."""
        input = self._intern(ElectLeaders(election))
        step = state.steps.get(input) or state.machine.step(state, input)
        assert step is not None, "an election may be asked for at any time"
        leader: int = step.after.row.partition.leader
        return leader

    def possible(self) -> Iterator[Move]:
        yield from (*self.data()[::-1], *self.data(True)[::-1], *self.drops())
        yield from (*self.readings(), *self.wants(*PROMPT, *LATE, *FAILED, *DISK))
        yield from (*self.posts(), *self.sends(), *self.breakages())
        yield from (*self.asks(), *self.probes(), *self._of_controller())
        yield from (
            *self.crashes(),
            *self.restarts(),
            *self.shutdowns(),
            *self.cuts(),
            *self.heals(),
        )

    def crashes(self, lossy: bool = True) -> list[Move]:
        return [
            self.crashing(node, *damage)
            for node in filter(self.is_running, self.brokers)
            for damage in self.damages(node, lossy)
        ]

    def restarts(self) -> list[Move]:
        return [self.step_of(node, BrokerRestart()) for node in self.with_status("Down")]

    def shutdowns(self) -> list[Move]:
        return [self.step_of(node, ControlledShutdown()) for node in self.with_status("Running")]

    def _of_controller(self) -> Iterator[Move]:
        yield from self.endings_of({*self.brokers})
        yield self.step_of(CONTROLLER, ElectLeaders("PREFERRED"))
        if self.options.unclean:
            yield self.step_of(CONTROLLER, ElectLeaders("UNCLEAN"))
        yield from self.other_elections()
        yield self.step_of(CONTROLLER, ControllerFailover())

    def endings_of(self, brokers: Set[int]) -> Iterator[Move]:
        for node in filter(brokers.__contains__, self.brokers):
            yield self.step_of(CONTROLLER, SessionTimeout(node))

    def readings(self) -> list[Move]:
        return [self.step_of(*each) for each in self.unread()]

    def unread(self) -> list[tuple[int, Input]]:
        """For each broker, all that it has not read of metadata, and the first of that."""
        found: list[tuple[int, Input]] = []
        for node in self.brokers:
            offset = self.row(node).image.offset
            records = self.metadata[offset - INITIAL_OFFSET :]
            if self.is_running(node) and records:
                found.append((node, MetadataUpdate(offset, records)))
                if len(records) > 1:
                    found.append((node, MetadataUpdate(offset, records[:1])))
        return found
