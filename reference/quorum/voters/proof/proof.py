"""ElectionSafety and LeaderCompleteness where the voters change: what only sets can break.

Under one set two majorities have a voter in common; the sets of two candidates may have parted.
What is shown is that they have not, for any number of epochs, records and changes:

    HandleAddVoter, HandleRemoveVoter   whatever a leader appends keeps the two parts of the
                                        induction that speak of sets (below)
    HandleReplaceDisk   an empty disk changes nothing of the voter whose id it comes under
    the next three      sets are taken back with the records that are cut; votes, and who has
                        acknowledged what, are counted under the set of the node's own log
    the last three      who has the votes of a majority of the set of its own log has every record
                        that is, or may still be, committed; nobody else has such votes; and who
                        gets them when a later epoch has been won commits nothing

The parts that speak of sets, of each Voters record that is in a log:

    OneChangeAtATime    the key before it (sets.py) is committed: a majority of the set that was in
                        force there has acknowledged it
    AdjacentSets        it differs from that set by one voter

The handlers and rules that decide are run as they are (reference/proofs/symbolic.py), under every
set, so that a bug's relation is what its rules make. What is assumed besides, in `_Contest`, says
of single voters how they vote and what they have acknowledged: `Backed`, `FutureUnvoted`, `Tree` of
reference/quorum/proof, which any_set.py shows of every handler, whatever set is in force. A record
is *open* while enough voters have acknowledged it, or are in no later epoch and may do so still.

The induction of elections is by the epoch that is won and, within it, by the order of records:
winners of earlier epochs have what is open, and the candidate has every key that lies before the
one that is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final

import z3
from msgspec.structs import asdict, replace

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.proofs.obligations import Obligation, Proof, discharged, obligation_names
from kraftcheck.reference.proofs.symbolic import (
    NodeSet,
    Number,
    Path,
    bits_of,
    paths,
    summarised_number,
    summary,
    term_of,
)
from kraftcheck.reference.proofs.terms import values_in
from kraftcheck.reference.quorum.proof.branches import BEFORE, BRANCHES, START
from kraftcheck.reference.quorum.proof.relation import abstract_logs, number, row_symbol
from kraftcheck.reference.quorum.types import NOBODY, Constants as QuorumConstants
from kraftcheck.reference.quorum.voters.handlers import VoterHandlers
from kraftcheck.reference.quorum.voters.messages import AddVoter, RemoveVoter, ReplaceDisk
from kraftcheck.reference.quorum.voters.proof import any_set
from kraftcheck.reference.quorum.voters.proof.sets import (
    WINNER,
    Position,
    adjacent,
    base,
    begins,
    is_key,
    majority,
    majority_near,
    members,
    passes,
    tree_facts,
    won,
)
from kraftcheck.reference.quorum.voters.rules import VoterRules
from kraftcheck.reference.quorum.voters.types import Constants, VoterRow, VotersAt

PROPERTIES: Final = ("ElectionSafety", "LeaderCompleteness")
CHANGES: Final[dict[str, type]] = {"HandleAddVoter": AddVoter, "HandleRemoveVoter": RemoveVoter}
DISK: Final = "HandleReplaceDisk"
WINS: Final = "who wins has what is committed"
ONCE: Final = "an epoch is won once"
LATE: Final = "who wins late commits nothing"
HISTORY: Final = "a truncation takes sets back"
VOTES: Final = "votes are counted under the set of the log"
COMMITS: Final = "what is committed is open"
PARTS: Final = ("AdjacentSets", "OneChangeAtATime")
"""What the induction says of sets, by the names of specs/quorum/voters/VoterProperties.tla."""

_INT: Final = z3.IntSort()
_BALLOT: Final = z3.Function("ballot", _INT, _INT, _INT)
"""Voter, epoch -> for whom it voted."""
_ACKED: Final = z3.Function("acked", _INT, _INT, _INT, z3.BoolSort())
"""Record, voter -> whether the voter had it on disk while it was in the record's epoch."""
_OPEN: Final = z3.Function("open", _INT, _INT, z3.BoolSort())
"""Key -> whether it may have been committed, or be so still."""
_NOW: Final = z3.Function("now", _INT, _INT)
"""Voter -> the epoch that it is in."""


