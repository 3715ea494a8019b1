"""The partition for the way back: what TLC shows of brokers and controller, and their moves.

What MCPartitionReduced forgets (its `Normal`) is forgotten here as well: requests in flight, what
is flushed, checkpoints, partition epochs, and end offsets below the high watermark. Its broker
epochs are numbers of incarnations, so only whether a broker is registered is compared.

Messages between brokers may come in any order, again, or never; what travels to and from the
controller comes once and in order, or is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from kraftcheck.reference.bugs.catalog import rules_for
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    METADATA_LOG,
    AlterPartitionRequest,
    BrokerCrash,
    BrokerFlush,
    BrokerRestart,
    CheckpointHighWatermark,
    ControlledShutdown,
    ControllerRequestTimeout,
    DeleteRecordsRequest,
    Election,
    ElectLeaders,
    Input,
    IsrShrinkTimeout,
    Message,
    MetadataRecord,
    MetadataRecords,
    MetadataUpdate,
    ProduceRequest,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
    SessionTimeout,
)
from kraftcheck.reference.partition.properties import PartitionHistory, PartitionState
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.sim.machine import broker_handlers_for
from kraftcheck.reference.partition.steered.world import AGAIN, Chosen, Lost
from kraftcheck.reference.partition.types import (
    INITIAL_OFFSET,
    NO_REQUEST,
    UNDEFINED,
    BrokerRow,
    ControllerRow,
    PartitionConstants,
    Record,
    initial_controller,
    initial_row,
    is_up,
)
from kraftcheck.traces.counterexamples.rows import UNSHOWN, Rows, Texts, Values
from kraftcheck.traces.counterexamples.search import (
    ANY,
    Allowed,
    AtLeast,
    Beginning,
    Essence,
    Made,
    Way,
)
from tla_utils import State

VARIABLES: Final = frozenset({"rows", "spent", "controller"})
"""Of the models."""
COUNTED: Final = ("records", "crashes", "fences", "stops", "deletes", "retries")
"""Moves that the models count."""
_COUNTED_AS: Final[Mapping[type, str]] = {
    ProduceRequest: "records",
    BrokerCrash: "crashes",
    SessionTimeout: "fences",
    ControlledShutdown: "stops",
    DeleteRecordsRequest: "deletes",
}
_OWN: Final[tuple[Input, ...]] = (
    SendReplicaFetch(),
    SendAlterPartition(),
    IsrShrinkTimeout(),
    SendHeartbeat(),
    SendRegistration(),
    BrokerRestart(),
    CheckpointHighWatermark(),
    BrokerFlush(),
)

Key: TypeAlias = tuple[Any, ...]


class Partition(NamedTuple):
    """Who handles what, and what clients ask for. acks: -1 or 1. electing: the controllers that
    list a broker first, by that broker. idempotent: values are sequence numbers of one producer.
    """

    constants: PartitionConstants
    brokers: BrokerHandlers
    controller: PartitionControllerHandlers
    electing: Mapping[int, PartitionControllerHandlers]
    acks: int
    torn: bool
    idempotent: bool = False


class PartitionWorld:
    """Rows by position of the broker, the controller, the metadata log, messages that wait, fetches
    that have come already, and how often each counted move was made.
    """

    __slots__ = (
        *("_essence", "_key", "arrived", "controller", "metadata", "of", "rows", "spent"),
        "waiting",
    )

    def __init__(
        self,
        of: Partition,
        rows: tuple[BrokerRow, ...],
        controller: ControllerRow,
        metadata: tuple[MetadataRecord, ...] = (),
        waiting: tuple[Message, ...] = (),
        arrived: tuple[Message, ...] = (),
        spent: tuple[int, ...] = (0,) * len(COUNTED),
    ) -> None:
        self.of = of
        self.rows = rows
        self.controller = controller
        self.metadata = metadata
        self.waiting = waiting
        self.arrived = arrived
        self.spent = spent
        self._key: Key = (rows, controller, metadata, waiting, frozenset(arrived), spent)
        self._essence: Essence | None = None

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionWorld) and self._key == other._key

    def essence(self) -> Essence:
        if self._essence is None:
            shown = map(essence_of, self.rows)
            asked = frozenset(m.source for m in self.waiting if type(m) is AlterPartitionRequest)
            self._essence = (*shown, essence_of_controller(self.controller), asked, self.spent)
        return self._essence

    # --- Moves

    def moves(self, allowed: Allowed) -> Iterator[tuple[Made, PartitionWorld]]:
        for m in self.deliverable():
            yield from self.make(m.destination, m)
        for node, row in zip(self.of.constants.brokers, self.rows, strict=True):
            for input in self._own(node, row, allowed):
                yield from self.make(node, input)
        for decided in self._of_controller(allowed):
            yield from self.make(CONTROLLER, decided)
        for m in self.deliverable(again=False):
            if CONTROLLER in (m.source, m.destination):
                waiting = _without(self.waiting, m)
                yield Made(m.destination, Lost(m)), self._with(waiting=waiting)

    def deliverable(self, again: bool = True) -> Iterator[Message]:
        """Messages that may come now, the latest first; `again`: also for a second time."""
        heads: set[tuple[int, int]] = set()
        found = []
        for m in self.waiting:
            link = m.source, m.destination
            if self._is_heard(m) and not (CONTROLLER in link and link in heads):
                found.append(m)
            heads.add(link)
        yield from reversed(found)
        for m in reversed(self.arrived if again else ()):
            if m not in self.waiting and self._is_heard(m):
                yield m

    def _is_heard(self, m: Message) -> bool:
        return m.destination == CONTROLLER or is_up(self._row(m.destination))

    def _row(self, node: int) -> BrokerRow:
        return self.rows[self.of.constants.brokers.index(node)]

    def _own(self, node: int, row: BrokerRow, allowed: Allowed) -> Iterator[Input]:
        if allowed.value is not None and row.role == "Leader" and is_up(row):
            yield self._produce(node, allowed.value)
        if "retries" in allowed.others and row.role == "Leader" and is_up(row):
            for value in range(1, self._records() + 1):
                yield self._produce(node, value)
        offset = row.image.offset
        records = self.metadata[offset - INITIAL_OFFSET :]
        if is_up(row) and records:
            yield MetadataUpdate(offset, records)
            if len(records) > 1:
                yield MetadataUpdate(offset, records[:1])
        yield from _OWN
        if row.role == "Leader":
            yield from (ReplicaLagTimeout(r) for r in self.of.constants.brokers if r != node)
        for request in dict.fromkeys((row.controller_request, row.alter_request)):
            if request != NO_REQUEST:
                yield ControllerRequestTimeout(request)
        if "stops" in allowed.others:
            yield ControlledShutdown()
        if "deletes" in allowed.others and row.role == "Leader":
            yield DeleteRecordsRequest(CLIENTS, node, self._records() + 1, row.high_watermark)
        if allowed.crash and is_up(row):
            yield from self._crashes(row)

    def _produce(self, node: int, value: int) -> ProduceRequest:
        if self.of.idempotent:
            return ProduceRequest(CLIENTS, node, 1, -1, (value,), 1, 0, value - 1)
        none = (UNDEFINED,) * 3
        return ProduceRequest(CLIENTS, node, value, self.of.acks, (value,), *none)

    def _records(self) -> int:
        """How many were produced."""
        return self.spent[COUNTED.index("records")]

    def _crashes(self, row: BrokerRow) -> Iterator[BrokerCrash]:
        end = len(row.log)
        for keep in range(end, max(row.flushed, row.log_start) - 1, -1):
            yield BrokerCrash(keep, UNDEFINED)
            if self.of.torn:
                for corrupt in range(row.log_start, keep):
                    yield BrokerCrash(keep, corrupt)

    def _of_controller(self, allowed: Allowed) -> Iterator[Input | Chosen]:
        for node, row in zip(self.of.constants.brokers, self.rows, strict=True):
            if "fences" in allowed.others or row.broker_epoch == UNDEFINED:
                yield SessionTimeout(node)
        elections: tuple[Election, ...] = ("PREFERRED",)
        if self.of.constants.unclean_election:
            elections = ("PREFERRED", "UNCLEAN")
        for election in elections:
            yield ElectLeaders(election)
            for node in self.of.constants.replicas[1:]:
                yield Chosen(election, node)

    def make(self, node: int, input: Any) -> Iterator[tuple[Made, PartitionWorld]]:
        """The move, if it changes anything."""
        waiting, arrived = self.waiting, self.arrived
        if input in waiting:
            waiting = _without(waiting, input)
            if isinstance(input, AGAIN) and input not in arrived:
                arrived = (*arrived, input)
        outcome: Any
        if isinstance(input, Chosen):
            before: Any = self.controller
            asked = ElectLeaders(input.election)
            outcome = self.of.electing[input.broker].step(self.controller, asked)
        elif node == CONTROLLER:
            before = self.controller
            outcome = self.of.controller.step(self.controller, input)
        else:
            before = self._row(node)
            outcome = self.of.brokers.step(node, before, input)
        if outcome is None or (
            outcome.row == before and not outcome.sent and waiting == self.waiting
        ):
            return
        metadata = self.metadata
        for m in outcome.sent:
            if isinstance(m, MetadataRecords):
                metadata = metadata + m.records
            elif m.destination not in (CLIENTS, METADATA_LOG):
                waiting = (*_without(waiting, m), m)
        made = Made(node, input)
        spent = self._spending(node, input)
        rows, controller = self.rows, self.controller
        if node == CONTROLLER:
            controller = outcome.row
        else:
            at = self.of.constants.brokers.index(node)
            rows = put(rows, at, outcome.row)
        yield made, PartitionWorld(self.of, rows, controller, metadata, waiting, arrived, spent)

    def _spending(self, node: int, input: Any) -> tuple[int, ...]:
        kind = _COUNTED_AS.get(type(input))
        gone = isinstance(input, SessionTimeout) and (
            self._row(input.broker).broker_epoch == UNDEFINED
        )
        if kind is None or gone:
            return self.spent
        if isinstance(input, ProduceRequest) and max(input.values) <= self._records():
            kind = "retries"
        at = COUNTED.index(kind)
        return (*self.spent[:at], self.spent[at] + 1, *self.spent[at + 1 :])

    def _with(self, waiting: tuple[Message, ...]) -> PartitionWorld:
        return PartitionWorld(
            *(self.of, self.rows, self.controller, self.metadata, waiting, self.arrived),
            self.spent,
        )


def _without(messages: tuple[Message, ...], message: Any) -> tuple[Message, ...]:
    return tuple([m for m in messages if m != message])


def first_world(of: Partition) -> PartitionWorld:
    """A leader that everybody knows, as the models begin."""
    rows = tuple([initial_row(of.constants) for _ in of.constants.brokers])
    world = PartitionWorld(of, rows, initial_controller(of.constants))
    for made in first_moves(of.constants):
        input = made.input
        if isinstance(input, MetadataUpdate):
            input = MetadataUpdate(INITIAL_OFFSET, world.metadata)
        ((_, world),) = world.make(made.node, input)
    return world


def first_moves(constants: PartitionConstants) -> Iterator[Made]:
    """An election, and each broker reads of it (the records are those of the world by then)."""
    yield Made(CONTROLLER, ElectLeaders("PREFERRED"))
    for node in constants.brokers:
        yield Made(node, MetadataUpdate(INITIAL_OFFSET, ()))


# -- What TLC shows

_SHARED: Final = (
    *("status", "registered", "role", "leader", "leader_epoch", "log", "epoch_cache"),
    *("log_start", "high_watermark", "corrupt"),
)
FIELDS: Final[tuple[tuple[str, ...], ...]] = (
    (*_SHARED, "last_fetched_epoch"),
    (*_SHARED, "epoch_start", "isr", "pending", "remote end offsets", "brokers fenced or stopping"),
    (
        *("leader", "leader_epoch", "isr", "elr", "last_known_leader", "recovering"),
        "brokers fenced or stopping",
    ),
    COUNTED,
)
"""What the parts of an essence consist of; each part is of another length."""


@lru_cache(maxsize=100_000)
def essence_of(row: BrokerRow) -> Essence:
    """A broker's row, less what the models forget."""
    leads = row.role == "Leader"
    shared = (
        row.status,
        row.broker_epoch != UNDEFINED,
        row.role,
        row.leader,
        row.leader_epoch,
        tuple([(record.epoch, record.value) for record in row.log]),
        _used([(entry.epoch, entry.start) for entry in row.epoch_cache], len(row.log), leads),
        row.log_start,
        row.high_watermark,
        row.corrupt,
    )
    if not leads:
        return (*shared, row.last_fetched_epoch)
    ends = [r.end_offset for r in row.remotes]
    return (
        *shared,
        row.epoch_start,
        row.isr,
        (row.pending.kind, tuple(sorted(member.broker for member in row.pending.isr))),
        tuple([end if end >= row.high_watermark else UNDEFINED for end in ends]),
        tuple([(known.fenced, known.stopping) for known in row.image.brokers]),
    )


