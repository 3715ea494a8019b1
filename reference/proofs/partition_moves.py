"""The moves of a partition for bounded searches: its handlers on symbols, with exact logs.

The state is a table of variables: each broker's row, the controller's, the metadata that was
written, and for each broker one fetch response and one AlterPartition with its answer that are on
their way. A move is a handler, or a few that follow on each other at once, with all ways through
them in one term for each variable. So every run of moves is a run of the handlers; not the other
way round:

* Of what one broker is sent, only the last message is on its way. A response that is not there any
  more was lost.
* A broker reads the next change of metadata, or all that there are.
* A crash and the restart after it are one move, as are a registration and its answer, a heartbeat
  and its answer, and a fetch and its response.
* Brokers do not stop cleanly, controllers do not fail over, nothing is flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import z3
from msgspec.structs import replace

from reference.core.broker import BrokerHandlers
from reference.core.controller import PartitionControllerHandlers
from reference.core.partition_log import UNDEFINED, EpochEnd
from reference.core.partition_messages import (
    CLIENTS,
    CONTROLLER,
    NOBODY,
    AlterPartitionResponse,
    BrokerCrash,
    BrokerRecord,
    BrokerRestart,
    BrokerState,
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
    ReplicaLagTimeout,
    SendAlterPartition,
    SendReplicaFetch,
    SessionTimeout,
)
from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import (
    INITIAL_OFFSET,
    BrokerRow,
    ControllerRow,
    PartitionConstants,
    initial_controller,
    initial_row,
)
from reference.proofs.moves import Done, chosen, in_a_row
from reference.proofs.partition_exact import (
    EPOCHS,
    PLACES,
    ExactCache,
    ExactLog,
    ExactRecords,
    exact_cache,
    exact_partition,
    holds,
)
from reference.proofs.partition_relation import (
    ANSWERS,
    FETCH_ERRORS,
    MIN_ISR,
    STATUSES,
    SymbolicController,
    View,
    alter_view,
    asked_request,
    broker_row,
    controller_row,
    controller_view,
    view_of,
)
from reference.proofs.partition_symbols import (
    RULES,
    AnyPartition,
    BrokerSet,
    Memory,
    modules_of,
    summarising,
)
from reference.proofs.symbolic import (
    Choice,
    Number,
    Path,
    Truth,
    bits_of,
    choice_of,
    folded,
    paths,
    term_of,
    truth_of,
)
from reference.proofs.terms import symbol_like
from reference.proofs.unrolled import Move

VERSIONS: Final = 8
"""How many changes of metadata a search has at most."""
RUNNING, STARTING, DOWN = (STATUSES.index(each) for each in ("Running", "Starting", "Down"))
LEADER: Final = 1


def produced(n: int, value: int = 1) -> ProduceRequest:
    """What clients produce: one record that is acked by the leader alone."""
    return ProduceRequest(CLIENTS, n, 0, 1, (value,), UNDEFINED, UNDEFINED, UNDEFINED)


class _Broker(BrokerHandlers):
    """The handlers, where logs are symbols."""

    def is_batch_end(self, log: Any, offset: Any) -> bool:
        return True

    def records_of(self, row: BrokerRow, m: Any) -> Any:
        return ExactRecords(z3.IntVal(1), term_of(row.leader_epoch))


def exact_view(row: BrokerRow, brokers: Sequence[int]) -> View:
    """A row as terms, with its log and its epoch cache."""
    log: Any = row.log
    if not isinstance(log, ExactLog):
        assert log == (), "the first log is empty"
        log = ExactLog(z3.IntVal(0), [z3.IntVal(0)] * PLACES)
    view = view_of(replace(row, log=log), brokers)
    del view["match"]
    view |= {f"log.{at}": epoch for at, epoch in enumerate(log.epochs)}
    view |= {f"cache.{e}": start for e, start in exact_cache(row.epoch_cache).entries()}
    view["last_fetched"] = term_of(row.last_fetched_epoch)
    view["offset"] = term_of(row.image.offset)
    return view


def _symbols(view: Mapping[str, z3.ExprRef], prefix: str) -> View:
    """Variables for these fields."""
    return {name: symbol_like(f"{prefix}{name}", term) for name, term in view.items()}


class PartitionMoves:
    """All moves for a number of brokers and a set of rules. min ISR is any number that they allow.

    first: each variable's value in the first state, in which broker 0 leads and everybody knows it.
    names: only moves of these names ("Fetches", or "Fetches 0 1" of these two only); all if there
    are none.
    """

    def __init__(
        self,
        brokers: int,
        rules: type[PartitionRules] = PartitionRules,
        names: Collection[str] = (),
    ) -> None:
        self.brokers = tuple(range(brokers))
        self.constants = PartitionConstants(self.brokers, 1, fetch_max_records=1)
        self._modules = modules_of(rules)
        given: Any = summarising(rules, RULES)(self.constants)
        given.min_isr = Number(MIN_ISR)
        given.memory = Memory(self.brokers)
        self._broker = _Broker(self.constants, given)
        self._controller = SymbolicController(self.constants, given)
        self.first = self._first(rules)
        self._made: dict[tuple[Any, ...], Move] = {}
        self.moves = chosen(self._makers(), names)

    # --- The state.

    def _first(self, rules: type[PartitionRules]) -> dict[str, z3.ExprRef]:
        rows, controller = first_rows(self.constants, rules(self.constants))
        first: dict[str, z3.ExprRef] = {"min.isr": MIN_ISR, "version": z3.IntVal(1)}
        for b in self.brokers:
            view = exact_view(rows[b], self.brokers) | {"version": z3.IntVal(1)}
            first |= {f"b{b}.{name}": term for name, term in view.items()}
            first |= {f"b{b}.{name}": term for name, term in _no_answer(self.brokers).items()}
        told = controller_view(controller, self.brokers)
        first |= {f"c.{name}": term for name, term in told.items()}
        snapshot = _snapshot(told, self.brokers)
        for version in range(1, VERSIONS + 1):
            blank = {
                k: z3.BoolVal(False) if z3.is_bool(t) else z3.IntVal(0) for k, t in snapshot.items()
            }
            known = snapshot if version == 1 else blank
            first |= {f"h{version}.{name}": term for name, term in known.items()}
        first["committed"] = z3.IntVal(0)
        return first | {f"committed.{at}": z3.IntVal(0) for at in range(PLACES)}

    def _view(self, prefix: str) -> View:
        return {
            name.removeprefix(prefix): symbol_like(name, term)
            for name, term in self.first.items()
            if name.startswith(prefix)
        }

    def _row(self, b: int, asked: bool = False, **changes: Any) -> BrokerRow:
        """Broker b's row on symbols."""
        view = self._view(f"b{b}.") | {"match": z3.IntVal(0)}
        row = broker_row(view, b, self.brokers, asked)
        epochs: list[Any] = [view[f"log.{at}"] for at in range(PLACES)]
        log: Any = ExactLog(view["length"], epochs)
        cache: Any = ExactCache([view[f"cache.{e}"] for e in range(1, EPOCHS + 1)])
        offset: Any = Number(view["offset"])
        last: Any = Number(view["last_fetched"])
        image = replace(row.image, offset=offset)
        return replace(
            row, log=log, epoch_cache=cache, last_fetched_epoch=last, image=image, **changes
        )

    def _controller_row(self) -> ControllerRow:
        return controller_row(self._view("c."), self.brokers)

    # --- What a row becomes, as new values of variables.

    def _of_broker(self, b: int, row: BrokerRow) -> dict[str, z3.ExprRef]:
        view = exact_view(row, self.brokers)
        return {f"b{b}.{name}": term for name, term in view.items()}

    def _of_controller(self, row: ControllerRow) -> dict[str, z3.ExprRef]:
        view = controller_view(row, self.brokers)
        return {f"c.{name}": term for name, term in view.items()}

    def _folded(
        self,
        about: Done,
        given: Sequence[z3.BoolRef],
        make: Callable[[], dict[str, z3.ExprRef] | None],
    ) -> Move:
        """A move of all ways through `make`, which gives the new values, or None where the move is
        disabled. given: of whom there is no other way; part of the guard.
        """
        with exact_partition(self._modules):
            found = paths(make, [MIN_ISR >= 1, *given], self.brokers)
        names = dict.fromkeys(name for path in found for name in path.result or ())
        enabled = folded([Path(p.condition, z3.BoolVal(p.result is not None)) for p in found])
        updates = {}
        for name in names:
            old = symbol_like(name, self.first[name])
            new = folded([Path(p.condition, (p.result or {}).get(name, old)) for p in found])
            if not new.eq(old):
                updates[name] = new
        updates |= self._consequences(updates)
        return Move(z3.And(*given, enabled), updates, about)

    def _consequences(self, updates: Mapping[str, z3.ExprRef]) -> dict[str, z3.ExprRef]:
        """What follows from new values: metadata that was written, and what is committed."""
        more: dict[str, z3.ExprRef] = {}
        if "c.offset" in updates:
            controller = self._view("c.") | {
                name.removeprefix("c."): t for name, t in updates.items() if name[:2] == "c."
            }
            wrote = controller["offset"] != z3.Int("c.offset")
            version = z3.Int("version")
            more["version"] = z3.If(wrote, version + 1, version)
            for name, term in _snapshot(controller, self.brokers).items():
                for at in range(2, VERSIONS + 1):
                    old = symbol_like(f"h{at}.{name}", term)
                    new = z3.If(z3.And(wrote, version + 1 == at), term, old)
                    more[f"h{at}.{name}"] = new
        for b in self.brokers:
            if f"b{b}.high_watermark" in updates:
                more |= self._committed(b, updates)
        return more

    def _committed(self, b: int, updates: Mapping[str, z3.ExprRef]) -> dict[str, z3.ExprRef]:
        """The longest that a leader has ever called committed."""
        view = self._view(f"b{b}.") | {
            name.removeprefix(f"b{b}."): t for name, t in updates.items() if name[:2] == f"b{b}"
        }
        mark: Any = view["high_watermark"]
        longest = z3.Int("committed")
        more = z3.And(view["role"] == LEADER, mark > longest)
        told: dict[str, z3.ExprRef] = {"committed": z3.If(more, mark, longest)}
        for at in range(PLACES):
            new = z3.If(mark > at, view[f"log.{at}"], 0)
            told[f"committed.{at}"] = z3.If(more, new, z3.Int(f"committed.{at}"))
        return told

    # --- The moves.

    def _makers(self) -> Iterator[tuple[Done, Callable[[], Move]]]:
        """All moves, each made when it is asked for."""
        for n in self.brokers:
            yield from self._of_one(n)
            for peer in self.brokers:
                if peer != n:
                    serves = partial(self._once, self._serves, peer, n)
                    uses = partial(self._once, self._uses, n)
                    yield Done("Serves", peer, n), serves
                    yield self._together(Done("Fetches", peer, n), serves, uses)
                    yield Done("Lags", n, peer), partial(self._lags, n, peer)
        yield Done("Elects", CONTROLLER), self._elects

    def _of_one(self, n: int) -> Iterator[tuple[Done, Callable[[], Move]]]:
        """The moves of a broker by itself, or with the controller."""

        def once(make: Callable[[int], Move]) -> Callable[[], Move]:
            return partial(self._once, make, n)

        asks, decides, hears = once(self._asks), once(self._decides), once(self._hears)
        registers, reads, beats = once(self._registers), once(self._reads), once(self._beats)
        yield Done("Asks", n), asks
        yield Done("IsJudged", n), decides
        yield Done("Hears", n), hears
        yield self._together(Done("AsksAndIsJudged", n), asks, decides)
        yield self._together(Done("IsJudgedAndHears", n), decides, hears)
        yield self._together(Done("AsksAndHears", n), asks, decides, hears)
        yield Done("ReadsOne", n), partial(self._reads, n, one=True)
        yield Done("ReadsAll", n), reads
        yield Done("Registers", n), registers
        yield Done("Beats", n), beats
        yield self._together(Done("ComesBack", n), registers, reads, beats)
        yield Done("Shrinks", n), once(self._shrinks)
        yield Done("Produces", n), once(self._produces)
        yield Done("Crashes", n), once(self._crashes)
        yield Done("TimesOut", CONTROLLER, n), once(self._times_out)
        yield Done("Uses", n), once(self._uses)

    def _once(self, make: Callable[..., Move], *given: int) -> Move:
        key = (make.__name__, *given)
        if key not in self._made:
            self._made[key] = make(*given)
        return self._made[key]

    def _together(self, done: Done, *parts: Callable[[], Move]) -> tuple[Done, Callable[[], Move]]:
        """Moves one after the other at once, as one."""

        def make() -> Move:
            return in_a_row(done, *(part() for part in parts))

        return done, make

    def _step(self, n: int, row: BrokerRow, input: Any) -> dict[str, z3.ExprRef] | None:
        outcome = self._broker.step(n, row, input)
        if outcome is None or outcome.ignored:
            return None
        return self._of_broker(n, outcome.row)

    def _is_leader(self, n: int) -> z3.BoolRef:
        return z3.Int(f"b{n}.role") == LEADER

    def _runs(self, n: int) -> z3.BoolRef:
        return z3.Int(f"b{n}.status") == RUNNING

    def _shrinks(self, n: int) -> Move:
        leads = [self._is_leader(n), self._runs(n)]
        input = IsrShrinkTimeout()
        return self._folded(Done("Shrinks", n), leads, lambda: self._step(n, self._row(n), input))

    def _produces(self, n: int) -> Move:
        given = [self._is_leader(n), self._runs(n), z3.Int(f"b{n}.length") < PLACES]
        input = produced(n)
        return self._folded(Done("Produces", n), given, lambda: self._step(n, self._row(n), input))

    def _lags(self, n: int, r: int) -> Move:
        given = [self._is_leader(n), self._runs(n)]
        input = ReplicaLagTimeout(r)
        return self._folded(Done("Lags", n, r), given, lambda: self._step(n, self._row(n), input))

    def _crashes(self, n: int) -> Move:
        """A machine stops, keeps a part of the log, and starts again."""
        keep: Any = Number(z3.Int("keep"))

        def make() -> dict[str, z3.ExprRef] | None:
            crashed = self._broker.step(n, self._row(n), BrokerCrash(keep, UNDEFINED))
            if crashed is None:
                return None
            restarted = self._broker.step(n, crashed.row, BrokerRestart())
            assert restarted is not None, "who is down may start"
            gone = {f"b{n}.{name}": t for name, t in _no_answer(self.brokers).items()}
            # An AlterPartition may still arrive.
            kept = [k for k in gone if k.startswith((f"b{n}.sent", f"b{n}.sends"))]
            left = {k: t for k, t in gone.items() if k not in kept}
            first = {f"b{n}.version": z3.IntVal(0)}
            return self._of_broker(n, restarted.row) | left | first

        return self._folded(Done("Crashes", n), [self._runs(n)], make)

    def _reads(self, n: int, one: bool = False) -> Move:
        now, last = z3.Int(f"b{n}.version"), z3.Int("version")
        to = now + 1 if one else last
        names = list(_snapshot(self._view("c."), self.brokers))

        def at(name: str) -> Any:
            found = symbol_like(f"h{VERSIONS}.{name}", self.first[f"h1.{name}"])
            for version in range(VERSIONS - 1, 0, -1):
                there = symbol_like(f"h{version}.{name}", found)
                found = z3.If(to == version, there, found)
            return found

        told = {name: at(name) for name in names}

        def make() -> dict[str, z3.ExprRef] | None:
            row = self._row(n)
            records = self._records(told)
            changed = told["partition_epoch"] != z3.Int(f"b{n}.image.partition_epoch")
            if not Truth(changed):
                records = records[:-1]
            outcome = self._broker.step(n, row, MetadataUpdate(row.image.offset, records))
            if outcome is None:
                return None
            new = self._of_broker(n, outcome.row)
            return new | {f"b{n}.version": to, f"b{n}.offset": told["offset"]}

        up = z3.Int(f"b{n}.status") != DOWN
        given = [up, now < last, last <= VERSIONS]
        return self._folded(Done("ReadsOne" if one else "ReadsAll", n), given, make)

    def _records(self, told: Mapping[str, Any]) -> tuple[Any, ...]:
        records: list[Any] = []
        for b in self.brokers:
            state: Any = {
                "epoch": Number(told[f"epoch.{b}"]),
                "fenced": Truth(told[f"fenced.{b}"]),
                "stopping": Truth(told[f"stopping.{b}"]),
            }
            records.append(BrokerRecord(b, BrokerState(**state)))
        isr: Any = BrokerSet({b: told[f"isr.{b}"] for b in self.brokers})
        numbers: Any = {
            name: Number(told[name]) for name in ("leader", "leader_epoch", "partition_epoch")
        }
        partition = AnyPartition(
            **numbers, isr=isr, elr=(), last_known_leader=NOBODY, recovering=False
        )
        return (*records, PartitionRecord(partition))

    # --- Fetches.

    def _serves(self, n: int, r: int) -> Move:
        """Broker r asks n, which answers."""

        def make() -> dict[str, z3.ExprRef] | None:
            leader: Any = n
            asked = self._broker.step(r, self._row(r, leader=leader), SendReplicaFetch())
            if asked is None:
                return None
            request: Any = asked.sent[0]
            outcome = self._broker.step(n, self._row(n), request)
            assert outcome is not None, "a fetch is always answered"
            (reply,) = outcome.sent
            return self._of_broker(n, outcome.row) | self._fetched(r, reply)

        given = [z3.Int(f"b{r}.leader") == n, self._runs(n), self._runs(r)]
        given.append(z3.Int(f"b{r}.role") == 2)
        return self._folded(Done("Serves", n, r), given, make)

    def _fetched(self, r: int, m: Any) -> dict[str, z3.ExprRef]:
        records = m.records
        if not isinstance(records, ExactRecords):
            records = ExactRecords(z3.IntVal(0), z3.IntVal(0))
        told = {
            "there": z3.BoolVal(True),
            "source": z3.IntVal(m.source),
            "error": choice_of(m.error, FETCH_ERRORS),
            "number": records.number,
            "record": records.epoch,
            "div.epoch": term_of(m.diverging.epoch),
            "div.end": term_of(m.diverging.end_offset),
            "high_watermark": term_of(m.high_watermark),
            "end": term_of(m.end_offset),
            "epoch": term_of(m.request.epoch),
            "offset": term_of(m.request.fetch_offset),
        }
        return {f"b{r}.fetched.{name}": term for name, term in told.items()}

    def _uses(self, r: int) -> Move:
        view = self._view(f"b{r}.fetched.")

        def number(name: str) -> Any:
            return Number(view[name])

        request = ReplicaFetchRequest(
            r,
            0,
            broker_epoch=0,
            epoch=number("epoch"),
            fetch_offset=number("offset"),
            last_fetched_epoch=0,
        )
        error: Any = Choice(view["error"], FETCH_ERRORS)
        records: Any = ExactRecords(view["number"], view["record"])
        answer = ReplicaFetchResponse(
            source=number("source"),
            destination=r,
            request=request,
            error=error,
            records=records,
            diverging=EpochEnd(number("div.epoch"), number("div.end")),
            high_watermark=number("high_watermark"),
            log_start=0,
            end_offset=number("end"),
        )

        def make() -> dict[str, z3.ExprRef] | None:
            made = self._step(r, self._row(r, fetching=(request,)), answer)
            return None if made is None else made | {f"b{r}.fetched.there": z3.BoolVal(False)}

        given = [view["there"], self._runs(r), number("number").term <= 1]
        given += [number("number").term >= 0, number("error").term >= 0]
        given.append(number("error").term < len(FETCH_ERRORS))
        return self._folded(Done("Uses", r), given, make)

    # --- AlterPartition. "sent": what is on its way; "asked": what the row waits for.

    def _asks(self, n: int) -> Move:
        leads = [self._is_leader(n), self._runs(n)]

        def make() -> dict[str, z3.ExprRef] | None:
            rows = [self._row(n, asked) for asked in (False, True)]
            waits = bool(Truth(z3.Bool(f"b{n}.asked")))
            outcome = self._broker.step(n, rows[waits], SendAlterPartition())
            if outcome is None:
                return None
            (request,) = outcome.sent
            sent = {
                f"b{n}.{name.replace('asked', 'sent')}": term
                for name, term in alter_view(request, self.brokers).items()
            }
            # Who asks anew does not wait for the old answer.
            return self._of_broker(n, outcome.row) | sent | {f"b{n}.replied": z3.BoolVal(False)}

        return self._folded(Done("Asks", n), leads, make)

    def _decides(self, n: int) -> Move:
        """The controller has the AlterPartition of n, and answers."""
        view = {
            name.replace("sent", "asked"): term
            for name, term in self._view(f"b{n}.").items()
            if name.split(".")[0] == "sent"
        }

        def make() -> dict[str, z3.ExprRef] | None:
            request = asked_request(view, n, self.brokers)
            outcome = self._controller.step(self._controller_row(), request)
            assert outcome is not None, "AlterPartition is always answered"
            answers = [m for m in outcome.sent if isinstance(m, AlterPartitionResponse)]
            (answer,) = answers
            return self._of_controller(outcome.row) | self._reply(n, answer)

        given: Any = [z3.Bool(f"b{n}.sent"), *self._formed()]
        return self._folded(Done("IsJudged", n), given, make)

    def _formed(self) -> list[z3.BoolRef]:
        """What is always so of the controller's row."""
        leader = z3.Int("c.leader")
        return [leader >= NOBODY, leader < len(self.brokers)]

    def _reply(self, n: int, answer: AlterPartitionResponse) -> dict[str, z3.ExprRef]:
        isr = bits_of(answer.isr, self.brokers)
        waits = z3.Bool(f"b{n}.asked")
        same = [
            term == symbol_like(f"b{n}.{name.replace('sent', 'asked')}", term)
            for name, term in self._view(f"b{n}.").items()
            if name.startswith("sent.")
        ]
        told = {
            "sent": z3.BoolVal(False),
            "replied": z3.And(waits, *same),
            "reply.error": choice_of(answer.error, ANSWERS),
            "reply.leader": term_of(answer.leader),
            "reply.leader_epoch": term_of(answer.leader_epoch),
            "reply.partition_epoch": term_of(answer.partition_epoch),
            **{f"reply.isr.{b}": isr[b] for b in self.brokers},
        }
        return {f"b{n}.{name}": term for name, term in told.items()}

    def _hears(self, n: int) -> Move:
        view = self._view(f"b{n}.")
        isr: Any = BrokerSet({b: view[f"reply.isr.{b}"] for b in self.brokers})
        error: Any = Choice(view["reply.error"], ANSWERS)
        numbers: Any = {
            name: Number(view[f"reply.{name}"])
            for name in ("leader", "leader_epoch", "partition_epoch")
        }

        def make() -> dict[str, z3.ExprRef] | None:
            row = self._row(n, asked=True)
            asked: Any = row.alter_request
            answer = AlterPartitionResponse(CONTROLLER, n, asked, error=error, isr=isr, **numbers)
            made = self._step(n, row, answer)
            return None if made is None else made | {f"b{n}.replied": z3.BoolVal(False)}

        given: Any = [view["replied"], view["asked"], self._runs(n)]
        given += [view["reply.error"] >= 0, view["reply.error"] < len(ANSWERS)]
        return self._folded(Done("Hears", n), given, make)

    # --- The controller.

    def _elects(self) -> Move:
        def make() -> dict[str, z3.ExprRef] | None:
            outcome = self._controller.step(self._controller_row(), ElectLeaders("PREFERRED"))
            if outcome is None or outcome.ignored:
                return None
            return self._of_controller(outcome.row)

        return self._folded(Done("Elects", CONTROLLER), self._formed(), make)

    def _times_out(self, b: int) -> Move:
        def make() -> dict[str, z3.ExprRef] | None:
            outcome = self._controller.step(self._controller_row(), SessionTimeout(b))
            return None if outcome is None else self._of_controller(outcome.row)

        return self._folded(Done("TimesOut", CONTROLLER, b), self._formed(), make)

    def _registers(self, b: int) -> Move:
        def make() -> dict[str, z3.ExprRef] | None:
            row = self._row(b)
            request = RegisterBrokerRequest(b, CONTROLLER, row.incarnation, row.previous_epoch)
            outcome = self._controller.step(self._controller_row(), request)
            assert outcome is not None, "a registration is always answered"
            answers = [m for m in outcome.sent if isinstance(m, RegisterBrokerResponse)]
            waiting = replace(row, controller_request=request)
            taken = self._broker.step(b, waiting, answers[0])
            assert taken is not None, "an answer is taken"
            return self._of_broker(b, taken.row) | self._of_controller(outcome.row)

        given: Any = [z3.Int(f"b{b}.status") == STARTING, z3.Int(f"b{b}.broker_epoch") == -1]
        return self._folded(Done("Registers", b), [*given, *self._formed()], make)

    def _beats(self, b: int) -> Move:
        """A heartbeat and its answer, as two moves in one: so their ways add up, not multiply."""
        return in_a_row(Done("Beats", b), self._beat_is_judged(b), self._beat_is_heard(b))

    def _heartbeat(self, b: int, row: BrokerRow) -> HeartbeatRequest:
        starts: Any = Truth(z3.Int(f"b{b}.status") == STARTING)
        return HeartbeatRequest(
            source=b,
            destination=CONTROLLER,
            broker_epoch=row.broker_epoch,
            metadata_offset=row.image.offset,
            want_fence=starts,
            want_shut_down=False,
        )

    def _beat_is_judged(self, b: int) -> Move:
        def make() -> dict[str, z3.ExprRef] | None:
            request = self._heartbeat(b, self._row(b))
            outcome = self._controller.step(self._controller_row(), request)
            assert outcome is not None, "a heartbeat is always answered"
            (answer,) = [m for m in outcome.sent if isinstance(m, HeartbeatResponse)]
            told = {
                f"b{b}.beat.accepted": z3.BoolVal(answer.error == "NONE"),
                f"b{b}.beat.caught_up": truth_of(answer.is_caught_up),
            }
            return self._of_controller(outcome.row) | told

        status = z3.Int(f"b{b}.status")
        given = [z3.Or(status == STARTING, status == RUNNING), z3.Int(f"b{b}.broker_epoch") >= 0]
        return self._folded(Done("Beats", b), [*given, *self._formed()], make)

    def _beat_is_heard(self, b: int) -> Move:
        view = self._view(f"b{b}.beat.")
        told: Any = {
            "is_caught_up": Truth(view["caught_up"]),
            "is_fenced": False,
            "should_shut_down": False,
        }

        def make() -> dict[str, z3.ExprRef] | None:
            row = self._row(b)
            request = self._heartbeat(b, row)
            error: Any = "NONE" if Truth(view["accepted"]) else "STALE_BROKER_EPOCH"
            answer = HeartbeatResponse(CONTROLLER, b, request, error, **told)
            return self._step(b, replace(row, controller_request=request), answer)

        status = z3.Int(f"b{b}.status")
        given = [z3.Or(status == STARTING, status == RUNNING), z3.Int(f"b{b}.broker_epoch") >= 0]
        return self._folded(Done("Beats", b), given, make)

    # --- What is looked for.

    def incomplete(self, at: Mapping[str, Any]) -> z3.BoolRef:
        """LeaderCandidateCompleteness is broken: a running member of the ISR or the ELR lacks what
        was committed.
        """
        epochs = [at[f"committed.{place}"] for place in range(PLACES)]
        committed = ExactLog(at["committed"], epochs)
        found = []
        for b in self.brokers:
            log = ExactLog(at[f"b{b}.length"], [at[f"b{b}.log.{p}"] for p in range(PLACES)])
            candidate = z3.Or(at[f"c.isr.{b}"], at[f"c.elr.{b}"])
            runs = at[f"b{b}.status"] == RUNNING
            found.append(z3.And(candidate, runs, z3.Not(holds(log, committed))))
        return z3.Or(found)

    def fenced_member(self, at: Mapping[str, Any]) -> z3.BoolRef:
        """ValidControllerState is broken: a member of the ISR is fenced. ELR is enabled."""
        return z3.Or([z3.And(at[f"c.isr.{b}"], at[f"c.fenced.{b}"]) for b in self.brokers])


