"""Active controllers: what they decide, when it is committed, and when they answer (C0).

A voter that leads, and knows the beginning of its epoch to be committed, is active. It replays the
committed log, and from then on decides on its own state, ahead of what is committed. A decision
that changes metadata is appended to the quorum's log as one value. What an answer waits for is
decided by the handlers of a controller (reference/controllers). A leader that knows that it is
deposed answers nothing more (`renounce`: NOT_CONTROLLER).

Beside them stands, for each partition, the abstract controller of the specification. It takes the
step of a decision when any voter first knows it to be committed, in the order of the log; decisions
without records in the order in which they were made.

A controller that was deposed and does not know it still answers, where it needs to write nothing:
from what was committed once. With the option `stale_answers` it does so, and its steps are those of
the node DEPOSED; otherwise such answers are not sent. They are counted either way
(`stale_answers`).

Reads need no active controller: whoever is asked answers from what it knows to be committed (V29,
`read`). That is what the abstract controller was at some time, whose step it is; or, where it is
not any more, that of DEPOSED.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec.structs import replace

from kraftcheck.reference.cluster.sim.brokers import Brokers
from kraftcheck.reference.cluster.sim.decisions import Active, Batch, Decision
from kraftcheck.reference.cluster.sim.link import Request
from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.cluster.sim.past import READS_COMMITTED, Past
from kraftcheck.reference.controllers.handlers import ControllerHandlers
from kraftcheck.reference.controllers.messages import (
    METADATA_LOG as LOG,
    BatchCommitted,
    LeaderAndEpoch,
    WriteEvent,
)
from kraftcheck.reference.controllers.rules import ControllerRules
from kraftcheck.reference.controllers.types import INITIAL_CONTROLLER, Constants
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    NOBODY,
    ControllerFailover,
    ElectLeaders,
    HeartbeatRequest,
    Input,
    Partition,
    RegisterBrokerRequest,
    SessionTimeout,
)
from kraftcheck.reference.partition.moving.messages import OtherPartitions
from kraftcheck.reference.partition.replay import CommittedBatch
from kraftcheck.reference.partition.sim.machine import WRITTEN
from kraftcheck.reference.partition.types import ControllerRow
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.sim.interning import Interner, KnownInput
from kraftcheck.reference.sim.memo import State, Step
from kraftcheck.reference.sim.operations import Operation

UNBOUNDED: Final = Constants((), 1 << 30, 1 << 30)
"""The quorum says who is elected, and when."""
REPLAY_AGREES = "ReplayAgrees"
"""What the log says, replayed, is what its controllers decided: a relation between a controller and
the log, which no row shows, so it is checked here."""


class ControllersEnvironment(Protocol):
    now: int

    def append(self, node: int, value: int) -> str:
        """Appends a value to the quorum's log at this voter; why it was refused, or empty."""
        ...

    def voter(self, node: int) -> Row: ...
    def later(self, delay: int, node: int, epoch: int, broker: int) -> None:
        """Has `session_over` called with these after so many virtual microseconds."""
        ...

    def decided(self, value: int, steps: Mapping[int, Step]) -> None:
        """For the record: this value stands for these decisions."""
        ...

    def violated(self, name: str, explanation: str) -> None: ...


