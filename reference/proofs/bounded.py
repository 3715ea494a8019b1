"""Reachable counterexamples: the same relation, unrolled from the first state.

An obligation that fails says nothing of a bug, since its state may be unreachable. Here the paths
of `relation.py` are chained: step k takes one path of one handler of one voter, from rows that step
k - 1 left, by a message that an earlier step sent. What Z3 finds is run again on the handlers with
numbers for symbols, and only what they confirm is reported.

The search is complete up to its bound for the kinds of input it is given; a bound reached without a
counterexample is "none within the bound", not "none".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, NamedTuple

import msgspec
import z3

from reference.core.messages import (
    MESSAGES,
    BeginQuorumEpochRequest,
    Crash,
    ElectionTimeout,
    Restart,
    VoteRequest,
    VoteResponse,
)
from reference.core.quorum import HANDLERS, QuorumHandlers
from reference.core.rules import QuorumRules
from reference.core.types import NOBODY, ROLES, Constants, Row, initial_row
from reference.proofs.relation import (
    CONNECTIONS,
    ERRORS,
    Case,
    cases,
    message_in_form,
    message_symbol,
    sent_of,
    whole_log,
)
from reference.proofs.symbolic import (
    Cache,
    Log,
    Number,
    Truth,
    bits_of,
    choice_of,
    term_of,
    truth_of,
)

ELECTIONS: Final = (VoteRequest, VoteResponse, ElectionTimeout, Crash, Restart)
ANNOUNCED: Final = (*ELECTIONS, BeginQuorumEpochRequest)
_KINDS: Final = {kind.__name__: kind for kind in MESSAGES}
_SETS: Final = ("granted", "rejected", "fetched_voters", "unacked")
_BY_VOTER: Final = ("end_offsets", "connections")

Flat = dict[str, z3.ExprRef]


def flat_row(row: Row, voters: Sequence[int]) -> Flat:
    """Every field of a row as a term, by name; the same names for a symbol and for a recording."""
    cache: Any = row.epoch_cache
    whole = whole_log(row.log)
    flat: Flat = {
        "role": z3.IntVal(ROLES.index(row.role)),
        "length": whole.length.term,
        "top": whole.top.term,
        "latest": cache.latest.term
        if isinstance(cache, Cache)
        else z3.IntVal(cache[-1].epoch if cache else 0),
        "has_fetched": truth_of(row.has_fetched),
    }
    for name in ("epoch", "leader", "voted"):
        flat[f"file.{name}"] = term_of(getattr(row.quorum_state, name))
        flat[name] = term_of(getattr(row, name))
    for name in ("flushed", "high_watermark", "epoch_start", "announced"):
        flat[name] = term_of(getattr(row, name))
    for name in _SETS:
        bits = bits_of(getattr(row, name), voters)
        flat |= {f"{name}.{v}": bits[v] for v in voters}
    for at, v in enumerate(voters):
        flat[f"end_offset.{v}"] = term_of(row.end_offsets[at])
        flat[f"connection.{v}"] = choice_of(row.connections[at], CONNECTIONS)
    successors: Any = row.successors
    flat["successors"] = term_of(0 if isinstance(successors, tuple) else successors)
    return flat


def flat_message(m: Any, prefix: str = "") -> Flat:
    """Every field of a message but its ends as a term, by name."""
    flat: Flat = {}
    for name in m.__struct_fields__:
        value = getattr(m, name)
        key = f"{prefix}{name}"
        if name in ("source", "destination"):
            continue
        if name == "request":
            flat |= flat_message(value, f"{key}.")
        elif isinstance(value, bool | Truth):
            flat[key] = truth_of(value)
        elif name == "error":
            flat[key] = choice_of(value, ERRORS)
        elif isinstance(value, int | Number):
            flat[key] = term_of(value)
        elif isinstance(value, Log) or name == "records":
            flat[key] = whole_log(value).length.term
    return flat


class Channel(NamedTuple):
    kind: str
    source: int
    destination: int


@dataclass
class Found:
    """property, bound: what was looked for, in how many steps at most. steps: the counterexample as
    readable lines, none if there is none. confirmed: the handlers do the same with numbers.
    seconds: wall time. reason: why nothing is known, if so.
    """

    property: str
    bound: int
    steps: list[str] = field(default_factory=list)
    confirmed: bool = False
    seconds: float = 0.0
    reason: str = ""


class _Step(NamedTuple):
    """Which path is taken, and the variables that hold what it left and sent."""

    taken: list[z3.BoolRef]
    rows: dict[int, Flat]
    sent: dict[Channel, tuple[z3.BoolRef, Flat]]


class Search:
    """The unrolled relation, one step longer with each `extend`."""

    def __init__(self, constants: Constants, rules: QuorumRules, kinds: Sequence[type]) -> None:
        self.constants, self.rules = constants, rules
        self.kinds = tuple(kinds)
        self.voters = constants.voters
        self.cases = [
            case
            for n in self.voters
            for case in cases(constants, rules, kinds, n, constants.others(n))
            # An ignored input changes nothing, so a shortest counterexample has none.
            if not case.outcome.ignored
        ]
        self.solver = z3.Solver()
        first = {v: flat_row(initial_row(constants), self.voters) for v in self.voters}
        self.steps = [_Step([], first, {})]
        self.channels = self._channels()
        self.next = _variables("next", next(iter(first.values())))
        self.out = {c: _sent_variables("out", c, flat) for c, flat in self.channels.items()}
        self.made = [self._made(case) for case in self.cases]

    def _channels(self) -> dict[Channel, Flat]:
        """One message each, for the names of its fields."""
        found = {}
        for case in self.cases:
            for _, m in sent_of(case.outcome):
                # What nobody here handles need not be kept.
                if type(m) in self.kinds:
                    found[Channel(type(m).__name__, m.source, m.destination)] = flat_message(m)
        return found

    def extend(self) -> None:
        """One step more."""
        k = len(self.steps)
        before = self.steps[-1].rows
        rows = {v: _variables(f"s{k}.{v}", before[v]) for v in self.voters}
        sent = {c: _sent_variables(f"m{k}", c, flat) for c, flat in self.channels.items()}
        taken = [z3.Bool(f"t{k}.{number}") for number in range(len(self.cases))]
        step = _Step(taken, rows, sent)
        arrived = {c: z3.Bool(f"a{k}.{c}") for c in self.channels}
        for channel, bit in arrived.items():
            self.solver.add(z3.Implies(bit, self._arrived(channel, k)))
        for bit, case, made in zip(taken, self.cases, self.made, strict=True):
            self.solver.add(z3.Implies(bit, self._taken(k, case, made, step)))
            through = _channel_of(case.input)
            if through is not None:
                self.solver.add(z3.Implies(bit, arrived.get(through, z3.BoolVal(False))))
        self.solver.add(z3.PbEq([(bit, 1) for bit in taken], 1))
        self.steps.append(step)

    def _made(self, case: Case) -> tuple[z3.BoolRef, list[z3.ExprRef]]:
        """What a path demands and makes, over the symbols row, m, next and out; and its own."""
        made: list[z3.ExprRef] = list(case.path.condition)
        if isinstance(case.input, MESSAGES):
            made += message_in_form(self.constants, case.input)
        after = flat_row(case.outcome.row, self.voters)
        made += [self.next[name] == term for name, term in after.items()]
        sending = {
            Channel(type(m).__name__, m.source, m.destination): (condition, flat_message(m))
            for condition, m in sent_of(case.outcome)
            if type(m) in self.kinds
        }
        for channel, (present, fields) in self.out.items():
            condition, flat = sending.get(channel, (z3.BoolVal(False), {}))
            made.append(present == condition)
            made += [fields[name] == term for name, term in flat.items()]
        whole = z3.And(made)
        return whole, _own_symbols(whole)

    def _taken(
        self, k: int, case: Case, made: tuple[z3.BoolRef, list[z3.ExprRef]], step: _Step
    ) -> z3.BoolRef:
        """What it means that this path is the k-th step."""
        whole, own = made
        before, n = self.steps[-1].rows, case.node
        symbols = flat_row(case.row, self.voters)
        names = [(symbol, before[n][name]) for name, symbol in symbols.items() if is_name(symbol)]
        fixed = [
            symbol == before[n][name] for name, symbol in symbols.items() if not is_name(symbol)
        ]
        names += [(term, step.rows[n][name]) for name, term in self.next.items()]
        for channel, (present, fields) in self.out.items():
            there, variables = step.sent[channel]
            names.append((present, there))
            names += [(term, variables[name]) for name, term in fields.items()]
        names += [(term, _at(term, k)) for term in own]
        others = [
            step.rows[v][name] == term
            for v in self.voters
            if v != n
            for name, term in before[v].items()
        ]
        return z3.And(*fixed, z3.substitute(whole, *names), *others)

    def _arrived(self, channel: Channel, k: int) -> z3.BoolRef:
        """The message of step k was sent in an earlier step, through this channel."""
        m = message_symbol(_KINDS[channel.kind], "m", channel.source, channel.destination)
        flat = {name: _at(term, k) for name, term in flat_message(m).items()}
        ways = []
        for step in self.steps[1:]:
            present, fields = step.sent[channel]
            ways.append(z3.And(present, *(flat[name] == fields[name] for name in flat)))
        return z3.Or(ways)

    # --- What is looked for, in the state after the last step.

    def votes_twice(self) -> z3.BoolRef:
        """VoteOnce is broken: a voter voted for two in one epoch."""
        last, found = self.steps[-1].rows, []
        for step in self.steps[:-1]:
            for v in self.voters:
                a, b = step.rows[v], last[v]
                voted = z3.And(a["voted"] != NOBODY, b["voted"] != NOBODY)
                found.append(z3.And(a["epoch"] == b["epoch"], voted, a["voted"] != b["voted"]))
        return z3.Or(found)

    def two_leaders(self) -> z3.BoolRef:
        """ElectionSafety is broken: two rows name different leaders of one epoch."""
        rows = self.steps[-1].rows
        return z3.Or(
            [
                z3.And(
                    rows[a]["epoch"] == rows[b]["epoch"],
                    rows[a]["leader"] != NOBODY,
                    rows[b]["leader"] != NOBODY,
                    rows[a]["leader"] != rows[b]["leader"],
                )
                for a in self.voters
                for b in self.voters
                if a < b
            ]
        )


def is_name(term: z3.ExprRef) -> bool:
    return bool(z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED)


def _variables(name: str, flat: Flat) -> Flat:
    return {
        key: z3.Bool(f"{name}.{key}") if z3.is_bool(term) else z3.Int(f"{name}.{key}")
        for key, term in flat.items()
    }


def _sent_variables(name: str, channel: Channel, flat: Flat) -> tuple[z3.BoolRef, Flat]:
    full = ".".join([name, *map(str, channel)])
    return z3.Bool(full), _variables(full, flat)


def _channel_of(m: Any) -> Channel | None:
    """Through which channel a message goes; None for another input."""
    if not isinstance(m, MESSAGES):
        return None
    return Channel(type(m).__name__, m.source, m.destination)


def _at(term: z3.ExprRef, k: int) -> z3.ExprRef:
    """The symbol as step k has it."""
    return z3.Const(f"k{k}.{term.decl().name()}", term.sort())


def _own_symbols(term: z3.ExprRef) -> list[z3.ExprRef]:
    """The symbols of an input and the fresh ones, of which each step has its own."""
    found: dict[str, z3.ExprRef] = {}
    waiting, seen = [term], set[int]()
    while waiting:
        at = waiting.pop()
        if at.get_id() in seen:
            continue
        seen.add(at.get_id())
        name = at.decl().name() if is_name(at) else ""
        if name.startswith("m.") or "!" in name:
            found[name] = at
        waiting += at.children()
    return list(found.values())


PROPERTIES: Final[dict[str, Callable[[Search], z3.BoolRef]]] = {
    "VoteOnce": Search.votes_twice,
    "ElectionSafety": Search.two_leaders,
}


def find(
    constants: Constants,
    rules: type[QuorumRules],
    property: str,
    bound: int,
    kinds: Sequence[type] = ELECTIONS,
    timeout_s: float = 300.0,
    least: int = 1,
) -> Found:
    """A shortest reachable state that breaks the property, within `bound` steps.

    least: shorter ones are not looked for. timeout_s: for all questions together.
    """
    begin = monotonic()
    found = Found(property, bound)
    search = Search(constants, rules(constants), kinds)
    for length in range(1, bound + 1):
        search.extend()
        if length < least:
            continue
        left = timeout_s - (monotonic() - begin)
        if left <= 0:
            found.reason = f"the time limit of {timeout_s:g} s, at {length} steps"
            break
        search.solver.set("timeout", int(left * 1000))
        answer = search.solver.check(PROPERTIES[property](search))
        if answer == z3.unknown:
            found.reason = f"the solver at {length} steps: {search.solver.reason_unknown()}"
            break
        if answer == z3.sat:
            _confirm(search, search.solver.model(), found, rules)
            break
    found.seconds = monotonic() - begin
    return found


def _confirm(search: Search, model: z3.ModelRef, found: Found, rules: type[QuorumRules]) -> None:
    """Runs what the solver found on the handlers, with numbers; fills `found`."""
    constants = search.constants
    handlers = QuorumHandlers(constants, rules(constants))
    rows = {v: initial_row(constants) for v in constants.voters}
    history = [dict(rows)]
    network: list[Any] = []
    for k, step in enumerate(search.steps[1:], start=1):
        case = next(
            case
            for bit, case in zip(step.taken, search.cases, strict=True)
            if z3.is_true(model.eval(bit))
        )
        outcome = None
        for input in _inputs(case, network, model, k):
            outcome = handlers.step(case.node, rows[case.node], input)
            if outcome is not None:
                break
        if outcome is None:
            found.reason = f"the handlers do not do step {k}"
            return
        rows[case.node] = outcome.row
        history.append(dict(rows))
        network += [m for m in outcome.sent if m not in network]
        row = outcome.row
        found.steps.append(
            f"voter {case.node}: {HANDLERS[type(input)]} {msgspec.json.encode(input).decode()} -> "
            f"{row.role}, epoch {row.epoch}, leader {row.leader}, voted {row.voted}"
        )
    found.confirmed = broken(found.property, history)


def _inputs(case: Case, network: Sequence[Any], model: z3.ModelRef, k: int) -> list[Any]:
    """The concrete inputs that the solver's may stand for."""

    def said(term: z3.ExprRef) -> z3.ExprRef:
        names = [(own, _at(own, k)) for own in _own_symbols(term)]
        return model.eval(z3.substitute(term, *names), model_completion=True)

    if isinstance(case.input, Crash):
        return [Crash(keep) for keep in range(8)]
    if not isinstance(case.input, MESSAGES):
        return [case.input]
    wanted = flat_message(case.input)
    return [
        m
        for m in network
        if type(m) is type(case.input)
        and (m.source, m.destination) == (case.input.source, case.input.destination)
        and all(z3.is_true(z3.simplify(said(wanted[n]) == t)) for n, t in flat_message(m).items())
    ]


def broken(property: str, history: Sequence[dict[int, Row]]) -> bool:
    """Whether a run of rows breaks the property in its last state."""
    last = history[-1]
    if property == "VoteOnce":
        return any(
            rows[v].epoch == last[v].epoch and NOBODY != rows[v].voted != last[v].voted != NOBODY
            for rows in history
            for v in last
        )
    return any(
        last[a].epoch == last[b].epoch and NOBODY != last[a].leader != last[b].leader != NOBODY
        for a in last
        for b in last
    )
