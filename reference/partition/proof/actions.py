"""Give the actions of a partition for proofs.

Each has the paths through its handlers, with the system before and after, what had been sent, and
what is sent.

An action of a broker is one of broker 0, and who else has a part in it is broker 1: handlers
compare brokers for equality only, and the invariant does not tell them apart (L9). The controller
looks at the order of assignment, so each broker is tried where one has a part in its actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import z3
from msgspec.structs import replace as changed

from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerCrash,
    BrokerFlush,
    BrokerInput,
    BrokerRecord,
    BrokerRestart,
    BrokerState,
    CheckpointHighWatermark,
    ControlledShutdown,
    ControllerFailover,
    ControllerInput,
    ControllerRequestTimeout,
    ElectLeaders,
    HeartbeatRequest,
    HeartbeatResponse,
    IsrShrinkTimeout,
    MetadataUpdate,
    PartitionRecord,
    ProduceRequest,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendReplicaFetch,
    SessionTimeout,
)
from kraftcheck.reference.partition.proof.electable import (
    Fetch,
    Fetched,
    alter_terms,
    asked_terms,
    broker_form,
    controller_parts,
    fetch_part,
    fetched_part,
    orphan_part,
)
from kraftcheck.reference.partition.proof.relation import (
    ANSWERS,
    FETCH_ERRORS,
    WATCHED,
    WATCHED_LEADER,
    ActionOutcome,
    Case,
    Handlers,
    PartitionCases,
    View,
    any_view,
    asked_request,
    broker_row,
    controller_row,
    controller_view,
    fetch_symbol,
    fetched_symbol,
    is_prefix,
    partition_symbol,
    view_of,
)
from kraftcheck.reference.partition.proof.symbols import BrokerSet, PrefixLog, Records
from kraftcheck.reference.partition.proof.system import (
    DOWN,
    STARTING,
    STOPPING,
    System,
    after_broker,
    after_controller,
    prophecy,
)
from kraftcheck.reference.partition.types import BrokerRow
from kraftcheck.reference.proofs.symbolic import (
    Choice,
    Number,
    Truth,
    bits_of,
    choice_of,
    term_of,
    truth_of,
)


@dataclass
class Action:
    """One way through an action.

    epochs, changes: those that it mentions.
    """

    name: str
    node: int
    before: System
    after: System
    given: list[z3.BoolRef]
    """What else is known, of messages and prophecies."""
    epochs: dict[str, z3.ArithRef] = field(default_factory=dict)
    changes: dict[str, z3.ArithRef] = field(default_factory=dict)
    said: dict[str, z3.BoolRef] = field(default_factory=dict)
    """What must be true of what is sent, after it."""
    told: str = ""


Actions = Iterator[Action]


def _made(row: Any, sent: tuple[Any, ...] = ()) -> ActionOutcome:
    return ActionOutcome(row, None, sent)


def _step(n: int, row: BrokerRow, input: BrokerInput) -> Callable[[Handlers], ActionOutcome | None]:
    """A broker's step, as something that can be done on symbols."""

    def make(handlers: Handlers) -> ActionOutcome | None:
        outcome = handlers.broker.step(n, row, input)
        return None if outcome is None else _made(outcome.row, outcome.sent)

    return make


