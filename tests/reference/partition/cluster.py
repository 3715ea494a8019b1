"""A partition under a script: what tests drive by hand, message by message.

Messages rest until the script delivers them; every invariant is judged whole after each step.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kraftcheck.reference.bugs.probing import Consulted
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    METADATA_LOG,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerCrash,
    BrokerInput,
    BrokerRestart,
    ClientResponse,
    ControlledShutdown,
    ControllerInput,
    Election,
    ElectLeaders,
    HeartbeatRequest,
    HeartbeatResponse,
    Input,
    IsrShrinkTimeout,
    Message,
    MetadataUpdate,
    ProduceRequest,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
    SessionTimeout,
)
from kraftcheck.reference.partition.properties import (
    PARTITION_INVARIANTS,
    PartitionHistory,
    history_next,
    initial_state,
)
from kraftcheck.reference.partition.sim.machine import broker_handlers_for
from kraftcheck.reference.partition.types import (
    INITIAL_OFFSET,
    UNDEFINED,
    BrokerRow,
    Partition,
    PartitionConstants,
)
from tests.reference.partition.walks import taken

M = TypeVar("M", bound=Message)

THREE = PartitionConstants((1, 2, 3), min_insync_replicas=2)
PAIR = PartitionConstants((1, 2), min_insync_replicas=1)


class Impossible(Exception):
    """The script cannot go on: what it asks for cannot happen under these rules."""


class Partitioned:
    """Brokers and a controller, with a bug (or none) in them. Broker 1 leads epoch 1 at first."""

    def __init__(
        self,
        constants: PartitionConstants = THREE,
        bug: str | None = None,
        consulted: Consulted | None = None,
        elect: bool = True,
    ) -> None:
        self.constants = constants
        self.handlers = broker_handlers_for(bug, constants, consulted)
        self.controller_handlers = PartitionControllerHandlers(constants, self.handlers.rules)
        self.state = initial_state(constants)
        self.history = PartitionHistory()
        self.sent: list[Message] = []
        self.answers: list[ClientResponse] = []
        self.violated: set[str] = set()
        """Every invariant that some step violated."""
        self.value = 0
        if elect:
            self.elect("PREFERRED")
            self.tell()

    def row(self, n: int) -> BrokerRow:
        return self.state.rows[n]

    @property
    def partition(self) -> Partition:
        return self.state.controller.partition

    def values(self, n: int) -> list[int]:
        return [record.value for record in self.row(n).log]

    # --- Steps

    def do(self, n: int, *inputs: BrokerInput) -> None:
        for input in inputs:
            self._take(n, input, f"broker {n}")

    def control(self, input: ControllerInput) -> None:
        self._take(CONTROLLER, input, "the controller")

    def _take(self, node: int, input: Input, name: str) -> None:
        made = taken(self.state, node, input, self.handlers, self.controller_handlers)
        if made is None or made[1].ignored:
            raise Impossible(f"{name} has no use for {input}")
        self._entered(made[0], made[1].sent)

    def _entered(self, after: Any, sent: tuple[Message, ...]) -> None:
        before, self.state = self.state, after
        self.history = history_next(self.history, after, sent)
        self.sent += [m for m in sent if m.destination not in (CLIENTS, METADATA_LOG)]
        self.answers += [m for m in sent if m.destination == CLIENTS]  # type: ignore[misc]
        self.violated |= {
            each.name
            for each in PARTITION_INVARIANTS
            if each.check(before, after, self.history, self.handlers) is not None
        }

    def latest(self, of: type[M], source: int, destination: int) -> M:
        """The latest message of this type between the two; it may have been delivered before."""
        for m in reversed(self.sent):
            if isinstance(m, of) and (m.source, m.destination) == (source, destination):
                return m
        raise Impossible(f"{source} has sent no {of.__name__} to {destination}")

    def deliver(self, of: type[M], source: int, destination: int) -> None:
        m: Any = self.latest(of, source, destination)
        if destination == CONTROLLER:
            self.control(m)
        else:
            self.do(destination, m)

    # --- Metadata

    def tell(self, *brokers: int, count: int | None = None) -> None:
        """The brokers, all by default, hear of what is committed, in one update."""
        for n in brokers or [b for b in self.constants.brokers if self.row(b).status != "Down"]:
            offset = self.row(n).image.offset
            records = self.state.metadata[offset - INITIAL_OFFSET :][:count]
            if records:
                self.do(n, MetadataUpdate(offset, records))

    def elect(self, election: Election = "PREFERRED") -> None:
        self.control(ElectLeaders(election))

    def fence(self, n: int) -> None:
        self.control(SessionTimeout(n))

    def heartbeat(self, n: int) -> None:
        self.do(n, SendHeartbeat())
        self.deliver(HeartbeatRequest, n, CONTROLLER)
        self.deliver(HeartbeatResponse, CONTROLLER, n)

    def lead(self, n: int) -> None:
        """The broker becomes the leader, by fencing whoever is before it; they are back at once."""
        others = []
        while self.partition.leader != n:
            leader = self.partition.leader
            if leader < 0:
                raise Impossible(f"nobody leads, and {n} is not elected")
            self.fence(leader)
            others.append(leader)
        for other in others:
            self.control(
                HeartbeatRequest(
                    source=other,
                    destination=CONTROLLER,
                    broker_epoch=self.row(other).broker_epoch,
                    metadata_offset=self.state.controller.offset,
                    want_fence=False,
                    want_shut_down=False,
                )
            )

    # --- Data

    def produce(self, n: int, acks: int = -1, count: int = 1) -> ProduceRequest:
        values = tuple(range(self.value + 1, self.value + count + 1))
        self.value += count
        request = ProduceRequest(CLIENTS, n, 0, acks, values, -1, -1, -1)
        self.do(n, request)
        return request

    def ask(self, follower: int) -> int:
        """The follower sends a fetch; who is asked."""
        self.do(follower, SendReplicaFetch())
        return self.row(follower).leader

    def fetch(self, follower: int, times: int = 1) -> None:
        """A fetch and its answer."""
        for _ in range(times):
            leader = self.ask(follower)
            self.deliver(ReplicaFetchRequest, follower, leader)
            self.deliver(ReplicaFetchResponse, leader, follower)

    def catch_up(self, *followers: int) -> None:
        """Two rounds of fetches: records, and the high watermark that follows."""
        for _ in range(3):
            for follower in followers:
                self.fetch(follower)

    def shrink(self, n: int, *lagging: int) -> None:
        """The leader proposes an ISR without these."""
        for r in lagging:
            self.do(n, ReplicaLagTimeout(r))
        self.do(n, IsrShrinkTimeout())

    def alter(self, n: int) -> None:
        """The proposal is sent, decided, and the answer used."""
        self.do(n, SendAlterPartition())
        self.deliver(AlterPartitionRequest, n, CONTROLLER)
        self.deliver(AlterPartitionResponse, CONTROLLER, n)

    # --- Life

    def crash(self, n: int, keep: int | None = None, corrupt: int = UNDEFINED) -> None:
        self.do(n, BrokerCrash(len(self.row(n).log) if keep is None else keep, corrupt))

    def restart(self, n: int) -> None:
        """The broker starts, registers, hears of everything, and is unfenced."""
        self.do(n, BrokerRestart())
        if self.state.controller.contacts[self.handlers.position[n]].live:
            self.fence(n)
        self.register(n)

    def register(self, n: int) -> None:
        self.do(n, SendRegistration())
        self.deliver(RegisterBrokerRequest, n, CONTROLLER)
        self.deliver(RegisterBrokerResponse, CONTROLLER, n)
        self.tell(n)
        self.heartbeat(n)
        self.heartbeat(n)
        self.tell(n)

    def stop(self, n: int) -> None:
        """A clean stop, as far as one heartbeat brings it."""
        self.do(n, ControlledShutdown())
        self.heartbeat(n)