def _acked(record: Position, nodes: Sequence[int]) -> list[z3.BoolRef]:
    return [_ACKED(*record, v) for v in nodes]


def _may_ack(record: Position, nodes: Sequence[int]) -> list[z3.BoolRef]:
    return [z3.Or(_ACKED(*record, v), _NOW(v) <= record.top) for v in nodes]


def open_facts(key: Position, nodes: Sequence[int]) -> z3.BoolRef:
    """Give the facts about open keys.

    A key is open if enough voters of its set have acknowledged it or may do so still, and the keys
    before it in its epoch are: it is appended when they have been committed.
    """
    own = majority(members(key, nodes), _may_ack(key, nodes))
    before = z3.Implies(key.last.top == key.top, _OPEN(*base(key.last)))
    return z3.Implies(is_key(key), _OPEN(*key) == z3.And(own, before))


def is_open(key: Position, record: Position, nodes: Sequence[int]) -> z3.BoolRef:
    """Of a record between a key and the next one.

    It is committed under the set of the key, or by the next one's, which differs by a voter, when
    the key has been committed.
    """
    near = majority_near(members(key, nodes), _may_ack(record, nodes))
    return z3.And(_OPEN(*key), near)


def one_change_at_a_time(record: Position, nodes: Sequence[int]) -> z3.BoolRef:
    before = base(record)
    said = z3.And(
        *(won(record.top), is_key(before), before.length < record.length, _OPEN(*before)),
        majority(members(before, nodes), _acked(before, nodes)),
    )
    return z3.Implies(record.top >= 1, said)


def adjacent_sets(record: Position, nodes: Sequence[int]) -> z3.BoolRef:
    sets = members(record, nodes), members(base(record), nodes)
    return z3.Implies(z3.And(record.top >= 1, record.last.same(record)), adjacent(*sets))


_SAID: Final = {"AdjacentSets": adjacent_sets, "OneChangeAtATime": one_change_at_a_time}