def _used(cache: list[tuple[int, int]], end: int, leads: bool) -> tuple[tuple[int, int], ...]:
    """The epochs that have records, and that of a leader: one without is as good as none."""
    return tuple([line for line in cache if line[1] < end or (leads and line == cache[-1])])


@lru_cache(maxsize=100_000)
def essence_of_controller(row: ControllerRow) -> Essence:
    p = row.partition
    return (
        *(p.leader, p.leader_epoch, p.isr, p.elr, p.last_known_leader, p.recovering),
        tuple([(known.fenced, known.stopping) for known in row.registrations]),
    )


class Naming(NamedTuple):
    """How the model's values are read. nodes: by the name of the model value, as their order is
    here.
    """

    nodes: Mapping[str, int]

    def node(self, value: object) -> int:
        return value if isinstance(value, int) else self.nodes[str(getattr(value, "name", value))]

    def set(self, values: Any) -> tuple[int, ...]:
        return tuple(sorted(self.node(value) for value in values))

    def by_node(self, function: Any) -> list[Any]:
        """Its values in the order of the brokers' numbers."""
        named = {self.node(key): function[key] for key in function}
        return [named[number] for number in sorted(named)]


def essence_in(row: Mapping[str, Any], names: Naming) -> Essence:
    """What `essence_of` says of such a row, of one that TLC printed."""
    leads, high = row["role"] == "Leader", row["highWatermark"]
    shared = (
        row["status"],
        row["brokerEpoch"] != UNDEFINED,
        row["role"],
        names.node(row["leader"]),
        row["leaderEpoch"],
        tuple([(record["epoch"], record["value"]) for record in row["log"]]),
        _used(
            [(entry["epoch"], entry["start"]) for entry in row["epochCache"]],
            len(row["log"]),
            leads,
        ),
        row["logStart"],
        high,
        row["corrupt"],
    )
    if not leads:
        return (*shared, row["lastFetchedEpoch"])
    pending = row["pending"]
    ends = [remote["endOffset"] for remote in names.by_node(row["remotes"])]
    brokers = names.by_node(row["image"]["brokers"])
    return (
        *shared,
        row["epochStart"],
        names.set(row["isr"]),
        (pending["kind"], names.set(member["broker"] for member in pending["isr"])),
        tuple([end if end >= high else UNDEFINED for end in ends]),
        tuple([(known["fenced"], known["stopping"]) for known in brokers]),
    )