@dataclass(frozen=True)
class Model:
    """The state before, and the ways through the handlers."""

    cases: PartitionCases
    before: System

    @property
    def brokers(self) -> tuple[int, ...]:
        return self.before.brokers

    def rows(
        self, n: int, fetching: tuple[Any, ...] = (), *, asks: bool = False
    ) -> Iterator[tuple[BrokerRow, Any]]:
        """Broker n's row, and what is given.

        asks: with an AlterPartition in flight and without; for handlers that look at it.
        """
        view = self.before.rows[n]
        form = broker_form(self.before, n)
        if not asks:
            yield broker_row(view, n, self.brokers, None, fetching), [form]
            return
        for asked in (False, True):
            row = broker_row(view, n, self.brokers, asked, fetching)
            yield row, [form, view["asked"] == asked]

    def of_broker(
        self, name: str, n: int, input: Callable[[BrokerRow], BrokerInput | None], **known: Any
    ) -> Iterator[tuple[Case, Action]]:
        """All ways of a broker through one handler."""
        for row, given in self.rows(n, **known):
            made = input(row)
            if made is None:
                continue
            for case in self.cases.ways(name, n, _step(n, row, made), given):
                yield case, self.broker_action(case, {})

    def broker_action(self, case: Case, remembered: View) -> Action:
        assert case.row is not None, "a broker acted"
        view = view_of(case.row, self.brokers)
        n = case.node
        action = Action(
            case.action,
            n,
            self.before,
            after_broker(self.before, n, view, remembered),
            [*case.condition, prophecy(self.before, n, view)],
        )
        action.epochs["the new epoch"] = view["leader_epoch"]
        action.changes["the new change"] = view["partition_epoch"]
        return action

    def remember(self, case: Case, action: Action, remembered: View) -> Action:
        """The action, with what it changes of what is remembered."""
        again = self.broker_action(case, remembered)
        return replace(action, after=again.after)


# --- Actions of a broker.


def _simple(name: str, input: BrokerInput, model: Model) -> Actions:
    for _, action in model.of_broker(name, 0, lambda row: input):
        yield action


def _asks(model: Model) -> Actions:
    for case, action in model.of_broker(
        "HandleSendAlterPartition", 0, lambda row: SendAlterPartition(), asks=True
    ):
        yield model.remember(case, action, {"waiting": z3.BoolVal(True)})


def _is_answered(model: Model) -> Actions:
    view, brokers = model.before.rows[0], model.brokers
    isr: Any = BrokerSet({b: view[f"reply.isr.{b}"] for b in brokers})

    def answer(row: BrokerRow) -> BrokerInput | None:
        if not isinstance(row.alter_request, AlterPartitionRequest):
            return None
        symbols: Any = {
            "error": Choice(view["reply.error"], ANSWERS),
            "leader": Number(z3.Int("reply.leader")),
            "leader_epoch": Number(view["reply.leader_epoch"]),
            "partition_epoch": Number(view["reply.partition_epoch"]),
        }
        return AlterPartitionResponse(CONTROLLER, 0, row.alter_request, isr=isr, **symbols)

    for _, action in model.of_broker("HandleAlterPartitionResponse", 0, answer, asks=True):
        action.given += [view["replied"], view["reply.error"] >= 0]
        action.changes["the answer's"] = view["reply.partition_epoch"]
        yield action


def _produces(model: Model) -> Actions:
    symbols: Any = {
        name: Number(z3.Int(f"produce.{name}"))
        for name in ("acks", "producer", "producer_epoch", "sequence")
    }
    request = ProduceRequest(source=CLIENTS, destination=0, client=0, values=(1,), **symbols)
    for _, action in model.of_broker("HandleProduceRequest", 0, lambda row: request):
        yield action


def fetch_terms(m: ReplicaFetchRequest, sound: z3.BoolRef) -> Fetch:
    return Fetch(
        m.source, term_of(m.epoch), term_of(m.fetch_offset), term_of(m.broker_epoch), sound
    )


def _serves(model: Model) -> Actions:
    m, sound = fetch_symbol("m", 1, 0), z3.Bool("m.sound")
    row_before = model.before.rows[0]
    arrived = fetch_part(model.before, fetch_terms(m, sound))
    for row, given in model.rows(0):

        def make(handlers: Handlers, row: BrokerRow = row) -> ActionOutcome:
            handlers.broker.sound = sound
            outcome = handlers.broker.step(0, row, m)
            assert outcome is not None, "a fetch is always answered"
            return _made(outcome.row, outcome.sent)

        known = [*given, row_before["status"] != DOWN]
        for case in model.cases.ways("HandleReplicaFetchRequest", 0, make, known):
            action = model.broker_action(case, {})
            action.given.append(arrived)
            action.epochs["the fetch's"] = term_of(m.epoch)
            for reply in case.sent:
                if isinstance(reply, ReplicaFetchResponse):
                    told = _fetched_terms(reply, row_before["from"])
                    action.said["the answer"] = fetched_part(action.after, told)
            yield action