class Controllers:
    """The controllers of one run. To the quorum they are its clients (QuorumClients)."""

    def __init__(
        self,
        partitions: Sequence[ClusterPartition],
        brokers: Brokers,
        interner: Interner,
        session: int,
        world: ControllersEnvironment,
        answers_when_deposed: bool = False,
        reads: bool = False,
    ) -> None:
        """session: its length.

        answers_when_deposed: whether stale answers are sent. reads: whether anybody reads.
        """
        self._partitions = partitions
        self._answers_when_deposed = answers_when_deposed
        self._past = Past(partitions) if reads else None
        self.rules = partitions[0].machine.brokers.rules
        self._brokers = brokers
        self._intern = interner.input
        self._row = interner.row
        self._session = session
        self._world = world
        self._active: dict[int, Active] = {}
        self._batches: dict[int, Batch] = {}
        """By value."""
        self._committed = 0
        """How much of the quorum's log anybody knows to be committed."""
        self._handlers = ControllerHandlers(ControllerRules(UNBOUNDED))
        self._latest = -1
        """The epoch of the last controller that became active."""
        self.failovers = self.stale_answers = 0
        self.history: list[Operation] = []

    @property
    def values(self) -> int:
        return len(self._batches)

    def active(self) -> int | None:
        """The controller of the latest epoch."""
        if not self._active:
            return None
        return max(self._active.values(), key=lambda each: each.epoch).node

    def believed(self) -> int | None:
        """The controller to which a broker turns that looks for one."""
        if self._active and self.rules.hears_deposed():
            return min(self._active.values(), key=lambda each: each.epoch).node
        return self.active()

    def is_active(self, node: int) -> bool:
        return node in self._active

    # --- What the quorum tells them

    def awaits(self, node: int) -> bool:
        """Any voter's news."""
        return True

    def start(self) -> None:
        """Nobody is active yet."""

    def finish(self) -> None:
        """Nobody keeps a history."""

    def append(self, node: int, client: int) -> Operation:
        raise AssertionError("only controllers append to the metadata log")

    def look(self, node: int, row: Row) -> None:
        """A voter knows more to be committed, or leads no longer; or an observer knows more."""
        while self._committed < row.high_watermark:
            if self._past is not None:
                self._past.keep()
            value = row.log[self._committed].value
            self._committed += 1
            if value in self._batches:
                self._commit(self._batches[value])
        self._brokers.heard()
        active = self._active.get(node)
        if active is not None and (row.role != "Leader" or row.epoch != active.epoch):
            del self._active[node]
            active = None
        if row.role == "Leader" and row.high_watermark > row.epoch_start:
            if active is None:
                active = self._activate(node, row)
            self._settle(active, row.high_watermark)

    def _activate(self, node: int, row: Row) -> Active:
        self.failovers += self._latest >= 0
        self._latest = row.epoch
        states = {}
        for partition in self._partitions:
            states[partition.number] = self._replayed(row, partition)
        leads = LeaderAndEpoch(LOG, node, node, row.epoch, row.epoch_start + 1)
        claimed = self._handlers.handle_leader_and_epoch(node, INITIAL_CONTROLLER, leads).row
        active = self._active[node] = Active(node, claimed, states)
        self._decide(active, dict.fromkeys(states, ControllerFailover()))
        for broker in self._brokers.all:
            self._hear(active, broker)
        for number, state in states.items():
            known = state.row.partition
            first = known.leader_epoch == 0 and known.leader == NOBODY
            if first and self._partitions[number].is_there(known):
                # Nobody has led it yet.
                self._decide(active, {number: ElectLeaders("PREFERRED")})
        return active

    def _replayed(self, row: Row, partition: ClusterPartition) -> State:
        """What the voter in this row knows of a partition when it becomes active."""
        known = self._said(row, partition, row.epoch_start + 1)
        return partition.machine.state(CONTROLLER, self._row(known))

    def _said(self, row: Row, partition: ClusterPartition, end: int) -> ControllerRow:
        """What the log of the voter in this row says of a partition up to an offset."""
        known: ControllerRow = partition.machine.replayed(
            self._logged(row.log[:end], partition.number)
        )
        return known

    def _logged(self, log: Sequence[Any], partition: int) -> Iterator[CommittedBatch]:
        """The batches of a part of the quorum's log, as far as a partition goes."""
        for entry in log:
            batch = self._batches.get(entry.value)
            if batch is not None and partition in batch.decision.steps:
                cause = batch.decision.steps[partition].input.value
                yield cause, batch.decision.records().get(partition, ())

    # --- Decisions

    def receive(self, node: int, request: Request) -> None:
        """A request has reached a voter; one that is not active has no answer."""
        active = self._active.get(node)
        if active is not None:
            inputs = {partition: m.value for partition, m in request.messages.items()}
            if any([getattr(input, "want_shut_down", False) for input in inputs.values()]):
                self._tell_of_others(active, request.source)
            self._decide(active, inputs, request)

    def ask(self, inputs: Mapping[int, Input]) -> bool:
        """An administrator asks for one thing of these partitions, and gets all of it or nothing.

        Whether anybody hears it.
        """
        node = self.active()
        if node is None:
            return False
        active = self._active[node]
        refused = {}
        # One thing is decided at once: a controller may be one that takes every step once.
        for number, input in inputs.items() if len(inputs) > 1 else ():
            step = self._step(self._partitions[number], active, self._intern(input))
            if step is None:
                return True
            if step.ignored:
                refused[number] = input
        if inputs:
            self._decide(active, refused or inputs)
        return True

    def known(self, partition: int) -> Partition | None:
        """As the active controller knows it; None: there is none."""
        node = self.active()
        if node is None:
            return None
        found: Partition = self._active[node].states[partition].row.partition
        return found

    def placements(self, partition: int, replicas: int) -> Sequence[tuple[int, ...]]:
        """Give where the active controller may put a partition of so many replicas.

        None: there is no such controller.
        """
        node = self.active()
        if node is None:
            return ()
        return self._partitions[partition].placements(
            self._active[node].states[partition].row, replicas
        )

    def _tell_of_others(self, active: Active, broker: int) -> None:
        """R14.

        A broker wants to stop: every partition that may know it is told whether others hold it
        back.
        """
        holds = {
            each.number: each.holds_back(active.states[each.number].row, broker)
            for each in self._brokers.partitions_of[broker]
            if each.moves
        }
        told: dict[int, Any] = {}
        for number in holds:
            hold = any([holds[other] for other in holds if other != number])
            if hold != (broker in active.states[number].row.held):
                told[number] = OtherPartitions(broker, hold)
        if told:
            self._decide(active, told)

    def _decide(
        self, active: Active, inputs: Mapping[int, Input], request: Request | None = None
    ) -> None:
        steps = {}
        for partition, input in inputs.items():
            step = self._step(self._partitions[partition], active, self._intern(input))
            if step is None:
                return
            steps[partition] = step
        for partition, step in steps.items():
            active.states[partition] = step.after
        decision = Decision(active.epoch, steps, request)
        writes = any(step.notable & WRITTEN for step in steps.values())
        made = self._deferred(active, decision, writes)
        if self.rules.answers_before_commit():
            self._answer(active, decision)
            decision.request = None
        if not writes:
            active.unlogged.append(decision)
            self._complete(active, made)
            return
        value = len(self._batches) + 1
        self._batches[value] = Batch(tuple(active.unlogged), decision)
        active.unlogged.clear()
        self._world.decided(value, steps)
        why = self._world.append(active.node, value)
        assert not why, f"an active controller leads: {why}"

    def _deferred(self, active: Active, decision: Decision, writes: bool) -> Outcome:
        """It waits for what was written before it, and for itself."""
        # The quorum appends as well, when voters change.
        known = replace(active.row, end=len(self._world.voter(active.node).log))
        made = self._handlers.handle_write_event(active.node, known, WriteEvent(writes))
        assert made is not None, "requests are not bounded"
        active.row = made.row
        active.deferred[active.row.asked] = decision
        return made

    def _step(self, partition: ClusterPartition, active: Active, input: KnownInput) -> Step | None:
        state = active.states[partition.number]
        return state.steps.get(input) or partition.machine.step(state, input)

    # --- Commits and answers

    def _commit(self, batch: Batch) -> None:
        for decision in batch.before:
            self._take(decision)
        self._take(batch.decision)
        if self._past is not None:
            self._past.enter(batch.decision.records())
        self._brokers.committed(batch.decision.records(), self._committed)

    def _take(self, decision: Decision) -> None:
        """The abstract controllers take the step of a decision that stands."""
        if decision.done:
            return
        decision.done = True
        for number, decided in decision.steps.items():
            taken = self._partitions[number].take(CONTROLLER, decided.input)
            if taken is None or taken.after is not decided.after or taken.sent != decided.sent:
                self._world.violated(
                    REPLAY_AGREES,
                    f"the controller of epoch {decision.epoch} decided on {decided.input.kind} for "
                    f"partition {number} what does not follow from the committed log",
                )

    def _settle(self, active: Active, high_watermark: int) -> None:
        """The log is committed so far."""
        if high_watermark > active.row.committed:
            known = BatchCommitted(LOG, active.node, high_watermark, active.epoch)
            made = self._handlers.handle_batch_committed(active.node, active.row, known)
            active.row = made.row
            self._complete(active, made)

    def _complete(self, active: Active, made: Outcome) -> None:
        """Carries out, and answers, what the controller knows to stand."""
        for response in made.sent:
            decision = active.deferred.pop(response.operation)
            if not decision.done:
                if decision in active.unlogged:
                    active.unlogged.remove(decision)
                if decision.epoch < self._latest:
                    self.stale_answers += decision.request is not None
                    if not self._answers_when_deposed:
                        continue
                    for number, decided in decision.steps.items():
                        of = self._partitions[number]
                        of.answer_deposed(decided.before.known, decided.input)
                else:
                    self._take(decision)
            self._answer(active, decision)

    def _answer(self, active: Active, decision: Decision) -> None:
        request = decision.request
        if request is None:
            return
        answers: dict[int, KnownInput] = {}
        for partition, step in decision.steps.items():
            for destination, message in step.travelling:
                if destination == request.source:
                    answers[partition] = message
        kinds = HeartbeatRequest | RegisterBrokerRequest
        heard = any(isinstance(m.value, kinds) for m in request.messages.values())
        if heard and any(m.value.error == "NONE" for m in answers.values()):
            self._hear(active, request.source)
        if answers:
            self._brokers.answer(request, answers)

    # --- Reads

    def read(self, node: int) -> None:
        """V29. A controller, active or not, says which reassignments are under way."""
        assert self._past is not None, "what was committed once is kept"
        row, active = self._world.voter(node), self._active.get(node)
        end = max(0, row.high_watermark)
        for partition in self._partitions:
            ahead = None if active is None else active.states[partition.number]
            wrong = self._past.read(partition, end, self._said(row, partition, end), ahead)
            if wrong:
                self._world.violated(READS_COMMITTED, f"controller {node} {wrong}")

    # --- Sessions

    def _hear(self, active: Active, broker: int) -> None:
        """The session of a broker begins anew."""
        fresh = broker not in active.sessions
        active.sessions[broker] = self._world.now + self._session
        if fresh:
            self._world.later(self._session, active.node, active.epoch, broker)

    def session_over(self, node: int, epoch: int, broker: int) -> None:
        active = self._active.get(node)
        if active is None or active.epoch != epoch:
            return
        left = active.sessions[broker] - self._world.now
        if left > 0:
            self._world.later(left, node, epoch, broker)
            return
        del active.sessions[broker]
        holds = [each.number for each in self._brokers.partitions_of[broker]]
        self._decide(active, dict.fromkeys(holds, SessionTimeout(broker)))