def wanted_of(values: Mapping[str, Any], old: Mapping[str, Any], names: Naming) -> Essence:
    """What a world must show where TLC printed these values of the variables, and before them the
    old ones.
    """
    controller, spent = values["controller"], values["spent"]
    partition = controller["partition"]
    known = [(r["fenced"], r["stopping"]) for r in names.by_node(controller["registrations"])]
    return (
        *(essence_in(row, names) for row in names.by_node(values["rows"])),
        (
            names.node(partition["leader"]),
            partition["leaderEpoch"],
            names.set(partition["isr"]),
            names.set(partition["elr"]),
            names.node(partition["lastKnownLeader"]),
            partition["recovering"],
            tuple(known),
        ),
        _asked(values["network"], old["network"], names),
        tuple([spent.get(name, ANY) for name in COUNTED]),
    )


def _asked(network: Any, old: Any, names: Naming) -> object:
    """Whose proposals must be under way now: those that the reduced models keep from this step on,
    in which their leaders changed their minds. The asynchronous ones keep every message.
    """
    if any(m["type"] == "RegisterBrokerResponse" for m in network):
        return ANY
    kept = (m for m in network - old if m["type"] == "AlterPartitionRequest")
    return AtLeast(names.node(m["source"]) for m in kept)


# -- Where a story begins


