"""A partition under a schedule: what a move does, which moves there are, whether time would heal.

The twin of schedule.py for brokers, their controller and clients. Law of this file: no choice is
made here. Steps are taken as the simulator takes them (reference/sim/partition/world.py), which
checks the named invariants after each; messages, metadata, clocks and clients move only when they
are told to.

A message between brokers may come late, again, in any order or never. What travels to and from the
controller or a client comes once and in order (reference/sim/partition/network.py says why).
"""

from __future__ import annotations

import pyarrow as pa

from reference.core.partition_invariants import PARTITION_INVARIANTS
from reference.core.partition_log import ends_batch
from reference.core.partition_messages import (
    CLIENTS,
    CONTROLLER,
    MESSAGES,
    NOBODY,
    BrokerCrash,
    BrokerRestart,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ElectLeaders,
    Input,
    ListOffsetsResponse,
    MetadataUpdate,
    ProduceRequest,
    ProduceResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    SessionTimeout,
)
from reference.core.partition_types import INITIAL_OFFSET, UNDEFINED, is_up
from reference.core.promises import promised, spared
from reference.sim.interning import KnownInput
from reference.sim.narrate import render_input
from reference.sim.operations import Operation
from reference.sim.partition.machine import PartitionMemo, State, Step
from reference.sim.partition.options import PartitionOptions, configuration_of, constants_of
from reference.sim.partition.pace import Pace
from reference.sim.partition.scenario import PARTITION
from reference.sim.partition.world import PartitionWorld
from reference.sim.recorder import Recorder
from tests.stateful.schedule import Link, Violation, script
from traces import schema
from traces.checkers import log
from traces.checkers.levels import levels_of
from traces.checkers.recorded import from_arrow

MOVES_TO_PROGRESS = 1500
MEMO_STEPS = 200_000
SENTENCES = {each.name: each for each in PARTITION_INVARIANTS}
AGAIN = (ReplicaFetchRequest, ReplicaFetchResponse)
"""What may come a second time."""

# What brokers do by themselves: as soon as they can, after a while, and only when something failed.
PROMPT = ("SendRegistration", "SendAlterPartition", "SendHeartbeat", "SendReplicaFetch")
LATE = ("ReplicaLagTimeout", "IsrShrinkTimeout", "ProduceTimeout")
FAILED = ("ControllerRequestTimeout", "ReplicaFetchTimeout")
DISK = ("BrokerFlush", "CheckpointHighWatermark")

_memos: dict[str | None, PartitionMemo] = {}


class PromiseBroken(AssertionError):
    """Clients were shown less than what was promised to them."""

    def __init__(self, what: str, moves: list[str]) -> None:
        super().__init__(f"{what}\n{script(moves)}")


class _NoChoice:
    """A stream for what is never asked."""

    def below(self, bound: int) -> int:
        return 0


class _NoClock(Pace):
    """Nothing happens by itself."""

    def look(self, node: int, state: State) -> None:
        """No deadline is set."""

    def news(self, leader: int) -> None:
        """Nobody is woken."""

    def is_news_for(self, node: int) -> bool:
        """Whether a follower's fetch would find something, or tell something."""
        row = self._world.row(node)
        leader = self._world.row(row.leader)
        return is_up(leader) and leader.role == "Leader" and self._is_news(node, row, leader)


def _memo(bug: str | None) -> PartitionMemo:
    memo = _memos.get(bug)
    if memo is None or memo.steps > MEMO_STEPS:
        memo = _memos[bug] = PartitionMemo(bug)
    return memo