def first_rows(
    constants: PartitionConstants, rules: PartitionRules
) -> tuple[dict[int, BrokerRow], ControllerRow]:
    """Broker 0 is elected, and all have read it."""
    elected = PartitionControllerHandlers(constants, rules).step(
        initial_controller(constants), ElectLeaders("ONLINE")
    )
    assert elected is not None, "an election is never disabled"
    records: Any = elected.sent[0]
    update = MetadataUpdate(INITIAL_OFFSET, records.records)
    handlers = BrokerHandlers(constants, rules)
    rows = {}
    for b in constants.brokers:
        outcome = handlers.step(b, initial_row(constants), update)
        assert outcome is not None, "a running broker reads metadata"
        rows[b] = outcome.row
    return rows, elected.row


def _snapshot(controller: Mapping[str, z3.ExprRef], brokers: Sequence[int]) -> View:
    """What of the controller's row is written into metadata, and how far it goes."""
    names = ["offset", "leader", "leader_epoch", "partition_epoch"]
    for b in brokers:
        names += [f"isr.{b}", f"epoch.{b}", f"fenced.{b}", f"stopping.{b}"]
    return {name: controller[name] for name in names}


def _no_answer(brokers: Sequence[int]) -> View:
    """Nothing is on its way to or from a broker."""
    no, zero = z3.BoolVal(False), z3.IntVal(0)
    numbers = ("source", "error", "number", "record", "div.epoch", "div.end", "high_watermark")
    told: View = {f"fetched.{name}": zero for name in (*numbers, "end", "epoch", "offset")}
    told |= {f"reply.{name}": zero for name in ("error", "leader", "leader_epoch")}
    told |= {"fetched.there": no, "sent": no, "replied": no, "reply.partition_epoch": zero}
    told |= {"beat.accepted": no, "beat.caught_up": no}
    told |= {f"sent.{name}": zero for name in ("broker_epoch", "leader_epoch", "partition_epoch")}
    for b in brokers:
        told |= {f"reply.isr.{b}": no, f"sent.member.{b}": no, f"sent.epoch.{b}": zero}
    return told