def _fetched_terms(m: ReplicaFetchResponse, from_watched: z3.BoolRef) -> Fetched:
    records: Any = m.records
    number = records.number if isinstance(records, Records) else z3.IntVal(len(records))
    return Fetched(
        term_of(m.request.epoch),
        choice_of(m.error, FETCH_ERRORS),
        term_of(m.high_watermark),
        from_watched,
        number,
    )


def _fetches(model: Model) -> Actions:
    sound = z3.Bool("m.sound")
    row = model.before.rows[0]
    log = PrefixLog(row["length"], row["match"])
    for case, action in model.of_broker(
        "HandleSendReplicaFetch", 0, lambda row: SendReplicaFetch()
    ):
        told = z3.Implies(sound, is_prefix(row["leader_epoch"], log))
        noted = z3.And(sound, row["leader_epoch"] == WATCHED, row["length"] > row["sent"])
        new = {"sent": z3.If(noted, row["length"], row["sent"])}
        action = model.remember(case, action, new)
        action.given.append(told)
        for m in case.sent:
            said = fetch_part(action.after, fetch_terms(m, sound))
            action.said["the fetch"] = said
        yield action


def _uses(model: Model) -> Actions:
    request = fetch_symbol("q", 0, 1)
    m = fetched_symbol("m", request)
    from_watched = z3.Bool("m.from")
    row = model.before.rows[0]
    arrived = fetched_part(model.before, _fetched_terms(m, from_watched))
    asked = fetch_part(model.before, fetch_terms(request, z3.Bool("q.sound")))
    errors = choice_of(m.error, FETCH_ERRORS)
    for case, action in model.of_broker(
        "HandleReplicaFetchResponse", 0, lambda row: m, fetching=(request,)
    ):
        used = from_watched if case.appended else row["from"]
        action = model.remember(case, action, {"from": used})
        action.given += [arrived, asked, errors >= 0, errors < len(FETCH_ERRORS)]
        action.epochs["the fetch's"] = term_of(request.epoch)
        yield action


def _gives_up_fetch(model: Model) -> Actions:
    request = fetch_symbol("q", 0, 1)
    for _, action in model.of_broker(
        "HandleReplicaFetchTimeout",
        0,
        lambda row: ReplicaFetchTimeout(request),
        fetching=(request,),
    ):
        yield action


def _gives_up_alter(model: Model) -> Actions:
    def timeout(row: BrokerRow) -> BrokerInput | None:
        if not isinstance(row.alter_request, AlterPartitionRequest):
            return None
        return ControllerRequestTimeout(row.alter_request)

    for _, action in model.of_broker("HandleControllerRequestTimeout", 0, timeout, asks=True):
        yield action


def _reads(model: Model) -> Actions:
    """The next records: what became of each broker, and perhaps of the partition."""
    s, brokers = model.before, model.brokers
    row = s.rows[0]
    partition, terms = partition_symbol("p", brokers)
    change = terms["partition_epoch"]
    states: list[Any] = []
    grows = []
    for b in brokers:
        epoch = z3.Int(f"p.epoch.{b}")
        state: Any = {
            "epoch": Number(epoch),
            "fenced": Truth(z3.Bool(f"p.fenced.{b}")),
            "stopping": Truth(z3.Bool(f"p.stopping.{b}")),
        }
        states.append(BrokerRecord(b, BrokerState(**state)))
        grows.append(epoch >= row[f"image.epoch.{b}"])
    written = [
        *(change > row["image.partition_epoch"], change <= s.controller["partition_epoch"]),
        z3.Select(s.epoch_at, change) == terms["leader_epoch"],
        z3.Select(s.leader_of, terms["leader_epoch"]) == terms["leader"],
        *(z3.Select(s.isr_at[b], change) == terms["isr"][b] for b in brokers),
        *(z3.Int(f"p.epoch.{b}") >= z3.Select(s.registered_at[b], change) for b in brokers),
    ]
    for records, known in (
        ((*states,), grows),
        ((*states, PartitionRecord(partition)), [*grows, *written]),
    ):

        def update(row: BrokerRow, records: Any = records) -> BrokerInput:
            return MetadataUpdate(row.image.offset, records)

        for _, action in model.of_broker("HandleMetadataUpdate", 0, update):
            action.given += known
            action.epochs["the record's"] = terms["leader_epoch"]
            action.changes["the record's"] = change
            yield action


