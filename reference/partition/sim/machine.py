"""Steps of brokers and controller that were taken before are looked up (memo.py says why)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from kraftcheck.reference.bugs.catalog import handlers_for
from kraftcheck.reference.bugs.probing import Consulted
from kraftcheck.reference.core.system import NodeMachine, NodeMemo
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.invariants import (
    ANSWERS,
    SUSPICIOUS,
    is_harmless,
    is_row_suspicious,
)
from kraftcheck.reference.partition.log import GONE, RecordLog
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    METADATA_LOG,
    NO_REQUEST,
    BrokerFlush,
    CheckpointHighWatermark,
    ControllerRequestTimeout,
    IsrShrinkTimeout,
    MetadataRecords,
    ProduceResponse,
    ProduceTimeout,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
)
from kraftcheck.reference.partition.protocol import CONTROLLERS, PARTITION
from kraftcheck.reference.partition.replay import CommittedBatch, replay
from kraftcheck.reference.partition.types import (
    NOBODY,
    UNDEFINED,
    BrokerRow,
    PartitionConstants,
    is_up,
)
from kraftcheck.reference.sim.interning import KnownInput, KnownRow
from kraftcheck.reference.sim.memo import Sent, State, Step

# What the scheduler must look at after a step, as bits of `Step.notable`.
LOG, TRUNCATED, WATERMARK, LEADERSHIP, STATUS, WRITTEN, APPENDED, PROPOSED = (
    1 << bit for bit in range(2, 10)
)


def broker_handlers_for(
    bug_id: str | None, constants: PartitionConstants, consulted: Consulted | None = None
) -> BrokerHandlers:
    """The handlers of brokers with this bug in them, or in their rules, or the correct ones."""
    handlers: Any = handlers_for(bug_id, constants, consulted)
    brokers: BrokerHandlers = handlers.others
    return brokers


class PartitionMachine(NodeMachine):
    """A partition: its brokers and its controller, and a deposed one."""

    controller_timeout: ClassVar[type[Any]] = ControllerRequestTimeout
    """A request to the controller was not answered: directories have a type of their own."""

    def __init__(self, memo: PartitionMemo, constants: PartitionConstants) -> None:
        super().__init__(memo, constants)
        handlers: Any = self.handle
        self.brokers: BrokerHandlers = handlers.others
        self.controller = handlers.alone[CONTROLLER]
        self._same_wants: dict[tuple[KnownInput, ...], tuple[KnownInput, ...]] = {}
        """Who wants the same has the same object."""
        self._known_wants: dict[tuple[type[Any], tuple[Any, ...]], KnownInput] = {}

    def replayed(self, batches: Iterable[CommittedBatch]) -> Any:
        """What who becomes active knows of the partition: these batches, from the first on."""
        return replay(self.constants, batches, self.first_row(CONTROLLER))

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        return self.handle(node, row, input)

    def new_state(self, node: int, known: KnownRow) -> State:
        if node in CONTROLLERS:
            return State(self, node, known, known.row, True, (), {})
        wanted = tuple(self._wanted(node, known.row))
        wants = self._same_wants.setdefault(wanted, wanted)
        return State(self, node, known, known.row, is_up(known.row), wants, {})

    def noted(self, before: State, outcome: Any, inert: bool) -> int:
        """What the scheduler must look at after a broker's step, and what its checker."""
        bits = notable(before.row, outcome.row, outcome.sent)
        if inert or not self.is_suspicious(before.node, before.row, outcome.row):
            return bits
        return bits | SUSPICIOUS

    def is_suspicious(self, node: int, old: BrokerRow, new: BrokerRow) -> bool:
        return is_row_suspicious(self.constants, node, old, new)

    def new_step(
        self, before: State, input: KnownInput, after: State, sent: Sent, outcome: Any
    ) -> Step:
        broker = before.node not in CONTROLLERS
        inert = broker and self.is_inert(before.node, before.row, outcome.row, sent)
        bits = self.noted(before, outcome, inert) if broker else _written(outcome)
        return Step(
            before=before,
            input=input,
            after=after,
            sent=sent,
            ignored=outcome.ignored,
            inert=inert,
            notable=bits,
            travelling=sent if broker else tuple([s for s in sent if s[0] != METADATA_LOG]),
        )

    def is_inert(self, node: int, before: BrokerRow, after: BrokerRow, sent: Sent) -> bool:
        """Whether no property need be asked after a broker's step."""
        if any(isinstance(message.value, ProduceResponse) for _, message in sent):
            return False
        return is_harmless(self.constants, node, before, after)

    def _want(self, of: type[Any], *about: Any) -> KnownInput:
        """The one object for an activity, and for what it is about."""
        known = self._known_wants.get((of, about))
        if known is None:
            known = self._known_wants[of, about] = self.interner.input(of(*about))
        return known

    def _wanted(self, node: int, row: BrokerRow) -> list[KnownInput]:
        """What the broker's own activities will do, if nothing comes in between."""
        if not is_up(row):
            return []
        want = self._want
        wants: list[KnownInput] = []
        if row.controller_request != NO_REQUEST:
            wants.append(want(self.controller_timeout, row.controller_request))
        elif row.broker_epoch == UNDEFINED:
            wants.append(want(SendRegistration))
        else:
            wants.append(want(SendHeartbeat))
        if row.alter_request != NO_REQUEST:
            wants.append(want(self.controller_timeout, row.alter_request))
        if row.role == "Leader":
            wants += self._wanted_of_leader(node, row)
        elif may_fetch(row):
            wants.append(want(SendReplicaFetch))
        wants += [want(ReplicaFetchTimeout, request) for request in row.fetching]
        if row.flushed < len(row.log):
            wants.append(want(BrokerFlush))
        if row.checkpoint != row.high_watermark:
            wants.append(want(CheckpointHighWatermark))
        return wants

    def _wanted_of_leader(self, node: int, row: BrokerRow) -> list[KnownInput]:
        rules, want = self.brokers.rules, self._want
        wants: list[KnownInput] = []
        if rules.may_send_alter_partition(row):
            wants.append(want(SendAlterPartition))
        end = len(row.log)
        for broker, remote in zip(self.constants.brokers, row.remotes, strict=True):
            if broker != node and remote.caught_up and remote.end_offset != end:
                wants.append(want(ReplicaLagTimeout, broker))
        if row.pending.kind == "None" and any(
            r != node and rules.is_out_of_sync(row, r) for r in row.isr
        ):
            wants.append(want(IsrShrinkTimeout))
        return wants + self._wanted_by_clients(row)

    def _wanted_by_clients(self, row: BrokerRow) -> list[KnownInput]:
        """Timeouts of produce requests that wait."""
        return [self._want(ProduceTimeout, each) for each in {p.request: None for p in row.parked}]


