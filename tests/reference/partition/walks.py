"""Random walks of one partition: what tests of the core use to reach states worth judging.

Not the simulator: no time, every message may come at any moment, again and again, as in the spec's
network (L3); metadata is committed when it is written, and each broker reads it at its own pace. A
walk is a function of its seed alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.log import ends_batch
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    METADATA_LOG,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerCrash,
    BrokerFlush,
    BrokerRestart,
    CheckpointHighWatermark,
    ConsumerFetchRequest,
    ControlledShutdown,
    ControllerFailover,
    ControllerRequestTimeout,
    DeleteRecordsRequest,
    ElectLeaders,
    Input,
    IsrShrinkTimeout,
    ListOffsetsRequest,
    Message,
    MetadataUpdate,
    ProduceRequest,
    ProduceTimeout,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
    SessionTimeout,
    Timestamp,
)
from kraftcheck.reference.partition.properties import PartitionState, initial_state
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    INITIAL_OFFSET,
    UNDEFINED,
    BrokerOutcome,
    BrokerRow,
    ControllerOutcome,
    PartitionConstants,
)

ALTER = (AlterPartitionRequest, AlterPartitionResponse)


def taken(
    state: PartitionState,
    node: int,
    input: Input,
    brokers: BrokerHandlers,
    controller: PartitionControllerHandlers,
) -> tuple[PartitionState, Any] | None:
    """The state after a step, and its outcome; None: the input is disabled. What the controller
    writes is committed at once.
    """
    outcome: Any
    if node == CONTROLLER:
        # A move's input is one of the node's that takes it.
        outcome = controller.step(state.controller, input)  # type: ignore[arg-type]
        if outcome is None:
            return None
        return state.stepped(node, outcome.row, outcome.sent), outcome
    outcome = brokers.step(node, state.rows[node], input)  # type: ignore[arg-type]
    if outcome is None:
        return None
    return state.stepped(node, outcome.row, outcome.sent), outcome


class Step(NamedTuple):
    """One step of a walk: the world before it and after it. The controller's node is -2."""

    node: int
    input: Input
    before: PartitionState
    after: PartitionState
    outcome: BrokerOutcome | ControllerOutcome


@dataclass
class Moves:
    """How likely a walk takes what: one number for each kind of trouble, from 0 to 1."""

    crash: float = 0.02
    lossy: float = 0.5
    corrupt: float = 0.3
    clean: float = 0.01
    fence: float = 0.03
    lag: float = 0.25
    delete: float = 0.02
    late: float = 0.05
    fold: float = 0.3
    failover: float = 0.005
    unclean: float = 0.3
    again: bool = True
    """Whether an AlterPartition, or the answer to it, may arrive twice. Kafka's connections and
    correlation ids prevent that, and the leader relies on it: it takes back what was refused as
    INELIGIBLE_REPLICA, and a copy of the request that came later, when the replica is active
    again, would be accepted.
    """
    acks: tuple[int, ...] = (-1, -1, -1, 1, 0)
    idempotent: float = 0.7


