"""The partition's composition: the twin of specs/partition/cover/PartitionCover.tla.

Brokers and the controller are the nodes. What the controller commits is appended to the shared log,
and each broker reads it in order, at its own pace: any number of records at once.

The spec allows a broker or the controller one outcome for each input (where several replicas might
be chosen, both take the first in assignment order), so there is nothing to choose from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, NamedTuple, TypeAlias, get_args

from kraftcheck.reference.kit.cover import Composition, LocalMove, Result
from kraftcheck.reference.partition.broker import BROKER_HANDLERS, BrokerHandlers
from kraftcheck.reference.partition.controller import (
    CONTROLLER_HANDLERS,
)
from kraftcheck.reference.partition.cover.mutants import mutants
from kraftcheck.reference.partition.messages import (
    CLIENT_REQUESTS,
    CLIENTS,
    CONTROLLER,
    MESSAGES,
    NO_REQUEST,
    BrokerCrash,
    ConsumerFetchRequest,
    ControlledShutdown,
    ControllerRequestTimeout,
    DeleteRecordsRequest,
    ElectLeaders,
    Input,
    ListOffsetsRequest,
    Message,
    MetadataRecord,
    MetadataRecords,
    MetadataUpdate,
    ProduceRequest,
    ProduceTimeout,
    ReplicaFetchRequest,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    Timestamp,
)
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.system import of_broker, of_clients, of_controller, produce
from kraftcheck.reference.partition.types import (
    INITIAL_OFFSET,
    UNDEFINED,
    BrokerRow,
    ControllerRow,
    PartitionConstants,
    initial_controller,
    initial_row,
)
from tla_utils import ToolError
from tla_utils.settings import Settings

ACTIONS: Final[Mapping[type, str]] = {**BROKER_HANDLERS, **CONTROLLER_HANDLERS}
# What a move that is no delivery spends; the others are free.
BUDGET: Final[Mapping[str, str]] = {
    "HandleElectLeaders": "elections",
    "HandleProduceRequest": "records",
    "HandleConsumerFetchRequest": "reads",
    "HandleListOffsetsRequest": "reads",
    "HandleDeleteRecordsRequest": "deletes",
    "HandleBrokerCrash": "crashes",
    "HandleSessionTimeout": "fences",
    "HandleControlledShutdown": "stops",
    "HandleControllerFailover": "failovers",
    "HandleReplicaFetchTimeout": "timeouts",
    "HandleControllerRequestTimeout": "timeouts",
    "HandleProduceTimeout": "timeouts",
}
BUDGETS: Final = (
    *("elections", "records", "reads", "deletes", "crashes", "fences", "stops", "failovers"),
    "timeouts",
)
ASSIGNMENTS: Final[Mapping[str, tuple[int, ...]]] = {"One": (0,), "Two": (0, 1), "Three": (0, 1, 2)}
"""Definitions of PartitionCover that a cfg may replace `Replicas` by; a cfg writes no sequences."""
CLIENT: Final = 0
"""The one client, and the one producer."""

PartitionRow: TypeAlias = BrokerRow | ControllerRow
Log: TypeAlias = tuple[MetadataRecord, ...]
Replacement: TypeAlias = type[PartitionRules] | type[BrokerHandlers]


class Bounds(NamedTuple):
    """What no step of the controller may lead beyond."""

    leader_epoch: int
    partition_epoch: int
    offset: int
    """Of the metadata log's end."""


class Clients(NamedTuple):
    """How clients produce."""

    acks_all: bool = False
    idempotent: bool = False