class _Contest:
    """A candidate n of an epoch with its log, against an earlier winner.

    Also a record of another epoch that is watched, with the last key up to it, and the winner of an
    epoch that is not earlier.
    """

    def __init__(self, nodes: Sequence[int], parts: Sequence[str] = PARTS) -> None:
        self.nodes, self.parts = nodes, parts
        self.n, self.epoch, self.later = z3.Int("n"), z3.Int("epoch"), z3.Int("epoch.won")
        self.log = Position(z3.Int("log.top"), z3.Int("log.length"))
        watched = z3.Int("watched.epoch")
        self.key = Position(watched, z3.Int("watched.key"))
        self.record = Position(watched, z3.Int("watched.end"))

    def granted(self, *others: Position) -> list[z3.BoolRef]:
        """What is assumed but for the induction. others: logs that are, besides the candidate's."""
        nodes, e, log = self.nodes, self.epoch, self.log
        existing = (log, *others)
        lasts = [each.last for each in existing]
        keys = [self.key, base(self.key.last), *(base(each) for each in lasts)]
        terms = [z3.Or([self.n == v for v in nodes]), e >= 1, log.top < e]
        for at in (*existing, *keys, *lasts, self.record, self.key.last, begins(log.top)):
            terms += [*tree_facts(at, [*keys, self.record]), z3.Or(members(at, nodes))]
        terms += [passes(at, each) for at in existing for each in (*lasts, self.key.last)]
        for each in lasts:
            terms.append(each.last.same(each))
            terms += [_SAID[part](each, nodes) for part in self.parts]
        for epoch in (e, self.key.top, log.top, self.later):
            terms += self._of_epoch(epoch)
        for key in keys:
            terms += [open_facts(key, nodes), *self._backed(key, _OPEN(*key))]
        return terms

    def _backed(self, record: Position, opened: z3.BoolRef) -> list[z3.BoolRef]:
        """Who has acknowledged a record, and voted later, has looked at the candidate's log."""
        voted = [z3.And(_BALLOT(v, self.epoch) == self.n, _ACKED(*record, v)) for v in self.nodes]
        known = z3.And(opened, record.top < self.epoch, z3.Or(voted))
        return [z3.Implies(known, self.log.reaches(record))]

    def _of_epoch(self, e: z3.ArithRef) -> list[z3.BoolRef]:
        nodes = self.nodes
        winner = z3.Select(WINNER, e)
        ballots = [_BALLOT(v, e) == winner for v in nodes]
        in_time = [z3.Implies(_BALLOT(v, e) != NOBODY, _NOW(v) >= e) for v in nodes]
        tree = [BEFORE(e) >= 0, BEFORE(e) < e, START(e) >= 0]
        chose = majority(members(begins(e), nodes), ballots)
        return [*in_time, z3.Implies(won(e), z3.And(*tree, chose))]

    def watched(self) -> list[z3.BoolRef]:
        """The record is of an earlier epoch, and open."""
        key, record, log, nodes = self.key, self.record, self.log, self.nodes
        opened, last = begins(key.top), key.last
        between = z3.And(log.top == key.top, key.length <= log.length)
        # The first record of an epoch is no Voters record.
        first = Position(key.top, START(key.top) + 1)
        terms = [
            first.last.same(opened.last),
            z3.Implies(z3.And(between, log.length <= record.length), log.last.same(last)),
            z3.Implies(log.has(record), log.has(key)),
            *(key.top >= 1, key.top < self.epoch, is_key(key), key.length <= record.length),
            *(record.last.same(last), is_open(key, record, nodes), last.last.same(last)),
            *self._backed(record, is_open(key, record, nodes)),
        ]
        # A set that nobody has appended yet will be appended by the same rule.
        before = z3.And(is_key(base(key)), base(key).length < key.length)
        terms.append(z3.Implies(last.same(key), before))
        return terms + ([adjacent_sets(last, nodes)] if "AdjacentSets" in self.parts else [])

    def voted(self) -> z3.BoolRef:
        """The candidate has the votes of a majority of the set of its own log."""
        ballots = [_BALLOT(v, self.epoch) == self.n for v in self.nodes]
        return majority(members(self.log, self.nodes), ballots)

    def winner_has(self, e: z3.ArithRef, key: Position, record: Position) -> z3.BoolRef:
        """LeaderCompleteness, of whoever won an epoch."""
        later = z3.And(won(e), record.top >= 1, record.top < e)
        opened = _OPEN(*key) if key is record else is_open(key, record, self.nodes)
        return z3.Implies(z3.And(later, opened), begins(e).has(record))

    def candidate_has(self, key: Position) -> z3.BoolRef:
        earlier = z3.And(key.top >= 1, key.top < self.epoch, _OPEN(*key))
        return z3.Implies(earlier, self.log.has(key))


def _of_wins(c: _Contest) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    """What is assumed, and that the candidate has the watched record.

    Winners of earlier epochs have it, and of the keys before its own also the candidate.
    """
    given = [*c.granted(begins(c.key.top)), *c.watched(), c.voted()]
    before, mine = base(c.key.last), base(c.log.last)
    given += [c.winner_has(c.log.top, c.key, c.record), c.winner_has(c.key.top, mine, mine)]
    return [*given, c.candidate_has(before)], c.log.has(c.record)


def _of_once(c: _Contest) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    """What is assumed, and that who has won the epoch is the candidate."""
    winner = begins(c.epoch)
    mine, theirs = base(c.log.last), base(winner.last)
    given = [*c.granted(winner), c.voted(), won(c.epoch)]
    given += [c.winner_has(c.epoch, mine, mine), c.candidate_has(theirs)]
    return given, z3.Select(WINNER, c.epoch) == c.n


