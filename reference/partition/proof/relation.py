"""The transition relation of a partition, taken from the handlers that run.

`BrokerHandlers.step` and `PartitionControllerHandlers.step` run on symbolic rows; every way that
they take is a `Case`. So the named decisions are the methods of `PartitionRules` themselves, and a
bug's relation is what its subclass makes.

A row as terms is a `View`: the fields of `BrokerRow` by name, those that are sets or tables with
the broker behind a dot ("isr.2", "remote.end.0"). What no decision about the high watermark and the
ISR reads is left out, and any value where a handler asks for it.

Three lemmas about logs are assumed, with the watched epoch's leader's log as L, and `prefix[x]` for
what the log of the leader of epoch x shares with L. TLC checks them
(specs/partition/models/MCPartitionLemmas.tla):

    FetchSound     a fetch that the leader of x finds not diverging came from a log that was a
                   prefix of the leader's
    CutsNothing    what a follower cuts on an answer of the leader of x is not shared with it
    Appended       what a follower appends leaves it with a prefix of the leader's log

Every proof here is about the composition of docs/reference/reductions.md: one change of metadata is
read at a time or several folded into one, AlterPartition arrives once or never, registrations and
heartbeats are one action with their answer, nothing is deleted, no election is unclean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, get_args

import z3

from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.log import EpochEnd
from kraftcheck.reference.partition.messages import (
    NO_REQUEST,
    NOBODY,
    AlterPartitionRequest,
    BrokerState,
    Partition,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
)
from kraftcheck.reference.partition.proof.symbols import (
    CHANGES,
    RULES,
    AnyPartition,
    BrokerSet,
    MemberSet,
    Memory,
    PrefixLog,
    Records,
    abstract_partition,
    least,
    members_of,
    modules_of,
    summarising,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    BrokerRow,
    Contact,
    ControllerRow,
    Image,
    Kind,
    PartitionConstants,
    PartitionRole,
    Pending,
    Registration,
    Remote,
    Status,
)
from kraftcheck.reference.proofs.symbolic import (
    Choice,
    Number,
    Truth,
    Unknown,
    assume,
    bits_of,
    choice_of,
    fresh,
    paths,
    term_of,
    truth_of,
)

STATUSES: Final[tuple[str, ...]] = get_args(Status)
PARTITION_ROLES: Final[tuple[str, ...]] = get_args(PartitionRole)
KINDS: Final[tuple[str, ...]] = get_args(Kind)
ANSWERS: Final = (
    *("NONE", "NOT_CONTROLLER", "FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION"),
    *("INVALID_REQUEST", "INELIGIBLE_REPLICA", "STALE_BROKER_EPOCH", "NEW_LEADER_ELECTED"),
    *("OPERATION_NOT_ATTEMPTED", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"),
)
FETCH_ERRORS: Final = (
    *("NONE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"),
    "OFFSET_OUT_OF_RANGE",
)
WATCHED: Final = z3.Int("watched")
"""The watched epoch: any, but fixed."""
WATCHED_LEADER: Final = z3.Int("watched.leader")
PREFIX: Final = z3.Array("prefix", z3.IntSort(), z3.IntSort())
"""For each epoch, how much its leader's log shares with that of the watched epoch's leader."""
MIN_ISR: Final = z3.Int("min.isr")

View = dict[str, z3.ExprRef]

# Fields of a row that are one term each: name -> sort.
_INTEGERS: Final = (
    *("status", "role", "incarnation", "broker_epoch", "previous", "clean", "flushed"),
    "checkpoint",
    *("length", "match", "high_watermark", "leader", "leader_epoch", "partition_epoch"),
    *("epoch_start", "kind", "image.partition_epoch", "image.leader_epoch", "image.leader"),
    *("asked.broker_epoch", "asked.leader_epoch", "asked.partition_epoch"),
)
_TRUTHS: Final = ("refused", "asked")
_INTEGERS_BY_BROKER: Final = (
    *("member.epoch", "remote.end", "remote.epoch", "image.epoch", "asked.epoch"),
)
_TRUTHS_BY_BROKER: Final = (
    *("isr", "member", "remote.caught_up", "image.fenced", "image.stopping", "image.isr"),
    "asked.member",
)


def any_view(name: str, brokers: Sequence[int]) -> View:
    """Any row, by symbols of this name."""
    view: View = {field: z3.Int(f"{name}.{field}") for field in _INTEGERS}
    view |= {field: z3.Bool(f"{name}.{field}") for field in _TRUTHS}
    for b in brokers:
        view |= {f"{field}.{b}": z3.Int(f"{name}.{field}.{b}") for field in _INTEGERS_BY_BROKER}
        view |= {f"{field}.{b}": z3.Bool(f"{name}.{field}.{b}") for field in _TRUTHS_BY_BROKER}
    return view


def _number(term: z3.ExprRef) -> Any:
    return Number(term)


def _set(view: View, field: str, brokers: Sequence[int]) -> Any:
    return BrokerSet({b: view[f"{field}.{b}"] for b in brokers})


def _members(view: View, field: str, brokers: Sequence[int]) -> Any:
    bits = {b: view[f"{field}.member.{b}" if field else f"member.{b}"] for b in brokers}
    epochs = {b: view[f"{field}.epoch.{b}" if field else f"member.epoch.{b}"] for b in brokers}
    return MemberSet(bits, epochs)


def asked_request(view: View, n: int, brokers: Sequence[int]) -> AlterPartitionRequest:
    """The AlterPartition that a row has asked for."""
    return AlterPartitionRequest(
        source=n,
        destination=-2,
        broker_epoch=_number(view["asked.broker_epoch"]),
        leader_epoch=_number(view["asked.leader_epoch"]),
        partition_epoch=_number(view["asked.partition_epoch"]),
        isr=_members(view, "asked", brokers),
        recovering=False,
    )


class Unread:
    """An AlterPartition that may be in flight or not.

    It is for handlers that do not look at it: one that does ends the proof.
    """

    def __init__(self, view: View) -> None:
        self.view = view

    def __eq__(self, other: object) -> bool:
        raise Unknown("a handler looks at AlterPartition of which it was said that it does not")

    __hash__ = None  # type: ignore[assignment]


def _broker_state(view: View, b: int) -> BrokerState:
    return BrokerState(
        _number(view[f"image.epoch.{b}"]),
        Truth(view[f"image.fenced.{b}"]),  # type: ignore[arg-type]
        Truth(view[f"image.stopping.{b}"]),  # type: ignore[arg-type]
    )


def _remote(view: View, b: int) -> Remote:
    return Remote(
        _number(view[f"remote.end.{b}"]),
        _number(view[f"remote.epoch.{b}"]),
        Truth(view[f"remote.caught_up.{b}"]),  # type: ignore[arg-type]
    )


def broker_row(
    view: View,
    n: int,
    brokers: Sequence[int],
    asked: bool | None,
    fetching: tuple[Any, ...] = (),
) -> BrokerRow:
    """The row with these terms. asked: whether an AlterPartition is in flight; None: either."""
    image_partition = Partition(
        leader=_number(view["image.leader"]),
        leader_epoch=_number(view["image.leader_epoch"]),
        partition_epoch=_number(view["image.partition_epoch"]),
        isr=_set(view, "image.isr", brokers),
        elr=(),
        last_known_leader=NOBODY,
        recovering=False,
    )
    states = [_broker_state(view, b) for b in brokers]
    remotes = [_remote(view, b) for b in brokers]
    request: Any = asked_request(view, n, brokers) if asked else NO_REQUEST
    if asked is None:
        request = Unread(view)
    symbols: Any = {
        "status": Choice(view["status"], STATUSES),
        "role": Choice(view["role"], PARTITION_ROLES),
        "pending": Pending(
            Choice(view["kind"], KINDS),  # type: ignore[arg-type]
            _members(view, "", brokers),
            Truth(view["refused"]),  # type: ignore[arg-type]
        ),
        "log": PrefixLog(view["length"], view["match"]),
    }
    return BrokerRow(
        incarnation=_number(view["incarnation"]),
        broker_epoch=_number(view["broker_epoch"]),
        previous_epoch=_number(view["previous"]),
        clean_shutdown=_number(view["clean"]),
        image=Image(_number(z3.Int("image.offset")), tuple(states), image_partition),
        controller_request=NO_REQUEST,
        alter_request=request,
        log_start=0,
        flushed=_number(view["flushed"]),
        corrupt=-1,
        epoch_cache=(),
        checkpoint=_number(view["checkpoint"]),
        producers=(),
        high_watermark=_number(view["high_watermark"]),
        leader=_number(view["leader"]),
        leader_epoch=_number(view["leader_epoch"]),
        partition_epoch=_number(view["partition_epoch"]),
        epoch_start=_number(view["epoch_start"]),
        isr=_set(view, "isr", brokers),
        remotes=tuple(remotes),
        parked=(),
        last_fetched_epoch=_number(z3.Int("last.fetched")),
        fetching=fetching,
        **symbols,
    )


def view_of(row: BrokerRow, brokers: Sequence[int]) -> View:
    """A row as terms, symbolic or not."""
    log: Any = row.log
    if not isinstance(log, PrefixLog):
        assert log == (), "a log is a symbol, or empty"
        log = PrefixLog(z3.IntVal(0), z3.IntVal(0))
    partition = row.image.partition
    view: View = {
        "status": choice_of(row.status, STATUSES),
        "role": choice_of(row.role, PARTITION_ROLES),
        "kind": choice_of(row.pending.kind, KINDS),
        "refused": truth_of(row.pending.refused),
        "length": log.length,
        "match": log.match,
        "incarnation": term_of(row.incarnation),
        "previous": term_of(row.previous_epoch),
        "clean": term_of(row.clean_shutdown),
        "image.partition_epoch": term_of(partition.partition_epoch),
        "image.leader_epoch": term_of(partition.leader_epoch),
        "image.leader": term_of(partition.leader),
    }
    for name in ("broker_epoch", "flushed", "checkpoint", "high_watermark", "leader"):
        view[name] = term_of(getattr(row, name))
    for name in ("leader_epoch", "partition_epoch", "epoch_start"):
        view[name] = term_of(getattr(row, name))
    isr, known = bits_of(row.isr, brokers), bits_of(partition.isr, brokers)
    bits, epochs = members_of(row.pending.isr, brokers)
    for at, b in enumerate(brokers):
        remote, state = row.remotes[at], row.image.brokers[at]
        view |= {
            f"isr.{b}": isr[b],
            f"member.{b}": bits[b],
            f"member.epoch.{b}": epochs[b],
            f"remote.end.{b}": term_of(remote.end_offset),
            f"remote.epoch.{b}": term_of(remote.broker_epoch),
            f"remote.caught_up.{b}": truth_of(remote.caught_up),
            f"image.epoch.{b}": term_of(state.epoch),
            f"image.fenced.{b}": truth_of(state.fenced),
            f"image.stopping.{b}": truth_of(state.stopping),
            f"image.isr.{b}": known[b],
        }
    return view | _alter_view(row.alter_request, brokers)


def _alter_view(asked: Any, brokers: Sequence[int]) -> View:
    """The AlterPartition of a row as terms."""
    if isinstance(asked, Unread):
        return {name: term for name, term in asked.view.items() if name.split(".")[0] == "asked"}
    view: View = {"asked": z3.BoolVal(isinstance(asked, AlterPartitionRequest))}
    for name in ("broker_epoch", "leader_epoch", "partition_epoch"):
        view[f"asked.{name}"] = term_of(getattr(asked, name, -1))
    bits, epochs = members_of(getattr(asked, "isr", ()), brokers)
    view |= {f"asked.member.{b}": bits[b] for b in brokers}
    return view | {f"asked.epoch.{b}": epochs[b] for b in brokers}


# --- The controller.


def any_controller(name: str, brokers: Sequence[int]) -> View:
    """Any row of the controller."""
    fields = ("leader", "leader_epoch", "partition_epoch", "last_known_leader", "offset")
    view: View = {field: z3.Int(f"{name}.{field}") for field in fields}
    for b in brokers:
        integers = ("epoch", "incarnation", "recorded", "contact", "shutdown")
        view |= {f"{field}.{b}": z3.Int(f"{name}.{field}.{b}") for field in integers}
        truths = ("isr", "elr", "fenced", "stopping", "live")
        view |= {f"{field}.{b}": z3.Bool(f"{name}.{field}.{b}") for field in truths}
    return view


def controller_row(view: View, brokers: Sequence[int]) -> ControllerRow:
    registrations: list[Any] = [
        Registration(
            epoch=_number(view[f"epoch.{b}"]),
            incarnation=_number(view[f"incarnation.{b}"]),
            record_offset=_number(view[f"recorded.{b}"]),
            fenced=Truth(view[f"fenced.{b}"]),  # type: ignore[arg-type]
            stopping=Truth(view[f"stopping.{b}"]),  # type: ignore[arg-type]
        )
        for b in brokers
    ]
    contacts: list[Any] = [
        Contact(
            live=Truth(view[f"live.{b}"]),  # type: ignore[arg-type]
            metadata_offset=_number(view[f"contact.{b}"]),
            shutdown_offset=_number(view[f"shutdown.{b}"]),
        )
        for b in brokers
    ]
    partition = AnyPartition(
        leader=_number(view["leader"]),
        leader_epoch=_number(view["leader_epoch"]),
        partition_epoch=_number(view["partition_epoch"]),
        isr=_set(view, "isr", brokers),
        elr=_set(view, "elr", brokers),
        last_known_leader=_number(view["last_known_leader"]),
        recovering=False,
    )
    return ControllerRow(tuple(registrations), partition, _number(view["offset"]), tuple(contacts))


def controller_view(row: ControllerRow, brokers: Sequence[int]) -> View:
    """A row of the controller as terms."""
    partition = row.partition
    assert partition.recovering is False, "no election is unclean"
    view: View = {
        "leader": term_of(partition.leader),
        "leader_epoch": term_of(partition.leader_epoch),
        "partition_epoch": term_of(partition.partition_epoch),
        "last_known_leader": term_of(partition.last_known_leader),
        "offset": term_of(row.offset),
    }
    isr, elr = bits_of(partition.isr, brokers), bits_of(partition.elr, brokers)
    for at, b in enumerate(brokers):
        known, contact = row.registrations[at], row.contacts[at]
        view |= {
            f"isr.{b}": isr[b],
            f"elr.{b}": elr[b],
            f"epoch.{b}": term_of(known.epoch),
            f"incarnation.{b}": term_of(known.incarnation),
            f"recorded.{b}": term_of(known.record_offset),
            f"fenced.{b}": truth_of(known.fenced),
            f"stopping.{b}": truth_of(known.stopping),
            f"live.{b}": truth_of(contact.live),
            f"contact.{b}": term_of(contact.metadata_offset),
            f"shutdown.{b}": term_of(contact.shutdown_offset),
        }
    return view


# --- The handlers on symbols.


def prefix_of(epoch: z3.ArithRef) -> z3.ArithRef:
    """How much the log of this epoch's leader shares with the watched one."""
    return z3.Select(PREFIX, epoch)