class PartitionSchedule(PartitionWorld):
    """Rows, network, links that are cut, what clients saw, and the moves so far."""

    def __init__(self, options: PartitionOptions, bug: str | None = None) -> None:
        stream = _NoChoice()
        constants = constants_of(options)
        super().__init__(
            PARTITION.paces, options, constants, _memo(bug), Recorder(0), stream, stream
        )
        self.options = options
        self.waiting: dict[KnownInput, None] = {}
        """Messages that were not delivered yet, the oldest first."""
        self.delivered: dict[KnownInput, None] = {}
        self.cut: set[Link] = set()
        self.moves: list[str] = []
        self.history: list[Operation] = []
        self._asked: dict[object, Operation] = {}
        """What clients wait for, by request."""
        self.sound = True
        """False from the step that broke something on."""
        self.values = 0
        self.seen = 0
        """How far clients have seen the log."""
        self.do(CONTROLLER, ElectLeaders("PREFERRED"))

    def make_pace(self, *_: object) -> Pace:
        stream = _NoChoice()
        return _NoClock(self.brokers, PARTITION.paces, self._options, stream, self.queue, self)

    # --- What world.py leaves to be decided

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        self.waiting.update(dict.fromkeys(message for _, message in sent))

    def follow_controller(self, step: Step) -> None:
        """Sessions end when they are told to."""

    def began(self, node: int) -> None:
        """Metadata is read when it is told to be."""

    def stepped(self, step: Step) -> None:
        """Nothing follows."""

    # --- One move

    def do(self, node: int, input: Input) -> None:
        """One step of one node, or an answer that reaches a client."""
        known = self._intern(input)
        if isinstance(input, MESSAGES):
            self.waiting.pop(known, None)
            self.delivered[known] = None
        self.now += 1000
        self._note(f"{_name(node)} {render_input(input)}")
        self.sound = False
        if node == CLIENTS:
            self._answer(input)
        else:
            self.take(node, known)
        if self.violations:
            found = self.violations[0]
            raise Violation(SENTENCES[found.invariant], found.explanation, self.moves)
        self.sound = True

    def _note(self, move: str) -> None:
        self.moves.append(move)

    def drop(self, message: KnownInput) -> None:
        """It is lost."""
        del self.waiting[message]
        self._note(f"lose {render_input(message.value)}")

    def sever(self, links: set[Link]) -> None:
        """No message passes these links until they are joined again."""
        self.cut |= links
        self.losses.cuts += 1
        self._note("cut " + ", ".join(f"{_name(a)} -> {_name(b)}" for a, b in sorted(links)))

    def heal(self) -> None:
        self.cut.clear()
        self._note("heal all links")

    def crash(self, node: int, keep: int, corrupt: int) -> None:
        if keep < len(self.row(node).log) or corrupt != UNDEFINED:
            self.losses.has_lost(node)
            self.judge_promise()
        self.do(node, BrokerCrash(keep, corrupt))

    # --- Clients: every request is one operation of a process of its own

    def produce(self, node: int, acks: int) -> None:
        self.values += 1
        request = ProduceRequest(
            CLIENTS, node, self.values, acks, (self.values,), UNDEFINED, UNDEFINED, UNDEFINED
        )
        operation = self._ask("append", node, request)
        operation.values = [self.values]

    def consume(self, node: int, offset: int) -> None:
        self.values += 1
        request = ConsumerFetchRequest(CLIENTS, node, self.values, UNDEFINED, offset, False)
        self._ask("fetch", node, request).offset = offset

    def _ask(self, op: str, node: int, request: Input) -> Operation:
        operation = Operation(len(self.history), op, node, self.now)
        self.history.append(operation)
        self._asked[request] = operation
        self.do(node, request)
        return operation

    def _answer(self, m: object) -> None:
        assert isinstance(m, ProduceResponse | ConsumerFetchResponse | ListOffsetsResponse), m
        operation = self._asked[m.request]
        operation.completed = self.now
        if isinstance(m, ConsumerFetchResponse):
            operation.outcome = "ok" if m.error == "NONE" else "fail"
            operation.values = [record.value for record in m.records]
            operation.end = max(m.high_watermark, m.request.fetch_offset + len(m.records))
            if m.error == "NONE":
                self.seen = max(self.seen, operation.end)
        elif m.error == "NONE":
            operation.outcome, operation.offset = "ok", m.offset
        elif m.error == "NOT_ENOUGH_REPLICAS":
            operation.outcome = "fail"  # P19: after any other error it may be in the log.

    # --- Which moves there are

    def passes(self, message: KnownInput) -> bool:
        m = message.value
        if (m.source, m.destination) in self.cut:
            return False
        return m.destination < 0 or self.is_running(m.destination)

    def deliverable(self, again: bool = False) -> list[KnownInput]:
        """Messages that may come now, the oldest first; `again`: come once more."""
        if again:
            among = [m for m in self.delivered if isinstance(m.value, AGAIN)]
            return [m for m in among if m not in self.waiting and self.passes(m)]
        found, heads = [], set[Link]()
        for message in self.waiting:
            link = message.value.source, message.value.destination
            in_order = min(link) < 0
            if self.passes(message) and not (in_order and link in heads):
                found.append(message)
            heads.add(link)
        return found

    def wants(self, *kinds: str) -> list[tuple[int, Input]]:
        """What brokers would do by themselves, of these kinds in this order."""
        return [
            (node, want.value)
            for kind in kinds
            for node in self.brokers
            for want in self._states[node].wants
            if want.kind == kind
        ]

    def unread(self) -> list[tuple[int, Input]]:
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

    def damages(self, node: int, lossy: bool) -> list[tuple[int, int]]:
        """What a crash may leave: where the log ends, and its first unreadable batch."""
        row = self.row(node)
        end, durable = len(row.log), max(row.flushed, row.log_start)
        found = [(end, UNDEFINED)]
        bears = self.losses.at_once_with(node) <= spared(configuration_of(self.options))
        if lossy and bears and durable < end:
            cuts = [o for o in range(durable, end) if not o or ends_batch(row.log[o - 1])]
            found += [(cut, UNDEFINED) for cut in cuts[::-1]] + [(end, cut) for cut in cuts[:1]]
        return found

    def leaders(self) -> list[int]:
        return [n for n in self.brokers if self.is_running(n) and self.row(n).role == "Leader"]

    def with_status(self, *status: str) -> list[int]:
        return [n for n in self.brokers if self.row(n).status in status]

    # --- Time passes

    def calm(self) -> bool:
        """The move that a partition without faults makes next; False when there is none."""
        if waiting := self.deliverable():
            self.do(waiting[0].value.destination, waiting[0].value)
        elif unread := self.unread():
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
                    assert isinstance(self.pace, _NoClock)
                    useful = self.pace.is_news_for(node)
                case "SendHeartbeat":
                    # Who stops waits until everybody has seen that it leads no more (C5).
                    at = self.brokers.index(node)
                    told = self.controller.contacts[at].metadata_offset
                    stopping = any(known.stopping for known in self.controller.registrations)
                    useful = stopping and told != self.row(node).image.offset
                case "SendRegistration":
                    useful = not self._is_refused(node)
                case _:
                    useful = True
            if useful:
                return node, input
        return None

    def _is_refused(self, node: int) -> bool:
        """Whether the broker that this one was is still taken to be alive."""
        at = self.brokers.index(node)
        known = self.controller.registrations[at]
        row, alive = self.row(node), self.controller.contacts[at].live
        waits = row.status == "Starting" and row.broker_epoch == UNDEFINED
        return waits and alive and known.incarnation != row.incarnation

    def _overdue(self) -> tuple[int, Input] | None:
        """What comes with time: requests are given up, the session of a broker that died ends, who
        is not in the ISR fetches on, and who waits for the controller asks again.
        """
        if failed := self.wants(*FAILED):
            return failed[0]
        for node in self.brokers:
            if self._is_refused(node):
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
        """Ends every fault and lets time pass: empty once everybody is back in the ISR and a new
        record is on every replica, or why that did not happen within a bounded number of moves.
        """
        self.heal()
        probe = UNDEFINED
        for _ in range(MOVES_TO_PROGRESS):
            for node in self.with_status("Down"):
                self.do(node, BrokerRestart())
            missing = self._missing()
            if not missing and not self.deliverable() and not self.unread():
                leader = self.controller.partition.leader
                if self._everywhere(probe):
                    return ""
                written = [record.value for record in self.row(leader).log]
                if leader in self.leaders() and probe not in written:
                    self.produce(leader, -1)
                    probe = self.values
            if not self.calm():
                return missing or "the new record does not reach every replica"
        return missing or "the new record is not committed in time"

    def _missing(self) -> str:
        partition = self.controller.partition
        if partition.leader == NOBODY:
            return "no leader was elected"
        for node, known in zip(self.brokers, self.controller.registrations, strict=True):
            if known.fenced:
                return f"broker {node} stays fenced"
            if node not in partition.isr:
                return f"broker {node} stays out of the ISR"
        return ""

    def _everywhere(self, value: int) -> bool:
        for node in self.brokers:
            row = self.row(node)
            if value not in [record.value for record in row.log[: row.high_watermark]]:
                return False
        return True

    # --- What clients saw

    def judge_history(self) -> str:
        """Empty if the history is as consistent as promised, or what is missing."""
        for operation in self.history:
            if not operation.outcome:
                append = operation.op == "append"
                operation.outcome = "indeterminate" if append else "fail"
                operation.completed = None if append else self.now
        kind = schema.SCHEMAS["runs"].field("history").type
        names = [field.name for field in schema.OPERATION]
        rows = [dict(zip(names, each.fields(), strict=True)) for each in self.history]
        found = levels_of(
            log.judge(from_arrow(pa.array([rows], kind)), at_least_once=False, gaps=False)
        )
        promise = promised(configuration_of(self.options), self.losses.envelope())
        if promise.nothing or not found.exact[0] or found.held[0] >= promise.level:
            return ""
        return f"clients were promised {promise.level.name}, and shown less"


def _name(node: int) -> str:
    return {CONTROLLER: "the controller", CLIENTS: "a client"}.get(node, f"broker {node}")