def _hears(model: Model) -> Actions:
    """Hear an answer to a heartbeat, in the action in which it was asked for.

    Whoever may stop is fenced in it, and whoever starts has read the metadata up to its
    registration.
    """
    s = model.before
    row_before = s.rows[0]
    truths: Any = {
        name: Truth(z3.Bool(f"m.{name}"))
        for name in ("is_caught_up", "is_fenced", "should_shut_down")
    }
    numbers: Any = {"broker_epoch": Number(row_before["broker_epoch"])}
    request = HeartbeatRequest(
        0, CONTROLLER, metadata_offset=0, want_fence=False, want_shut_down=False, **numbers
    )
    answer = HeartbeatResponse(CONTROLLER, 0, request, "NONE", **truths)
    caught_up = z3.And(
        row_before["broker_epoch"] >= 0,
        row_before["image.partition_epoch"] >= row_before["floor"],
    )
    guards = [
        z3.Implies(z3.Bool("m.should_shut_down"), s.controller["fenced.0"]),
        z3.Implies(z3.And(z3.Bool("m.is_caught_up"), row_before["status"] == STARTING), caught_up),
        row_before["broker_epoch"] >= 0,
    ]
    for row, given in model.rows(0):
        make = _step(0, changed(row, controller_request=request), answer)
        for case in model.cases.ways("HandleHeartbeatResponse", 0, make, given):
            assert case.row is not None, "a broker acted"
            stops = choice_of(case.row.status, ("Starting", "Running", "ShuttingDown", "Down"))
            stopped = z3.And(stops == DOWN, row_before["status"] != DOWN)
            new = {
                "checked": z3.If(stopped, row_before["from"], row_before["checked"]),
                "from": z3.And(row_before["from"], z3.Not(stopped)),
            }
            action = model.broker_action(case, new)
            action.given += guards
            action.changes["the floor"] = row_before["floor"]
            _orphans(action, model)
            yield action


def _orphans(action: Action, model: Model) -> None:
    """What a broker that stops has asked for is on its way still."""
    row = model.before.rows[0]
    gone = z3.And(row["waiting"], z3.Not(action.after.rows[0]["asked"]))
    asked = asked_terms(model.before, 0)
    said = orphan_part(action.after, asked, 0)
    action.said["the AlterPartition that is left"] = z3.Implies(gone, said)
    action.epochs["of what is left"] = asked.leader_epoch
    action.changes["of what is left"] = asked.partition_epoch


def _crashes(model: Model) -> Actions:
    keep: Any = Number(z3.Int("keep"))
    lost = {"intact": z3.BoolVal(False), "from": z3.BoolVal(False)}
    for case, action in model.of_broker("HandleBrokerCrash", 0, lambda row: BrokerCrash(keep, -1)):
        action = model.remember(case, action, lost)
        _orphans(action, model)
        yield action


def _restarts(model: Model) -> Actions:
    checked = model.before.rows[0]["checked"]
    for case, action in model.of_broker("HandleBrokerRestart", 0, lambda row: BrokerRestart()):
        yield model.remember(case, action, {"from": checked})


def _checkpoints(model: Model) -> Actions:
    shown = model.before.rows[0]["from"]
    for case, action in model.of_broker(
        "HandleCheckpointHighWatermark", 0, lambda row: CheckpointHighWatermark()
    ):
        yield model.remember(case, action, {"checked": shown})


# --- Actions of the controller.


def _of_controller(
    model: Model,
    name: str,
    b: int,
    make: Callable[[Handlers], ActionOutcome | None],
    known: Sequence[z3.BoolRef] = (),
) -> Iterator[tuple[Case, Action]]:
    s = model.before
    given = [part for name, part in controller_parts(s).items() if name in _GIVEN]
    given += known
    for case in model.cases.ways(name, b, make, given):
        assert case.controller is not None, "the controller acted"
        view = controller_view(case.controller, model.brokers)
        yield case, controller_action(model, case, view, {})