def _of_late(c: _Contest) -> tuple[list[z3.BoolRef], z3.BoolRef]:
    """Give what is assumed of the earliest open record.

    No record of the epoch is open which the candidate wins when a later one has been won. Of those
    the earliest is looked at.
    """
    nodes, winner = c.nodes, begins(c.later)
    mine, theirs = base(c.log.last), winner.last
    given = [*c.granted(winner), c.voted(), z3.Not(won(c.epoch))]
    given += [c.epoch < c.later, won(c.later), theirs.top < c.later]
    given.append(z3.Implies(won(theirs.top), theirs.top <= c.epoch))
    given += [c.winner_has(c.later, mine, mine), c.candidate_has(base(theirs))]
    in_time = [_NOW(v) <= c.epoch for v in nodes]
    return given, z3.Not(majority(members(c.log, nodes), in_time))


_ELECTIONS: Final = {WINS: _of_wins, ONCE: _of_once, LATE: _of_late}


def _of_election(
    nodes: Sequence[int],
    rules: type[VoterRules],
    timeout_ms: int,
    name: str,
    done: Obligation,
    parts: Sequence[str] = PARTS,
) -> None:
    """No rule is asked here; parts: what the induction says of sets."""
    contest = _Contest(nodes, parts)
    given, goal = _ELECTIONS[name](contest)
    solver = _solver(timeout_ms, given)
    if done.possible(solver):
        done.judge(solver, {name: goal}, timeout_ms, partial(_readable, contest))


def _initially(nodes: Sequence[int], timeout_ms: int, done: Obligation) -> None:
    """No epoch has been opened, so the last set of a log is the bootstrap set."""
    empty = Position(z3.IntVal(0), z3.IntVal(0))
    solver = _solver(timeout_ms, tree_facts(empty, ()))
    goals = {name: part(empty.last, nodes) for name, part in _SAID.items()}
    if done.possible(solver):
        done.judge(solver, goals, timeout_ms, lambda _: [])


def _implied(nodes: Sequence[int], timeout_ms: int, name: str, done: Obligation) -> None:
    c = _Contest(nodes)
    e, key, record = c.epoch, c.key, c.record
    if name == "ElectionSafety":
        # Whom a node calls leader has won its epoch; one node has, by the form of the function.
        leaders = [z3.Int("leader"), z3.Int("leader of another node")]
        given = [z3.Select(WINNER, e) == leader for leader in leaders]
        goal = leaders[0] == leaders[1]
    else:
        leader = Position(e, z3.Int("log.length"))
        acked = majority(members(key, nodes), _acked(key, nodes))
        given = [*tree_facts(leader, [key, record]), e >= 1, won(e), is_key(key), acked]
        given += [is_open(key, record, nodes), key.top >= 1, record.length >= key.length]
        given += [z3.Implies(e == key.top, leader.length >= record.length)]
        for v in nodes:
            given += [z3.Implies(_ACKED(*key, v), _NOW(v) >= key.top), _NOW(v) <= e]
        given += [c.winner_has(e, key, record), *tree_facts(begins(e), [key, record])]
        goal = leader.has(record)
    solver = _solver(timeout_ms, given)
    if done.possible(solver):
        done.judge(solver, {name: goal}, timeout_ms, partial(_readable, c))


def _solver(timeout_ms: int, given: Sequence[z3.BoolRef]) -> z3.Solver:
    solver = z3.SimpleSolver()
    solver.set("timeout", timeout_ms)
    solver.add(*given)
    return solver


class _Changes(VoterHandlers):
    """The handlers of changes as they are; of what is appended the set is the outcome."""

    def append_voters(
        self,
        n: int,
        row: VoterRow,
        voters: tuple[int, ...],
        told: tuple[int, ...],
        timed: bool = False,
    ) -> Any:
        return frozenset(voters)


