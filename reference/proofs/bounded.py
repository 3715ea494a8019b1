"""Reachable counterexamples: the same relation, unrolled from the first state.

An obligation that fails says nothing of a bug, since its state may be unreachable. Here the paths
of `relation.py` are chained (unrolled.py): a step takes one path of one handler of one voter, from
the rows that the steps before it left, by a message that one of them sent. Of each kind, from each
voter to each other, the last message that was sent may arrive, as often as it likes. What Z3 finds
is run again on the handlers with numbers for symbols, and only what they confirm is reported.

The search is complete up to its bound for the kinds of input it is given and such a network; a
bound reached without a counterexample is "none within the bound", not "none".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

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
from reference.proofs.terms import is_symbol, symbol_like
from reference.proofs.unrolled import Move, Unrolled, shortest

ELECTIONS: Final = (VoteRequest, VoteResponse, ElectionTimeout, Crash, Restart)
ANNOUNCED: Final = (*ELECTIONS, BeginQuorumEpochRequest)
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


@dataclass
class Found:
    """property, bound: what was looked for, in how many steps at most. steps: the counterexample as
    readable lines, none if there is none; length: of how many steps it is. confirmed: the handlers
    do the same with numbers.
    seconds: wall time. reason: why nothing is known, if so.
    """

    property: str
    bound: int
    steps: list[str] = field(default_factory=list)
    length: int = 0
    confirmed: bool = False
    seconds: float = 0.0
    reason: str = ""


class Search:
    """The moves of all voters, unrolled one step further with each `extend`."""

    def __init__(self, constants: Constants, rules: QuorumRules, kinds: Sequence[type]) -> None:
        self.constants = constants
        self.kinds = tuple(kinds)
        self.voters = constants.voters
        found = [
            case
            for n in self.voters
            for case in cases(constants, rules, kinds, n, constants.others(n))
            # An ignored input changes nothing, so a shortest counterexample has none.
            if not case.outcome.ignored
        ]
        row = flat_row(initial_row(constants), self.voters)
        first = {f"v{v}.{name}": term for v in self.voters for name, term in row.items()}
        for case in found:
            for _, m in sent_of(case.outcome):
                # What nobody here handles need not be kept.
                if type(m) in self.kinds:
                    first |= _no_message(m)
        self.unrolled = Unrolled(first, [self._move(case, first) for case in found])

    def _move(self, case: Case, first: Mapping[str, z3.ExprRef]) -> Move:
        """A path, over the variables of the acting voter and of the channel it is about."""
        n = case.node
        guard: list[z3.BoolRef] = list(case.path.condition)
        names, fixed = _names(flat_row(case.row, self.voters), f"v{n}.")
        guard += fixed
        if isinstance(case.input, MESSAGES):
            guard += message_in_form(self.constants, case.input)
            channel = _channel(case.input)
            if f"{channel}present" not in first:
                # Nobody sends it.
                return Move(z3.BoolVal(False), {}, case)
            more, fixed = _names(flat_message(case.input), channel)
            names += more
            guard += [*fixed, z3.Bool(f"{channel}present")]
        before = flat_row(case.row, self.voters)
        updates = {
            f"v{n}.{name}": z3.substitute(term, *names)
            for name, term in flat_row(case.outcome.row, self.voters).items()
            if not term.eq(before[name])
        }
        for condition, m in sent_of(case.outcome):
            if type(m) in self.kinds:
                updates |= _sent(condition, m, names)
        return Move(z3.substitute(z3.And(guard), *names), updates, case)

    def row(self, step: int, v: int) -> Flat:
        """The variables of a voter after so many steps."""
        prefix = f"v{v}."
        at = self.unrolled.at(step)
        return {k.removeprefix(prefix): t for k, t in at.items() if k.startswith(prefix)}

    # --- What is looked for, in the state after the last step.

    def votes_twice(self) -> z3.BoolRef:
        """VoteOnce is broken: a voter voted for two in one epoch."""
        found = []
        for v in self.voters:
            b = self.row(self.unrolled.depth, v)
            for step in range(self.unrolled.depth):
                a = self.row(step, v)
                voted = z3.And(a["voted"] != NOBODY, b["voted"] != NOBODY)
                found.append(z3.And(a["epoch"] == b["epoch"], voted, a["voted"] != b["voted"]))
        return z3.Or(found)

    def two_leaders(self) -> z3.BoolRef:
        """ElectionSafety is broken: two rows name different leaders of one epoch."""
        rows = {v: self.row(self.unrolled.depth, v) for v in self.voters}
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


Renaming = list[tuple[z3.ExprRef, z3.ExprRef]]


def _names(flat: Flat, prefix: str) -> tuple[Renaming, list[z3.BoolRef]]:
    """The symbols of a row or a message as the variables they stand for; and which variables must
    have a fixed value, because the path is of that one only.
    """
    names, fixed = [], []
    for name, term in flat.items():
        variable = symbol_like(f"{prefix}{name}", term)
        if is_symbol(term):
            names.append((term, variable))
        else:
            fixed.append(variable == term)
    return names, fixed


def _channel(m: Any) -> str:
    """Where the last message of a kind from one to another is."""
    return f"{type(m).__name__} {m.source} {m.destination} "


def _no_message(m: Any) -> dict[str, z3.ExprRef]:
    """The variables of a channel through which nothing has gone."""
    channel = _channel(m)
    flat = {
        f"{channel}{name}": z3.BoolVal(False) if z3.is_bool(term) else z3.IntVal(0)
        for name, term in flat_message(m).items()
    }
    return {f"{channel}present": z3.BoolVal(False), **flat}


def _sent(condition: z3.BoolRef, m: Any, names: Renaming) -> dict[str, z3.ExprRef]:
    """What sending makes of a channel: under the condition, this message is the last one."""
    channel = _channel(m)
    sends = z3.substitute(condition, *names)
    updates: dict[str, z3.ExprRef] = {
        f"{channel}present": z3.Or(z3.Bool(f"{channel}present"), sends)
    }
    for name, term in flat_message(m).items():
        old = symbol_like(f"{channel}{name}", term)
        updates[f"{channel}{name}"] = z3.If(sends, z3.substitute(term, *names), old)
    return updates


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

    def wanted(unrolled: Unrolled) -> z3.BoolRef:
        return PROPERTIES[property](search)

    answer, _ = shortest(search.unrolled, wanted, bound, timeout_s, least)
    found.reason = answer.reason
    if answer.model is not None:
        _confirm(search, answer.model, found, rules)
    found.seconds = monotonic() - begin
    return found


def _confirm(search: Search, model: z3.ModelRef, found: Found, rules: type[QuorumRules]) -> None:
    """Runs what the solver found on the handlers, with numbers; fills `found`."""
    constants = search.constants
    handlers = QuorumHandlers(constants, rules(constants))
    rows = {v: initial_row(constants) for v in constants.voters}
    history = [dict(rows)]
    network: list[Any] = []
    for k, move in enumerate(search.unrolled.taken(model)):
        case = move.about
        outcome = None
        for input in _inputs(search.unrolled, case, network, model, k):
            outcome = handlers.step(case.node, rows[case.node], input)
            if outcome is not None:
                break
        if outcome is None:
            found.reason = f"the handlers do not do step {k + 1}"
            return
        rows[case.node] = outcome.row
        history.append(dict(rows))
        network += [m for m in outcome.sent if m not in network]
        row = outcome.row
        found.length += 1
        found.steps.append(
            f"voter {case.node}: {HANDLERS[type(input)]} {msgspec.json.encode(input).decode()} -> "
            f"{row.role}, epoch {row.epoch}, leader {row.leader}, voted {row.voted}"
        )
    found.confirmed = broken(found.property, history)


def _inputs(
    unrolled: Unrolled, case: Case, network: Sequence[Any], model: z3.ModelRef, k: int
) -> list[Any]:
    """The concrete inputs that the solver's may stand for."""
    if isinstance(case.input, Crash):
        return [Crash(keep) for keep in range(8)]
    if not isinstance(case.input, MESSAGES):
        return [case.input]
    channel = _channel(case.input)

    def is_it(m: Any) -> bool:
        return all(
            unrolled.value(model, k, symbol_like(f"{channel}{name}", term) == term)
            for name, term in flat_message(m).items()
        )

    return [m for m in network if _channel(m) == channel and is_it(m)]


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