class SymbolicBroker(BrokerHandlers):
    """The handlers, with the lemmas where logs are compared. FetchSound is in `sound`."""

    def __init__(self, constants: PartitionConstants, rules: PartitionRules) -> None:
        super().__init__(constants, rules)
        judge = rules.is_diverging

        def is_diverging(row: BrokerRow, m: Any) -> bool:
            diverges = bool(judge(row, m))
            if not diverges:
                assume(self.sound)
            return diverges

        own: Any = copy(rules)
        own.is_diverging = is_diverging
        self.rules = own
        self.sound: z3.BoolRef = z3.BoolVal(True)
        self.appended = False
        self._answered = False

    def is_batch_end(self, log: Any, offset: Any) -> bool:
        return bool(Truth(fresh("end").term > 0))

    def records_of(self, row: BrokerRow, m: Any) -> Any:
        """Any number of records."""
        number = fresh("produced").term
        assume(number > 0)
        return Records(number)

    def appended_as_leader(self, row: BrokerRow, m: Any) -> BrokerRow:
        """Append to the leader's log.

        The watched leader's log is what is watched; to another leader's, records of its own epoch
        come, which the watched log does not have.
        """
        after = super().appended_as_leader(row, m)
        epoch, old, new = term_of(row.leader_epoch), _log(row), _log(after)
        assume(z3.Implies(epoch == WATCHED, new.match == new.length))
        assume(z3.Implies(epoch > WATCHED, new.match == old.match))
        return after

    def truncate_to(self, row: BrokerRow, offset: Any) -> BrokerRow:
        if self._answered:
            epoch, log = term_of(row.leader_epoch), _log(row)
            shared = least(log.match, prefix_of(epoch))
            assume(term_of(offset) >= 0)
            assume(z3.Implies(epoch == WATCHED, term_of(offset) >= log.match))
            assume(z3.Implies(epoch > WATCHED, term_of(offset) >= shared))
        return super().truncate_to(row, offset)

    def append_fetched(self, row: BrokerRow, m: Any) -> BrokerRow:
        self.appended = True
        epoch = term_of(row.leader_epoch)
        assume(is_prefix(epoch, _log(row)))
        after = super().append_fetched(row, m)
        assume(is_prefix(epoch, _log(after)))
        return after

    def handle_replica_fetch_response(self, n: int, row: BrokerRow, m: Any) -> Any:
        self._answered, self.appended = True, False
        try:
            return super().handle_replica_fetch_response(n, row, m)
        finally:
            self._answered = False