class _Leader:
    """Any leader under a set of voters: its row, and what is known of its log."""

    def __init__(self, nodes: Sequence[int], voters: Sequence[int], first: bool) -> None:
        self.nodes = nodes
        self.constants = Constants(tuple(nodes), tuple(nodes), 1)
        quorum: Any = BRANCHES.row(
            row_symbol(QuorumConstants(tuple(nodes), 1), "row", "Leader", None)
        )
        log = quorum.log
        self.log = Position(log.top.term, log.length.term)
        self.start, self.high = term_of(quorum.epoch_start), term_of(quorum.high_watermark)
        last, earlier = number("row.last"), number("row.earlier")
        if first:
            last = Number(z3.IntVal(UNDEFINED))
        # Rules look at the last set only; bugs at those before it, which are other ones.
        other = tuple(v for v in nodes if v not in voters) or (nodes[0],)
        older = () if first else (VotersAt(UNDEFINED, other), VotersAt(earlier, other))
        caught_up: Any = NodeSet({v: z3.Bool(f"row.caught_up.{v}") for v in nodes})
        self.row = VoterRow(
            **asdict(quorum),
            history=(*older, VotersAt(last, tuple(voters))),
            history_end=log.length,
            caught_up=caught_up,
            change=number("row.change"),
            moved=False,
            asks="",
            has_updated_leader=False,
            heard=(),
        )
        own = last.term >= self.start
        self.key = Position(self.log.top, z3.If(own, last.term + 1, self.start + 1))
        bits = members(self.log, nodes)
        self.given = [
            *tree_facts(self.log, [self.key]),
            *(earlier.term >= 0, z3.Or(first, earlier.term < last.term)),
            *(last.term < self.log.length, term_of(quorum.flushed) >= 0),
            *(self.start == START(self.log.top), self.start >= 0, self.log.top >= 1),
            self.log.length > self.start,
            # V11: the history is that of the log (HistorySound).
            *(self.log.last.length == last.term + 1, own == (self.log.last.top == self.log.top)),
            *(bit == z3.BoolVal(v in voters) for v, bit in zip(nodes, bits, strict=True)),
            *(is_key(self.key), self.key.last.same(self.log.last)),
            *(self.log.last.last.same(self.log.last), open_facts(self.key, nodes)),
            *(part(self.log.last, nodes) for part in _SAID.values()),
            z3.Or(self.high == UNDEFINED, self.high > self.start),
        ]

    def counted(self) -> z3.BoolRef:
        """The key, if it is committed, has been acknowledged by a majority (`_advanced`)."""
        acked = majority(members(self.key, self.nodes), _acked(self.key, self.nodes))
        return z3.Implies(self.high >= self.key.length, acked)


def _leaders(nodes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], _Leader]]:
    """A leader under each set, the bootstrap set or a later one.

    The first node leads: rules compare nodes for equality only (L9).
    """
    for size in range(1, len(nodes) + 1):
        for voters in combinations(nodes, size):
            yield from ((voters, _Leader(nodes, voters, first)) for first in (True, False))


def _of_change(
    nodes: Sequence[int], rules: type[VoterRules], timeout_ms: int, action: str, done: Obligation
) -> None:
    """What a leader appends keeps both parts that speak of sets."""

    def keeps(case: tuple[_Leader, tuple[int, ...], Path[Any]]) -> bool:
        leader, voters, path = case
        if not isinstance(path.result, frozenset):
            return True
        acked = majority(members(leader.key, nodes), _acked(leader.key, nodes))
        apart = path.result.symmetric_difference(voters)
        goals = {
            "AdjacentSets": z3.BoolVal(len(apart) == 1 and bool(path.result)),
            "OneChangeAtATime": z3.And(acked, _OPEN(*leader.key)),
        }
        solver = _solver(timeout_ms, [*leader.given, *path.condition, leader.counted()])
        return done.judge(solver, goals, timeout_ms, partial(_told, leader, sorted(path.result)))

    def cases() -> Iterator[tuple[_Leader, tuple[int, ...], Path[Any]]]:
        for voters, leader in _leaders(nodes):
            handlers = _Changes(leader.constants, rules(leader.constants))
            for node in nodes[:2]:
                asked = CHANGES[action](node)
                code = partial(handlers.step, nodes[0], leader.row, asked)
                with abstract_logs(BRANCHES.functions, rules):
                    found = paths(code, leader.given, nodes)
                yield from ((leader, voters, path) for path in found if path.result is not None)

    done.each(cases(), keeps)