def may_fetch(row: BrokerRow) -> bool:
    """Whether a follower has no fetch on its way to whom it follows."""
    follows = row.role == "Follower" and row.leader != NOBODY
    if not row.fetching:
        return follows
    return follows and not any([m.destination == row.leader for m in row.fetching])


def _cuts(before: RecordLog, after: RecordLog) -> bool:
    """Whether a record is gone that nobody deleted: that is at the end."""
    end = len(before)
    if after[:end] == before:
        return False
    return len(after) < end or any(
        new not in (old, GONE) for old, new in zip(before, after, strict=False)
    )


def notable(before: BrokerRow, after: BrokerRow, sent: Any) -> int:
    """What happened in a broker's step that somebody may have to look at."""
    found = 0
    if after.log is not before.log:
        found |= LOG
        if is_up(before) and is_up(after) and _cuts(before.log, after.log):
            found |= TRUNCATED
        if after.role == "Leader" and len(after.log) > len(before.log):
            found |= APPENDED
    if after.pending is not before.pending and after.pending.kind != "None":
        found |= PROPOSED
    if after.high_watermark != before.high_watermark or after.log_start != before.log_start:
        found |= WATERMARK
    if after.role != before.role or after.leader_epoch != before.leader_epoch:
        found |= LEADERSHIP
    if after.status != before.status:
        found |= STATUS
    for message in sent:
        if message.destination == CLIENTS:
            return found | ANSWERS
    return found


def _written(outcome: Any) -> int:
    return WRITTEN if any(isinstance(m, MetadataRecords) for m in outcome.sent) else 0


class PartitionMemo(NodeMemo):
    """A bug is looked up with the constants."""

    def __init__(self, bug: str | None, enabled: bool = True) -> None:
        super().__init__(PARTITION, None, enabled)
        self.bug = bug

    def new_machine(self, constants: PartitionConstants) -> PartitionMachine:
        return PartitionMachine(self, constants)
