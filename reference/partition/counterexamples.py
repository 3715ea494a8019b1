"""The partition for the way back: what TLC shows of brokers and controller, and their moves.

What MCPartitionReduced forgets (its `Normal`) is forgotten here as well: requests in flight, what
is flushed, checkpoints, partition epochs, and end offsets below the high watermark. Its broker
epochs are numbers of incarnations, so only whether a broker is registered is compared.

Messages between brokers may come in any order, again, or never; what travels to and from the
controller comes once and in order, or is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.core.system import Configuration, NodeMemo, System
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    AlterPartitionRequest,
    BrokerCrash,
    ControlledShutdown,
    DeleteRecordsRequest,
    Election,
    ElectLeaders,
    Input,
    MetadataUpdate,
    ProduceRequest,
    ProduceTimeout,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaFetchTimeout,
    SessionTimeout,
)
from kraftcheck.reference.partition.properties import PartitionHistory, PartitionState
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.sim.machine import broker_handlers_for
from kraftcheck.reference.partition.steered.world import Chosen
from kraftcheck.reference.partition.system import listing_first, of_broker, produce
from kraftcheck.reference.partition.types import (
    INITIAL_OFFSET,
    UNDEFINED,
    BrokerRow,
    ControllerRow,
    PartitionConstants,
    Record,
    is_leader,
    is_up,
)
from kraftcheck.reference.sim.memo import Machine, State, Step
from kraftcheck.traces.counterexamples.rows import UNSHOWN, Rows, Texts, Values
from kraftcheck.traces.counterexamples.search import (
    ANY,
    Allowed,
    AtLeast,
    Beginning,
    Essence,
    Searched,
    SearchMove,
    Way,
    World,
)
from tla_utils import State as Shown

VARIABLES: Final = frozenset({"rows", "spent", "controller"})
"""Of the models."""
ALONE: Final = {CONTROLLER: "controller"}
"""Nodes whose rows stand in a variable of their own."""
COUNTED: Final = ("records", "crashes", "fences", "stops", "deletes", "retries")
"""Moves that the models count."""
COUNTED_AS: Final[Mapping[type, str]] = {
    ProduceRequest: "records",
    BrokerCrash: "crashes",
    SessionTimeout: "fences",
    ControlledShutdown: "stops",
    DeleteRecordsRequest: "deletes",
}


class PartitionSearched(Searched):
    """Brokers and their controller.

    Args:
        acks: -1 or 1, of what clients send.
        torn: whether a crash may tear a batch.
        idempotent: values are sequence numbers of one producer.
    """

    counted = COUNTED
    arriving_again = (ReplicaFetchRequest, ReplicaFetchResponse)

    def __init__(
        self, memo: NodeMemo, system: System, acks: int, torn: bool, idempotent: bool
    ) -> None:
        super().__init__(system)
        self._memo, self._acks, self._torn, self._idempotent = memo, acks, torn, idempotent

    def own(self, world: World, allowed: Allowed) -> Iterator[tuple[int, Input | Chosen]]:
        for state in world.at.states[:-1]:
            for input in self._of_broker(world, state, allowed):
                yield state.node, input
        for decided in self._of_controller(world.at, allowed):
            yield CONTROLLER, decided

    def _of_broker(self, world: World, state: State, allowed: Allowed) -> Iterator[Input]:
        system, node, row, records = self.system, state.node, state.row, world.spent[0]
        leads = is_leader(row)
        if allowed.value is not None and leads:
            yield self._produce(node, allowed.value)
        if "retries" in allowed.others and leads:
            yield from (self._produce(node, value) for value in range(1, records + 1))
        yield from system.readings(world.at, state)
        for input in of_broker(system.constants, node, row):
            if not isinstance(input, ReplicaFetchTimeout | ProduceTimeout):
                yield input
        if "stops" in allowed.others:
            yield ControlledShutdown()
        if "deletes" in allowed.others and row.role == "Leader":
            yield DeleteRecordsRequest(CLIENTS, node, records + 1, row.high_watermark)
        if allowed.crash and is_up(row):
            yield from self._crashes(row)

    def _produce(self, node: int, value: int) -> ProduceRequest:
        client = 1 if self._idempotent else value
        return produce(node, value, self._acks, client, self._idempotent)

    def _crashes(self, row: BrokerRow) -> Iterator[BrokerCrash]:
        end = len(row.log)
        for keep in range(end, max(row.flushed, row.log_start) - 1, -1):
            yield BrokerCrash(keep, UNDEFINED)
            if self._torn:
                for corrupt in range(row.log_start, keep):
                    yield BrokerCrash(keep, corrupt)

    def _of_controller(self, at: Configuration, allowed: Allowed) -> Iterator[Input | Chosen]:
        for state in at.states[:-1]:
            if "fences" in allowed.others or state.row.broker_epoch == UNDEFINED:
                yield SessionTimeout(state.node)
        constants = self.system.constants
        elections: tuple[Election, ...] = ("PREFERRED", "UNCLEAN")
        for election in elections[: 1 + constants.unclean_election]:
            yield ElectLeaders(election)
            yield from (Chosen(election, node) for node in constants.replicas[1:])

    def step(self, at: Configuration, node: int, input: Any) -> Step | None:
        if not isinstance(input, Chosen):
            return super().step(at, node, input)
        listed = self._memo.machine(listing_first(self.system.constants, input.broker))
        state = self.system.state(at, CONTROLLER)
        return _elected(listed, state, ElectLeaders(input.election))

    def shown(self, at: Configuration) -> Essence:
        mail = [message.value for _, message in at.mail]
        asked = frozenset(m.source for m in mail if type(m) is AlterPartitionRequest)
        return (*map(_shown, at.states), asked)

    def counts(self, world: World, input: Any) -> str | None:
        kind = COUNTED_AS.get(type(input))
        if isinstance(input, SessionTimeout):
            row = self.system.state(world.at, input.broker).row
            return None if row.broker_epoch == UNDEFINED else kind
        if isinstance(input, ProduceRequest) and max(input.values) <= world.spent[0]:
            return "retries"
        return kind


def _elected(machine: Machine, state: State, election: Input) -> Step:
    """The step of a controller in this state, with the replicas listed as the machine has them."""
    step = machine.step(machine.state(state.node, state.known), machine.interner.input(election))
    assert step is not None, "an election may be asked for at any time"
    return replace(step, before=state, after=state.machine.state(state.node, step.after.known))


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


def essence_of_controller(row: ControllerRow) -> Essence:
    p = row.partition
    return (
        *(p.leader, p.leader_epoch, p.isr, p.elr, p.last_known_leader, p.recovering),
        tuple([(known.fenced, known.stopping) for known in row.registrations]),
    )


@cache
def _shown(state: State) -> Essence:
    return (essence_of_controller if state.node == CONTROLLER else essence_of)(state.row)


def wanted_of(values: Values, old: Values, reader: Rows) -> Essence:
    """Say what a world must show where TLC printed these values of the variables.

    Before them it printed the old ones.
    """
    rows = reader.by_node(BrokerRow, values["rows"])
    return (
        *(essence_of(rows[node]) for node in sorted(rows)),
        essence_of_controller(reader.struct(ControllerRow, values["controller"])),
        _asked(values["network"], old["network"], reader),
        tuple([values["spent"].get(name, ANY) for name in COUNTED]),
    )


def _asked(network: Any, old: Any, reader: Rows) -> object:
    """Give whose proposals must be under way now.

    The reduced models keep those from this step on, in which their leaders changed their minds. The
    asynchronous ones keep every message.
    """
    if any(m["type"] == "RegisterBrokerResponse" for m in network):
        return ANY
    kept = (m for m in network - old if m["type"] == "AlterPartitionRequest")
    return AtLeast(reader.value(m["source"]) for m in kept)


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


def beginning(states: Sequence[Shown], values: Mapping[str, str], bug: str | None) -> Beginning:
    """A leader that everybody knows, as the models begin.

    Raises KeyError: a constant is missing; UnknownBug, OutOfScope.
    """
    leaders = list(_leaders(states))
    shown: Any = states[0].values["rows"]
    others = sorted({str(getattr(key, "name", key)) for key in shown} - set(leaders))
    reader = Rows([*leaders, *others], 0, listed=True)
    nodes = {node.name: int(node) for node in reader.nodes}
    constants = constants_of_models(nodes.values(), values)
    idempotent = values.get("Idempotent") == "TRUE"
    acks_all = idempotent or values.get("AcksAll") == "TRUE"
    memo = NodeMemo(PARTITION, bug)
    system = System(memo.machine(constants))
    torn = values.get("Torn") == "TRUE"
    of = PartitionSearched(memo, system, -1 if acks_all else 1, torn, idempotent)
    first = World(of, system.initial())
    ((_, first),) = first.make(CONTROLLER, ElectLeaders("PREFERRED"))
    reads = [
        SearchMove(node, MetadataUpdate(INITIAL_OFFSET, first.at.log)) for node in constants.brokers
    ]
    for made in reads:
        ((_, first),) = first.make(made.node, made.input)
    return Beginning(
        "partition",
        _options(constants, acks_all, idempotent),
        Way(first, tuple(reads)),
        lambda state, old: wanted_of(state, old, reader),
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


def _leaders(states: Sequence[Shown]) -> Iterator[str]:
    """The brokers that the controller makes leader, each once, in order."""
    seen = set()
    for state in states:
        name = getattr(_partition_of(state)["leader"], "name", None)
        if name is not None and name not in seen:
            seen.add(name)
            yield name


def _partition_of(state: Shown) -> Any:
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
