"""Every handler of the quorum, whatever set of voters is in force at its node.

What a majority is, is left open: whether an election is won or lost, and which offset a majority
has reached, is any answer. So whatever the set is, what its handlers do is among the ways that are
looked at, with all nodes asked, of whom a set's are some. Under each of these ways the invariants
of reference/quorum/proof are kept, but for what they say of majorities:

    MajorityChose, Committed, Complete of who wins now, an epoch is won once

That is what proof.py shows, and what is taken from there here (`_from_sets`). In turn proof.py
takes from here what single voters voted and have acknowledged; that a candidate's log reaches what
its voters have acknowledged is the obligation `REACHES`. `open` is any truth that never comes back;
that it is one is shown as well: who acknowledges a record might have done so before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import z3
from msgspec.structs import replace as with_fields

from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.proofs.obligations import Obligation
from kraftcheck.reference.proofs.symbolic import Truth, fresh
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import FetchResponse, RequestTimeout, Restart
from kraftcheck.reference.quorum.proof import completeness, completeness_proof, election
from kraftcheck.reference.quorum.proof.branches import BRANCHES, EPOCH, BranchHandlers
from kraftcheck.reference.quorum.proof.completeness import LogSystem
from kraftcheck.reference.quorum.proof.relation import KIND_OF, Case, cases
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, ROLES, Constants, Outcome, Row
from kraftcheck.reference.quorum.voters.messages import FetchFromBootstrap
from kraftcheck.reference.quorum.voters.rules import VoterRules
from kraftcheck.reference.quorum.voters.types import Constants as VoterConstants, InForce

PREFIX: Final = "under any set: "
"""Before the name of each obligation: proof.py has some of the same names."""
REACHES: Final = "a candidate reaches what its voters have"
BOOTSTRAP: Final = action_name(FetchFromBootstrap)
NAMES: Final = (*HANDLERS.values(), BOOTSTRAP, REACHES)
_TRUTHS: Final = ("election_won", "election_lost", "check_quorum_satisfied")
_CANDIDATE: Final = ROLES.index("Candidate")


class _AnyMajority:
    """The rules, with any answer of those that count voters."""

    def __init__(self, rules: Any) -> None:
        self._rules = rules
        self.sole = False

    def __getattr__(self, name: str) -> Any:
        if self.sole and name == "election_won":
            return lambda granted: True
        if name in _TRUTHS:
            return lambda *given: Truth(fresh(name).term > 0)
        if name == "majority_end_offset":
            return lambda *given: fresh(name)
        return getattr(self._rules, name)


class _AnySetHandlers(BranchHandlers):
    """The handlers under whatever set; only a sole voter starts otherwise, and wins alone.

    Who is no voter flushes what it fetches by a rule of its own (V21).
    """

    voter_rules: type[VoterRules]

    def __init__(self, constants: Constants, rules: QuorumRules) -> None:
        super().__init__(constants, rules)
        self.any = _AnyMajority(self.rules)
        # It has what handlers ask for, and is no subclass: the other rules are those that it wraps.
        self.rules = self.any  # type: ignore[assignment]

    def handle_restart(self, n: int, row: Row, input: Restart) -> Outcome | None:
        all_nodes = self.constants
        self.any.sole = bool(Truth(fresh("sole").term > 0))
        if self.any.sole:
            self.constants = InForce((n,), all_nodes.fetch_max_records, all_nodes.voters)
        try:
            return super().handle_restart(n, row, input)
        finally:
            self.constants, self.any.sole = all_nodes, False

    def handle_fetch_response(self, n: int, row: Row, m: FetchResponse) -> Outcome:
        outcome = super().handle_fetch_response(n, row, m)
        nodes = self.constants.voters
        rules = self.voter_rules(VoterConstants(nodes, nodes, self.constants.fetch_max_records))
        any_row: Any = None
        if not rules.flushes_as_observer(any_row) and Truth(fresh("observes").term > 0):
            flushed = min(row.flushed, log.end_offset(outcome.row.log))
            return with_fields(outcome, row=with_fields(outcome.row, flushed=flushed))
        return outcome


class _BootstrapHandlers(_AnySetHandlers):
    """What reference/quorum/voters/handlers.py has besides: an observer asks any node for records.

    A change appends a record as HandleAppend does.
    """

    def handle_request_timeout(self, n: int, row: Row, input: RequestTimeout) -> Outcome | None:
        if row.role not in ("Unattached", "Follower"):
            return None
        return self.finish_asking(n, row, row, (), (input.peer,))


class _Elections(election.System):
    def majority(self, bits: Sequence[z3.BoolRef]) -> z3.BoolRef:
        """Nothing is said of majorities here."""
        return z3.BoolVal(True)


@dataclass(frozen=True)
class _Logs(LogSystem):
    opened: z3.BoolRef
    """Whether the watched record is open."""

    @property
    def open(self) -> z3.BoolRef:
        return self.opened


def _values(of: Any) -> dict[str, Any]:
    return {field.name: getattr(of, field.name) for field in fields(of)}


def _any_logs(constants: Constants, acting: dict[int, Row]) -> _Logs:
    s = completeness.any_logs(constants, acting)
    return _Logs(**_values(replace(s, base=_Elections(**_values(s.base)))), opened=z3.Bool("open"))


def discharge(
    name: str, nodes: int, timeout_ms: int, done: Obligation, rules: type[VoterRules] = VoterRules
) -> None:
    """One obligation by its name, without the prefix. Of the rules those of observers are asked."""
    constants = Constants(tuple(range(nodes)), 1)
    if name == REACHES:
        _reaches(constants, timeout_ms, done)
        return
    kind = KIND_OF.get(name, RequestTimeout)
    base = _BootstrapHandlers if name == BOOTSTRAP else _AnySetHandlers
    handlers = type("_UnderRules", (base,), {"voter_rules": rules})
    logs = BRANCHES._replace(handlers=handlers)
    known = completeness_proof.Known()
    found = cases(constants, QuorumRules(constants), [kind], logs=logs)
    done.each(found, lambda case: _keeps(constants, case, known, done, timeout_ms))


def _keeps(constants: Constants, case: Case, known: Any, done: Obligation, timeout_ms: int) -> bool:
    n = case.node
    before = _any_logs(constants, {n: case.row})
    stepped = completeness.after(before, case)
    assert isinstance(stepped, _Logs), "made from one"
    later = replace(stepped, opened=z3.Bool("open.later"))
    solver = completeness_proof.new_solver(timeout_ms)
    solver.add(*case.condition)
    solver.add(*completeness_proof.known_before(before, later, case, known))
    solver.add(*_from_sets(before, later, case))
    goals = completeness_proof.shown(later) | completeness_proof.step_goals(before, later, case)
    goals |= {
        f"elections: {k}": goal
        for k, goal in election.step_goals(before.base, later.base, case).items()
    }
    was = before.base.rows[n]
    goals["what is not open stays so"] = z3.Implies(
        later.acked[n], z3.Or(before.acked[n], was.epoch <= EPOCH)
    )
    return completeness_proof.check(solver, goals, done, before, case, timeout_ms)


def _from_sets(before: _Logs, later: _Logs, case: Case) -> list[z3.BoolRef]:
    """What proof.py shows: of who wins in this step, and of what is committed in it."""
    n, anywhere = case.node, completeness_proof.ANYWHERE
    row, wins = later.base.rows[n], completeness.elected(before, case)
    winner = z3.Select(before.base.winner, row.epoch)
    late = z3.And(row.epoch == EPOCH, anywhere > EPOCH, before.won(anywhere))
    return [
        z3.Implies(later.opened, before.opened),
        z3.Implies(z3.And(wins, winner != NOBODY), winner == n),
        z3.Implies(z3.And(wins, row.epoch > EPOCH, before.opened), before.logs[n].has),
        z3.Implies(z3.And(wins, late), z3.Not(later.opened)),
        z3.Implies(z3.And(later.committed, z3.Not(before.committed)), later.born),
    ]


def _reaches(constants: Constants, timeout_ms: int, done: Obligation) -> None:
    """`_Contest.backed` of proof.py follows from the invariant."""
    s = _any_logs(constants, {})
    n, other = constants.voters[:2]
    row = s.base.rows[n]
    epochs = [EPOCH, row.epoch, s.logs[n].top, *(each.epoch for each in s.base.rows.values())]
    solver = completeness_proof.new_solver(timeout_ms)
    solver.add(*election.invariant(s.base, epochs))
    solver.add(*completeness_proof.parts_of(s, epochs).values())
    voted = z3.Select(s.base.ballot[other], row.epoch) == n
    stands = z3.And(row.role == _CANDIDATE, row.epoch > EPOCH)
    acked = z3.And(s.open, s.acked[other], voted)
    own = z3.And(s.open, s.acked[n])
    reached = z3.Implies(z3.And(stands, z3.Or(acked, own)), s.logs[n].reaches)
    if done.possible(solver):
        completeness_proof.check(solver, {REACHES: reached}, done, s, None, timeout_ms)