def _of_counting(
    nodes: Sequence[int], rules: type[VoterRules], timeout_ms: int, action: str, done: Obligation
) -> None:
    """Votes, and what has been acknowledged, are counted under the set of the node's own log."""

    def keeps(case: tuple[_Leader, Path[Any]]) -> bool:
        leader, path = case
        goal = _voted(leader, path) if action == VOTES else _advanced(leader, path)
        solver = _solver(timeout_ms, [*leader.given, *path.condition])
        return done.judge(solver, {action: goal}, timeout_ms, partial(_told, leader, ()))

    def cases() -> Iterator[tuple[_Leader, Path[Any]]]:
        for _, leader in _leaders(nodes):
            handlers = VoterHandlers(leader.constants, rules(leader.constants))

            def code(handlers: Any = handlers, row: VoterRow = leader.row) -> Any:
                if action == VOTES:
                    under = handlers.in_force(row)
                    counts = partial(under.rules.election_won, row.granted)
                    return under.constants.voters, summary(counts, nodes)
                under = handlers._of(handlers.counted(nodes[0], row))
                reached = partial(under.rules.majority_end_offset, nodes[0], row)
                return summarised_number(reached, nodes)

            with abstract_logs(BRANCHES.functions, rules):
                found = paths(code, leader.given, nodes)
            yield from ((leader, path) for path in found)

    done.each(cases(), keeps)


def _voted(leader: _Leader, path: Path[Any]) -> z3.BoolRef:
    """Who wins has the votes of a majority of the set of its own log.

    Only those are asked who are of the set that is counted by.
    """
    asked, wins = path.result
    granted = bits_of(leader.row.granted, leader.nodes)
    voted = majority(members(leader.log, leader.nodes), [granted[v] for v in leader.nodes])
    others = [z3.Not(granted[v]) for v in leader.nodes if v not in asked]
    return z3.Implies(z3.And(wins.term, *others), voted)


def _advanced(leader: _Leader, path: Path[Any]) -> z3.BoolRef:
    """Of any record that the new high watermark covers and the old one does not.

    Its key is that of the log, or the one before it: the last change waited for that
    (`_of_change`).
    """
    nodes, row, last = leader.nodes, leader.row, leader.log.last
    record = Position(leader.log.top, z3.Int("watched.end"))
    reached = record.length >= leader.key.length
    key = Position(record.top, z3.If(reached, leader.key.length, base(last).length))
    ends = dict(zip(nodes, row.end_offsets, strict=True)) | {nodes[0]: row.flushed}
    known = [
        z3.Implies(term_of(ends[v]) >= record.length, z3.And(_ACKED(*record, v), _ACKED(*key, v)))
        for v in nodes
    ]
    known += [z3.Or(last.top == record.top, reached), leader.high >= base(last).length]
    known += [record.length <= path.result.term, record.length > leader.high]
    known += [record.length > leader.start]
    acked = majority(members(key, nodes), _acked(key, nodes))
    return z3.Implies(z3.And(known), z3.And(is_open(key, record, nodes), acked))


def _of_history(
    nodes: Sequence[int], rules: type[VoterRules], timeout_ms: int, name: str, done: Obligation
) -> None:
    """Sets at or above where a log is cut go, others stay, and what comes there is read (V11)."""
    at = number("offset")

    def keeps(case: tuple[_Leader, Path[Any]]) -> bool:
        leader, path = case
        read, history = path.result, leader.row.history
        kept = {id(each) for each in read.history}
        stays = [(term_of(each.offset) < at.term) == (id(each) in kept) for each in history]
        goal = z3.And(*stays, term_of(read.history_end) <= at.term)
        solver = _solver(timeout_ms, [*leader.given, *path.condition, at.term >= 0])
        return done.judge(solver, {name: goal}, timeout_ms, partial(_told, leader, ()))

    def cases() -> Iterator[tuple[_Leader, Path[Any]]]:
        for _, leader in _leaders(nodes):
            own = rules(leader.constants)
            code = partial(own.history_after_truncation, leader.row, at)
            yield from ((leader, path) for path in paths(code, leader.given, nodes))

    done.each(cases(), keeps)