def _log(row: BrokerRow) -> Any:
    return row.log


def is_prefix(epoch: z3.ArithRef, log: PrefixLog) -> z3.BoolRef:
    """What is known of a log that is a prefix of this epoch's leader's."""
    return z3.And(
        z3.Implies(epoch == WATCHED, log.match == log.length),
        z3.Implies(epoch > WATCHED, log.match == least(log.length, prefix_of(epoch))),
    )


class _Controller(PartitionControllerHandlers):
    """The handlers, without unclean elections."""

    def active(self, row: ControllerRow) -> Any:
        return BrokerSet(
            {
                b: truth_of(self.rules.is_active(known))
                for b, known in zip(self.constants.brokers, row.registrations, strict=True)
            }
        )

    def members(self, m: AlterPartitionRequest) -> Any:
        return BrokerSet(dict(members_of(m.isr, self.constants.brokers)[0]))

    def unclean_choices(self, *given: Any) -> tuple[int, ...]:
        return ()


class SymbolicController(summarising(_Controller, CHANGES)):  # type: ignore[misc]
    """The same, with each change of the partition as one."""

    def __init__(self, constants: PartitionConstants, rules: Any) -> None:
        super().__init__(constants, rules)
        self.memory = rules.memory


@dataclass(frozen=True)
class Case:
    """One way through a handler, or through two that are one action.

    row, controller: what a broker and the controller are after it, None for who had no part.
    """

    action: str
    node: int
    condition: list[z3.BoolRef]
    """When it is taken."""
    row: BrokerRow | None
    controller: ControllerRow | None
    sent: tuple[Any, ...]
    """The messages."""
    appended: bool
    """A fetched response was appended."""