_GIVEN: Final = ("Form of the controller", "LeaderInIsr", "IsrAndElr", "LeaderUnfenced")


def controller_action(
    model: Model, case: Case, view: View, evicted: Mapping[int, z3.BoolRef]
) -> Action:
    s = model.before
    epoch = view["leader_epoch"]
    first = z3.And(epoch == WATCHED, s.controller["leader_epoch"] < WATCHED)
    foretold = z3.Implies(first, view["leader"] == WATCHED_LEADER)
    action = Action(
        case.action,
        case.node,
        s,
        after_controller(s, view, evicted),
        [*case.condition, foretold],
    )
    action.epochs["the new epoch"] = epoch
    action.changes["the new change"] = view["partition_epoch"]
    return action


def _decides(
    model: Model, row: Any, input: ControllerInput
) -> Callable[[Handlers], ActionOutcome | None]:
    def make(handlers: Handlers) -> ActionOutcome | None:
        outcome = handlers.controller.step(row, input)
        return None if outcome is None else ActionOutcome(None, outcome.row, outcome.sent)

    return make


def _times_out(model: Model) -> Actions:
    row = controller_row(model.before.controller, model.brokers)
    for b in model.brokers:
        make = _decides(model, row, SessionTimeout(b))
        for _, action in _of_controller(model, "HandleSessionTimeout", b, make):
            yield action


def _beats(model: Model) -> Actions:
    """A heartbeat, as its sender is now."""
    row = controller_row(model.before.controller, model.brokers)
    for b in model.brokers:
        view = model.before.rows[b]
        epoch: Any = Number(view["broker_epoch"])
        offset: Any = Number(z3.Int("m.metadata_offset"))
        starts: Any = Truth(view["status"] == STARTING)
        stops: Any = Truth(view["status"] == STOPPING)
        input = HeartbeatRequest(b, CONTROLLER, epoch, offset, starts, stops)
        known = [view["status"] != DOWN, view["broker_epoch"] >= 0]
        make = _decides(model, row, input)
        for case, action in _of_controller(model, "HandleHeartbeatRequest", b, make, known):
            (answer,) = (m for m in case.sent if isinstance(m, HeartbeatResponse))
            fenced = action.after.controller[f"fenced.{b}"]
            may = truth_of(answer.should_shut_down)
            action.said["who may stop is fenced"] = z3.Implies(may, fenced)
            yield action


def _elects(model: Model) -> Actions:
    row = controller_row(model.before.controller, model.brokers)
    for election in ("PREFERRED", "ONLINE"):
        make = _decides(model, row, ElectLeaders(election))
        for _, action in _of_controller(model, "HandleElectLeaders", 0, make):
            yield action


def _fails_over(model: Model) -> Actions:
    row = controller_row(model.before.controller, model.brokers)
    make = _decides(model, row, ControllerFailover())
    for _, action in _of_controller(model, "HandleControllerFailover", 0, make):
        yield action


def _alters(model: Model) -> Actions:
    """An AlterPartition arrives: one that its sender waits for, or one whose sender is gone."""
    s, brokers = model.before, model.brokers
    row = controller_row(s.controller, brokers)
    for b in brokers:
        orphan = any_view("orphan", brokers)
        for waits, view in ((True, s.rows[b]), (False, orphan)):
            request = asked_request(view, b, brokers)
            terms = alter_terms(view, brokers)
            make = _decides(model, row, request)
            for case, action in _of_controller(model, "HandleAlterPartitionRequest", b, make):
                action.epochs["the request's"] = terms.leader_epoch
                action.changes["the request's"] = terms.partition_epoch
                if waits:
                    action.given += [view["asked"], view["waiting"]]
                    _note_answer(action, case, b)
                else:
                    action.given.append(orphan_part(s, terms, b))
                yield action