def _of_disk(
    nodes: Sequence[int], rules: type[VoterRules], timeout_ms: int, name: str, done: Obligation
) -> None:
    """V10. A node that is down is as it was, whoever comes under its id with an empty disk."""

    def keeps(leader: _Leader) -> bool:
        down = replace(leader.row, role="Down")
        handlers = VoterHandlers(leader.constants, rules(leader.constants))
        outcome = handlers.handle_replace_disk(nodes[0], down, ReplaceDisk())
        goal = z3.BoolVal(outcome is not None and outcome.row is down)
        solver = _solver(timeout_ms, leader.given)
        return done.judge(solver, {name: goal}, timeout_ms, partial(_told, leader, ()))

    done.each((leader for _, leader in _leaders(nodes)), keeps)


_OBLIGATIONS: Final[dict[str, Callable[..., None]]] = {
    "HandleAddVoter": _of_change,
    "HandleRemoveVoter": _of_change,
    DISK: _of_disk,
    HISTORY: _of_history,
    VOTES: _of_counting,
    COMMITS: _of_counting,
    **dict.fromkeys(_ELECTIONS, _of_election),
}


def _obligations(properties: Sequence[str]) -> list[str]:
    of_nodes = [f"{any_set.PREFIX}{name}" for name in any_set.NAMES]
    return [*obligation_names(_OBLIGATIONS, properties), *of_nodes]


def _discharge(nodes: int, name: str, rules: type[Any], timeout_ms: int) -> Obligation:
    own = tuple(range(nodes))

    def kept(of: str, done: Obligation) -> None:
        if of.startswith(any_set.PREFIX):
            any_set.discharge(of.removeprefix(any_set.PREFIX), nodes, timeout_ms, done, rules)
            return
        _OBLIGATIONS[of](own, rules, timeout_ms, of, done)

    implied = partial(_implied, own, timeout_ms)
    return discharged(
        name, initially=partial(_initially, own, timeout_ms), kept=kept, implied=implied
    )


PROOF: Final = Proof(PROPERTIES, _obligations, _discharge)


def _told(leader: _Leader, appended: Sequence[int], model: z3.ModelRef) -> list[str]:
    """A model of the solver as lines: the leader, and what it appends."""
    value = values_in(model)
    row = leader.row
    sets = [(value(term_of(each.offset)), list(each.voters)) for each in row.history]
    ends = {v: value(term_of(e)) for v, e in zip(leader.nodes, row.end_offsets, strict=True)}
    lines = [
        f"leader 0 of epoch {value(leader.log.top)}, which begins at {value(leader.start)}, with "
        f"{value(leader.log.length)} records, flushed {value(term_of(row.flushed))}, high "
        f"watermark {value(leader.high)}, noted {ends}; history {sets}",
    ]
    return lines + ([f"appends {list(appended)}"] if appended else [])


def _readable(c: _Contest, model: z3.ModelRef) -> list[str]:
    """A model of the solver as lines: who stands with which log, and what the others voted."""
    value = values_in(model)

    def worded(at: Position) -> str:
        sets = [v for v, bit in zip(c.nodes, members(at, c.nodes), strict=True) if value(bit)]
        last = at.last
        return (
            f"{value(at.length)} records, the last of epoch {value(at.top)}, voters {sets} of "
            f"({value(last.top)}, {value(last.length)})"
        )

    e = c.epoch
    lines = [
        f"{value(c.n)} stands in epoch {value(e)}, log: {worded(c.log)}",
        f"watched: epoch {value(c.key.top)}, which begins at {value(START(c.key.top))}; key "
        f"{worded(c.key)}; up to {value(c.record.length)}",
        f"epoch {value(c.key.top)} was opened behind {worded(begins(c.key.top))}",
        f"epoch {value(e)} was won by {value(z3.Select(WINNER, e))}, behind {worded(begins(e))}",
    ]
    for v in c.nodes:
        acked = [value(bit[v]) for bit in (_acked(c.key, c.nodes), _acked(c.record, c.nodes))]
        lines.append(
            f"voter {v}: epoch {value(_NOW(v))}, voted {value(_BALLOT(v, e))}, acked the key "
            f"{acked[0]}, the record {acked[1]}"
        )
    return lines
