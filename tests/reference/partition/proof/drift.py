"""The partition's relation against local steps (local_steps.py).

What the relation leaves open has the value here that the core's own functions give it: where an
epoch ends in the leader's or the follower's log, how many records a batch has. What is foretold,
how much logs share, is any value. Not compared, as no view has it: the epoch cache, producer state,
what is parked, the fetches in flight, and of a broker's metadata its offset, the ELR and the last
known leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import z3
from msgspec.structs import replace

from kraftcheck.reference.partition.broker import BROKER_HANDLERS
from kraftcheck.reference.partition.controller import CONTROLLER_HANDLERS
from kraftcheck.reference.partition.log import UNDEFINED, EpochEnd, end_offset_for
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    NO_REQUEST,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerCrash,
    BrokerFlush,
    BrokerRecord,
    BrokerRestart,
    BrokerState,
    CheckpointHighWatermark,
    ControlledShutdown,
    ControllerFailover,
    ElectLeaders,
    HeartbeatRequest,
    HeartbeatResponse,
    IsrShrinkTimeout,
    MetadataUpdate,
    Partition,
    PartitionRecord,
    ProduceRequest,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendReplicaFetch,
    SessionTimeout,
)
from kraftcheck.reference.partition.proof.relation import (
    ANSWERS,
    MIN_ISR,
    ActionOutcome,
    Case,
    Handlers,
    PartitionCases,
    Unread,
    any_controller,
    any_view,
    asked_request,
    broker_row,
    controller_row,
    fetch_symbol,
    fetched_symbol,
    partition_symbol,
)
from kraftcheck.reference.partition.proof.symbols import (
    BrokerSet,
    MemberSet,
    PrefixLog,
    Records,
    members_of,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow, ControllerRow, Image, PartitionConstants
from kraftcheck.reference.proofs.symbolic import Choice, Number, Truth
from tests.reference.proofs.local_steps import Comparison, LocalStep

OPEN: Final[Mapping[type, tuple[str, ...]]] = {
    BrokerRow: ("epoch_cache", "producers", "parked", "fetching", "controller_request"),
    Image: ("offset",),
    # Of the controller's own record, which is of another type, everything is compared.
    Partition: ("elr", "last_known_leader", "recovering"),
}
"""Type -> the fields that no view has."""
KINDS: Final = {action: kind for kind, action in {**BROKER_HANDLERS, **CONTROLLER_HANDLERS}.items()}
REGISTERED: Final = ("NONE", "DUPLICATE_BROKER_REGISTRATION")
_TOLD: Final = (HeartbeatResponse, RegisterBrokerResponse)
"""Kinds of input for which it matters what was asked of the controller."""
HEARD: Final = ("NONE", "STALE_BROKER_EPOCH")


class Shape(NamedTuple):
    """A row and an input on symbols."""

    row: Any
    input: Any


def _same_members(symbol: MemberSet, value: Any) -> z3.BoolRef:
    members, epochs = members_of(value, list(symbol.bits))
    told = [z3.Implies(bit, symbol.epochs[b] == epochs[b]) for b, bit in symbol.bits.items()]
    return z3.And(*told, *(bit == members[b] for b, bit in symbol.bits.items()))


_COMPARISON: Final = Comparison(
    own={
        MemberSet: _same_members,
        PrefixLog: lambda symbol, value: symbol.length == len(value),
        Records: lambda symbol, value: symbol.number == len(value),
        Unread: lambda symbol, value: z3.BoolVal(True),
    },
    left_out=OPEN,
)
same: Final = _COMPARISON.same
"""That what is on symbols is this, in all fields but those that are open."""


class PartitionRelation:
    """All ways of the handlers, by action, node and who else has a part in it."""

    def __init__(
        self, constants: PartitionConstants, rules: type[PartitionRules] = PartitionRules
    ) -> None:
        self.constants = constants
        self.brokers = constants.brokers
        self._cases = PartitionCases(len(self.brokers), rules)
        self._known: dict[tuple[str, int, int | None, str], list[tuple[Shape, list[Case]]]] = {}

    def ways(self, step: LocalStep) -> list[tuple[Shape, list[Case]]]:
        """The ways that may make this step, by the shape of the row and the input."""
        peer = _peer(step)
        election = getattr(step.input, "election", "")
        key = (step.action, step.node, peer, election)
        if key not in self._known:
            shapes = self._shapes(step.action, step.node, peer, election)
            self._known[key] = [(shape, list(self._through(step, shape))) for shape in shapes]
        return self._known[key]

    def has(self, step: LocalStep) -> bool:
        return True

    def solutions(self, group: Sequence[LocalStep]) -> tuple[set[LocalStep], bool]:
        one, made, other = group[0], set[LocalStep](), False
        input = folded_input(one, self.brokers)
        for shape, cases in self.ways(one):
            if isinstance(input, ReplicaFetchResponse):
                awaited = input.request in one.before.fetching
                if awaited != bool(shape.row.fetching):
                    continue
            solver = z3.SimpleSolver()
            solver.add(self.constants.effective_min_isr == MIN_ISR)
            solver.add(same(shape.row, one.before), same(shape.input, input))
            if isinstance(input, _TOLD):
                solver.add(same(shape.row.controller_request, one.before.controller_request))
            if solver.check() != z3.sat:
                continue
            for case in cases:
                solver.push()
                solver.add(*case.condition)
                found, more = self._solved(solver, case, group)
                solver.pop()
                made |= found
                other = other or more
        return made, other

    def _solved(
        self, solver: z3.Solver, case: Case, group: Sequence[LocalStep]
    ) -> tuple[set[LocalStep], bool]:
        """Which of these steps this way makes, and whether it makes anything else."""
        if solver.check() != z3.sat:
            return set(), False
        values = values_of_open(group[0], self.constants)
        outcomes = {step: _made(case, step) for step in group}
        for name, term in _open_symbols([*case.condition, *outcomes.values()]).items():
            if (known := name.split("!")[0]) in values:
                solver.add(term == values[known])
        if solver.check() != z3.sat:
            return set(), False
        made = {step for step, out in outcomes.items() if solver.check(out) == z3.sat}
        return made, bool(solver.check(z3.Not(z3.Or([*outcomes.values()]))) != z3.unsat)

    def _through(self, step: LocalStep, shape: Shape) -> Iterator[Case]:
        def make(handlers: Handlers) -> ActionOutcome | None:
            outcome: Any
            if step.node == CONTROLLER:
                outcome = handlers.controller.step(shape.row, shape.input)
                return None if outcome is None else ActionOutcome(None, outcome.row, outcome.sent)
            outcome = handlers.broker.step(step.node, shape.row, shape.input)
            return None if outcome is None else ActionOutcome(outcome.row, None, outcome.sent)

        yield from self._cases.ways(step.action, step.node, make, [])

    def _shapes(self, action: str, n: int, peer: int | None, election: str) -> Iterator[Shape]:
        if n == CONTROLLER:
            row = controller_row(any_controller("controller", self.brokers), self.brokers)
            yield Shape(row, self._decided(KINDS[action], peer, election))
            return
        view = any_view("row", self.brokers)
        kind = KINDS[action]
        if kind in _TOLD:
            yield from self._told(kind, broker_row(view, n, self.brokers, None), n)
            return
        if kind is ReplicaFetchResponse:
            # One that is not awaited is ignored.
            yield Shape(broker_row(view, n, self.brokers, None), self._fetched(n, peer))
        looks = kind in (SendAlterPartition, AlterPartitionResponse)
        for asked in (False, True) if looks else (None,):
            yield self._heard(kind, broker_row(view, n, self.brokers, asked), n, peer)

    def _decided(self, kind: type, peer: int | None, election: str, name: str = "m") -> Any:
        """An input of the controller on symbols."""
        if kind is ControllerFailover:
            return ControllerFailover()
        if kind is ElectLeaders:
            asked: Any = election
            return ElectLeaders(asked)
        assert peer is not None, "somebody asks"
        if kind is SessionTimeout:
            return SessionTimeout(peer)
        if kind is AlterPartitionRequest:
            return asked_request(any_view("m", self.brokers), peer, self.brokers)
        if kind is RegisterBrokerRequest:
            return RegisterBrokerRequest(peer, CONTROLLER, *_numbers("incarnation", "was", of=name))
        numbers = _numbers("broker_epoch", "offset", of=name)
        return HeartbeatRequest(peer, CONTROLLER, *numbers, *_truths("fence", "stop", of=name))

    def _heard(self, kind: type, row: BrokerRow, n: int, peer: int | None) -> Shape:
        """A row and an input of a broker on symbols."""
        plain = (IsrShrinkTimeout, SendAlterPartition, SendReplicaFetch, BrokerFlush)
        if kind in (*plain, CheckpointHighWatermark, ControlledShutdown, BrokerRestart):
            return Shape(row, kind())
        if kind is BrokerCrash:
            (keep,) = _numbers("keep")
            return Shape(row, BrokerCrash(keep, UNDEFINED))
        if kind is MetadataUpdate:
            return Shape(row, self._update(row, with_partition=peer is not None))
        if kind is ProduceRequest:
            rest = _numbers("acks", "producer", "producer_epoch", "sequence")
            return Shape(row, ProduceRequest(CLIENTS, n, 0, rest[0], (1,), *rest[1:]))
        if kind is AlterPartitionResponse:
            isr: Any = BrokerSet({b: z3.Bool(f"m.isr.{b}") for b in self.brokers})
            error: Any = Choice(z3.Int("m.error"), ANSWERS)
            told: list[Any] = [error, *_numbers("leader", "leader_epoch", "partition_epoch"), isr]
            given = asked_request(any_view("m", self.brokers), n, self.brokers)
            return Shape(row, AlterPartitionResponse(CONTROLLER, n, given, *told))
        return self._answered(kind, row, n, peer)

    def _told(self, kind: type, row: BrokerRow, n: int) -> Iterator[Shape]:
        """An answer of the controller, to what was asked last or to something else."""
        if kind is RegisterBrokerResponse:
            words, asked = REGISTERED, self._decided(RegisterBrokerRequest, n, "", "row.asked")
            first = self._decided(RegisterBrokerRequest, n, "")
            rest = _numbers("answer.epoch")
        else:
            words, asked = HEARD, self._decided(HeartbeatRequest, n, "", "row.asked")
            first = self._decided(HeartbeatRequest, n, "")
            rest = _truths("caught_up", "is_fenced", "may_stop")
        error = Choice(z3.Int("m.error"), words)
        answer = kind(CONTROLLER, n, first, error, *rest)
        for waiting in (asked, NO_REQUEST):
            yield Shape(replace(row, controller_request=waiting), answer)

    def _answered(self, kind: type, row: BrokerRow, n: int, peer: int | None) -> Shape:
        assert peer is not None, f"no symbol for {kind.__name__}"
        if kind is ReplicaLagTimeout:
            return Shape(row, ReplicaLagTimeout(peer))
        if kind is ReplicaFetchRequest:
            return Shape(row, fetch_symbol("m", peer, n))
        assert kind is ReplicaFetchResponse, f"no symbol for {kind.__name__}"
        answer = self._fetched(n, peer)
        return Shape(replace(row, fetching=(answer.request,)), answer)

    def _fetched(self, n: int, peer: int | None) -> ReplicaFetchResponse:
        assert peer is not None, "somebody answers"
        return fetched_symbol("m", fetch_symbol("q", n, peer))

    def _update(self, row: BrokerRow, *, with_partition: bool) -> MetadataUpdate:
        states: list[Any] = []
        for b in self.brokers:
            epoch = _numbers(f"epoch.{b}")
            told = _truths(f"fenced.{b}", f"stopping.{b}")
            states.append(BrokerRecord(b, BrokerState(*epoch, *told)))
        if with_partition:
            states.append(PartitionRecord(partition_symbol("p", self.brokers)[0]))
        return MetadataUpdate(row.image.offset, tuple(states))


def _numbers(*names: str, of: str = "m") -> list[Any]:
    return [Number(z3.Int(f"{of}.{name}")) for name in names]


def _truths(*names: str, of: str = "m") -> list[Any]:
    return [Truth(z3.Bool(f"{of}.{name}")) for name in names]


def _peer(step: LocalStep) -> int | None:
    """Who else has a part in a step. Of metadata: anybody, if the partition changes."""
    m = step.input
    if isinstance(m, MetadataUpdate):
        return 0 if any(isinstance(r, PartitionRecord) for r in m.records) else None
    if isinstance(m, ReplicaLagTimeout):
        return m.replica
    if isinstance(m, SessionTimeout):
        return m.broker
    source: int | None = getattr(m, "source", None)
    return source if source is not None and source >= 0 else None


def folded_input(step: LocalStep, brokers: Sequence[int]) -> Any:
    """The input; metadata as what became of each broker, and of the partition in the end."""
    m = step.input
    if not isinstance(m, MetadataUpdate):
        return m
    states = dict(zip(brokers, step.before.image.brokers, strict=True))
    states |= {r.broker: r.registration for r in m.records if isinstance(r, BrokerRecord)}
    records: list[Any] = [BrokerRecord(b, state) for b, state in states.items()]
    records += [r for r in m.records if isinstance(r, PartitionRecord)][-1:]
    return MetadataUpdate(m.offset, tuple(records))


def values_of_open(step: LocalStep, constants: PartitionConstants) -> dict[str, int]:
    """What the core's functions give for what the relation leaves open, by the symbol's name."""
    row, m = step.before, step.input
    found = {"open": UNDEFINED, "sequence": 0, "end": 1, "produced": 1}
    if isinstance(row, ControllerRow):
        return found
    end = len(row.log)
    asked: EpochEnd | None = None
    if isinstance(m, ReplicaFetchRequest):
        asked = end_offset_for(row.epoch_cache, end, m.last_fetched_epoch)
        found["records"] = max(0, min(constants.fetch_max_records, end - m.fetch_offset))
    if isinstance(m, ReplicaFetchResponse) and m.diverging.epoch != UNDEFINED:
        asked = end_offset_for(row.epoch_cache, end, m.diverging.epoch)
    if asked is not None:
        found |= {"asked.epoch": asked.epoch, "asked.end": asked.end_offset}
    return found


def symbols_in(*terms: z3.ExprRef) -> dict[str, z3.ExprRef]:
    """The symbols in these terms by their names."""
    found: dict[str, z3.ExprRef] = {}
    waiting, seen = list(terms), set[int]()
    while waiting:
        at = waiting.pop()
        if at.get_id() in seen:
            continue
        seen.add(at.get_id())
        if z3.is_const(at) and at.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found[at.decl().name()] = at
        waiting += at.children()
    return found


def _open_symbols(terms: Iterable[z3.ExprRef]) -> dict[str, z3.ExprRef]:
    """The symbols in these terms that stand for what the relation leaves open."""
    return {
        name: term
        for name, term in symbols_in(*terms).items()
        if "!" in name or name.startswith("asked.e")
    }


def _made(case: Case, step: LocalStep) -> z3.BoolRef:
    """That this way makes what the step makes."""
    made = case.controller if step.node == CONTROLLER else case.row
    sent = sorted(case.sent, key=lambda m: type(m).__name__)
    wanted = sorted(step.sent, key=lambda m: type(m).__name__)
    # What a follower says that it fetched last comes from its epoch cache.
    after: Any = step.after
    if isinstance(made, BrokerRow):
        after = replace(after, last_fetched_epoch=made.last_fetched_epoch)
    told = [same(made, after), same(tuple(sent), tuple(wanted))]
    if isinstance(step.input, _TOLD) and made is not None:
        left: Any = made
        told.append(same(left.controller_request, step.after.controller_request))
    return z3.And(told)