class ActionOutcome(NamedTuple):
    """What an action makes; None for who had no part in it."""

    row: BrokerRow | None
    controller: ControllerRow | None
    sent: tuple[Any, ...]


class Handlers(NamedTuple):
    """Both sides, on symbols."""

    broker: SymbolicBroker
    controller: SymbolicController


class PartitionCases:
    """All ways through the handlers for one number of brokers and one set of rules."""

    def __init__(self, brokers: int, rules: type[PartitionRules] = PartitionRules) -> None:
        self.brokers = tuple(range(brokers))
        self.constants = PartitionConstants(self.brokers, 1)
        self._modules = modules_of(rules)
        given: Any = summarising(rules, RULES)(self.constants)
        given.min_isr = Number(MIN_ISR)
        given.memory = Memory(self.brokers)
        self.rules: PartitionRules = given
        self.form = z3.And(MIN_ISR >= 1, brokers >= MIN_ISR)

    def ways(
        self,
        action: str,
        n: int,
        make: Callable[[Handlers], ActionOutcome | None],
        given: Sequence[z3.BoolRef],
    ) -> Iterator[Case]:
        """The ways through an action of broker n.

        make: does it, or gives None where it is disabled. given: what is known of the symbols; ways
        that it excludes are not taken.
        """
        handlers = Handlers(
            SymbolicBroker(self.constants, self.rules),
            SymbolicController(self.constants, self.rules),
        )

        def code() -> tuple[ActionOutcome | None, bool]:
            handlers.broker.appended = False
            return make(handlers), handlers.broker.appended

        with abstract_partition(self._modules):
            found = paths(code, [self.form, *given], self.brokers)
        for path in found:
            made, appended = path.result
            if made is not None:
                yield Case(action, n, [*given, *path.condition], *made, appended)