def _note_answer(action: Action, case: Case, b: int) -> None:
    s = action.after
    answers = [m for m in case.sent if isinstance(m, AlterPartitionResponse)]
    (answer,) = answers
    isr = bits_of(answer.isr, s.brokers)
    told: View = {
        "waiting": z3.BoolVal(False),
        "replied": z3.BoolVal(True),
        "reply.error": choice_of(answer.error, ANSWERS),
        "reply.leader_epoch": term_of(answer.leader_epoch),
        "reply.partition_epoch": term_of(answer.partition_epoch),
        **{f"reply.isr.{v}": isr[v] for v in s.brokers},
    }
    action.after = replace(s, rows={**s.rows, b: s.rows[b] | told})
    action.changes["the answer's"] = term_of(answer.partition_epoch)


def _registers(model: Model) -> Actions:
    """A registration and its answer."""
    s, brokers = model.before, model.brokers
    row_c = controller_row(s.controller, brokers)
    for b in brokers:
        view = s.rows[b]
        numbers: Any = (Number(view["incarnation"]), Number(view["previous"]))
        request = RegisterBrokerRequest(b, CONTROLLER, *numbers)
        row_b = changed(broker_row(view, b, brokers, False), controller_request=request)

        def make(
            handlers: Handlers, request: Any = request, row_b: Any = row_b, b: int = b
        ) -> ActionOutcome | None:
            outcome = handlers.controller.step(row_c, request)
            assert outcome is not None, "a registration is always answered"
            (answer,) = (m for m in outcome.sent if isinstance(m, RegisterBrokerResponse))
            taken = handlers.broker.step(b, row_b, answer)
            assert taken is not None, "an answer is taken"
            return ActionOutcome(taken.row, outcome.row, outcome.sent)

        known = [
            *(view["status"] == STARTING, view["broker_epoch"] == -1),
            z3.Not(view["asked"]),
        ]
        for case, action in _of_controller(model, "HandleRegisterBrokerRequest", b, make, known):
            yield _registered(model, case, action, b)


def _registered(model: Model, case: Case, action: Action, b: int) -> Action:
    s = model.before
    view, row = s.rows[b], case.row
    assert row is not None and case.controller is not None, "both acted"
    new = view_of(row, model.brokers)
    told = new["broker_epoch"] >= 0
    lost = z3.And(told, z3.Not(view["intact"]))
    controller = controller_view(case.controller, model.brokers)
    again = controller_action(model, case, controller, {b: lost})
    remembered = {
        "life": z3.If(lost, new["broker_epoch"], view["life"]),
        "sent": z3.If(lost, -1, view["sent"]),
        "intact": z3.Or(view["intact"], told),
        "floor": z3.If(told, controller["partition_epoch"], view["floor"]),
        "old": again.after.rows[b]["old"],
    }
    rows = {**again.after.rows, b: view | new | remembered}
    return replace(again, after=replace(again.after, rows=rows))


ACTIONS: Final[Mapping[str, Callable[[Model], Actions]]] = {
    "HandleReplicaLagTimeout": partial(_simple, "HandleReplicaLagTimeout", ReplicaLagTimeout(1)),
    "HandleIsrShrinkTimeout": partial(_simple, "HandleIsrShrinkTimeout", IsrShrinkTimeout()),
    "HandleSendAlterPartition": _asks,
    "HandleAlterPartitionResponse": _is_answered,
    "HandleProduceRequest": _produces,
    "HandleReplicaFetchRequest": _serves,
    "HandleSendReplicaFetch": _fetches,
    "HandleReplicaFetchResponse": _uses,
    "HandleReplicaFetchTimeout": _gives_up_fetch,
    "HandleBrokerFlush": partial(_simple, "HandleBrokerFlush", BrokerFlush()),
    "HandleCheckpointHighWatermark": _checkpoints,
    "HandleMetadataUpdate": _reads,
    "HandleHeartbeatResponse": _hears,
    "HandleControlledShutdown": partial(_simple, "HandleControlledShutdown", ControlledShutdown()),
    "HandleControllerRequestTimeout": _gives_up_alter,
    "HandleBrokerCrash": _crashes,
    "HandleBrokerRestart": _restarts,
    "HandleRegisterBrokerRequest": _registers,
    "HandleHeartbeatRequest": _beats,
    "HandleSessionTimeout": _times_out,
    "HandleAlterPartitionRequest": _alters,
    "HandleElectLeaders": _elects,
    "HandleControllerFailover": _fails_over,
}
"""What may happen, by the name of the handler."""
