"""The transition relation of one node, taken from the handlers that run.

`cases` runs `QuorumHandlers.step` on a symbolic row and a symbolic input, once for each role, kind
of input and sender, and gives all paths. So the named decisions in the relation are the methods of
`QuorumRules` themselves, and a bug's relation is what its subclass makes: there is no fourth text
of the protocol that could drift.

What is abstracted, in the functions of `_ABSTRACT` and in `SymbolicHandlers` and nowhere else:

* A log is its length and a bound on its epochs, an epoch cache is its latest epoch. What depends on
  more (where an epoch ends, what is left after a cut) is any value that the abstraction allows.
* What a leader notes of fetches (end offsets, the high watermark, who fetched) and the order of
  successors is any value. No election looks at them, but for whether to announce a leader.
* Of the parked fetches one is looked at: each is answered for itself.

Elections see nothing else of logs than their length and latest epoch, so where no log is cut the
relation is exact in all other fields (tests/reference/quorum/proof compares it with TLC's graph).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, get_args

import z3
from msgspec.structs import replace

from kraftcheck.reference.kit import log as core_log
from kraftcheck.reference.proofs.symbolic import (
    Cache,
    Choice,
    Log,
    NodeSet,
    Number,
    Truth,
    assume,
    bits_of,
    choice_of,
    fresh,
    largest,
    paths,
    summarised_number,
    summary,
    term_of,
    with_bit,
)
from kraftcheck.reference.quorum import handlers as core_quorum
from kraftcheck.reference.quorum.handlers import HANDLERS, QuorumHandlers
from kraftcheck.reference.quorum.messages import (
    MESSAGES,
    Append,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    Error,
    FetchMaxWait,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Flush,
    RequestTimeout,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import (
    AWAITING,
    NOBODY,
    READY,
    ROLES,
    UNDEFINED,
    Connection,
    Constants,
    EpochEnd,
    Outcome,
    QuorumStateFile,
    Role,
    Row,
)

ERRORS: Final[tuple[str, ...]] = get_args(Error)
CONNECTIONS: Final[tuple[str, ...]] = get_args(Connection)
KIND_OF: Final = {action: kind for kind, action in HANDLERS.items()}
"""Action -> the kind of input that it handles."""


# --- The log's functions on abstract logs; each stands for the one of its name in kit/log.py.


def _end_offset(log: Any) -> Any:
    if isinstance(log, Log):
        return log.length
    return sum((_end_offset(part) if isinstance(part, Log) else 1 for part in log), Number(_ZERO))


_ZERO: Final = z3.IntVal(0)


def whole_log(log: Any) -> Log:
    """A log that a handler has put together from a log and entries behind it."""
    if isinstance(log, Log):
        return log
    length, top = Number(_ZERO), Number(_ZERO)
    for part in log:
        length = length + (part.length if isinstance(part, Log) else 1)
        top = largest(top, part.top if isinstance(part, Log) else part.epoch)
    return Log(length, top)


def _prefix(log: Any, offset: Any) -> Log:
    whole = whole_log(log)
    cut = term_of(offset)
    least = z3.If(cut < 0, 0, z3.If(cut < whole.length.term, cut, whole.length.term))
    return Log(Number(least), whole.top)


def _slice_of(log: Any, offset: Any, end: Any, limit: Any) -> Log:
    """Some records of it, or none."""
    length = fresh("slice")
    assume(z3.And(length.term >= 0, length.term <= term_of(limit)))
    return Log(length, whole_log(log).top)


def _up_to_epoch(records: Any, epoch: Any) -> Any:
    """Some of them, where some are of a later epoch."""
    if records.top <= epoch:
        return records
    length = fresh("kept")
    assume(z3.And(length.term >= 0, length.term <= records.length.term))
    return Log(length, records.top)


def _latest_epoch(cache: Any) -> Number:
    return cache.latest if isinstance(cache, Cache) else Number(_ZERO)


def _cache_assign(cache: Any, epoch: Any, start: Any) -> Cache:
    return Cache(Number(term_of(epoch)))


def _cache_truncate(cache: Any, offset: Any) -> Cache:
    """Epochs in a cache ascend, so what is left has an earlier latest epoch, or the same."""
    left = fresh("latest")
    assume(z3.And(left.term >= 0, left.term <= cache.latest.term))
    return Cache(left)


def _cache_append(cache: Any, offset: Any, records: Any) -> Cache:
    """The latest of the records is at most their highest, and at least 0."""
    latest = fresh("latest")
    assume(z3.And(latest.term >= 0, latest.term <= largest(cache.latest, records.top).term))
    return Cache(latest)


def _end_offset_for_epoch(cache: Any, end: Any, epoch: Any) -> Any:
    return EpochEnd(fresh("epoch"), fresh("end"))  # type: ignore[arg-type]


_ABSTRACT: Final[dict[str, Callable[..., Any]]] = {
    "end_offset": _end_offset,
    "prefix": _prefix,
    "slice_of": _slice_of,
    "up_to_epoch": _up_to_epoch,
    "latest_epoch": _latest_epoch,
    "cache_assign": _cache_assign,
    "cache_truncate": _cache_truncate,
    "cache_append": _cache_append,
    "end_offset_for_epoch": _end_offset_for_epoch,
}


@contextmanager
def abstract_logs(
    functions: Mapping[str, Callable[..., Any]] = _ABSTRACT, rules: type = QuorumRules
) -> Iterator[None]:
    """While it lasts, the core computes with abstract logs, and puts no messages in order.

    functions: those of kit/log.py on the logs that are used, by name. rules: whose modules may
    have taken some of them over by name.
    """
    replaced: list[Any] = [(core_log, name, new) for name, new in functions.items()]
    for module in {sys.modules[each.__module__] for each in rules.__mro__}:
        for name, new in functions.items():
            if getattr(module, name, None) is getattr(core_log, name):
                replaced.append((module, name, new))
    replaced += [(core_quorum, name, new) for name, new in _WITHOUT_FORKS.items()]
    before = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    try:
        for module, name, new in replaced:
            setattr(module, name, new)
        yield
    finally:
        for module, name, old in before:
            setattr(module, name, old)


# Helpers of quorum/handlers.py on symbols: the same, without asking what is in a set.
_WITHOUT_FORKS: Final[dict[str, Callable[..., Any]]] = {
    "canonical": tuple,
    "_plus": lambda nodes, node: with_bit(nodes, node, True),
    "_minus": lambda nodes, node: with_bit(nodes, node, False),
}

# Decisions on sets of voters: all ways through them are put into one term.
SUMMARISED: Final = frozenset({"election_won", "election_lost", "check_quorum_satisfied"})


class Summarised:
    """The rules, with the answers of some of them as one term each: truths and numbers."""

    def __init__(
        self,
        rules: QuorumRules,
        truths: Collection[str] = SUMMARISED,
        numbers: Collection[str] = (),
    ) -> None:
        self._rules, self._truths, self._numbers = rules, truths, numbers

    def __getattr__(self, name: str) -> Any:
        rule = getattr(self._rules, name)
        voters = self._rules.constants.voters
        if name in self._truths:
            return lambda *given: summary(lambda: rule(*given), voters)
        if name in self._numbers:
            return lambda *given: summarised_number(lambda: rule(*given), voters)
        return rule


class SymbolicHandlers(QuorumHandlers):
    """The handlers but for what elections do not look at."""

    def __init__(self, constants: Constants, rules: QuorumRules) -> None:
        super().__init__(constants, rules)
        self.rules = Summarised(rules)  # type: ignore[assignment]

    def owed(self, n: int, row: Row) -> Any:
        """As the handler, but whom is left in the term: (peer, condition)."""
        voters = self.constants.voters
        if row.role in ("Prospective", "Candidate"):
            if self.rules.election_lost(row.rejected):
                return ()
            granted, rejected = bits_of(row.granted, voters), bits_of(row.rejected, voters)
            return tuple((v, z3.Not(z3.Or(granted[v], rejected[v]))) for v in voters)
        if row.role == "Resigned":
            return tuple(bits_of(row.unacked, voters).items())
        return super().owed(n, row)

    def note_fetch(self, n: int, row: Row, m: FetchRequest, diverges: bool) -> Row:
        return row

    def advance_high_watermark(self, n: int, row: Row) -> Row:
        return row

    def successor_list(self, n: int, row: Row) -> Any:
        return fresh("successors")

    def finish_asking(self, n: int, before: Row, row: Row, replies: Any, peers: Any) -> Outcome:
        """Do as the handler does, but leave in the term whether a connection is ready.

        A request is sent under that condition, where a fork for each peer would double the paths.
        """
        connections = row.connections
        sent: list[Any] = [*replies, *self.parked_fetch_errors(before, row)]
        for owed in peers:
            peer, due = owed if isinstance(owed, tuple) else (owed, z3.BoolVal(True))
            position = self._position[peer]
            term = choice_of(connections[position], CONNECTIONS)
            ready = z3.simplify(z3.And(due, term == CONNECTIONS.index(READY)))
            if not z3.is_false(ready):
                awaiting = z3.If(ready, CONNECTIONS.index(AWAITING), term)
                connection: Any = Choice(z3.simplify(awaiting), CONNECTIONS)
                connections = (*connections[:position], connection, *connections[position + 1 :])
                sent.append(Guarded(ready, self.request_in_flight(n, row, peer)))
        after = replace(
            row,
            connections=connections,
            parked=row.parked if self.leads_same_epoch(before, row) else (),
            quorum_state=self.rules.persisted_quorum_state(row),
            announced=row.epoch if self.rules.may_announce_leader(row) else UNDEFINED,
        )
        return Outcome(after, tuple(sent), "")


class Guarded(NamedTuple):
    """A message that is sent if the condition holds."""

    condition: z3.BoolRef
    message: Any


def sent_of(outcome: Outcome) -> list[Guarded]:
    """What an outcome sends, each with its condition."""
    sent: list[Any] = list(outcome.sent)
    return [m if isinstance(m, Guarded) else Guarded(z3.BoolVal(True), m) for m in sent]


# --- Symbolic rows and inputs.


def number(name: str) -> Any:
    return Number(z3.Int(name))


def row_symbol(constants: Constants, name: str, role: Role, leader: int | None) -> Row:
    """Any row in this role; leader: whom a Follower follows, None in other roles."""
    voters = constants.voters

    def nodes(field: str) -> Any:
        return NodeSet({v: z3.Bool(f"{name}.{field}.{v}") for v in voters})

    parked: tuple[Any, ...] = ()
    return Row(
        role=role,
        epoch=number(f"{name}.epoch"),
        leader=number(f"{name}.leader") if leader is None else leader,
        voted=number(f"{name}.voted"),
        quorum_state=QuorumStateFile(
            number(f"{name}.file.epoch"),
            number(f"{name}.file.leader"),
            number(f"{name}.file.voted"),
        ),
        log=Log(number(f"{name}.length"), number(f"{name}.top")),  # type: ignore[arg-type]
        flushed=number(f"{name}.flushed"),
        epoch_cache=Cache(number(f"{name}.latest")),  # type: ignore[arg-type]
        high_watermark=number(f"{name}.high_watermark"),
        granted=nodes("granted"),
        rejected=nodes("rejected"),
        has_fetched=Truth(z3.Bool(f"{name}.has_fetched")),  # type: ignore[arg-type]
        epoch_start=number(f"{name}.epoch_start"),
        end_offsets=tuple(number(f"{name}.end_offset.{v}") for v in voters),
        fetched_voters=nodes("fetched_voters"),
        unacked=nodes("unacked"),
        successors=number(f"{name}.successors"),
        connections=tuple(
            Choice(z3.Int(f"{name}.connection.{v}"), CONNECTIONS)  # type: ignore[misc]
            for v in voters
        ),
        parked=parked,
        announced=number(f"{name}.announced"),
    )


def _request_symbol(kind: type, name: str, source: int, destination: int) -> Any:
    fields: dict[str, Any] = {}
    for field in kind.__struct_fields__[2:]:  # type: ignore[attr-defined]
        symbol = f"{name}.{field}"
        fields[field] = Truth(z3.Bool(symbol)) if field == "pre_vote" else number(symbol)
    return kind(source, destination, **fields)


_ANSWERS: Final[dict[type, type]] = {
    VoteResponse: VoteRequest,
    BeginQuorumEpochResponse: BeginQuorumEpochRequest,
    EndQuorumEpochResponse: EndQuorumEpochRequest,
    FetchResponse: FetchRequest,
}


def message_symbol(kind: type, name: str, source: int, destination: int) -> Any:
    """Any message of this kind between these two. A response answers a request the other way."""
    if kind not in _ANSWERS:
        return _request_symbol(kind, name, source, destination)
    fields: dict[str, Any] = {
        "error": Choice(z3.Int(f"{name}.error"), ERRORS),
        "epoch": number(f"{name}.epoch"),
        "leader": number(f"{name}.leader"),
        "request": _request_symbol(_ANSWERS[kind], f"{name}.request", destination, source),
    }
    if kind is VoteResponse:
        fields["granted"] = Truth(z3.Bool(f"{name}.granted"))
    if kind is FetchResponse:
        fields["records"] = Log(number(f"{name}.records"), number(f"{name}.records.top"))
        fields["diverging"] = EpochEnd(number(f"{name}.div.epoch"), number(f"{name}.div.end"))
        fields["high_watermark"] = number(f"{name}.high_watermark")
    return kind(source, destination, **fields)


def input_symbol(kind: type, name: str, node: int, peer: int) -> Any:
    """Any input of this kind; peer: who sent it, or whom it is about."""
    if kind in MESSAGES:
        return message_symbol(kind, name, peer, node)
    if kind is RequestTimeout:
        return RequestTimeout(peer)
    if kind is FetchMaxWait:
        return FetchMaxWait(_request_symbol(FetchRequest, f"{name}.request", peer, node))
    if kind is Append:
        return Append(1)
    if kind is Crash:
        return Crash(number(f"{name}.keep"))
    assert kind in (
        *(Flush, ElectionTimeout, FetchTimeout, BeginQuorumEpochTimeout),
        *(CheckQuorumTimeout, Resign, Restart),
    ), f"no symbol for {kind.__name__}"
    return kind()


def in_form(constants: Constants, row: Row) -> list[z3.BoolRef]:
    """What values a row has by its form alone (RowTypeInv), which is part of the invariant."""
    nobody = [NOBODY, *constants.voters]

    def node(value: Any) -> z3.BoolRef:
        return z3.Or([term_of(value) == v for v in nobody])

    file = row.quorum_state
    return [
        *(term_of(value) >= 0 for value in (row.epoch, file.epoch)),
        *(node(value) for value in (row.leader, row.voted, file.leader, file.voted)),
        *(term_of(value) >= 0 for value in (_end_offset(row.log), _latest_epoch(row.epoch_cache))),
        whole_log(row.log).top.term >= 0,
    ]


def message_in_form(constants: Constants, m: Any) -> list[z3.BoolRef]:
    """The same for a message."""
    form: list[z3.BoolRef] = [term_of(m.epoch) >= 0]
    if hasattr(m, "request"):
        leaders = [NOBODY, *constants.voters]
        form.append(z3.Or([term_of(m.leader) == v for v in leaders]))
        form += message_in_form(constants, m.request)
    if isinstance(m, FetchResponse):
        form += [term_of(_end_offset(m.records)) >= 0, whole_log(m.records).top.term >= 0]
    return form


class Logs(NamedTuple):
    """How logs are abstracted.

    The functions on them, the handlers that use them, and what a row and a message become in which
    logs are as above.
    """

    functions: Mapping[str, Callable[..., Any]] = _ABSTRACT
    handlers: type[SymbolicHandlers] = SymbolicHandlers
    row: Callable[[Row], Row] = lambda row: row
    message: Callable[[Any], Any] = lambda message: message


@dataclass(frozen=True)
class Case:
    """One path of one handler: who, in which row, by which input, when, and what came of it."""

    action: str
    node: int
    row: Row
    input: Any
    condition: list[z3.BoolRef]
    outcome: Outcome


def cases(
    constants: Constants,
    rules: QuorumRules,
    kinds: Sequence[type] = tuple(HANDLERS),
    node: int | None = None,
    peers: Sequence[int] | None = None,
    logs: Logs = Logs(),  # noqa: B008
) -> Iterator[Case]:
    """All paths of the handlers of these kinds of input, but for those on which it is disabled.

    node, peers: who acts (the first voter), and who may have sent the input (the second). Handlers
    compare nodes for equality only (L9), so other pairs have the same paths under other names.
    logs: how they are abstracted.
    """
    node = constants.voters[0] if node is None else node
    others = constants.others(node)
    handlers = logs.handlers(constants, rules)
    for kind in kinds:
        about = list(others[:1] if peers is None else peers)
        if kind not in MESSAGES and kind not in (RequestTimeout, FetchMaxWait):
            about = list(others[:1])
        for peer in about:
            for role in ROLES:
                for row in map(logs.row, _rows(constants, node, peer, role)):
                    input = logs.message(input_symbol(kind, "m", node, peer))
                    given = in_form(constants, row)
                    if kind in MESSAGES:
                        given += message_in_form(constants, input)

                    def code(row: Row = row, input: Any = input) -> Outcome | None:
                        return handlers.step(node, row, input)

                    with abstract_logs(logs.functions, type(rules)):
                        found = paths(code, given, constants.voters)
                    for path in found:
                        if path.result is not None:
                            yield Case(
                                HANDLERS[kind], node, row, input, path.condition, path.result
                            )


def _rows(constants: Constants, node: int, peer: int, role: Role) -> Iterator[Row]:
    """Rows of a role: a Follower's for each leader, a Leader's with and without a parked fetch."""
    for leader in constants.others(node) if role == "Follower" else (None,):
        row = row_symbol(constants, "row", role, leader)
        yield row
        if role == "Leader":
            waiting = _request_symbol(FetchRequest, "parked", peer, node)
            yield replace(row, parked=(waiting,))