def constants_of_models(brokers: Iterable[int], values: Mapping[str, str]) -> PartitionConstants:
    """values: texts of a cfg. Raises KeyError: one is missing; ValueError: it is no number."""
    return PartitionConstants(
        replicas=tuple(brokers),
        min_insync_replicas=int(values["MinInsyncReplicas"]),
        elr_enabled=values["ElrEnabled"] == "TRUE",
        unclean_election=values["UncleanElection"] == "TRUE",
        fetch_max_records=int(values["FetchMaxRecords"]),
    )


def beginning(states: Sequence[State], values: Mapping[str, str], bug: str | None) -> Beginning:
    """Raises KeyError: a constant is missing; UnknownBug, OutOfScope."""
    leaders = list(_leaders(states))
    rows: Any = states[0].values["rows"]
    others = sorted({str(getattr(key, "name", key)) for key in rows} - set(leaders))
    nodes = {name: number for number, name in enumerate([*leaders, *others])}
    constants = constants_of_models(range(len(nodes)), values)
    idempotent = values.get("Idempotent") == "TRUE"
    acks_all = idempotent or values.get("AcksAll") == "TRUE"
    of = Partition(
        constants,
        broker_handlers_for(bug, constants),
        _controller(constants, bug),
        {node: _controller(_listing_first(constants, node), bug) for node in constants.brokers},
        -1 if acks_all else 1,
        values.get("Torn") == "TRUE",
        idempotent,
    )
    names = Naming(nodes)
    first = first_world(of)
    reads = tuple(
        Made(node, MetadataUpdate(INITIAL_OFFSET, first.metadata)) for node in constants.brokers
    )
    return Beginning(
        "partition",
        _options(constants, acks_all, idempotent),
        Way(first, reads),
        lambda state, old: wanted_of(state, old, names),
        (
            *(f"broker {n}" for n in constants.brokers),
            "the controller",
            "proposals under way",
            f"counts of {', '.join(COUNTED)}",
        ),
        2,
        nodes,
        FIELDS,
        {"controller": len(constants.brokers)},
        constants.brokers,
        frozenset({CONTROLLER}),
    )