class PartitionComposition(Composition):
    """The rule book of a partition, for one set of constants, moves, budgets and bounds.

    led: whether a leader that everybody knows is there at first. replacement: rules or handlers of
    a bug, in place of the reference's.
    """

    def __init__(
        self,
        constants: PartitionConstants,
        moves: Iterable[str],
        budgets: Mapping[str, int],
        bounds: Bounds,
        *,
        clients: Clients = Clients(),  # noqa: B008  (immutable)
        led: bool = True,
        replacement: Replacement | None = None,
    ) -> None:
        self.name = "partition"
        self.constants = constants
        self.nodes = (*constants.brokers, CONTROLLER)
        self.places = (("rows", constants.brokers), ("controller", (CONTROLLER,)))
        self.shared = "metadata"
        self.messages = MESSAGES
        self.moves = frozenset(moves)
        self.budgets = {name: budgets.get(name, 0) for name in BUDGETS}
        self.bounds = bounds
        self.clients = clients
        self.led = led
        self._handle = PARTITION.handlers(
            constants,
            lambda base: replacement if replacement and issubclass(replacement, base) else base,
        )

    # --- The first state.

    def initial(self) -> Sequence[PartitionRow]:
        row, log = self._first()
        first = initial_row(self.constants)
        if not log:
            return [first for _ in self.constants.brokers] + [row]
        told = [self._told(node, first, log) for node in self.constants.brokers]
        return [*told, row]

    def first_log(self) -> Log:
        return self._first()[1]

    def _first(self) -> tuple[ControllerRow, Log]:
        """The controller before anything, or after it has chosen the first leader."""
        row = initial_controller(self.constants)
        if not self.led:
            return row, ()
        elected = self._handle(CONTROLLER, row, ElectLeaders("ONLINE"))
        assert elected is not None, "an election is never disabled"
        return elected.row, self.split(elected.sent)[1]

    def _told(self, node: int, row: BrokerRow, log: Log) -> BrokerRow:
        outcome = self._handle(node, row, MetadataUpdate(INITIAL_OFFSET, log))
        assert outcome is not None, "a running broker reads metadata"
        told: BrokerRow = outcome.row
        return told

    # --- Moves.

    def available(self, input: Input, network: Set[Message], shared: Log) -> bool:
        if isinstance(input, MetadataUpdate):
            begin = input.offset - INITIAL_OFFSET
            return begin >= 0 and shared[begin : begin + len(input.records)] == input.records
        return isinstance(input, CLIENT_REQUESTS) or super().available(input, network, shared)

    def split(self, sent: tuple[Message, ...]) -> tuple[tuple[Message, ...], Log]:
        messages = tuple([m for m in sent if not isinstance(m, MetadataRecords)])
        records = [r for m in sent if isinstance(m, MetadataRecords) for r in m.records]
        return messages, tuple(records)

    def local_moves(
        self, node: int, row: PartitionRow, spent: Mapping[str, int], shared: Log
    ) -> Iterator[LocalMove]:
        if isinstance(row, ControllerRow):
            inputs: Iterable[Input] = of_controller(self.constants)
        else:
            asked = of_clients(node, row, self.produce(node, spent["records"]))
            inputs = (*self.broker_inputs(node, row, shared), *asked)
        for input in inputs:
            action = ACTIONS[type(input)]
            if action in self.moves:
                yield LocalMove(action, input, BUDGET.get(action))

    def broker_inputs(self, node: int, row: BrokerRow, log: Log) -> Iterator[Input]:
        """Every input that is no message, whether or not the row has a use for it."""
        offset = row.image.offset
        for end in range(offset + 1, INITIAL_OFFSET + len(log) + 1):
            yield MetadataUpdate(offset, log[offset - INITIAL_OFFSET : end - INITIAL_OFFSET])
        yield from of_broker(self.constants, node, row)
        yield ControlledShutdown()
        for keep in range(len(row.log) + 1):
            yield BrokerCrash(keep, UNDEFINED)

    def produce(self, node: int, count: int) -> ProduceRequest:
        """What the client produces when it has produced `count` records."""
        acks = -1 if self.clients.acks_all else 1
        return produce(node, count + 1, acks, CLIENT, self.clients.idempotent)

    def within(self, row: PartitionRow) -> bool:
        if not isinstance(row, ControllerRow):
            return True
        return (
            row.partition.leader_epoch <= self.bounds.leader_epoch
            and row.partition.partition_epoch <= self.bounds.partition_epoch
            and row.offset <= self.bounds.offset
        )

    def outcomes(self, node: int, row: Any, input: Any) -> Sequence[Result]:
        outcome = self._handle(node, row, input)
        return [] if outcome is None else [Result(outcome.row, outcome.sent, outcome.ignored)]

    # --- What nobody does.

    def attempts(
        self, node: int, row: PartitionRow, incoming: Sequence[Message], shared: Log
    ) -> Iterator[Input]:
        if isinstance(row, ControllerRow):
            yield from of_controller(self.constants)
            return
        yield from self.broker_inputs(node, row, shared)
        offset = row.image.offset
        yield MetadataUpdate(offset, ())
        for wrong in (offset - 1, offset + 1):
            yield MetadataUpdate(wrong, shared[-1:])
        yield BrokerCrash(len(row.log) + 1, UNDEFINED)
        for corrupt in range(len(row.log) + 1):
            yield BrokerCrash(len(row.log), corrupt)
        yield ReplicaLagTimeout(node)
        yield ControllerRequestTimeout(NO_REQUEST)
        yield ReplicaFetchTimeout(ReplicaFetchRequest(node, node, 0, 0, 0, UNDEFINED))
        yield ProduceTimeout(self.produce(node, 0))
        yield from self._asked_at_random(node, row)

    def _asked_at_random(self, node: int, row: BrokerRow) -> Iterator[Input]:
        """Clients' requests of the past, of the future, and for what there is not."""
        epochs = (UNDEFINED, *range(max(0, row.leader_epoch - 1), row.leader_epoch + 2))
        offsets = range(len(row.log) + 2)
        for epoch in epochs:
            for offset in offsets:
                for follower in (False, True):
                    yield ConsumerFetchRequest(CLIENTS, node, CLIENT, epoch, offset, follower)
            for timestamp in get_args(Timestamp):
                yield ListOffsetsRequest(CLIENTS, node, CLIENT, epoch, timestamp)
        for offset in offsets:
            yield DeleteRecordsRequest(CLIENTS, node, CLIENT, offset)
        for acks in (-1, 0, 1):
            yield ProduceRequest(CLIENTS, node, CLIENT, acks, (1,), *(UNDEFINED,) * 3)
            for epoch in (0, 1):
                for sequence in (0, 1, 2):
                    yield ProduceRequest(CLIENTS, node, CLIENT, acks, (1,), CLIENT, epoch, sequence)

    def mutants(self, message: Message) -> Iterator[Message]:
        return mutants(message, self.constants.brokers)