@dataclass
class PartitionWalk:
    """One walk, step by step."""

    constants: PartitionConstants
    seed: int
    rules: PartitionRules | None = None
    moves: Moves = field(default_factory=Moves)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.rules_of = self.rules or PartitionRules(self.constants)
        self.handlers = BrokerHandlers(self.constants, self.rules)
        self.controller_handlers = PartitionControllerHandlers(self.constants, self.rules)
        self.world = initial_state(self.constants)
        self.network: list[Message] = []
        self.fresh: list[Message] = []
        """What was sent and not delivered yet."""
        self.produced: list[ProduceRequest] = []
        self.sequences: dict[int, int] = {}
        self.value = 0

    def take(self, node: int, input: Input) -> Step | None:
        """The step that this input makes, or None where it is disabled."""
        before = self.world
        made = taken(before, node, input, self.handlers, self.controller_handlers)
        if made is None:
            return None
        self.world, outcome = made
        sent = [m for m in outcome.sent if m.destination not in (METADATA_LOG, CLIENTS)]
        self.network += sent
        self.fresh += sent
        return Step(node, input, before, self.world, outcome)

    def steps(self, count: int) -> Iterator[Step]:
        """`count` enabled steps, the first of which elects a leader."""
        first = self.take(CONTROLLER, ElectLeaders("PREFERRED"))
        assert first is not None
        yield first
        taken = 1
        while taken < count:
            node, input = self.choice()
            step = self.take(node, input)
            if step is not None:
                taken += 1
                yield step

    # --- What to do next

    def choice(self) -> tuple[int, Input]:
        chance, moves = self.chance, self.moves
        if self.network and chance.random() < moves.late:
            m = chance.choice(self.network)
            if moves.again or not isinstance(m, ALTER):
                return m.destination, m  # type: ignore[return-value]
        if self.fresh and chance.random() < 0.6:
            m = self.fresh.pop(chance.randrange(len(self.fresh)))
            if not moves.again and isinstance(m, ALTER):
                self.fresh = [other for other in self.fresh if other != m]
            return m.destination, m  # type: ignore[return-value]
        if chance.random() < moves.fence:
            return CONTROLLER, self.controller_input()
        node = chance.choice(self.constants.brokers)
        row = self.world.rows[node]
        unread = len(self.world.metadata) + INITIAL_OFFSET - row.image.offset
        if unread and chance.random() < 0.4:
            return node, self.metadata_update(row, unread)
        if row.broker_epoch == UNDEFINED and self.is_live(node) and chance.random() < 0.7:
            return CONTROLLER, SessionTimeout(node)
        if row.status == "Down":
            return node, BrokerRestart()
        if chance.random() < 0.3:
            return node, self.client_request(node, row)
        return node, self.broker_input(node, row)

    def is_live(self, node: int) -> bool:
        """Whether the session of the broker is live; of a stopped one it should not be."""
        return self.world.controller.contacts[self.constants.brokers.index(node)].live

    def controller_input(self) -> Input:
        chance, moves = self.chance, self.moves
        if chance.random() < moves.failover:
            return ControllerFailover()
        if chance.random() < 0.5:
            return ElectLeaders("UNCLEAN" if chance.random() < moves.unclean else "PREFERRED")
        return SessionTimeout(chance.choice(self.constants.brokers))

    def metadata_update(self, row: BrokerRow, unread: int) -> MetadataUpdate:
        start = row.image.offset - INITIAL_OFFSET
        count = unread if self.chance.random() < self.moves.fold else 1
        records = self.world.metadata[start : start + count]
        return MetadataUpdate(row.image.offset, records)

    def broker_input(self, node: int, row: BrokerRow) -> Input:
        chance, moves = self.chance, self.moves
        if chance.random() < moves.crash:
            return self.crash(row)
        if chance.random() < moves.clean:
            return ControlledShutdown()
        if row.broker_epoch == UNDEFINED:
            return SendRegistration()
        fenced = self.world.controller.registrations[self.constants.brokers.index(node)].fenced
        if (row.status != "Running" or fenced) and chance.random() < 0.6:
            return SendHeartbeat()
        if row.role == "Leader" and chance.random() < moves.lag:
            others = [b for b in self.constants.brokers if b != node] or [node]
            behind = [r for r in row.isr if r != node and self.rules_of.is_out_of_sync(row, r)]
            if behind and chance.random() < 0.7:
                return IsrShrinkTimeout()
            return ReplicaLagTimeout(chance.choice(others))
        if chance.random() < 0.05:
            return ControllerRequestTimeout(
                chance.choice([row.controller_request, row.alter_request])
            )
        if row.fetching and chance.random() < 0.1:
            return ReplicaFetchTimeout(chance.choice(row.fetching))
        if row.parked and chance.random() < 0.05:
            return ProduceTimeout(chance.choice(row.parked).request)
        if chance.random() < 0.3:
            rare: list[Input] = [BrokerFlush(), CheckpointHighWatermark(), SendHeartbeat()]
            return chance.choice(rare)
        return SendAlterPartition() if row.role == "Leader" else SendReplicaFetch()

    def crash(self, row: BrokerRow) -> BrokerCrash:
        chance = self.chance
        keep, durable = len(row.log), max(row.flushed, row.log_start)
        if chance.random() < self.moves.lossy:
            ends = [o for o in range(durable, keep + 1) if not o or ends_batch(row.log[o - 1])]
            keep = chance.choice([durable, *ends])
        ends = [o for o in range(durable, keep) if not o or ends_batch(row.log[o - 1])]
        corrupt = ends and chance.random() < self.moves.corrupt
        return BrokerCrash(keep, chance.choice(ends) if corrupt else UNDEFINED)

    def client_request(self, node: int, row: BrokerRow) -> Input:
        chance = self.chance
        kind = chance.random()
        epoch = chance.choice([UNDEFINED, row.leader_epoch, row.leader_epoch - 1])
        if kind < 0.5:
            return self.produce(node)
        repeatable = [m for m in self.produced[-6:] if m.producer != UNDEFINED]
        if kind < 0.6 and repeatable:
            again = chance.choice(repeatable)
            return ProduceRequest(
                *(CLIENTS, node, again.client, again.acks, again.values),
                *(again.producer, again.producer_epoch, again.sequence),
            )
        if kind < 0.6 + self.moves.delete:
            return DeleteRecordsRequest(CLIENTS, node, 9, chance.randint(0, len(row.log)))
        if kind < 0.8:
            offset = chance.randint(0, len(row.log) + 1)
            return ConsumerFetchRequest(CLIENTS, node, 9, epoch, offset, chance.random() < 0.3)
        timestamp: Timestamp = "Latest" if chance.random() < 0.7 else "Earliest"
        return ListOffsetsRequest(CLIENTS, node, 9, epoch, timestamp)

    def produce(self, node: int) -> ProduceRequest:
        chance = self.chance
        count = chance.choice((1, 1, 2, 3))
        values = tuple(range(self.value, self.value + count))
        self.value += count
        acks = chance.choice(self.moves.acks)
        client = chance.choice((1, 2))
        if chance.random() >= self.moves.idempotent:
            request = ProduceRequest(CLIENTS, node, client, acks, values, -1, -1, -1)
        else:
            epoch = 1 if self.value > 40 else 0
            start = self.sequences.get(2 * client + epoch, 0)
            self.sequences[2 * client + epoch] = start + count
            request = ProduceRequest(CLIENTS, node, client, acks, values, client, epoch, start)
        self.produced.append(request)
        return request