def _controller(constants: PartitionConstants, bug: str | None) -> PartitionControllerHandlers:
    return PartitionControllerHandlers(constants, rules_for(PartitionRules, bug, constants))


def _listing_first(constants: PartitionConstants, broker: int) -> PartitionConstants:
    others = [n for n in constants.replicas if n != broker]
    return replace(constants, replicas=(broker, *others))


def _options(constants: PartitionConstants, acks_all: bool, idempotent: bool) -> dict[str, Any]:
    return {
        "replicas": len(constants.replicas),
        "min_insync_replicas": constants.min_insync_replicas,
        "elr": constants.elr_enabled,
        "unclean": constants.unclean_election,
        "fetch_max_records": constants.fetch_max_records,
        "acks": "all" if acks_all else "1",
        "idempotence": idempotent,
    }


def _leaders(states: Sequence[State]) -> Iterator[str]:
    """The brokers that the controller makes leader, each once, in order."""
    seen = set()
    for state in states:
        name = getattr(_partition_of(state)["leader"], "name", None)
        if name is not None and name not in seen:
            seen.add(name)
            yield name


def _partition_of(state: State) -> Any:
    controller: Any = state.values["controller"]
    return controller["partition"]


# -- What properties look at


def asked_with(cfg: Texts, before: Values, after: Values, bug: str | None) -> tuple[Any, ...]:
    """What properties are asked with, of two states of a model, the second after the first."""
    reader = Rows(after["rows"], 0)
    handlers = broker_handlers_for(bug, constants_of_models(reader.nodes, cfg))

    def state(values: Values) -> PartitionState:
        rows = reader.by_node(BrokerRow, values["rows"])
        controller = reader.struct(ControllerRow, values["controller"])
        return PartitionState(rows, controller, UNSHOWN)  # type: ignore[arg-type]

    history = PartitionHistory(
        committed=reader.structs(Record, after["committed"]),
        committed_before=reader.structs(Record, before["committed"]),
        acked=reader.set_of(after["acked"]),
        acked_before=reader.set_of(before["acked"]),
    )
    return state(before), state(after), history, handlers
