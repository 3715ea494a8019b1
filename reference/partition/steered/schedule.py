"""A partition under a schedule: what a move does, which moves there are, whether time would heal.

The twin of reference/quorum/steered/schedule.py for brokers, their controller and clients, as
world.py has them. Law of
this file: no choice is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

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
from kraftcheck.reference.partition.steered.producers import Posted
from kraftcheck.reference.partition.steered.world import (
    DISK,
    FAILED,
    HEAL,
    LATE,
    PROMPT,
    SENTENCES,
    Chosen,
    Lost,
    NoChoice,
    Steering,
    appending_words,
    breaking_words,
    cut_words,
    name_of,
    resending_words,
)
from kraftcheck.reference.partition.system import listing_first
from kraftcheck.reference.partition.types import INITIAL_OFFSET, UNDEFINED
from kraftcheck.reference.quorum.steered.schedule import Link
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Memos, State, Step
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.failures import Violation
from kraftcheck.reference.steered.moves import Move, NodeStep, recorded_steps

MOVES_TO_PROGRESS = 1500
"""And so many for what there is to copy."""
MEMO_STEPS = 200_000

memos = Memos(MEMO_STEPS)
"""By bug."""


class PartitionSchedule(Steering):
    """A partition alone: links that are cut, metadata that is unread, and the moves so far."""

    def __init__(
        self, options: PartitionOptions, bug: str | None = None, memo: PartitionMemo | None = None
    ) -> None:
        """memo: with the nodes, if they are not those of the reference."""
        constants = constants_of(options)
        self.recorder = Recorder(0)
        memo = self._memo = memo or memos.memo(bug, lambda: PartitionMemo(bug))
        super().__init__(PARTITION.paces, options, constants, memo, self.recorder, NoChoice())
        self.steer(options, set())
        self.moves: list[str] = []
        self.sound = True
        """False from the step that broke something on."""
        self.do(CONTROLLER, ElectLeaders("PREFERRED"))
        self.moves.clear()

    # --- What run.py leaves to be decided

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        self.enqueue(message for _, message in sent)

    def follow_controller(self, step: Step) -> None:
        """Sessions end when they are told to."""

    def began(self, node: int) -> None:
        """Metadata is read when it is told to be."""

    def stepped(self, step: Step) -> None:
        """Nothing follows."""

    # --- One move

    def do(self, node: int, input: Input) -> None:
        """As Steering.do. Raises Violation."""
        self._do(node, input, self.words(node, input))

    def _do(self, node: int, input: Input, words: str) -> None:
        self.now += 1000
        self._note(words)
        self.sound = False
        super().do(node, input)
        if self.violations:
            found = self.violations[0]
            raise Violation(SENTENCES[found.invariant], found.explanation, self.moves)
        self.sound = True

    def _note(self, move: str) -> None:
        self.moves.append(move)

    def wordings(self, node: int, input: Input | Lost | Chosen) -> Iterator[str]:
        """The moves that give a node this input, each asked for when those before it were made."""
        if isinstance(input, Lost):
            yield self.losing_words(self._intern(input.message))
        elif isinstance(input, Chosen):
            yield self.electing_words(input.election, input.broker)
        elif isinstance(input, ProduceRequest) and input.producer != UNDEFINED:
            yield from self._produced(input)
        elif isinstance(input, CLIENT_REQUESTS):
            yield f"{name_of(node)} {render_input(input)}"
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

    def drop(self, message: KnownInput) -> None:
        """It is lost."""
        self.lose(message)
        self._note(self.losing_words(message))

    def post(self, posted: Posted) -> None:
        words = self._post_words(posted)
        self.producer.arrives(posted)
        self._do(posted[1].destination, posted[1], words)

    def sever(self, links: set[Link]) -> None:
        """No message passes these links until they are joined again."""
        self.cut |= links
        self.losses.cuts += 1
        self._note(cut_words(links))

    def heal(self) -> tuple[int, ...]:
        self.join_links()
        return self.brokers

    def join_links(self) -> None:
        self.cut.clear()
        self.held.clear()
        self._note(HEAL)

    def crash(self, node: int, keep: int, corrupt: int) -> None:
        self.has_crashed(node, keep, corrupt)
        self.do(node, BrokerCrash(keep, corrupt))

    def elect(self, election: Election, broker: int) -> None:
        """An election before which the replicas were listed anew, this one first."""
        words = self.electing_words(election, broker)
        self.stand(self._listing_first(broker))
        try:
            self._do(CONTROLLER, ElectLeaders(election), words)
        finally:
            self.stand(self._machine.state(CONTROLLER, self.state(CONTROLLER).known))

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
        """Those in words, and how they come about."""
        return [
            Move(self.electing_words(*each), partial(self.elect, *each))
            for each in self.electable()
        ]

    def _elected(self, state: State, election: Election) -> int:
        """Who leads after this election."""
        input = self._intern(ElectLeaders(election))
        step = state.steps.get(input) or state.machine.step(state, input)
        assert step is not None, "an election may be asked for at any time"
        leader: int = step.after.row.partition.leader
        return leader

    def possible(self) -> Iterator[Move]:
        for again in (False, True):
            for message in self.deliverable(again):
                yield self.move_of(message.value.destination, message.value)
        yield from self.drops()
        for node, input in (*self.readings(), *self.wants(*PROMPT, *LATE, *FAILED, *DISK)):
            yield self.move_of(node, input)
        yield from (*self.posts(), *self.sends(), *self.breakages())
        for asked in (*self.asks(), *self.probes()):
            words = f"{name_of(asked.destination)} {render_input(asked)}"
            yield Move(words, partial(self.ask, asked))
        yield from self._of_controller()
        yield from self._faults()

    def move_of(self, node: int, input: Input) -> Move:
        return Move(self.words(node, input), partial(self.do, node, input))

    def drops(self) -> list[Move]:
        return [Move(self.losing_words(m), partial(self.drop, m)) for m in self.deliverable()]

    def posts(self) -> list[Move]:
        """Requests of the producer."""
        return [Move(*each) for each in self.producer_posts()]

    def sends(self) -> list[Move]:
        return [self._of_producer(*each) for each in self.producer_sends()]

    def breakages(self) -> list[Move]:
        return [self._of_producer(*each) for each in self.producer_breakages()]

    def _of_producer(self, words: str, happen: Callable[[], None]) -> Move:
        def make() -> None:
            self.now += 1000
            self._note(words)
            happen()

        return Move(words, make)

    def restarts(self) -> list[Move]:
        return [self.move_of(node, BrokerRestart()) for node in self.with_status("Down")]

    def shutdowns(self) -> list[Move]:
        return [self.move_of(node, ControlledShutdown()) for node in self.with_status("Running")]

    def is_cut(self) -> bool:
        """Whether any link is."""
        return bool(self.cut)

    def heals(self) -> list[Move]:
        return [Move(HEAL, self.join_links)]

    def _of_controller(self) -> Iterator[Move]:
        for node in self.brokers:
            yield self.move_of(CONTROLLER, SessionTimeout(node))
        yield self.move_of(CONTROLLER, ElectLeaders("PREFERRED"))
        if self.options.unclean:
            yield self.move_of(CONTROLLER, ElectLeaders("UNCLEAN"))
        yield from self.other_elections()
        yield self.move_of(CONTROLLER, ControllerFailover())

    def _faults(self) -> Iterator[Move]:
        for node in filter(self.is_running, self.brokers):
            for keep, corrupt in self.damages(node, True):
                words = self.words(node, BrokerCrash(keep, corrupt))
                yield Move(words, partial(self.crash, node, keep, corrupt))
        yield from (*self.restarts(), *self.shutdowns())
        for links in self._cuts():
            yield Move(cut_words(links), partial(self.sever, links))
        yield from self.heals()

    def _cuts(self) -> Iterator[set[Link]]:
        for node in self.brokers:
            others = [n for n in self.brokers if n != node]
            for cut in ([CONTROLLER], others):
                yield {(node, n) for n in cut} | {(n, node) for n in cut}
            for n in others:
                yield {(node, n)}

    def steps(self) -> Iterator[NodeStep]:
        return recorded_steps(self.recorder)

    def setting(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self.options)
        return found

    def wants(self, *kinds: str) -> list[tuple[int, Input]]:
        """What brokers would do by themselves, of these kinds in this order."""
        return [
            (node, want.value)
            for kind in kinds
            for node in self.brokers
            for want in self.state(node).wants
            if want.kind == kind
        ]

    def readings(self) -> list[tuple[int, Input]]:
        """For each broker, the next of what it has not read of metadata, and all of it."""
        found: list[tuple[int, Input]] = []
        for node in self.brokers:
            offset = self.row(node).image.offset
            records = self.metadata[offset - INITIAL_OFFSET :]
            if self.is_running(node) and records:
                found.append((node, MetadataUpdate(offset, records)))
                if len(records) > 1:
                    found.append((node, MetadataUpdate(offset, records[:1])))
        return found

    # --- Time passes

    def calm(self) -> bool:
        """The move that a partition without faults makes next; False when there is none."""
        if waiting := self.prompt():
            self.do(waiting[0].value.destination, waiting[0].value)
        elif posts := self.posts():
            posts[-1].make()
        elif unread := self.readings():
            self.do(*unread[0])
        elif urgent := self._urgent() or self._overdue():
            self.do(*urgent)
        else:
            return False
        return True

    def _urgent(self) -> tuple[int, Input] | None:
        """What a broker does at once, since something comes of it."""
        for node, input in self.wants(*PROMPT):
            match type(input).__name__:
                case "SendReplicaFetch":
                    useful = self.is_news_for(node)
                case "SendHeartbeat":
                    # Who stops waits until everybody has seen that it leads no more (C5).
                    at = self.brokers.index(node)
                    told = self.controller.contacts[at].metadata_offset
                    stopping = any(known.stopping for known in self.controller.registrations)
                    useful = stopping and told != self.row(node).image.offset
                case "SendRegistration":
                    useful = not self.is_refused(node)
                case _:
                    useful = True
            if useful:
                return node, input
        return None

    def _overdue(self) -> tuple[int, Input] | None:
        """Give what comes with time.

        Requests are given up, the session of a broker that died ends, who is not in the ISR fetches
        on, and who waits for the controller asks again.
        """
        if failed := self.wants(*FAILED):
            return failed[0]
        for node in self.brokers:
            if self.is_refused(node):
                return CONTROLLER, SessionTimeout(node)
        for node, input in self.wants("SendHeartbeat"):
            at = self.brokers.index(node)
            fenced = self.controller.registrations[at].fenced
            if fenced or self.row(node).status != "Running":
                return node, input
        for node, input in self.wants("SendReplicaFetch"):
            # A leader asks itself whether a follower belongs to the ISR when it fetches.
            if node not in self.controller.partition.isr:
                return node, input
        return None

    def progress(self) -> str:
        """End every fault and let time pass until the partition is whole.

        Empty once everybody is back in the ISR and a new record is on every replica, or why that
        did not happen within a bounded number of moves.
        """
        self.join_links()
        probe = UNDEFINED
        for _ in range(MOVES_TO_PROGRESS + self.moves_to_copy()):
            for node in self.with_status("Down"):
                self.do(node, BrokerRestart())
            missing = self.missing()
            if not missing and not self.deliverable() and not self.readings():
                leader = self.controller.partition.leader
                if self.is_everywhere(probe):
                    return ""
                written = [record.value for record in self.row(leader).log]
                if leader in self.leaders() and probe not in written:
                    self.ask(self.produce(leader, -1))
                    probe = self.values
            if not self.calm():
                return missing or "the new record does not reach every replica"
        return missing or "the new record is not committed in time"