# --- Messages.


def fetch_symbol(name: str, source: int, destination: int) -> ReplicaFetchRequest:
    """Any fetch between these two."""
    return ReplicaFetchRequest(
        source=source,
        destination=destination,
        broker_epoch=_number(z3.Int(f"{name}.broker_epoch")),
        epoch=_number(z3.Int(f"{name}.epoch")),
        fetch_offset=_number(z3.Int(f"{name}.offset")),
        last_fetched_epoch=_number(z3.Int(f"{name}.last_fetched")),
    )


def fetched_symbol(name: str, request: ReplicaFetchRequest) -> ReplicaFetchResponse:
    """Any answer to a fetch."""
    symbols: Any = {
        "error": Choice(z3.Int(f"{name}.error"), FETCH_ERRORS),
        "records": Records(z3.Int(f"{name}.records")),
        "diverging": EpochEnd(
            _number(z3.Int(f"{name}.div.epoch")), _number(z3.Int(f"{name}.div.end"))
        ),
    }
    return ReplicaFetchResponse(
        source=request.destination,
        destination=request.source,
        request=request,
        high_watermark=_number(z3.Int(f"{name}.high_watermark")),
        log_start=0,
        end_offset=_number(z3.Int(f"{name}.end")),
        **symbols,
    )


def partition_symbol(name: str, brokers: Sequence[int]) -> tuple[Partition, Mapping[str, Any]]:
    """Any record of the partition, and its terms by name."""
    terms: dict[str, Any] = {
        "leader": z3.Int(f"{name}.leader"),
        "leader_epoch": z3.Int(f"{name}.leader_epoch"),
        "partition_epoch": z3.Int(f"{name}.partition_epoch"),
        "isr": {b: z3.Bool(f"{name}.isr.{b}") for b in brokers},
    }
    isr: Any = BrokerSet(terms["isr"])
    partition = Partition(
        leader=_number(terms["leader"]),
        leader_epoch=_number(terms["leader_epoch"]),
        partition_epoch=_number(terms["partition_epoch"]),
        isr=isr,
        elr=(),
        last_known_leader=NOBODY,
        recovering=False,
    )
    return partition, terms
