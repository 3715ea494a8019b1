"""The moves of the quorum for bounded searches of what logs hold: its handlers on symbols.

The state is a table of variables: each voter's row, and the longest log that a leader has ever
called committed. A move is a handler, or a few that follow on each other at once, with all ways
through them in one term for each variable. So every run of moves is a run of the handlers; not the
other way round:

* A request arrives while its sender still waits for the answer (its connection is `Awaiting`), as
  often as it likes, and its response at once. A late response would be ignored (Q22).
* A fetch that finds nothing waits at its sender, not at the leader: it may arrive again.
* Crash and restart are one move. Leaders do not resign, requests do not time out, and nobody is
  told to stop.
* What leaders note for check-quorum and for announcements is not in a row here: no rule of logs
  looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final

import z3
from msgspec.structs import replace

from reference.core.messages import (
    Append,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    Crash,
    ElectionTimeout,
    FetchResponse,
    FetchTimeout,
    Flush,
    Restart,
    VoteRequest,
    VoteResponse,
)
from reference.core.rules import QuorumRules
from reference.core.types import (
    AWAITING,
    NOBODY,
    ROLES,
    UNDEFINED,
    Constants,
    EpochEnd,
    QuorumStateFile,
    Row,
    initial_row,
)
from reference.proofs.branches import BranchHandlers
from reference.proofs.moves import Done, chosen, in_a_row
from reference.proofs.partition_exact import EPOCHS, PLACES, ExactCache, exact_cache
from reference.proofs.quorum_exact import FUNCTIONS, ValuedLog, ValuedRecords, cache_of, written
from reference.proofs.relation import (
    CONNECTIONS,
    ERRORS,
    SUMMARISED,
    Summarised,
    SymbolicHandlers,
    abstract_logs,
    sent_of,
)
from reference.proofs.symbolic import (
    Choice,
    NodeSet,
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

Variables = dict[str, z3.ExprRef]

FOLLOWER, LEADER, UNATTACHED, PROSPECTIVE, CANDIDATE, RESIGNED = (
    ROLES.index(role)
    for role in ("Follower", "Leader", "Unattached", "Prospective", "Candidate", "Resigned")
)
STOPPED: Final = (ROLES.index("Down"), ROLES.index("Halted"))
_TRUTHS: Final = SUMMARISED | {"log_ok", "may_advance_high_watermark", "fetch_diverges"}
_NUMBERS: Final = frozenset({"majority_end_offset", "truncation_offset"})
_COMMITTED: Final = (
    "length",
    *(f"{name}.{at}" for name in ("log", "value") for at in range(PLACES)),
)
_RESPONSES: Final = (VoteResponse, BeginQuorumEpochResponse, FetchResponse)
VALUE: Final = 1
"""What is appended. The control record that opens an epoch has another."""


class _Rules(Summarised):
    """The rules, without what no rule of logs looks at."""

    def may_announce_leader(self, row: Row) -> bool:
        return False

    def check_quorum_satisfied(self, fetched: Any, n: int) -> bool:
        return False


class _Voter(BranchHandlers):
    """The handlers, where logs are symbols."""

    def __init__(self, constants: Constants, rules: QuorumRules) -> None:
        SymbolicHandlers.__init__(self, constants, rules)
        # A stand-in that hands every question on, as in branches.py.
        self.rules = _Rules(rules, _TRUTHS, _NUMBERS)  # type: ignore[assignment]


def exact_view(row: Row, voters: Sequence[int]) -> Variables:
    """A row as terms, with its log and its epoch cache."""
    log = written(row.log)
    view: Variables = {
        "role": choice_of(row.role, ROLES),
        "length": log.length,
        "has_fetched": truth_of(row.has_fetched),
    }
    for name in ("epoch", "leader", "voted"):
        view[name] = term_of(getattr(row, name))
        view[f"file.{name}"] = term_of(getattr(row.quorum_state, name))
    for name in ("flushed", "high_watermark", "epoch_start"):
        view[name] = term_of(getattr(row, name))
    for at in range(PLACES):
        view |= {f"log.{at}": log.epochs[at], f"value.{at}": log.values[at]}
    view |= {f"cache.{e}": start for e, start in exact_cache(row.epoch_cache).entries()}
    granted, rejected = bits_of(row.granted, voters), bits_of(row.rejected, voters)
    for at, v in enumerate(voters):
        view |= {f"granted.{v}": granted[v], f"rejected.{v}": rejected[v]}
        view[f"end_offset.{v}"] = term_of(row.end_offsets[at])
        view[f"connection.{v}"] = choice_of(row.connections[at], CONNECTIONS)
    return view


def exact_row(view: Mapping[str, Any], voters: Sequence[int]) -> Row:
    """The row on these terms."""

    def number(name: str) -> Any:
        return Number(view[name])

    def nodes(name: str) -> Any:
        return NodeSet({v: view[f"{name}.{v}"] for v in voters})

    nobody: Any = NodeSet({v: z3.BoolVal(False) for v in voters})
    role: Any = Choice(view["role"], ROLES)
    fetched: Any = Truth(view["has_fetched"])
    cache: Any = ExactCache([view[f"cache.{e}"] for e in range(1, EPOCHS + 1)])
    connections: Any = tuple(Choice(view[f"connection.{v}"], CONNECTIONS) for v in voters)
    return Row(
        role=role,
        epoch=number("epoch"),
        leader=number("leader"),
        voted=number("voted"),
        quorum_state=QuorumStateFile(*map(number, ("file.epoch", "file.leader", "file.voted"))),
        log=log_of(view),
        flushed=number("flushed"),
        epoch_cache=cache,
        high_watermark=number("high_watermark"),
        granted=nodes("granted"),
        rejected=nodes("rejected"),
        has_fetched=fetched,
        epoch_start=number("epoch_start"),
        end_offsets=tuple(number(f"end_offset.{v}") for v in voters),
        fetched_voters=nobody,
        unacked=nobody,
        successors=(),
        connections=connections,
        parked=(),
        announced=UNDEFINED,
    )


def log_of(view: Mapping[str, Any]) -> Any:
    """The log on these terms."""
    epochs = [view[f"log.{at}"] for at in range(PLACES)]
    return ValuedLog(view["length"], epochs, [view[f"value.{at}"] for at in range(PLACES)])


_NUMBERS_OF_A_REPLY: Final = (
    *("error", "epoch", "leader", "number", "record", "value", "div.epoch", "div.end"),
    "high_watermark",
)
_REPLY: Final[Variables] = {
    "reply.there": z3.BoolVal(False),
    "reply.granted": z3.BoolVal(False),
    **{f"reply.{name}": z3.IntVal(0) for name in _NUMBERS_OF_A_REPLY},
}
"""The response that is between the two halves of a move, and in no state."""


def _under(prefix: str, at: Mapping[str, Any]) -> Variables:
    """The variables of this prefix, by the rest of their names."""
    return {k.removeprefix(prefix): t for k, t in at.items() if k.startswith(prefix)}


def _told(m: Any) -> Variables:
    """A response, as the variables that it is between two halves of a move."""
    told: Variables = {
        "there": z3.BoolVal(True),
        "error": choice_of(m.error, ERRORS),
        "epoch": term_of(m.epoch),
        "leader": term_of(m.leader),
    }
    if isinstance(m, VoteResponse):
        told["granted"] = truth_of(m.granted)
    if isinstance(m, FetchResponse):
        told["high_watermark"] = term_of(m.high_watermark)
        told["div.epoch"] = term_of(m.diverging.epoch)
        told["div.end"] = term_of(m.diverging.end_offset)
        records: Any = m.records
        if isinstance(records, ValuedRecords):
            told |= {"number": records.number, "record": records.epoch, "value": records.value}
    return _REPLY | {f"reply.{name}": term for name, term in told.items()}


def _reply(request: Any) -> Any:
    """The response to this request, on the variables."""

    def number(name: str) -> Any:
        return Number(z3.Int(f"reply.{name}"))

    error: Any = Choice(z3.Int("reply.error"), ERRORS)
    parts = (request.destination, request.source, error, number("epoch"), number("leader"))
    if isinstance(request, VoteRequest):
        granted: Any = Truth(z3.Bool("reply.granted"))
        return VoteResponse(*parts, granted=granted, request=request)
    if isinstance(request, BeginQuorumEpochRequest):
        return BeginQuorumEpochResponse(*parts, request)
    records: Any = ValuedRecords(*(number(name).term for name in ("number", "record", "value")))
    return FetchResponse(
        *parts,
        records=records,
        diverging=EpochEnd(number("div.epoch"), number("div.end")),
        high_watermark=number("high_watermark"),
        request=request,
    )


class QuorumMoves:
    """All moves for a number of voters and a set of rules.

    first: each variable's value in the first state. names: only moves of these names ("Fetches", or
    "Fetches 1 0" of voter 1 from voter 0 only); all if there are none.
    """

    def __init__(
        self,
        voters: int,
        rules: type[QuorumRules] = QuorumRules,
        names: Collection[str] = (),
    ) -> None:
        self.constants = Constants(tuple(range(voters)), 1)
        self.voters = self.constants.voters
        self._rules = rules
        self._handlers = _Voter(self.constants, rules(self.constants))
        view = exact_view(initial_row(self.constants), self.voters)
        self.first: Variables = {f"v{v}.{k}": term for v in self.voters for k, term in view.items()}
        self.first |= {f"committed.{name}": z3.IntVal(0) for name in _COMMITTED}
        self._made: dict[tuple[Any, ...], Move] = {}
        self.moves = chosen(self._makers(), names)

    # --- The state.

    def view(self, v: int, at: Mapping[str, Any] | None = None) -> Variables:
        """A voter's variables by name; at: what they are, if not symbols."""
        prefix = f"v{v}."
        return {
            name.removeprefix(prefix): symbol_like(name, term) if at is None else at[name]
            for name, term in self.first.items()
            if name.startswith(prefix)
        }

    def _row(self, v: int) -> Row:
        return exact_row(self.view(v), self.voters)

    def _of(self, v: int, row: Row) -> Variables:
        return {f"v{v}.{name}": term for name, term in exact_view(row, self.voters).items()}

    def _formed(self, v: int) -> list[z3.BoolRef]:
        """What is always so of a row."""
        view: Any = self.view(v)
        leader, last = view["leader"], self.voters[-1]
        follows = z3.And(leader != NOBODY, leader != v)
        form = [view["role"] >= 0, view["role"] < len(ROLES), leader >= NOBODY, leader <= last]
        form += [view["file.leader"] >= NOBODY, view["file.leader"] <= last]
        form.append(z3.Implies(view["role"] == FOLLOWER, follows))
        for peer in self.voters:
            form += [view[f"connection.{peer}"] >= 0, view[f"connection.{peer}"] < len(CONNECTIONS)]
        return form

    def _is(self, v: int, *roles: int) -> z3.BoolRef:
        return z3.Or([z3.Int(f"v{v}.role") == role for role in roles])

    # --- Ways as moves.

    def _folded(
        self, about: Done, given: Sequence[z3.BoolRef], make: Callable[[], Variables | None]
    ) -> Move:
        """A move of all ways through `make`, which gives the new values, or None where the move is
        disabled. given: of whom there is no other way; part of the guard.
        """
        with abstract_logs(FUNCTIONS, self._rules):
            found = paths(make, given, self.voters)
        names = dict.fromkeys(name for path in found for name in path.result or ())
        guard = folded([Path(p.condition, z3.BoolVal(p.result is not None)) for p in found])
        updates: dict[str, Any] = {}
        for name in names:
            old = symbol_like(name, (self.first | _REPLY)[name])
            new = folded([Path(p.condition, (p.result or {}).get(name, old)) for p in found])
            if not new.eq(old):
                updates[name] = new
        for v in self.voters:
            # A log and its epochs have as many places as the search gives them.
            bounds = ((f"v{v}.length", PLACES), (f"v{v}.epoch", EPOCHS))
            within = [updates[name] <= most for name, most in bounds if name in updates]
            guard = z3.And(guard, *within)
            if f"v{v}.high_watermark" in updates:
                updates |= self._committed(v, updates)
        return Move(z3.And(*given, guard), updates, about)

    def _committed(self, v: int, updates: Variables) -> Variables:
        """The longest that a leader has ever called committed."""
        view: Any = self.view(v, {n: symbol_like(n, t) for n, t in self.first.items()} | updates)
        mark, longest = view["high_watermark"], z3.Int("committed.length")
        more = z3.And(view["role"] == LEADER, mark > longest)
        known: Any = log_of(view).below(mark)
        told: Variables = {"committed.length": z3.If(more, mark, longest)}
        for at in range(PLACES):
            for name, new in (("log", known.epochs[at]), ("value", known.values[at])):
                old = z3.Int(f"committed.{name}.{at}")
                told[f"committed.{name}.{at}"] = z3.If(more, new, old)
        return told

    # --- The moves.

    def _makers(self) -> Iterator[tuple[Done, Callable[[], Move]]]:
        """All moves, each made when it is asked for."""
        for n in self.voters:
            for name, make in ALONE.items():
                yield Done(name, n), partial(self._once, make, n)
            for peer in self.constants.others(n):
                for name, parts in TOGETHER.items():
                    done = Done(name, n, peer)
                    yield done, partial(self._together, done, parts)

    def _once(self, make: Callable[..., Move], *given: int) -> Move:
        key = (make.__name__, *given)
        if key not in self._made:
            self._made[key] = make(self, *given)
        return self._made[key]

    def _together(self, done: Done, parts: Sequence[str]) -> Move:
        """Moves one after the other at once, as one."""
        moves = [
            self._once(ALONE[part], done.node)
            if part in ALONE
            else self._once(EXCHANGES[part], done.node, done.peer)
            for part in parts
        ]
        return in_a_row(done, *moves)

    def _step(self, n: int, row: Row, input: Any) -> Variables | None:
        outcome = self._handlers.step(n, row, input)
        if outcome is None or outcome.ignored:
            return None
        return self._of(n, outcome.row)

    def _alone(self, name: str, n: int, roles: Sequence[int], input: Any) -> Move:
        given = [self._is(n, *roles), *self._formed(n)]
        return self._folded(Done(name, n), given, lambda: self._step(n, self._row(n), input))

    def _times_out(self, n: int) -> Move:
        """No leader has been heard of for too long, whatever the role."""

        def make() -> Variables | None:
            follows = bool(Truth(self._is(n, FOLLOWER)))
            return self._step(n, self._row(n), FetchTimeout() if follows else ElectionTimeout())

        roles = (UNATTACHED, PROSPECTIVE, CANDIDATE, RESIGNED, FOLLOWER)
        return self._folded(Done("TimesOut", n), [self._is(n, *roles), *self._formed(n)], make)

    def _appends(self, n: int) -> Move:
        return self._alone("Appends", n, [LEADER], Append(VALUE))

    def _flushes(self, n: int) -> Move:
        return self._alone("Flushes", n, range(len(ROLES)), Flush())

    def _crashes(self, n: int) -> Move:
        """A machine stops, keeps a part of the log, and starts again."""
        keep: Any = Number(z3.Int("keep"))

        def make() -> Variables | None:
            crashed = self._handlers.step(n, self._row(n), Crash(keep))
            if crashed is None:
                return None
            restarted = self._handlers.step(n, crashed.row, Restart())
            assert restarted is not None, "who is down may start"
            return self._of(n, restarted.row)

        return self._folded(Done("Crashes", n), self._formed(n), make)

    def _exchange(self, name: str, n: int, peer: int, roles: Sequence[int]) -> Move:
        """The request that n has in flight arrives, and its response, if there is one."""
        given = [self._is(n, *roles), *self._formed(n)]
        awaits = z3.Int(f"v{n}.connection.{peer}") == CONNECTIONS.index(AWAITING)
        given.append(awaits)
        if roles == (FOLLOWER,):
            given.append(z3.Int(f"v{n}.leader") == peer)

        def request() -> Any:
            made: Any = self._handlers.request_in_flight(n, self._row(n), peer)
            # A fetch names its leader by a symbol, of which it is given that it is the peer.
            return replace(made, destination=peer)

        def arrives() -> Variables:
            outcome = self._handlers.step(peer, self._row(peer), request())
            assert outcome is not None, "who runs takes a request"
            replies = [m for _, m in sent_of(outcome) if isinstance(m, _RESPONSES)]
            return self._of(peer, outcome.row) | (_told(replies[0]) if replies else _REPLY)

        def returns() -> Variables:
            if not Truth(z3.Bool("reply.there")):
                return {}
            return self._step(n, self._row(n), _reply(request())) or {}

        error, leader = z3.Int("reply.error"), z3.Int("reply.leader")
        known = [error >= 0, error < len(ERRORS)]
        known += [leader >= NOBODY, leader <= self.voters[-1]]
        done = Done(name, n, peer)
        first = self._folded(done, [*given, *self._formed(peer), self._runs(peer)], arrives)
        second = self._folded(done, [*given, *known], returns)
        both = in_a_row(done, first, second)
        left = {name: term for name, term in both.updates.items() if name not in _REPLY}
        return Move(both.guard, left, done)

    def _runs(self, v: int) -> z3.BoolRef:
        return z3.Not(self._is(v, *STOPPED))

    def _votes(self, n: int, peer: int) -> Move:
        return self._exchange("Votes", n, peer, (PROSPECTIVE, CANDIDATE))

    def _begins(self, n: int, peer: int) -> Move:
        return self._exchange("Begins", n, peer, (LEADER,))

    def _fetches(self, n: int, peer: int) -> Move:
        return self._exchange("Fetches", n, peer, (FOLLOWER,))

    # --- What is looked for: the properties of core/properties.py by their names.

    def broken(self, property: str, at: Mapping[str, Any]) -> z3.BoolRef:
        """Whether a state breaks one of PROPERTIES. at: the variables in that state."""
        views: dict[int, Any] = {v: self.view(v, at) for v in self.voters}
        return PROPERTIES[property](self, views, log_of(_under("committed.", at)))

    def _majority(self, who: Sequence[z3.BoolRef]) -> z3.BoolRef:
        return z3.PbGe([(each, 1) for each in who], len(self.voters) // 2 + 1)

    def incomplete(self, views: Mapping[int, Any], committed: ValuedLog) -> z3.BoolRef:
        """LeaderCompleteness: a leader that nobody has outlived lacks what was committed."""
        return z3.Or(
            [
                z3.And(
                    view["role"] == LEADER,
                    *(other["epoch"] <= view["epoch"] for other in views.values()),
                    z3.Not(log_of(view).holds(committed)),
                )
                for view in views.values()
            ]
        )

    def lost(self, views: Mapping[int, Any], committed: ValuedLog) -> z3.BoolRef:
        """CommittedSurvives: what was committed is not on the disks of a majority."""
        holders = [
            z3.And(view["flushed"] >= committed.length, log_of(view).holds(committed))
            for view in views.values()
        ]
        return z3.Not(self._majority(holders))

    def few(self, views: Mapping[int, Any], committed: ValuedLog) -> z3.BoolRef:
        """DurableMajority: what a leader calls committed is not on the disks of a majority."""
        found = []
        for view in views.values():
            mark, mine = view["high_watermark"], log_of(view)
            holders = [
                z3.And(other["flushed"] >= mark, log_of(other).same_below(mine, mark))
                for other in views.values()
            ]
            leads = z3.And(view["role"] == LEADER, mark > 0)
            found.append(z3.And(leads, z3.Not(self._majority(holders))))
        return z3.Or(found)

    def mismatch(self, views: Mapping[int, Any], committed: ValuedLog) -> z3.BoolRef:
        """LogMatching: two logs with the same epoch at an offset differ there or below."""
        found = []
        for a, b in combinations(views.values(), 2):
            one, two = log_of(a), log_of(b)
            for at in range(PLACES):
                there = z3.And(one.length > at, two.length > at, one.epochs[at] == two.epochs[at])
                found.append(z3.And(there, z3.Not(one.same_below(two, z3.IntVal(at + 1)))))
        return z3.Or(found)

    def unsound(self, views: Mapping[int, Any], committed: ValuedLog) -> z3.BoolRef:
        """EpochCacheSound: the epoch cache of who runs is not the one that the log implies."""
        found = []
        for view in views.values():
            implied = cache_of(log_of(view)).entries()
            same = [view[f"cache.{e}"] == start for e, start in implied]
            stopped = z3.Or([view["role"] == role for role in STOPPED])
            found.append(z3.Not(z3.Or(stopped, z3.And(same))))
        return z3.Or(found)


PROPERTIES: Final[dict[str, Callable[..., z3.BoolRef]]] = {
    "LeaderCompleteness": QuorumMoves.incomplete,
    "CommittedSurvives": QuorumMoves.lost,
    "LogMatching": QuorumMoves.mismatch,
    "DurableMajority": QuorumMoves.few,
    "EpochCacheSound": QuorumMoves.unsound,
}
"""What may be looked for."""

ALONE: Final[dict[str, Callable[..., Move]]] = {
    "TimesOut": QuorumMoves._times_out,
    "Appends": QuorumMoves._appends,
    "Flushes": QuorumMoves._flushes,
    "Crashes": QuorumMoves._crashes,
}
"""The moves of a voter by itself."""

EXCHANGES: Final[dict[str, Callable[..., Move]]] = {
    "Votes": QuorumMoves._votes,
    "Begins": QuorumMoves._begins,
    "Fetches": QuorumMoves._fetches,
}
"""A request and its response: of votes and pre-votes, of a new leader, of a follower."""

TOGETHER: Final[dict[str, Sequence[str]]] = {
    **{name: (name,) for name in EXCHANGES},
    "Stands": ("TimesOut", "Votes"),
    "Wins": ("TimesOut", "Votes", "Votes"),
    "Leads": ("TimesOut", "Votes", "Votes", "Begins"),
}
"""The moves of a voter with a peer: the pre-vote as well, the vote as well, and telling of it."""