def composition_of(
    constants: Mapping[str, str], replacement: Replacement | None = None
) -> PartitionComposition:
    """The composition that a cfg describes; constants: name -> text, as the cfg gives them.

    Raises ToolError for a move that no handler has, and for a constant that is missing.
    """
    cfg = Settings(constants)
    assigned = cfg.text("Replicas")
    if assigned not in ASSIGNMENTS:
        raise ToolError(f"Replicas is none of {', '.join(ASSIGNMENTS)}: {assigned}")
    moves = cfg.members("Moves")
    for move in moves:
        if move not in ACTIONS.values():
            raise ToolError(f"the cfg names the move {move}, which no handler has")
    partition = PartitionConstants(
        replicas=ASSIGNMENTS[assigned],
        min_insync_replicas=cfg.number("MinInsyncReplicas"),
        elr_enabled=cfg.truth("ElrEnabled"),
        unclean_election=cfg.truth("UncleanElection"),
        fetch_max_records=cfg.number("FetchMaxRecords"),
    )
    limits = {name: cfg.number(f"Max{name.capitalize()}") for name in BUDGETS}
    epochs = cfg.number("MaxLeaderEpoch"), cfg.number("MaxPartitionEpoch")
    return PartitionComposition(
        partition,
        moves,
        limits,
        Bounds(*epochs, cfg.number("MaxOffset")),
        clients=Clients(cfg.truth("AcksAll"), cfg.truth("Idempotent")),
        led=cfg.truth("Led"),
        replacement=replacement,
    )
